"""If: the branch that is taken at import where the condition is known, else one at each run.

Stock puts the nodes of both branches before the choice, so that both are always computed, and their
last results, which are not bound, cannot be compiled; what the choice gives has no known sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node


def choose(node: Node, previous: Callable[[Node], Any]) -> Any:
    """The results of a branch: one, or a tuple."""
    known = node.known(0)
    branches = [node.attributes[name] for name in ("then_branch", "else_branch")]
    if known is not None and known.constant and known.values.size == 1:
        (condition,) = known.values.flat
        made = _results(node, branches[0 if condition else 1])
        return made[0] if len(made) == 1 else relax.Tuple(made)
    condition = node.tensor(0)
    if _compat.rank_of(condition) != 0:
        condition = node.emit(relax.op.reshape(condition, []))
    sides = [_as_sequence(node, branch) for branch in branches]
    for one, other in zip(*(kinds for _, kinds in sides), strict=True):
        if one != other:
            raise _frontend.refusal(
                "If",
                f"its branches give {one[0]} of {one[1]} axes and {other[0]} of {other[1]}",
                "Give both results the same dtype and number of axes, or the condition as a "
                "constant",
            )
    made = node.emit(relax.If(condition, *(sequence for sequence, _ in sides)))
    if len(sides[0][1]) == 1:
        return _converters.with_sizes(node, made)
    parts = [node.emit(relax.TupleGetItem(made, at)) for at in range(len(sides[0][1]))]
    return relax.Tuple([_converters.with_sizes(node, part) for part in parts])


def _results(node: Node, graph: Any) -> list[Any]:
    """The results of a branch, whose nodes are converted where the builder is."""
    importer = node.importer
    for tensor in graph.initializer:
        importer._nodes[tensor.name] = relax.const(importer._parse_array(tensor))
    importer._construct_nodes(graph)
    return [importer._nodes[output.name] for output in graph.output]


def _as_sequence(node: Node, graph: Any) -> tuple[Any, list[tuple[str, int]]]:
    """A branch as an expression of its own, and the dtypes and ranks of its results."""
    importer, builder = node.importer, node.builder
    outside = dict(importer._nodes)
    builder._begin_binding_block()
    try:
        made = _results(node, graph)
        for value in made:
            if not _compat.is_tensor(value):
                raise _frontend.refusal("If", "its branches give what is no tensor", "Give tensors")
        body = node.emit(made[0] if len(made) == 1 else relax.Tuple(made))
    finally:
        block = builder._end_block()
        importer._nodes = outside
    return relax.SeqExpr([block], body), [(_compat.dtype_of(v), _compat.rank_of(v)) for v in made]


FIX = Fix(
    id="onnx_if",
    what="ONNX If computes both branches, does not compile most, and loses their sizes",
    op="ONNX If",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"If": choose}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.SeqExpr(blocks=[], body=then_expr)" in _frontend.text(),
    needs_torch=False,
)
