"""What ONNX operators compute of values that are known at import."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fixes.onnx._elements import (
    FLOATS,
    INTEGERS,
    NotKnown,
    add,
    arithmetic,
    cast_element,
    ceil,
    choose,
    comparison,
    divide,
    floor,
    is_number,
    larger,
    logical,
    logical_not,
    modulo,
    negate,
    power,
    smaller,
    times,
)
from tvm_kokoro_ext._fixes.onnx._known import LARGEST, Known, known_constant

Values = list["Known | None"]
Attributes = dict[str, Any]


def _elementwise(
    function: Callable[..., Any], result: str | None = None
) -> Callable[[Values, Attributes], Known]:
    def apply(inputs: Values, attributes: Attributes) -> Known:
        given = [_required(value) for value in inputs]
        arrays = np.broadcast_arrays(*(known.values for known in given))
        values = np.empty(arrays[0].shape, object)
        dtype = result or given[-1].dtype
        for place in np.ndindex(values.shape):
            value = function(*(array[place] for array in arrays))
            if dtype in FLOATS and is_number(value):
                value = float(np.dtype(dtype).type(value))
            values[place] = value
        return Known(values, dtype)

    return apply


def _folded(function: Callable[[Any, Any], Any]) -> Callable[[Values, Attributes], Known]:
    pair = _elementwise(function)
    return lambda inputs, attributes: reduce(
        lambda lhs, rhs: pair([lhs, rhs], attributes),
        [_required(value) for value in inputs],
    )


def _reduced(function: Callable[[Any, Any], Any]) -> Callable[[Values, Attributes], Known]:
    def apply(inputs: Values, attributes: Attributes) -> Known:
        x = _required(inputs[0])
        given = attributes.get("axes")
        if given is None and len(inputs) > 1 and inputs[1] is not None:
            given = _numbers(inputs[1])
        if not given and attributes.get("noop_with_empty_axes"):
            return x
        rank = x.values.ndim
        axes = tuple(axis % rank for axis in given) if given else tuple(range(rank))
        keep = bool(attributes.get("keepdims", 1))
        moved = np.moveaxis(x.values, axes, range(len(axes)))
        flat = moved.reshape(-1, *moved.shape[len(axes) :])
        if not len(flat):
            raise NotKnown
        values = np.empty(flat.shape[1:], object)
        for place in np.ndindex(values.shape):
            at = (slice(None), *place)
            values[place] = reduce(function, list(flat[at]))
        if keep:
            values = np.expand_dims(values, tuple(sorted(axes)))
        return Known(values, x.dtype)

    return apply


def _required(value: Known | None) -> Known:
    if value is None:
        raise NotKnown
    return value


def _numbers(value: Known | None) -> list[int]:
    numbers = _required(value).values.ravel().tolist()
    if not all(isinstance(number, int) for number in numbers):
        raise NotKnown
    return numbers


def _moved(function: Callable[..., np.ndarray]) -> Callable[[Values, Attributes], Known]:
    """An operator that moves the elements of its first input."""

    def apply(inputs: Values, attributes: Attributes) -> Known:
        x = _required(inputs[0])
        return Known(function(x.values, inputs[1:], attributes), x.dtype)

    return apply


def _axes(rest: Values, attributes: Attributes) -> list[int] | None:
    if "axes" in attributes:
        return list(attributes["axes"])
    return _numbers(rest[0]) if rest and rest[0] is not None else None


def _gather(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    indices = np.array(_numbers(rest[0]), "int64").reshape(_required(rest[0]).values.shape)
    taken = np.empty(indices.shape, "int64")
    taken[...] = indices
    return np.asarray(np.take(x, taken, axis=attributes.get("axis", 0)), object)


def _slice(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    if "starts" in attributes:
        starts, ends = list(attributes["starts"]), list(attributes["ends"])
        axes = list(attributes.get("axes", range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = _numbers(rest[0]), _numbers(rest[1])
        axes = _numbers(rest[2]) if len(rest) > 2 and rest[2] else list(range(len(starts)))
        steps = _numbers(rest[3]) if len(rest) > 3 and rest[3] else [1] * len(starts)
    places = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step < 0:
            size = x.shape[axis]
            start = min(start if start >= 0 else start + size, size - 1)
            end = None if end < -size else end if end >= 0 else end + size
        places[axis] = slice(start, end, step)
    return x[tuple(places)]


def _unsqueeze(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    axes = _axes(rest, attributes) or []
    rank = x.ndim + len(axes)
    return np.expand_dims(x, tuple(sorted(axis % rank for axis in axes)))


def _squeeze(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    axes = _axes(rest, attributes)
    return np.squeeze(x, None if axes is None else tuple(axis % x.ndim for axis in axes))


def _reshape(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    sizes = _numbers(rest[0])
    if not attributes.get("allowzero"):
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return x.reshape(sizes)


def _flatten(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    axis = attributes.get("axis", 1)
    return x.reshape(math.prod(x.shape[: axis + x.ndim if axis < 0 else axis]), -1)


def _transpose(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    return np.transpose(x, attributes.get("perm"))


def _expand(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(_numbers(rest[0]))))


def _tile(x: np.ndarray, rest: Values, attributes: Attributes) -> np.ndarray:
    return np.tile(x, _numbers(rest[0]))


def _concat(inputs: Values, attributes: Attributes) -> Known:
    given = [_required(value) for value in inputs]
    return Known(
        np.concatenate([known.values for known in given], attributes["axis"]), given[0].dtype
    )


def _constant_of_shape(inputs: Values, attributes: Attributes) -> Known:
    from onnx import numpy_helper

    sizes = _numbers(inputs[0])
    value = attributes.get("value")
    filling = np.zeros(1, "float32") if value is None else numpy_helper.to_array(value)
    known = known_constant(np.full(sizes, filling.item(), filling.dtype))
    if known is None or math.prod(sizes) > LARGEST:
        raise NotKnown
    return known


def _range(inputs: Values, attributes: Attributes) -> Known:
    start, limit, step = (_numbers(value)[0] for value in inputs)
    known = known_constant(np.arange(start, limit, step).astype(_required(inputs[0]).dtype))
    return _required(known)


def _scatter_nd(inputs: Values, attributes: Attributes) -> Known:
    """Of a list, element by element, as exporters write where they assign to a list of sizes."""
    x, updates = _required(inputs[0]), _required(inputs[2])
    indices = _numbers(inputs[1])
    if x.values.ndim != 1 or attributes.get("reduction", b"none") not in (b"none", "none"):
        raise NotKnown
    values = x.values.copy()
    for at, update in zip(indices, updates.values.ravel(), strict=True):
        values[at] = update
    return Known(values, x.dtype)


def _power(inputs: Values, attributes: Attributes) -> Known:
    """In the dtype of the base."""
    base, exponent = map(_required, inputs)
    if base.dtype not in INTEGERS:
        raise NotKnown
    return Known(_elementwise(power)([base, exponent], attributes).values, base.dtype)


def _cast_to(inputs: Values, attributes: Attributes) -> Known:
    from onnx import helper

    x = _required(inputs[0])
    target = str(np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"])))
    return _cast_known(x, target)


def _cast_like(inputs: Values, attributes: Attributes) -> Known:
    return _cast_known(_required(inputs[0]), _required(inputs[1]).dtype)


def _cast_known(x: Known, target: str) -> Known:
    if target not in (*INTEGERS, *FLOATS, "bool"):
        raise NotKnown
    values = np.empty(x.values.shape, object)
    for place in np.ndindex(values.shape):
        values[place] = cast_element(x.values[place], x.dtype, target)
    return Known(values, target)


OPERATORS: dict[str, Callable[[Values, Attributes], Known]] = {
    "Add": _elementwise(add),
    "Sub": _elementwise(arithmetic(lambda a, b: a - b, lambda a, b: a - b)),
    "Mul": _elementwise(times),
    "Div": _elementwise(divide),
    "Mod": _elementwise(modulo),
    "Pow": _power,
    "Neg": _elementwise(negate),
    "Min": _folded(smaller),
    "Max": _folded(larger),
    "Sum": _folded(add),
    "Floor": _elementwise(floor),
    "Ceil": _elementwise(ceil),
    "Equal": _elementwise(comparison(lambda a, b: a == b, tirx.EQ, tirx.NE), "bool"),
    "Less": _elementwise(comparison(lambda a, b: a < b, tirx.LT, tirx.GE), "bool"),
    "LessOrEqual": _elementwise(comparison(lambda a, b: a <= b, tirx.LE, tirx.GT), "bool"),
    "Greater": _elementwise(comparison(lambda a, b: a > b, tirx.GT, tirx.LE), "bool"),
    "GreaterOrEqual": _elementwise(comparison(lambda a, b: a >= b, tirx.GE, tirx.LT), "bool"),
    "And": _elementwise(logical(lambda a, b: a and b, tirx.And), "bool"),
    "Or": _elementwise(logical(lambda a, b: a or b, tirx.Or), "bool"),
    "Not": _elementwise(logical_not, "bool"),
    "Where": _elementwise(choose),
    "Cast": _cast_to,
    "CastLike": _cast_like,
    "Identity": _moved(lambda x, rest, attributes: x),
    "Gather": _moved(_gather),
    "Slice": _moved(_slice),
    "Concat": _concat,
    "Unsqueeze": _moved(_unsqueeze),
    "Squeeze": _moved(_squeeze),
    "Reshape": _moved(_reshape),
    "Flatten": _moved(_flatten),
    "Transpose": _moved(_transpose),
    "Expand": _moved(_expand),
    "Tile": _moved(_tile),
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "ScatterND": _scatter_nd,
    "ReduceProd": _reduced(times),
    "ReduceSum": _reduced(add),
    "ReduceMax": _reduced(larger),
    "ReduceMin": _reduced(smaller),
}
"""What is evaluated, by operator: of values and attributes. Raises NotKnown where it cannot be."""


def evaluate(operator: str, inputs: Values, attributes: Attributes) -> Known | None:
    """The value of an operator of known values; None if it has none or cannot be evaluated."""
    if operator not in OPERATORS:
        return None
    if operator == "Mod" and attributes.get("fmod"):
        return None
    try:
        known = OPERATORS[operator](inputs, attributes)
    except (NotKnown, ArithmeticError):
        return None
    return known if known.values.size <= LARGEST and _fits(known) else None


def _fits(known: Known) -> bool:
    """Whether its dtype holds all its integers, which are not wrapped here."""
    if known.dtype not in INTEGERS:
        return True
    limits = np.iinfo(known.dtype)
    numbers = [value for value in known.values.flat if isinstance(value, int)]
    return all(limits.min <= number <= limits.max for number in numbers)
