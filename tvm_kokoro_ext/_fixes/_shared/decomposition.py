"""Torch's own decomposition of a program, with what it raises mended or explained.

`ExportedProgram.run_decompositions` traces the program again. A decomposition may give its result
other strides than its operator, and then a `view` behind it is no longer possible: in GPT-2, of
attention with a mask, transposed. Once nothing in the program writes to memory, `reshape` is the
same as `view` and needs no strides. Torch also fails on a program that writes to a tensor which it
has found twice, as a buffer and as a constant (the caches of transformers). One name is enough.
Tensors that a branch makes of numbers, on which torch fails too, become operands of the branch.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from tvm_kokoro_ext import _collection, _symbolic
from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name, source_line
from tvm_kokoro_ext._fixes._shared import branch_constants, effects, graphs, writes


@_collection.put_off()
def decomposed(program: Any, table: Any = None) -> Any:
    """The program after `run_decompositions(table)`; without a table, torch's default one.

    Raises
    ------
    UnsupportedOperatorError
        Where torch raises, with the operator, its source line and a way around, and where it would
        take a symbolic size of an input for that of the example.
    """
    program = writes.with_writable_views(branch_constants.as_operands(program))
    made = _decomposed(program, table)
    _require_same_sizes(program, made)
    return made


def _decomposed(program: Any, table: Any) -> Any:
    try:
        return _run(program, table)
    except Exception as error:  # noqa: BLE001 - whatever torch raises is explained below
        failure = error
    try:
        return _run(_with_reshapes(_run(_without_duplicates(program), {})), table)
    except Exception:  # noqa: BLE001 - the first failure is the one to explain
        raise _explained(program, failure) from failure


def _run(program: Any, table: Any) -> Any:
    program = _with_silent_guards(effects.with_plain_checks(program))
    made = program.run_decompositions() if table is None else program.run_decompositions(table)
    return effects.with_plain_checks(made)


def _with_silent_guards(program: Any) -> Any:
    """A copy that does not evaluate its guards while torch traces it again.

    `min(n, 30) <= n` would ask whether `n < 30`, and the answer for the example's size would become
    a guard. The environment of the symbols has the guards of the program in any case.
    """
    if not getattr(program, "_guards_code", None):
        return program
    silent = copy.copy(program)
    silent._guards_code = []
    return silent


def _require_same_sizes(program: Any, made: Any) -> None:
    """Refuse a program some of whose symbolic sizes have become constants."""
    after = {node.name: node.meta.get("val") for node in made.graph.nodes}
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        before, now = (
            getattr(v, "shape", ()) for v in (node.meta.get("val"), after.get(node.name))
        )
        for axis, (size, constant) in enumerate(zip(before, now, strict=False)):
            if isinstance(constant, int) and _symbolic.is_symbolic(size):
                raise UnsupportedOperatorError(
                    f"dimension {axis} of {node.name!r}",
                    f"torch's decomposition of the program fixes its symbolic size to {constant}",
                    "Write without in-place operators what depends on this size, or export it as "
                    "a constant",
                )


def _without_duplicates(program: Any) -> Any:
    """The program where parameters, buffers and constants that are one tensor have one name."""
    import torch
    from torch.export.graph_signature import ExportGraphSignature

    graph = graphs.copied(program.graph)
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    held = program.state_dict | program.constants
    signature = program.graph_signature
    first: dict[Any, Any] = {}
    kept, dropped = [], set()
    for spec in signature.input_specs:
        tensor = held.get(spec.target) if spec.target else None
        if not isinstance(tensor, torch.Tensor) or not tensor.numel():
            kept.append(spec)
            continue
        same = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        node = placeholders[spec.arg.name]
        if first.setdefault(same, node) is node:
            kept.append(spec)
        else:
            node.replace_all_uses_with(first[same])
            graph.erase_node(node)
            dropped.add(spec.target)
    if not dropped:
        return program
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._graph_signature = ExportGraphSignature(kept, list(signature.output_specs))
    changed._state_dict = {k: v for k, v in program.state_dict.items() if k not in dropped}
    changed._constants = {k: v for k, v in program.constants.items() if k not in dropped}
    return changed


def _with_reshapes(program: Any) -> Any:
    """A copy of a functional program, also of its branches, with `reshape` for every `view`."""
    import torch

    changed = copy.copy(program)
    changed._graph_module = copy.deepcopy(program.graph_module)
    modules = zip(program.graph_module.modules(), changed._graph_module.modules(), strict=True)
    for original, module in modules:
        if not hasattr(original, "graph"):
            continue
        module.graph = graphs.copied(original.graph)
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        if hasattr(module, "recompile"):
            module.recompile()
    return changed


def _explained(program: Any, error: Exception) -> UnsupportedOperatorError:
    found = re.search(r"While executing %?(\w+)", str(error))
    named = {node.name: node for node in program.graph.nodes}
    node = named.get(found[1]) if found else None
    message = " ".join(str(error).partition("While executing")[0].split())
    reason = f"torch's decomposition of the program failed with {type(error).__name__}: "
    return UnsupportedOperatorError(
        "the program" if node is None else op_name(node),
        reason + (message[:500] or "no message") + source_line(node),
        "Write that part with other operators, or keep operators whole with "
        "from_exported_program(…, run_ep_decomposition=False)",
    )
