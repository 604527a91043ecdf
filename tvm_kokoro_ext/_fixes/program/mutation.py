"""Buffers and inputs that a program writes to: a function of TVM loses what is written.

Torch records such writes as outputs in front of the program's own. Stock drops them (0.26, 0.27) or
returns them too (0.25), so that a key-value cache in a buffer is empty at each call. A write that
nothing can see is left out, and any other is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from tvm_kokoro_ext import _probe, _program_probe
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import graphs


def without_writes(program: Any, converters: Collection[str]) -> Any:
    """The program with its own outputs only.

    Raises
    ------
    UnsupportedOperatorError
        If a buffer is written to that the program reads, or an input whose new value is no output.
    """
    import torch
    from torch.export.graph_signature import ExportGraphSignature, OutputKind

    specs = program.graph_signature.output_specs
    own = [spec for spec in specs if spec.kind is OutputKind.USER_OUTPUT]
    if len(own) == len(specs):
        return program
    output = next(node for node in program.graph.nodes if node.op == "output")
    pairs = list(zip(specs, output.args[0], strict=True))
    kept = [value for spec, value in pairs if spec.kind is OutputKind.USER_OUTPUT]
    buffers, inputs = [], []
    for spec, value in pairs:
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            if not any(value is result for result in kept):
                inputs.append(spec.target)
        elif spec.kind is OutputKind.TOKEN:
            continue  # an operator with effects, which is refused by its name
        elif spec.kind is not OutputKind.USER_OUTPUT and _is_read(program, spec.target, value):
            buffers.append(spec.target)
    if buffers:
        raise UnsupportedOperatorError(
            f"the program, which writes to {_listed(buffers)} of the module",
            "a compiled function keeps nothing from one call to the next",
            "tvm_kokoro_ext.with_explicit_state(program) makes it an input and a result; "
            "if a layer is in training mode, export module.eval()",
        )
    if inputs:
        raise UnsupportedOperatorError(
            f"the program, which writes to its input {_listed(inputs)}",
            "a compiled function does not change its arguments",
            "Return the new value, as tvm_kokoro_ext.with_explicit_state(program) does, "
            "or write to a copy of it, x.clone()",
        )
    graph = graphs.copied(program.graph)
    output = next(node for node in graph.nodes if node.op == "output")
    output.args = (
        tuple(
            value
            for spec, value in zip(specs, output.args[0], strict=True)
            if any(spec is o for o in own)
        ),
    )
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._graph_signature = ExportGraphSignature(list(program.graph_signature.input_specs), own)
    return changed


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _is_read(program: Any, target: str, value: Any) -> bool:
    """Whether a later call can see the new value of a buffer: it is read, and it differs."""
    name = next(s.arg.name for s in program.graph_signature.input_specs if s.target == target)
    holder = next(node for node in program.graph.nodes if node.name == name)
    return value is not holder and any(not _overwrites(user, holder) for user in holder.users)


def _overwrites(user: Any, holder: Any) -> bool:
    """Whether a node replaces every value of the holder without reading one."""
    named = getattr(user.target, "__name__", "")
    return named == "copy.default" and user.args[0] is holder and user.args[1] is not holder


def _still_wrong() -> bool:
    """Whether stock imports a program that writes to its input, whose value is no output."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        return [
            graph.call_function(torch.ops.aten.add.Tensor, (x, x)),
            graph.call_function(torch.ops.aten.relu.default, (x,)),
        ]

    module = _program_probe.graph_module(write, [_probe.Input((4,))])
    try:
        _program_probe.imported(module, written=1)
    except _probe.ProbeError:
        return False
    return True


FIX = Fix(
    id="mutation",
    what="what a program writes to its buffers and inputs is lost without a word",
    op="from_exported_program",
    affected="",
    probe=_still_wrong,
    prepare=without_writes,
)
