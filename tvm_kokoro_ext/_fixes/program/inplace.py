"""In-place operators whose result is read through another name of the same memory.

With `run_ep_decomposition=False` a program keeps `y.mul_(2)`. Stock only updates the value of the
node of that call: `y` itself, views of it and the tensor that it is a view of keep their old
values. Such programs are made functional by torch before they are translated, and so are those that
hold regions without gradients or with autocast, and maps over a dimension: torch dissolves them.

The other way round, stock takes `copy`, which torch makes of `torch.fill(x, value)` of a tensor,
for `copy_`: what is computed of `x` afterwards, and `x` as a result, are the filled tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

from tvm_kokoro_ext import _compat, _probe, _program_probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import decomposition, writes

# What torch.no_grad(), torch.autocast() and torch.func.vmap() become in a program.
_DISSOLVED = (
    "wrap_with_set_grad_enabled",
    "wrap_with_autocast",
    "_enter_autocast",  # around a branch
    "_vmap_increment_nesting",
)


def functionalize(program: Any, converters: Collection[str]) -> Any:
    """Remove in-place operators that affect other values, and regions, also those in branches."""
    graphs = [part.graph for part in program.graph_module.modules() if hasattr(part, "graph")]
    nodes = itertools.chain.from_iterable(graph.nodes for graph in graphs)
    if any(_matters(node, converters) for node in program.graph.nodes) or any(
        getattr(node.target, "__name__", "") in _DISSOLVED for node in nodes
    ):
        return decomposition.decomposed(program, {})
    return program


def _matters(node: Any, converters: Collection[str]) -> bool:
    """Whether a node changes memory that is used elsewhere, or has no converter."""
    if not writes.is_in_place(node):
        return False
    if node.target.__name__ not in converters:
        return True
    return any(_seen_elsewhere(changed, node) for changed in writes.written_by(node))


def _seen_elsewhere(changed: Any, by: Any) -> bool:
    return changed.op != "call_function" or len(changed.users) > 1 or writes.is_view(changed)


@needs_previous
def copy(importer: Any, node: Any, previous: Any) -> Any:
    """The second operand, in the shape and dtype of the first, which keeps its value."""
    kept = importer.env[node.args[0]]
    result = previous(node)
    importer.env[node.args[0]] = kept
    return result


@_probe.wrong
def _copy_writes() -> bool:
    """Whether y = relu(x); copy(y, x); return y returns x."""
    import torch

    def overwritten(graph: Any, x: Any) -> list[Any]:
        y = graph.call_function(torch.ops.aten.relu.default, (x,))
        graph.call_function(torch.ops.aten.copy.default, (y, x))
        return [y]

    made = _program_probe.imported(_program_probe.graph_module(overwritten, [_probe.Input((4,))]))
    values = [binding.value for block in made["main"].body.blocks for binding in block.bindings]
    (returned,) = [value for value in values if isinstance(value, relax.Tuple)]
    return _compat.same_object(returned.fields[0], made["main"].params[0])


@_probe.wrong
def _still_wrong() -> bool:
    """Whether y = relu(x); y.view(2, 2).mul_(2); return y omits the product."""
    import torch

    def double(graph: Any, x: Any) -> list[Any]:
        y = graph.call_function(torch.ops.aten.relu.default, (x,))
        view = graph.call_function(torch.ops.aten.view.default, (y, [2, 2]))
        graph.call_function(torch.ops.aten.mul_.Tensor, (view, 2.0))
        return [y]

    def functional(graph: Any, x: Any) -> list[Any]:
        y = graph.call_function(torch.ops.aten.relu.default, (x,))
        return [graph.call_function(torch.ops.aten.mul.Tensor, (y, 2.0))]

    given = [_probe.Input((4,))]
    made = _program_probe.imported(
        _program_probe.graph_module(double, given),
        decomposed=_program_probe.graph_module(functional, given),
    )
    needed = relax.transform.DeadCodeElimination()(made)
    return "relax.multiply" not in _probe.operators_of(needed["main"])


FIX = Fix(
    id="inplace",
    what="an in-place operator is not seen through views, bases and earlier names; undecomposed "
    "regions of no_grad and autocast, and vmap, fail; torch.fill writes to its operand",
    op="aten.copy; aten in-place operators, torch.no_grad, torch.autocast, torch.func.vmap, not "
    "decomposed",
    affected="",
    converters={"copy.default": copy},
    probe=_probe.any_of(_still_wrong, _copy_writes),
    prepare=functionalize,
)
