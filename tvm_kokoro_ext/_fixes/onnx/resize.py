"""Resize as ONNX defines it, one axis at a time, to sizes that may be symbolic.

Stock takes the ratio of the sizes for the scale that is given, ignores `axes`, `antialias` and
`keep_aspect_ratio_policy`, resizes neither batch nor channels, and needs static sizes. Its Upsample
takes no scales as an input, as opset 9 has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _computed, _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._elements import NotKnown
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]
_refuse = partial(_frontend.refusal, "Resize")


@dataclass(frozen=True)
class Axis:
    """One axis of a Resize: sizes, the scale that is given, and the region that is cut out."""

    place: int
    size: Any
    out: Any
    scale: float | None
    """None where sizes are given: their ratio."""
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True)
class Rule:
    """How a Resize reads its input."""

    mode: str
    coordinates: str
    rounding: str
    cubic: float
    exclude_outside: bool
    outside: float
    antialias: bool


def resize(node: Node, previous: Previous) -> Any:
    """Every axis whose size changes, in turn."""
    dims = known_dims(node.given(0))
    legacy = node.opset < 11
    scales, sizes = _inputs(node, legacy)
    if dims is None or isinstance(node.given(0), Known) or (scales is None and sizes is None):
        return previous(node)
    attributes = node.attributes
    rule = Rule(
        node.text("mode", "nearest"),
        "asymmetric" if legacy else node.text("coordinate_transformation_mode", "half_pixel"),
        "floor" if legacy else node.text("nearest_mode", "round_prefer_floor"),
        attributes.get("cubic_coeff_a", -0.75),
        bool(attributes.get("exclude_outside", 0)),
        attributes.get("extrapolation_value", 0.0),
        bool(attributes.get("antialias", 0)) and node.text("mode", "nearest") != "nearest",
    )
    places = [p % len(dims) for p in attributes.get("axes", range(len(dims)))]
    axes = _axes(node, rule, dims, places, scales, sizes)
    result = node.given(0)
    dtype = _compat.dtype_of(result)
    if dtype not in ("float32", "float64", "float16", "bfloat16") and rule.mode != "nearest":
        raise _refuse(f"it interpolates {dtype}", "Cast to float32 before it, and back after it")
    for axis in axes:
        result = _resized(node, result, axis, rule, dtype)
    return result


def _inputs(node: Node, legacy: bool) -> tuple[list[Any] | None, list[Any] | None]:
    """Scales and sizes; None for what is not given or not known."""
    scales = node.known(1 if legacy else 2)
    sizes = None if legacy else node.known(3)
    if legacy and "scales" in node.attributes:  # Upsample of opset 7
        return list(node.attributes["scales"]), None
    listed = None if scales is None or not scales.values.size else list(scales.values.ravel())
    computed = None if legacy else _computed.listed(node, 3)
    try:
        given = None if sizes is None or not sizes.values.size else sizes.integers()
    except NotKnown:
        given = None
    if computed is not None:
        given = _computed.of_list(node, computed)
    if listed is not None and not all(isinstance(scale, float) for scale in listed):
        listed = None
    return listed, given


def _axes(
    node: Node,
    rule: Rule,
    dims: Sequence[Any],
    places: Sequence[int],
    scales: list[Any] | None,
    sizes: list[Any] | None,
) -> list[Axis]:
    crop = rule.coordinates == "tf_crop_and_resize"
    roi = node.known(1) if crop else None
    if crop and (roi is None or not roi.constant):
        raise _refuse("its region of interest is computed", "Export it with a constant roi")
    region = [] if roi is None else [float(value) for value in roi.values.ravel()]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if sizes is not None and policy != "stretch":
        own = [dims[place] for place in places]
        if not all(isinstance(value, int) for value in (*own, *sizes)):
            raise _refuse(f"{policy} has symbolic sizes", "Export it with fixed sizes or scales")
        ratios = [size / dim for size, dim in zip(sizes, own, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        scales = [ratio] * len(places)
        sizes = [math.floor(ratio * dim + 0.5) for dim in own]
    axes = []
    for index, place in enumerate(places):
        scale = None if scales is None else float(scales[index])
        out = sizes[index] if sizes is not None else _scaled(dims[place], scale)
        start, end = (region[index], region[index + len(places)]) if crop else (0.0, 1.0)
        same = _elements.same_size(out, dims[place]) and (scale is None or scale == 1.0)
        if not same or (crop and (start, end) != (0.0, 1.0)):
            axes.append(Axis(place, dims[place], out, scale, start, end))
    return axes


def _scaled(size: Any, scale: float | None) -> Any:
    """The size of an axis by a scale, rounded down in float32 as ONNX Runtime does."""
    assert scale is not None
    if isinstance(size, int):
        return int(np.floor(np.float32(scale) * np.float32(size)))
    if scale.is_integer():
        return _elements.simplified(size * int(scale))
    parts = max(round(1 / scale), 1)
    if float(np.float32(scale)) == float(np.float32(1 / parts)) and Fraction(scale) * parts >= 1:
        # For sizes below 2**23 the product is never rounded past a whole number.
        return _elements.simplified(tirx.floordiv(size, parts))
    product = tirx.Cast("float32", size) * tirx.const(scale, "float32")
    return tirx.Cast("int64", tirx.floor(product))


def _resized(node: Node, x: Any, axis: Axis, rule: Rule, dtype: str) -> Any:
    real = "float64" if dtype == "float64" else "float32"
    if rule.antialias and not all(isinstance(value, int) for value in (axis.size, axis.out)):
        raise _refuse("it is antialiased and has symbolic sizes", "Export it with fixed sizes")

    def scalar(of: Callable[[Any, Any], Any]) -> Any:
        """A 0-d tensor: TVM's analysis rejects quotients of sizes that it binds to a variable."""

        def compute(size: Any, out: Any) -> Any:
            return te.compute((), lambda: of(size, out), name="scale")

        return node.builder.emit_te(
            compute, int64(axis.size), int64(axis.out), primfunc_name_hint="onnx_resize_scale"
        )

    ratios = scalar(lambda size, out: _ratio(axis, size, out, real))
    corners = scalar(lambda size, out: _corners(axis, size, out, real))

    def compute(data: Any, out: Any, ratios: Any, corners: Any) -> Any:
        size = data.shape[axis.place]
        ratio = ratios()

        def read(*at: Any) -> Any:
            def element(place: Any) -> Any:
                inside = tirx.max(tirx.min(place, size - 1), tirx.const(0, "int64"))
                return data(*at[: axis.place], inside, *at[axis.place + 1 :])

            to = at[axis.place]
            position = _position(to, axis, rule, size, out, ratio, corners(), real)
            if rule.mode == "nearest":
                value = element(tirx.Cast("int64", _rounded(position, rule.rounding, real)))
            else:
                value = _interpolated(element, position, size, ratio, rule, axis, real, dtype)
            if rule.coordinates == "tf_crop_and_resize":
                last = tirx.Cast(real, size - 1)
                inside = tirx.all(position >= tirx.const(0.0, real), position <= last)
                value = tirx.Select(inside, value, tirx.const(rule.outside, dtype))
            return value

        shape = (*data.shape[: axis.place], out, *data.shape[axis.place + 1 :])
        return te.compute(shape, read, name="resize")

    return node.builder.emit_te(
        compute, x, int64(axis.out), ratios, corners, primfunc_name_hint="onnx_resize"
    )


def _ratio(axis: Axis, size: Any, out: Any, real: str) -> Any:
    """Output steps per input step."""
    if axis.scale is not None:
        return tirx.const(axis.scale, real)
    return tirx.Cast(real, out) / tirx.Cast(real, size)


def _corners(axis: Axis, size: Any, out: Any, real: str) -> Any:
    """Input steps per output step where the corners meet.

    What is called the resized length is a real number where a scale is given.
    """
    one = tirx.const(1.0, real)
    whole = tirx.Cast(real, out)
    if axis.scale is not None:
        whole = tirx.const(axis.scale, real) * tirx.Cast(real, size)
    steps = tirx.Select(whole == one, one, whole - one)
    return tirx.Cast(real, size - 1) / steps


def _position(
    to: Any, axis: Axis, rule: Rule, size: Any, out: Any, ratio: Any, corners: Any, real: str
) -> Any:
    """The place in the input that an element of the output is read from, a real number."""
    at, half = tirx.Cast(real, to), tirx.const(0.5, real)
    one = tirx.const(1.0, real)
    if rule.coordinates == "asymmetric":
        return at / ratio
    if rule.coordinates == "align_corners":
        return at * corners
    if rule.coordinates == "tf_crop_and_resize":
        start, end = tirx.const(axis.start, real), tirx.const(axis.end, real)
        span, last = end - start, tirx.Cast(real, size - 1)
        many = start * last + at * span * corners
        return tirx.Select(out > 1, many, half * (start + end) * last)
    if rule.coordinates == "half_pixel_symmetric":
        adjustment = tirx.Cast(real, out) / (ratio * tirx.Cast(real, size))
        centre = tirx.Cast(real, size) * half
        offset = centre * (one - adjustment)
        return offset + (at + half) / ratio - half
    if rule.coordinates == "tf_half_pixel_for_nn":
        return (at + half) / ratio
    position = (at + half) / ratio - half
    if rule.coordinates == "pytorch_half_pixel":
        return tirx.Select(out > 1, position, tirx.const(0.0, real))
    if rule.coordinates == "half_pixel":
        return position
    raise _refuse(
        f"it has the coordinate_transformation_mode {rule.coordinates!r}", "Export it with another"
    )


def _rounded(position: Any, rounding: str, real: str) -> Any:
    half = tirx.const(0.5, real)
    if rounding == "floor":
        return tirx.floor(position)
    if rounding == "ceil":
        return tirx.ceil(position)
    if rounding == "round_prefer_ceil":
        return tirx.floor(position + half)
    return tirx.ceil(position - half)


def _interpolated(
    element: Callable[[Any], Any],
    position: Any,
    size: Any,
    ratio: Any,
    rule: Rule,
    axis: Axis,
    real: str,
    dtype: str,
) -> Any:
    """The weighted sum of the elements around a position."""
    low = tirx.floor(position)
    first = tirx.Cast("int64", low)
    fraction = position - low
    reach, stretch = (1, None) if rule.mode == "linear" else (2, None)
    if rule.antialias:
        scale = axis.scale if axis.scale is not None else axis.out / axis.size
        if scale < 1:
            reach, stretch = math.ceil(reach / scale), scale
    terms, weights = [], []
    for step in range(1 - reach, reach + 1):
        distance = tirx.abs(tirx.const(float(step), real) - fraction)
        if stretch is not None:
            distance = distance * tirx.const(stretch, real)
        weight = _weight(distance, rule, real)
        place = first + step
        if rule.exclude_outside:
            inside = tirx.all(place >= 0, place < size)
            weight = tirx.Select(inside, weight, tirx.const(0.0, real))
        weights.append(weight)
        terms.append(weight * tirx.Cast(real, element(place)))
    total = _sum(terms)
    if rule.exclude_outside or rule.antialias:
        total = total / _sum(weights)
    return total if dtype == real else tirx.Cast(dtype, total)


def _weight(distance: Any, rule: Rule, real: str) -> Any:
    zero, one = tirx.const(0.0, real), tirx.const(1.0, real)
    if rule.mode == "linear":
        return tirx.max(one - distance, zero)
    if rule.mode != "cubic":
        raise _refuse(f"its mode is {rule.mode!r}", "Use nearest, linear or cubic")
    a = tirx.const(rule.cubic, real)

    def number(value: float) -> Any:
        return tirx.const(value, real)

    near = ((a + number(2)) * distance - (a + number(3))) * distance * distance + one
    far = ((distance - number(5)) * distance + number(8)) * distance * a - number(4) * a
    outer = tirx.Select(distance < number(2), far, zero)
    return tirx.Select(distance <= one, near, outer)


def _sum(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


FIX = Fix(
    id="onnx_resize",
    what="Resize of an ONNX graph reads wrong elements for most scales, and needs static sizes",
    op="ONNX Resize, ONNX Upsample",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Resize": resize, "Upsample": resize}),
    probe=lambda: _frontend.holds_expressions()
    and "keep_aspect_ratio_policy" not in _frontend.converter("Resize"),
    needs_torch=False,
)
