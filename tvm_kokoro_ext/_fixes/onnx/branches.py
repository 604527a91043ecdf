"""If: the branch that is taken at import where the condition is known, else one at each run.

Stock computes a branch inside `relax.If` without binding its last result, so that most cannot be
compiled, and what the choice gives has no known sizes. Here both branches are computed before the
choice: a branch whose sizes do not hold at a call raises, even if the other one is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend, _known
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known


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
    outside = dict(node.importer._nodes)
    sides = []
    for branch in branches:
        sides.append([_bound(node, value) for value in _results(node, branch)])
        node.importer._nodes = dict(outside)
    made = [_chosen(node, condition, *pair) for pair in zip(*sides, strict=True)]
    return made[0] if len(made) == 1 else relax.Tuple(made)


def _results(node: Node, graph: Any) -> list[Any]:
    """The results of a branch, whose nodes are converted where the builder is."""
    importer = node.importer
    for tensor in graph.initializer:
        importer._nodes[tensor.name] = relax.const(importer._parse_array(tensor))
    importer._construct_nodes(graph)
    return [importer._nodes[output.name] for output in graph.output]


def _bound(node: Node, value: Any) -> Any:
    """A result of a branch as a variable, or a sequence of variables."""
    if isinstance(value, relax.Tuple):
        return relax.Tuple([_bound(node, part) for part in value.fields])
    value = _known.as_tensor(node.builder, value) if isinstance(value, Known) else value
    if not _compat.is_tensor(value):
        raise _frontend.refusal("If", "its branches give what is no tensor", "Give tensors")
    return node.emit(value)


def _chosen(node: Node, condition: Any, one: Any, other: Any) -> Any:
    """One of two variables. Nothing is computed in a branch: TVM plans memory across both."""
    if isinstance(one, relax.Tuple) and isinstance(other, relax.Tuple):
        pairs = list(zip(one.fields, other.fields, strict=False))
        if len(one.fields) == len(other.fields):
            return relax.Tuple([_chosen(node, condition, *pair) for pair in pairs])
    if isinstance(one, relax.Tuple) or isinstance(other, relax.Tuple):
        raise _frontend.refusal(
            "If", "its branches give sequences of different lengths", "Give tensors"
        )
    kinds = [(_compat.dtype_of(value), _compat.rank_of(value)) for value in (one, other)]
    if kinds[0] != kinds[1]:
        (dtype, rank), (second, axes) = kinds
        raise _frontend.refusal(
            "If",
            f"its branches give {dtype} of {rank} axes and {second} of {axes}",
            "Give both results the same dtype and number of axes, or the condition as a constant",
        )
    sides = [relax.SeqExpr([], value) for value in (one, other)]
    return _converters.with_sizes(node, node.emit(relax.If(condition, *sides)))


FIX = Fix(
    id="onnx_if",
    what="ONNX If does not compile most branches, and loses their sizes",
    op="ONNX If",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"If": choose}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.SeqExpr(blocks=[], body=then_expr)" in _frontend.text(),
    needs_torch=False,
)
