"""ReduceMax, ReduceMin and ReduceLogSumExp of bools, of no elements and of infinite ones.

Stock does not build them of bools. Of no elements it gives what was in memory, or the largest
finite number, and of infinite ones ReduceLogSumExp is NaN: it subtracts an infinity from itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def _axes(node: Node) -> list[int] | None:
    """The axes that are reduced; None where they are not known, or where nothing is reduced."""
    axes = node.attributes.get("axes")
    if node.given(1) is not None:
        known = node.known(1)
        if known is None or not known.constant:
            return None
        axes = known.integers()
    rank = _compat.rank_of(node.tensor(0))
    if not axes:
        return None if node.attributes.get("noop_with_empty_axes", 0) else list(range(rank))
    return [int(axis) % rank for axis in axes]


def _may_be_empty(x: Any, axes: list[int]) -> bool:
    sizes = [_compat.as_int(_compat.shape_of(x)[axis]) for axis in axes]
    return 0 in sizes or None in sizes


def _extremum(largest: bool) -> Callable[[Node, Previous], Any]:
    def reduce(node: Node, previous: Previous) -> Any:
        x, axes = node.tensor(0), _axes(node)
        if _compat.dtype_of(x) == "bool":
            numbers = node.emit(relax.op.astype(x, "uint8"))
            made = reduce(replace(node, inputs=[numbers, *node.inputs[1:]]), previous)
            one = relax.const(1, "uint8")  # the most of no numbers is more
            return relax.op.astype(node.emit(relax.op.minimum(node.emit(made), one)), "bool")
        if axes is None or not _may_be_empty(x, axes):
            return previous(node)
        return _of_some(node, node.emit(previous(node)), x, axes, largest)

    return reduce


def _of_some(node: Node, made: Any, x: Any, axes: list[int], largest: bool) -> Any:
    """The result, or that of no elements where an axis has none."""

    def compute(made: Any, sizes: Any) -> Any:
        dtype = str(made.dtype)
        nothing = _least(dtype) if largest else _most(dtype)
        is_empty = tirx.any(*[size == 0 for size in sizes], tirx.const(False, "bool"))
        return te.compute(
            made.shape, lambda *at: tirx.if_then_else(is_empty, nothing, made(*at)), name="of_some"
        )

    sizes = [_converters.int64(_compat.shape_of(x)[axis]) for axis in axes]
    return node.builder.emit_te(compute, made, sizes, primfunc_name_hint="of_some")


def _least(dtype: str) -> Any:
    return -tirx.infinity(dtype) if "float" in dtype else tirx.min_value(dtype)


def _most(dtype: str) -> Any:
    return tirx.infinity(dtype) if "float" in dtype else tirx.max_value(dtype)


def log_sum_exp(node: Node, previous: Previous) -> Any:
    """log Σ exp(x - m) + m with the largest finite m, so that exp overflows for no finite x."""
    x, axes = node.tensor(0), _axes(node)
    if axes is None:
        return previous(node)
    zero = relax.const(0, _compat.dtype_of(x))
    largest = node.emit(relax.op.max(x, axes, keepdims=True))
    if _may_be_empty(x, axes):
        largest = node.emit(_of_some(node, largest, x, axes, True))
    infinite = node.emit(relax.op.isinf(largest))
    largest = node.emit(relax.op.where(infinite, zero, largest))
    powers = node.emit(relax.op.exp(node.emit(relax.op.subtract(x, largest))))
    total = node.emit(relax.op.log(node.emit(relax.op.sum(powers, axes, keepdims=True))))
    made = node.emit(relax.op.add(total, largest))
    return made if node.attributes.get("keepdims", 1) else relax.op.squeeze(made, axes)


FIX = Fix(
    id="onnx_extremes",
    what="ONNX ReduceMax and ReduceMin of no elements, ReduceLogSumExp of infinities are wrong",
    op="ONNX ReduceMax, ONNX ReduceMin, ONNX ReduceLogSumExp",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {
            "ReduceMax": _extremum(True),
            "ReduceMin": _extremum(False),
            "ReduceLogSumExp": log_sum_exp,
        }
    ),
    probe=lambda: _frontend.holds_expressions()
    and "isinf" not in _frontend.converter("ReduceLogSumExp"),
    needs_torch=False,
)
