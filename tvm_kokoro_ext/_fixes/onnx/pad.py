"""Pad by amounts that the graph computes, by negative ones, and with a value that it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _computed, _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._elements import NotKnown

Previous = Callable[[Node], Any]
_MODES = ("constant", "reflect", "edge", "wrap")


def pad(node: Node, previous: Previous) -> Any:
    """One kernel; amounts below 0 cut, as ONNX has it."""
    x, dims, mode = node.tensor(0), known_dims(node.given(0)), node.text("mode", "constant")
    amounts = _amounts(node)
    if dims is None or amounts is None or mode not in _MODES:
        return previous(node)
    before, after = amounts
    if len(before) != len(dims):
        return previous(node)
    sizes = [
        _elements.simplified(low + dim + high)
        for low, dim, high in zip(before, dims, after, strict=True)
    ]
    dtype = _compat.dtype_of(x)
    value = node.tensor(2)
    if value is None:
        value = relax.const(node.attributes.get("value", 0), dtype)
    value = node.emit(relax.op.reshape(value, ()))

    def compute(data: Any, value: Any, sizes: Any, before: Any) -> Any:
        def element(*at: Any) -> Any:
            places = [i - low for i, low in zip(at, before, strict=True)]
            if mode != "constant":
                moved = zip(places, data.shape, before, sizes, strict=True)
                return data(*[_source(p, d, mode, low, size) for p, d, low, size in moved])
            inside = [
                tirx.all(p >= 0, p < d)
                for p, d, low, size in zip(places, data.shape, before, sizes, strict=True)
                if not (_zero(low) and _elements.same_size(size, d))
            ]
            if not inside:
                return data(*places)
            return tirx.if_then_else(tirx.all(*inside), data(*places), value())

        return te.compute(tuple(sizes), element, name="pad")

    return node.builder.emit_te(
        compute,
        x,
        value,
        [int64(size) for size in sizes],
        [int64(low) for low in before],
        primfunc_name_hint="onnx_pad",
    )


def _zero(amount: Any) -> bool:
    return _compat.as_int(amount) == 0


def _source(place: Any, size: Any, mode: str, low: Any, padded: Any) -> Any:
    """The place in an axis of this size that a place beyond its ends repeats."""
    if _zero(low) and _elements.same_size(padded, size):
        return place
    if mode == "edge":
        return tirx.max(tirx.min(place, size - 1), tirx.const(0, "int64"))
    if mode == "wrap":
        return tirx.floormod(place, size)
    period = tirx.max((size - 1) * 2, tirx.const(1, "int64"))
    turned = tirx.floormod(place, period)
    return tirx.min(tirx.min(turned, period - turned), size - 1)


def _amounts(node: Node) -> tuple[list[Any], list[Any]] | None:
    """What is added before and after every axis; None if it is not known at import."""
    dims = known_dims(node.given(0))
    if dims is None:
        return None
    if "pads" in node.attributes:
        pads: list[Any] = list(node.attributes["pads"])
    else:
        given = _given_amounts(node)
        if given is None:
            return None
        pads = given
    half = len(pads) // 2
    axes: list[int] = list(range(half))
    if node.given(3) is not None:
        chosen = node.known(3)
        if chosen is None or not chosen.constant:
            return None
        axes = [int(axis) for axis in chosen.values.ravel()]
    before: list[Any] = [0] * len(dims)
    after: list[Any] = [0] * len(dims)
    for axis, low, high in zip(axes, pads[:half], pads[half:], strict=True):
        before[axis], after[axis] = low, high
    return before, after


def _given_amounts(node: Node) -> list[Any] | None:
    """The second input: numbers, expressions, or symbols where the graph computes it from data."""
    known = node.known(1)
    if known is None:
        computed = _computed.listed(node, 1)
        return None if computed is None else _computed.of_list(node, computed)
    try:
        return known.integers()
    except NotKnown:
        return None


FIX = Fix(
    id="onnx_pad",
    what="Pad of an ONNX graph by amounts or with a value that it computes stops",
    op="ONNX Pad",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Pad": pad}),
    probe=lambda: _frontend.holds_expressions() and "known_list" not in _frontend.converter("Pad"),
    needs_torch=False,
)
