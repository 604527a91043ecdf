"""Values that an ONNX graph computes of sizes, known at import as numbers and symbolic expressions.

A `Known` stands for a tensor in the importer's table of values. It is evaluated further as long as
the graph only computes with sizes, and becomes a tensor where an operator needs one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx

_LARGEST = 1024
"""Elements beyond which a constant is no list of sizes."""

_SMALL = 16
"""Sizes below which a limit such as max(size - 1, 0) is tried out."""

_INTEGERS = ("int64", "int32")
_FLOATS = ("float32", "float64")


class NotKnown(Exception):
    """The value of an operator cannot be evaluated at import."""


@dataclass(frozen=True)
class Scaled:
    """The real number size · times / by of a symbolic size, which is rounded at most once."""

    size: Any
    times: int = 1
    by: int = 1


@dataclass(frozen=True, eq=False)
class Known:
    """A tensor of known elements: an object array of Python numbers, expressions and `Scaled`."""

    values: np.ndarray
    dtype: str

    @property
    def ty(self) -> Any:
        """The tensor's type, under the name that the importer asks for."""
        return _compat.tensor_type(self.values.shape, self.dtype)

    @property
    def struct_info(self) -> Any:
        """The same, under the name of TVM 0.25."""
        return self.ty

    @property
    def constant(self) -> bool:
        """Whether every element is a number."""
        return all(_is_number(value) for value in self.values.flat)

    def integers(self) -> list[Any]:
        """The elements of a list of sizes: ints and expressions of int64."""
        return [_int_element(value) for value in self.values.flat]


def known_constant(array: np.ndarray) -> Known | None:
    """A small constant of integers, booleans or floats; None for any other."""
    if array.size > _LARGEST or str(array.dtype) not in (*_INTEGERS, *_FLOATS, "bool"):
        return None
    values = np.empty(array.shape, object)
    values[...] = array.tolist() if array.shape else array.item()
    return Known(values, str(array.dtype))


def known_sizes(dims: Sequence[Any]) -> Known:
    """A list of dimensions."""
    values = np.empty(len(dims), object)
    for place, dim in enumerate(dims):
        number = _compat.as_int(dim)
        values[place] = dim if number is None else number
    return Known(values, "int64")


def known_scalar(value: Any) -> Known:
    """A scalar of the shape language."""
    value = _compat.prim(value)
    dtype = _compat.prim_dtype(value) if _compat.is_prim(value) else "int64"
    number = _number_of(value)
    values = np.empty((), object)
    values[()] = value if number is None else number
    return Known(values, dtype)


def as_tensor(builder: Any, known: Known) -> Any:
    """The tensor, emitted into the function under construction."""
    shape, dtype = known.values.shape, known.dtype
    if known.constant:
        return relax.const(np.array(known.values.tolist(), dtype).reshape(shape), dtype)
    elements = [_element(value, dtype) for value in known.values.flat]
    if dtype not in _INTEGERS:

        def compute(*numbers: Any) -> Any:
            def element(*at: Any) -> Any:
                place: Any = 0
                for index, size in zip(at, shape, strict=True):
                    place = place * size + index
                result = _cast(dtype, numbers[-1])
                for number, value in reversed(list(enumerate(numbers[:-1]))):
                    result = tirx.Select(tirx.EQ(place, number), _cast(dtype, value), result)
                return result

            return te.compute(shape, element, name="sizes")

        return builder.emit_te(compute, *elements, primfunc_name_hint="sizes")
    sizes = [tirx.IntImm("int64", e) if isinstance(e, int) else e for e in elements]
    tensor = builder.emit(relax.op.shape_to_tensor(relax.ShapeExpr(sizes)))
    if len(shape) != 1:
        tensor = builder.emit(relax.op.reshape(tensor, shape))
    return tensor if dtype == "int64" else builder.emit(relax.op.astype(tensor, dtype))


def _cast(dtype: str, value: Any) -> Any:
    return value if _compat.prim_dtype(value) == dtype else tirx.Cast(dtype, value)


def _element(value: Any, dtype: str) -> Any:
    if isinstance(value, Scaled):
        return _real(value, dtype)
    if dtype in _INTEGERS:
        return _int_element(value)
    return tirx.const(value, dtype) if _is_number(value) else value


def _int_element(value: Any) -> Any:
    if isinstance(value, Scaled) or (_is_number(value) and not isinstance(value, int)):
        raise NotKnown
    return value


# --- numbers and expressions -------------------------------------------------------------


_inputs: list[list[Any]] = []


@contextmanager
def sizes_of_inputs(sizes: Sequence[Any]) -> Iterator[None]:
    """Context in which these expressions, sizes of the model's inputs, are at least 1.

    Other sizes, such as the number of elements that a condition selects, may be 0.
    """
    _inputs.append([variable for size in sizes for variable in _compat.variables_of(size)])
    try:
        yield
    finally:
        _inputs.pop()


def least(variable: Any) -> int:
    """The smallest value of a variable."""
    inputs = _inputs[-1] if _inputs else []
    return int(any(_compat.same_object(variable, other) for other in inputs))


def _analyzer(value: Any) -> Any:
    return _compat.analyzer_of_sizes(value, least=least)


def limited(value: Any) -> bool:
    """Whether an expression has a limit or a choice, over which TVM's passes may not end."""
    return any(name in str(value) for name in ("min(", "max(", "Select(", "if_then_else("))


def simplified(value: Any) -> Any:
    """An expression of sizes in its simplest form."""
    if not _compat.is_prim(value):
        return value
    analyzer = _analyzer(value)
    value = analyzer.simplify(value)
    number = _number_of(value)
    if number is not None:
        return number
    return _linear(value) if limited(value) else value


def _linear(value: Any) -> Any:
    """An expression with limits as factor · size + number, if that is the same for all sizes.

    Small sizes are tried one by one, and the rest is left to TVM's analysis, which then finds every
    limit on one side.
    """
    variables = _compat.variables_of(value)
    if len(variables) != 1:
        return value
    size = variables[0]
    ends = [_compat.evaluated(value, size, at) for at in (1 << 20, 1 << 21)]
    if ends[0] is None or ends[1] is None:
        return value
    factor = (ends[1] - ends[0]) >> 20
    number = ends[0] - (factor << 20)
    if any(
        _compat.evaluated(value, size, at) != factor * at + number
        for at in range(least(size), _SMALL)
    ):
        return value
    candidate = size * factor + number
    beyond = _compat.analyzer_of_sizes(value, least=lambda _: _SMALL)
    if not beyond.can_prove(tirx.EQ(value, candidate)):
        return value
    return _analyzer(candidate).simplify(candidate) if factor else number


def proved(condition: Any) -> bool:
    """Whether a condition on sizes holds for all of them."""
    if isinstance(condition, bool):
        return condition
    return bool(_analyzer(condition).can_prove(condition))


def same_size(lhs: Any, rhs: Any) -> bool:
    """Whether two sizes are equal for all values of their symbols."""
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs == rhs
    if _is_number(lhs) and _is_number(rhs):
        return bool(lhs == rhs)
    return proved(tirx.EQ(_expression(lhs), _expression(rhs)))


def quotient(total: Sequence[Any], parts: Sequence[Any]) -> Any:
    """The product of `total` divided by that of `parts`, of which it is a multiple.

    Equal factors are cancelled, which the analysis of TVM does not always do.
    """
    number, symbols = _factors(total)
    divisor, divisors = _factors(parts)
    for symbol in divisors:
        at = next((i for i, other in enumerate(symbols) if same_size(symbol, other)), None)
        if at is None:
            upper = reduce(lambda a, b: a * b, symbols, number)
            lower = reduce(lambda a, b: a * b, divisors, divisor)
            return simplified(tirx.floordiv(_expression(upper), _expression(lower)))
        symbols.pop(at)
        divisors = divisors[1:]
    product = reduce(lambda a, b: a * b, symbols, number)
    if isinstance(product, int):
        return product // divisor if divisor else 0
    return simplified(tirx.floordiv(product, tirx.IntImm("int64", divisor)))


def _factors(values: Sequence[Any]) -> tuple[int, list[Any]]:
    number, symbols, waiting = 1, [], list(values)
    while waiting:
        value = waiting.pop()
        if _compat.as_int(value) is not None:
            number *= _compat.as_int(value) or 0
        elif isinstance(value, tirx.Mul):
            waiting += [value.a, value.b]
        else:
            symbols.append(value)
    return number, symbols


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _number_of(value: Any) -> Any:
    if isinstance(value, tirx.IntImm):
        return bool(value.value) if _compat.prim_dtype(value) == "bool" else int(value.value)
    return float(value.value) if isinstance(value, tirx.FloatImm) else None


def _expression(value: Any) -> Any:
    """An integer, boolean or real element as an expression."""
    if isinstance(value, Scaled):
        return _real(value, "float32")
    if isinstance(value, bool):
        return tirx.const(value, "bool")
    if isinstance(value, int):
        return tirx.IntImm("int64", value)
    return tirx.const(value, "float32") if isinstance(value, float) else value


def _real(value: Scaled, dtype: str) -> Any:
    real = tirx.Cast(dtype, value.size)
    if value.times != 1:
        real = real * tirx.const(float(value.times), dtype)
    return real / tirx.const(float(value.by), dtype) if value.by != 1 else real


def _arithmetic(
    numbers: Callable[[Any, Any], Any], expressions: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if _is_number(lhs) and _is_number(rhs):
            return numbers(lhs, rhs)
        if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
            return expressions(*(_as_float(value) for value in (lhs, rhs)))
        return simplified(expressions(_expression(lhs), _expression(rhs)))

    return apply


def _as_float(value: Any) -> Any:
    value = _expression(value)
    return value if "float" in _compat.prim_dtype(value) else tirx.Cast("float32", value)


def _multiply(lhs: Any, rhs: Any) -> Any:
    if isinstance(rhs, Scaled):
        lhs, rhs = rhs, lhs
    if isinstance(lhs, Scaled) and _is_number(rhs):
        if float(rhs).is_integer() and lhs.by == 1:
            return Scaled(lhs.size, lhs.times * int(rhs))
        inverse = 1 / rhs if rhs else math.inf
        if inverse.is_integer() and math.log2(inverse).is_integer():  # an exact reciprocal
            return _divide_exactly(lhs, int(inverse))
    return _arithmetic(lambda a, b: a * b, lambda a, b: a * b)(lhs, rhs)


def _divide_exactly(value: Scaled, divisor: int) -> Scaled:
    if value.times % divisor == 0:
        return Scaled(value.size, value.times // divisor, value.by)
    return Scaled(value.size, value.times, value.by * divisor)


def _divide(lhs: Any, rhs: Any) -> Any:
    """Integers truncate toward 0, as in ONNX."""
    whole = _is_number(rhs) and float(rhs).is_integer() and rhs > 0
    if isinstance(lhs, Scaled) and lhs.by == 1 and whole:
        return _divide_exactly(lhs, int(rhs))
    if isinstance(lhs, float) or isinstance(rhs, float | Scaled) or isinstance(lhs, Scaled):
        if _is_number(lhs) and _is_number(rhs):
            return lhs / rhs
        return _as_float(lhs) / _as_float(rhs)
    if isinstance(rhs, int) and rhs == 0:
        raise NotKnown
    if isinstance(lhs, int) and isinstance(rhs, int):
        return int(lhs / rhs) if abs(lhs) < 1 << 50 else lhs // rhs
    a, b = _expression(lhs), _expression(rhs)
    if proved(a >= 0) and proved(b > 0):
        return simplified(tirx.floordiv(a, b))
    return simplified(tirx.truncdiv(a, b))


def _modulo(lhs: Any, rhs: Any) -> Any:
    if isinstance(rhs, int) and rhs == 0:
        raise NotKnown
    return _arithmetic(lambda a, b: a % b, tirx.floormod)(lhs, rhs)


def _smaller(lhs: Any, rhs: Any) -> Any:
    if _is_number(lhs) and _is_number(rhs):
        return min(lhs, rhs)
    a, b = _expression(lhs), _expression(rhs)
    return lhs if proved(a <= b) else rhs if proved(b <= a) else tirx.min(a, b)


def _larger(lhs: Any, rhs: Any) -> Any:
    if _is_number(lhs) and _is_number(rhs):
        return max(lhs, rhs)
    a, b = _expression(lhs), _expression(rhs)
    return lhs if proved(a >= b) else rhs if proved(b >= a) else tirx.max(a, b)


def _comparison(
    numbers: Callable[[Any, Any], Any],
    expressions: Callable[[Any, Any], Any],
    opposite: Callable[[Any, Any], Any],
) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if _is_number(lhs) and _is_number(rhs):
            return bool(numbers(lhs, rhs))
        if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
            return expressions(_as_float(lhs), _as_float(rhs))
        a, b = _expression(lhs), _expression(rhs)
        if proved(expressions(a, b)):
            return True
        return False if proved(opposite(a, b)) else expressions(a, b)

    return apply


def _choose(condition: Any, lhs: Any, rhs: Any) -> Any:
    if isinstance(condition, bool | int):
        return lhs if condition else rhs
    if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
        return tirx.Select(condition, _as_float(lhs), _as_float(rhs))
    return tirx.Select(condition, _expression(lhs), _expression(rhs))


def _negate(value: Any) -> Any:
    return -value if _is_number(value) else _arithmetic(None, lambda a, b: a - b)(0, value)  # type: ignore[arg-type]


def _logical(numbers: Callable[[Any, Any], Any], expressions: Any) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if _is_number(lhs) and _is_number(rhs):
            return bool(numbers(lhs, rhs))
        return simplified(expressions(_expression(lhs), _expression(rhs)))

    return apply


def _not(value: Any) -> Any:
    return not value if _is_number(value) else simplified(tirx.Not(value))


def _rounded(
    numbers: Callable[[float], Any], of_quotient: Callable[[Any, int], Any], expressions: Any
) -> Callable[[Any], Any]:
    """A function of rounding: of numbers, of size · times / by, and of expressions of floats."""

    def apply(value: Any) -> Any:
        if _is_number(value):
            return float(numbers(value))
        if isinstance(value, Scaled):
            size = simplified(value.size * value.times)
            return Scaled(size if value.by == 1 else of_quotient(size, value.by))
        return expressions(value)

    return apply


_floor = _rounded(
    math.floor,
    lambda size, by: simplified(tirx.floordiv(size, by)),
    lambda value: tirx.floor(value),
)
_ceil = _rounded(
    math.ceil,
    lambda size, by: simplified(tirx.floordiv(size + (by - 1), by)),
    lambda value: tirx.ceil(value),
)


def _cast_element(value: Any, source: str, target: str) -> Any:
    if source == target:
        return value
    if _is_number(value):
        if target == "bool":
            return bool(value)
        if target in _FLOATS:
            return float(np.dtype(target).type(value))
        if math.isnan(value) or math.isinf(value):
            raise NotKnown
        return int(value)
    if target in _INTEGERS and source in _INTEGERS:
        return value
    if target in _FLOATS and source in _INTEGERS:
        return Scaled(value)
    if target in _FLOATS and source in _FLOATS:
        return value if isinstance(value, Scaled) else tirx.Cast(target, value)
    if target in _INTEGERS and isinstance(value, Scaled):
        size = simplified(value.size * value.times)
        if value.by == 1:
            return size
        return _divide(size, value.by)
    if target in _INTEGERS and source in (*_FLOATS, "bool"):
        return tirx.Cast("int64", value)
    if target == "bool" and source in _INTEGERS:
        return _comparison(lambda a, b: a != b, tirx.NE, tirx.EQ)(value, 0)
    raise NotKnown


# --- operators ---------------------------------------------------------------------------

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
            if dtype in _FLOATS and _is_number(value):
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
    if known is None or math.prod(sizes) > _LARGEST:
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


def _cast_to(inputs: Values, attributes: Attributes) -> Known:
    from onnx import helper

    x = _required(inputs[0])
    target = str(np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"])))
    return _cast_known(x, target)


def _cast_like(inputs: Values, attributes: Attributes) -> Known:
    return _cast_known(_required(inputs[0]), _required(inputs[1]).dtype)


def _cast_known(x: Known, target: str) -> Known:
    if target not in (*_INTEGERS, *_FLOATS, "bool"):
        raise NotKnown
    values = np.empty(x.values.shape, object)
    for place in np.ndindex(values.shape):
        values[place] = _cast_element(x.values[place], x.dtype, target)
    return Known(values, target)


_add = _arithmetic(lambda a, b: a + b, lambda a, b: a + b)
_times = _multiply

OPERATORS: dict[str, Callable[[Values, Attributes], Known]] = {
    "Add": _elementwise(_add),
    "Sub": _elementwise(_arithmetic(lambda a, b: a - b, lambda a, b: a - b)),
    "Mul": _elementwise(_times),
    "Div": _elementwise(_divide),
    "Mod": _elementwise(_modulo),
    "Neg": _elementwise(_negate),
    "Min": _folded(_smaller),
    "Max": _folded(_larger),
    "Sum": _folded(_add),
    "Floor": _elementwise(_floor),
    "Ceil": _elementwise(_ceil),
    "Equal": _elementwise(_comparison(lambda a, b: a == b, tirx.EQ, tirx.NE), "bool"),
    "Less": _elementwise(_comparison(lambda a, b: a < b, tirx.LT, tirx.GE), "bool"),
    "LessOrEqual": _elementwise(_comparison(lambda a, b: a <= b, tirx.LE, tirx.GT), "bool"),
    "Greater": _elementwise(_comparison(lambda a, b: a > b, tirx.GT, tirx.LE), "bool"),
    "GreaterOrEqual": _elementwise(_comparison(lambda a, b: a >= b, tirx.GE, tirx.LT), "bool"),
    "And": _elementwise(_logical(lambda a, b: a and b, tirx.And), "bool"),
    "Or": _elementwise(_logical(lambda a, b: a or b, tirx.Or), "bool"),
    "Not": _elementwise(_not, "bool"),
    "Where": _elementwise(_choose),
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
    "ReduceProd": _reduced(_times),
    "ReduceSum": _reduced(_add),
    "ReduceMax": _reduced(_larger),
    "ReduceMin": _reduced(_smaller),
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
    except NotKnown:
        return None
    return known if known.values.size <= _LARGEST else None
