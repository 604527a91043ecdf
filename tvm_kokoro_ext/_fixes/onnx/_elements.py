"""Numbers and symbolic expressions, and the arithmetic that an ONNX graph does with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx

_SMALL = 16
"""Sizes below which a limit such as max(size - 1, 0) is tried out."""

INTEGERS = ("int64", "int32")
FLOATS = ("float32", "float64")


class NotKnown(Exception):
    """The value of an operator cannot be evaluated at import."""


@dataclass(frozen=True)
class Scaled:
    """The real number size · times / by of a symbolic size, which is rounded at most once.

    The graph may compute it in floats, as a product with `factor`, which is near 1 / by. `down` and
    `up` say whether that is so near that it gives the same rounded down, and up.
    """

    size: Any
    times: int = 1
    by: int = 1
    down: bool = True
    up: bool = True
    factor: float | None = None

    @property
    def exact(self) -> bool:
        """Whether the graph's number is the same, rounded either way."""
        return self.down and self.up


def cast(dtype: str, value: Any) -> Any:
    return value if _compat.prim_dtype(value) == dtype else tirx.Cast(dtype, value)


def element(value: Any, dtype: str) -> Any:
    if isinstance(value, Scaled):
        return _real(value, dtype)
    if dtype in INTEGERS:
        return int_element(value)
    return tirx.const(value, dtype) if is_number(value) else value


def int_element(value: Any) -> Any:
    if isinstance(value, Scaled) or (is_number(value) and not isinstance(value, int)):
        raise NotKnown
    return value


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
    number = number_of(value)
    if number is not None:
        return number
    choice = _compat.prim_dtype(value) == "bool"
    return _linear(value) if limited(value) and not choice else value


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
    if is_number(lhs) and is_number(rhs):
        return bool(lhs == rhs)
    return proved(tirx.EQ(_expression(lhs), _expression(rhs)))


def floored(value: Any) -> Any:
    """An expression with its quotients rounded down, which ONNX rounds toward 0.

    The sizes of a convolution are rounded down. The two differ below 0, where there is no size.
    """
    if not _compat.is_prim(value):
        return value
    if isinstance(value, tirx.Div):
        return tirx.floordiv(floored(value.a), floored(value.b))
    if isinstance(value, tirx.Add | tirx.Sub | tirx.Mul):
        return type(value)(floored(value.a), floored(value.b))
    return value


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


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def number_of(value: Any) -> Any:
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
    if value.factor is not None:
        return real * tirx.const(value.factor, dtype)
    return real / tirx.const(float(value.by), dtype) if value.by != 1 else real


def arithmetic(
    numbers: Callable[[Any, Any], Any], expressions: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if is_number(lhs) and is_number(rhs):
            return numbers(lhs, rhs)
        if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
            return expressions(*(_as_float(value) for value in (lhs, rhs)))
        return simplified(expressions(_expression(lhs), _expression(rhs)))

    return apply


def _as_float(value: Any) -> Any:
    value = _expression(value)
    return value if "float" in _compat.prim_dtype(value) else tirx.Cast("float32", value)


def multiply(lhs: Any, rhs: Any) -> Any:
    if isinstance(rhs, Scaled):
        lhs, rhs = rhs, lhs
    if isinstance(lhs, Scaled) and is_number(rhs):
        if float(rhs).is_integer() and lhs.by == 1 and lhs.exact:
            return Scaled(lhs.size, lhs.times * int(rhs))
        divided = _times_reciprocal(lhs, float(rhs)) if lhs.by == 1 and lhs.exact else None
        if divided is not None:
            return divided
    return arithmetic(lambda a, b: a * b, lambda a, b: a * b)(lhs, rhs)


def _times_reciprocal(value: Scaled, factor: float) -> Scaled | None:
    """A size times float32's nearest number to 1 / divisor; None for another factor.

    Exporters write `scale_factor=1 / 20` as such a product. Where it is rounded, a multiple of the
    divisor may end beside the whole number: 41 times float32's 1 / 41 is below 1.
    """
    divisor = round(1 / factor) if 1e-6 < factor < 1 else 0
    if divisor < 2 or not math.isclose(factor, 1 / divisor, rel_tol=1e-6):
        return None
    if factor * divisor == 1 and math.log2(divisor).is_integer():
        return _divide_exactly(value, divisor)
    down, up = _whole_multiples(factor, divisor)
    return Scaled(value.size, value.times, divisor, down, up, factor)


@cache
def _whole_multiples(factor: float, divisor: int) -> tuple[bool, bool]:
    """Whether each multiple times `factor`, in float32, is its quotient, rounded down and up.

    Tried out for all that float32 holds exactly.
    """
    products = np.arange(0, 1 << 24, divisor, dtype=np.float32) * np.float32(factor)
    wanted = np.arange(len(products))
    return bool((np.floor(products) == wanted).all()), bool((np.ceil(products) == wanted).all())


def power(lhs: Any, rhs: Any) -> Any:
    """An integer or a size to the power of a small whole number."""
    if not is_number(rhs) or float(rhs) not in (0, 1, 2, 3):
        raise NotKnown
    return reduce(multiply, [lhs] * int(rhs), 1)


def _divide_exactly(value: Scaled, divisor: int) -> Scaled:
    if value.times % divisor == 0:
        return Scaled(value.size, value.times // divisor, value.by)
    return Scaled(value.size, value.times, value.by * divisor)


def divide(lhs: Any, rhs: Any) -> Any:
    """Integers truncate toward 0, as in ONNX."""
    whole = is_number(rhs) and float(rhs).is_integer() and rhs > 0
    if isinstance(lhs, Scaled) and lhs.by == 1 and lhs.exact and whole:
        return _divide_exactly(lhs, int(rhs))
    if isinstance(lhs, float) or isinstance(rhs, float | Scaled) or isinstance(lhs, Scaled):
        if is_number(lhs) and is_number(rhs):
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


def modulo(lhs: Any, rhs: Any) -> Any:
    if isinstance(rhs, int) and rhs == 0:
        raise NotKnown
    return arithmetic(lambda a, b: a % b, tirx.floormod)(lhs, rhs)


def smaller(lhs: Any, rhs: Any) -> Any:
    if is_number(lhs) and is_number(rhs):
        return min(lhs, rhs)
    a, b = _expression(lhs), _expression(rhs)
    return lhs if proved(a <= b) else rhs if proved(b <= a) else tirx.min(a, b)


def larger(lhs: Any, rhs: Any) -> Any:
    if is_number(lhs) and is_number(rhs):
        return max(lhs, rhs)
    a, b = _expression(lhs), _expression(rhs)
    return lhs if proved(a >= b) else rhs if proved(b >= a) else tirx.max(a, b)


def comparison(
    numbers: Callable[[Any, Any], Any],
    expressions: Callable[[Any, Any], Any],
    opposite: Callable[[Any, Any], Any],
) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if is_number(lhs) and is_number(rhs):
            return bool(numbers(lhs, rhs))
        if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
            return expressions(_as_float(lhs), _as_float(rhs))
        a, b = _expression(lhs), _expression(rhs)
        if proved(expressions(a, b)):
            return True
        return False if proved(opposite(a, b)) else expressions(a, b)

    return apply


def choose(condition: Any, lhs: Any, rhs: Any) -> Any:
    if isinstance(condition, bool | int):
        return lhs if condition else rhs
    if isinstance(lhs, Scaled | float) or isinstance(rhs, Scaled | float):
        return tirx.Select(condition, _as_float(lhs), _as_float(rhs))
    return tirx.Select(condition, _expression(lhs), _expression(rhs))


def negate(value: Any) -> Any:
    return -value if is_number(value) else arithmetic(None, lambda a, b: a - b)(0, value)  # type: ignore[arg-type]


def logical(numbers: Callable[[Any, Any], Any], expressions: Any) -> Callable[[Any, Any], Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if is_number(lhs) and is_number(rhs):
            return bool(numbers(lhs, rhs))
        return simplified(expressions(_expression(lhs), _expression(rhs)))

    return apply


def logical_not(value: Any) -> Any:
    return not value if is_number(value) else simplified(tirx.Not(value))


def rounded(
    numbers: Callable[[float], Any],
    of_quotient: Callable[[Any, int], Any],
    expressions: Any,
    certain: Callable[[Scaled], bool],
) -> Callable[[Any], Any]:
    """A function of rounding: of numbers, of size · times / by, and of expressions of floats."""

    def apply(value: Any) -> Any:
        if is_number(value):
            return float(numbers(value))
        if isinstance(value, Scaled):
            if not certain(value):
                raise NotKnown
            size = simplified(value.size * value.times)
            return Scaled(size if value.by == 1 else of_quotient(size, value.by))
        return expressions(value)

    return apply


floor = rounded(
    math.floor,
    lambda size, by: simplified(tirx.floordiv(size, by)),
    lambda value: tirx.floor(value),
    lambda value: value.down,
)
ceil = rounded(
    math.ceil,
    lambda size, by: simplified(tirx.floordiv(size + (by - 1), by)),
    lambda value: tirx.ceil(value),
    lambda value: value.up,
)


def cast_element(value: Any, source: str, target: str) -> Any:
    if source == target:
        return value
    if is_number(value):
        if target == "bool":
            return bool(value)
        if target in FLOATS:
            return float(np.dtype(target).type(value))
        if math.isnan(value) or math.isinf(value):
            raise NotKnown
        return int(value)
    if target in INTEGERS and source in INTEGERS:
        return value
    if target in FLOATS and source in INTEGERS:
        return Scaled(value)
    if target in FLOATS and source in FLOATS:
        return value if isinstance(value, Scaled) else tirx.Cast(target, value)
    if target in INTEGERS and isinstance(value, Scaled):
        if not value.down:
            raise NotKnown
        size = simplified(value.size * value.times)
        if value.by == 1:
            return size
        return divide(size, value.by)
    if target in INTEGERS and source in (*FLOATS, "bool"):
        return tirx.Cast("int64", value)
    if target == "bool" and source in INTEGERS:
        return comparison(lambda a, b: a != b, tirx.NE, tirx.EQ)(value, 0)
    raise NotKnown


add = arithmetic(lambda a, b: a + b, lambda a, b: a + b)
times = multiply
