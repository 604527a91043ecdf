"""What a program changes besides its results: buffers, constants and inputs that it writes to.

A function of TVM keeps nothing from one call to the next and does not write to its arguments, so
that such a change is lost. `with_explicit_state` makes it an argument and a result.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from tvm_kokoro_ext._fixes._shared import decomposition, graphs


def with_explicit_state(program: Any) -> tuple[Any, dict[str, Any]]:
    """A program that takes what it changes as inputs and returns the new values.

    For example a decoder whose key-value cache is a buffer: the cache becomes an argument of each
    call, and the results of one call are the arguments of the next.

        program, state = tvm_kokoro_ext.with_explicit_state(torch.export.export(model, example))
        module = from_exported_program(program)
        …
        result, *state = machine["main"](*inputs, *state)

    Parameters
    ----------
    program
        A `torch.export.ExportedProgram`. It is not changed.

    Returns
    -------
    program, state
        The program, whose inputs are those of the given program, flat, followed by the changed
        buffers, and whose outputs are those of the given program, followed by the new value of each
        of these buffers, followed by the new value of each input that the program writes to.
        `state` has the buffers' present values, tensors by name, in the order of the new inputs.

    Raises
    ------
    UnsupportedOperatorError
        Where torch cannot make the program free of writes.
    """
    import torch
    from torch.export.graph_signature import (
        ExportGraphSignature,
        InputKind,
        InputSpec,
        OutputKind,
        OutputSpec,
    )

    program = decomposition.decomposed(program, {})
    signature = program.graph_signature
    changes = {
        spec.target: spec
        for spec in signature.output_specs
        if spec.kind is OutputKind.BUFFER_MUTATION
    }
    graph = graphs.copied(program.graph)
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    last: Any = placeholders[-1] if placeholders else None
    inputs, added = [], []
    by_name = {node.name: node for node in placeholders}
    for spec in signature.input_specs:
        if spec.target in changes:
            added.append(InputSpec(InputKind.USER_INPUT, spec.arg, None))
            node = by_name[spec.arg.name]
            if node is not last:
                last.append(node)
                last = node
        else:
            inputs.append(spec)
    moved = [spec.target for spec in signature.input_specs if spec.target in changes]

    output = next(node for node in graph.nodes if node.op == "output")
    values = dict(zip((id(s) for s in signature.output_specs), output.args[0], strict=True))
    own = [s for s in signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
    state = [changes[target] for target in moved]
    written = [s for s in signature.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION]
    outputs = own + [OutputSpec(OutputKind.USER_OUTPUT, s.arg, None) for s in state + written]
    output.args = (tuple(values[id(spec)] for spec in own + state + written),)

    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._graph_signature = ExportGraphSignature([*inputs, *added], outputs)
    changed._module_call_graph = _flat_call(program, [*inputs, *added], outputs)
    changed._example_inputs = None
    held = program.state_dict | program.constants
    changed._state_dict = {k: v for k, v in program.state_dict.items() if k not in changes}
    changed._constants = {k: v for k, v in program.constants.items() if k not in changes}
    return changed, {target: held[target].detach().clone() for target in moved}


def _flat_call(program: Any, inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """The record of how the program is called: with a flat tuple, for a flat tuple."""
    from torch.export.graph_signature import InputKind
    from torch.utils import _pytree

    taken = tuple(spec.arg for spec in inputs if spec.kind is InputKind.USER_INPUT)
    given = tuple(spec.arg for spec in outputs)
    root, *parts = copy.copy(program.module_call_graph)
    root = copy.copy(root)
    root.signature = dataclasses.replace(
        root.signature,
        inputs=list(taken),
        outputs=list(given),
        in_spec=_pytree.tree_structure((taken, {})),
        out_spec=_pytree.tree_structure(given),
        forward_arg_names=[argument.name for argument in taken],
    )
    return [root, *parts]
