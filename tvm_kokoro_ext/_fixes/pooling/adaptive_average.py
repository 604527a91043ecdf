"""Adaptive average pooling of symbolic sizes, and up to 0.26 of constant sizes that do not divide.

Up to 0.26, a window of symbolic extent next to one of constant extent is only summed over its last
row, and overlapping windows of constant sizes read outside of the tensor. No version supports a
symbolic output size.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous


def pool(importer: Any, node: Any, previous: Any) -> Any:
    """Handle symbolic sizes; an output of one element is a mean, which stock computes correctly."""
    x, inputs, outputs = _sizes(importer, node)
    constant = all(_compat.as_int(m) is not None for m in (*inputs, *outputs))
    if constant or all(_compat.as_int(m) == 1 for m in outputs):
        return previous(node)
    return _average(importer, x, inputs, outputs)


def pool_constant(importer: Any, node: Any, previous: Any) -> Any:
    """Handle constant sizes with overlapping windows: up to 0.26, stock reads out of bounds."""
    x, inputs, outputs = _sizes(importer, node)
    constant = all(_compat.as_int(m) is not None for m in (*inputs, *outputs))
    if not constant or all(n % m == 0 for n, m in zip(inputs, outputs, strict=True)):
        return previous(node)
    return _average(importer, x, inputs, outputs)


def _sizes(importer: Any, node: Any) -> tuple[Any, list[Any], list[Any]]:
    """The tensor, and the input and output sizes of its pooled axes."""
    x, size = _emit.arguments(importer, node, "self", "output_size")
    rank = int(node.target.__name__.split("avg_pool")[1][0])
    inputs = _compat.shape_of(x)[-rank:]
    given = list(size) if isinstance(size, list | tuple) else [size] * rank
    outputs = [_compat.prim(n if m is None else m) for m, n in zip(given, inputs, strict=True)]
    return x, inputs, outputs


def _average(importer: Any, x: Any, inputs: list[Any], outputs: list[Any]) -> Any:
    """Window i of an axis of n elements and m windows: floor(i·n/m) to ceil((i+1)·n/m)."""
    shape = _compat.shape_of(x)
    lead = len(shape) - len(inputs)

    def compute(data: Any, out: Any) -> Any:
        dims = list(zip(data.shape[lead:], out[lead:], strict=True))
        steps = [te.reduce_axis((0, _widest(n, m)), name=f"k{a}") for a, (n, m) in enumerate(dims)]
        zero = tirx.const(0.0, str(data.dtype))

        def total(*at: Any) -> Any:
            bounds = [_window(i, n, m) for i, (n, m) in zip(at[lead:], dims, strict=True)]
            places = [start + k for (start, _), k in zip(bounds, steps, strict=True)]
            inside = [p < end for p, (_, end) in zip(places, bounds, strict=True)]
            kept = [tirx.min(p, n - 1) for p, (n, _) in zip(places, dims, strict=True)]
            value = tirx.if_then_else(tirx.all(*inside), data(*at[:lead], *kept), zero)
            return te.sum(value, axis=steps)

        def mean(*at: Any) -> Any:
            count: Any = 1
            for i, (n, m) in zip(at[lead:], dims, strict=True):
                start, end = _window(i, n, m)
                count = count * (end - start)
            return sums(*at) / tirx.Cast(str(data.dtype), count)

        sums = te.compute(tuple(out), total, name="window_sum")
        return te.compute(tuple(out), mean, name="adaptive_average")

    out = [*shape[:lead], *outputs]
    return _emit.emit_te(importer, compute, x, out, hint="adaptive_average")


def _window(i: Any, n: Any, m: Any) -> tuple[Any, Any]:
    return tirx.floordiv(i * n, m), tirx.floordiv((i + 1) * n + m - 1, m)


def _widest(n: Any, m: Any) -> Any:
    """An upper bound of the window length."""
    return tirx.floordiv(n + m - 1, m) + 1


def _converters(converter: Converter) -> dict[str, Converter]:
    return {
        f"{prefix}adaptive_avg_pool{rank}d.default": needs_previous(converter)
        for prefix in ("", "_")
        for rank in (1, 2, 3)
    }


@_probe.wrong
def _still_wrong() -> bool:
    x, size = _probe.Input((1, 1, "n", 6)), [_probe.Symbol("n"), 3]
    made = _probe.convert("adaptive_avg_pool2d.default", x, size, out=((1, 1, "n", 3), "float32"))
    return made.shape is None


FIX = Fix(
    id="adaptive_average",
    what="adaptive average pooling of symbolic sizes: sums too little (<0.27), or fails",
    op="aten.adaptive_avg_pool1d, aten.adaptive_avg_pool2d, aten.adaptive_avg_pool3d",
    affected="",
    converters=_converters(pool),
    probe=_still_wrong,
)
CONSTANT = Fix(
    id="adaptive_average_constant",
    what="adaptive average pooling whose windows overlap reads outside the tensor",
    op="aten.adaptive_avg_pool1d, aten.adaptive_avg_pool2d, aten.adaptive_avg_pool3d",
    affected="<0.27",
    converters=_converters(pool_constant),
    probe=None,  # what it reads outside shows only in memory that is not the tensor's
)
