"""Assertions about the elements of tensors, and about numbers that are read from tensors.

The former, which torch's decompositions (of one_hot) leave in a program, are supported by TVM from
0.27 on. For earlier versions they are removed.

The latter, `_assert_scalar`, hold what torch.export took for granted, such as that a slice which
begins at `x.item()` lies within its tensor. Stock ignores them, and the compiled program reads
outside of the tensor's memory where PyTorch raises. Here the program checks them when it runs.
Assertions about sizes of inputs are guards that torch was asked to put off, and are checked alike.
Where a condition needs a function that TVM has no converter of, it is left out with its assertion:
torch.export asks at which element of its memory a slice begins (`sym_storage_offset`).
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Iterator
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _probe, _program_probe, _symbolic
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import graphs, scalars


def assert_async(importer: Any, node: Any, previous: Any) -> Any:
    """Return the condition, which is not used."""
    return importer.retrieve_args(node)[0]


def without_unknown_conditions(program: Any, converters: Collection[str]) -> Any:
    """The program without assertions whose conditions are computed by unsupported functions."""
    if not any(_unknown_conditions(program.graph, converters)):
        return program
    import torch

    graph = graphs.copied(program.graph)
    for assertion in list(_unknown_conditions(graph, converters)):
        conditions = assertion.all_input_nodes
        graph.erase_node(assertion)
        for node in conditions:
            _erase_unused(graph, node)
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    return changed


def _unknown_conditions(graph: Any, converters: Collection[str]) -> Iterator[Any]:
    """The assertions about scalars that are computed by a function without a converter."""
    unknown: set[Any] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        computed = not unknown.isdisjoint(node.all_input_nodes)
        if node.target.__name__ == "_assert_scalar.default":
            if computed:
                yield node
        elif _is_scalar(node) and (computed or node.target.__name__ not in converters):
            unknown.add(node)


def _is_scalar(node: Any) -> bool:
    import torch

    value = node.meta.get("val")
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool | int | float)


def _erase_unused(graph: Any, node: Any) -> None:
    """Erase a scalar that nothing uses, and then those that it was computed from."""
    if node.users or node.op != "call_function" or not _is_scalar(node):
        return
    operands = node.all_input_nodes
    graph.erase_node(node)
    for operand in operands:
        _erase_unused(graph, operand)


@_probe.wrong
def _asserts_the_unknown() -> bool:
    """Whether a program is refused that asserts where a tensor begins in memory."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        offset = graph.call_function(torch.ops.aten.sym_storage_offset.default, (x,))
        offset.meta["val"] = 0
        graph.call_function(torch.ops.aten._assert_scalar.default, (offset, "message"))
        return [graph.call_function(torch.ops.aten.relu.default, (x,))]

    _program_probe.imported(_program_probe.graph_module(write, [_probe.Input((4,))]))
    return False


@needs_previous
def assert_scalar(importer: Any, node: Any, previous: Any) -> Any:
    """Check the condition when the program runs, unless it always holds."""
    given = scalars.truth(importer, importer.retrieve_args(node)[0], node.name)
    condition = _compat.prim(given)
    recorded: Any = getattr(node.args[0], "meta", {}).get("val")
    read = _compat.is_prim(condition) and (
        _symbolic.is_read_from_data(recorded) or _is_read_by(node.args[0])
    )
    if read and not _bounds_masked_select(node.args[0]):
        _checks.check(importer, condition)
        return condition
    if hasattr(recorded, "node") and not _symbolic.is_read_from_data(recorded):
        deferred = _symbolic.condition(recorded.node.expr, _symbolic.known_symbols(importer))
        if deferred is not None:
            _checks.require(importer, deferred)
    return previous(node)


def _is_read_by(condition: Any) -> bool:
    return hasattr(condition, "all_input_nodes") and _symbolic.is_read_by(condition)


def _bounds_masked_select(condition: Any) -> bool:
    """Whether a condition is that masked_select gives no more than its tensor has elements.

    Torch counts these before the tensor is broadcast with the mask, so that there may be more. A
    smaller bound is one of the program's own.
    """
    if condition.target is not operator.le:
        return False
    size, limit = condition.args
    if getattr(getattr(size, "target", None), "__name__", "") != "sym_size.int":
        return False
    selected = size.args[0]
    if getattr(selected.target, "__name__", "") != "masked_select.default":
        return False
    elements = selected.args[0].meta["val"].numel()
    if hasattr(elements, "node"):
        elements = elements.node.shape_env.bound_sympy(elements.node.expr).upper
    return isinstance(limit, int) and bool(limit >= elements)


SCALAR = Fix(
    id="assert_scalar",
    what="memory outside of a tensor is read where PyTorch raises, because assertions about "
    "numbers that are read from tensors are ignored; one that needs a function without a "
    "converter is refused",
    op="aten._assert_scalar",
    affected="",
    converters={"_assert_scalar.default": assert_scalar},
    probe=_asserts_the_unknown,
    prepare=without_unknown_conditions,
)

FIX = Fix(
    id="assert_async",
    what="a program with an assertion about values is refused (one_hot)",
    op="aten._assert_async",
    affected="<0.27",
    converters={"_assert_async.msg": assert_async, "_assert_async.default": assert_async},
    probe=_probe.lacks("_assert_async.msg"),
)
