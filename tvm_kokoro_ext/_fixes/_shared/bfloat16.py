"""bfloat16 as the integers that its bits are.

TVM computes bfloat16 in float32, and converts both ways for each operator. Comparisons and choices
need no digits: twice as many of these integers fit into a vector, and nothing is converted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fixes._shared import steps

_INFINITY = 0x7F80  # the bits of infinity
_LEAST = -0x8000  # the bits of -0 as an integer, less than those of all numbers

#: The first and the last integer of each range.
_Ranges = list[tuple[int, int]]


def is_nan(x: Any) -> Any:
    """Whether a number is NaN."""
    size = tirx.bitwise_and(_word_of(x), tirx.max_value("int16"))
    return size > tirx.const(_INFINITY, "int16")


def less(a: Any, b: Any) -> Any:
    """Whether a number is less than another, which is false if one is NaN."""
    if isinstance(b, tirx.FloatImm):
        return _among(_word_of(a), _words_below(b.value))
    if isinstance(a, tirx.FloatImm):
        return _among(_word_of(b), _words_above(a.value))
    numbers = tirx.Not(tirx.any(is_nan(a), is_nan(b)))
    return tirx.all(numbers, _signed(_word_of(a)) < _signed(_word_of(b)))


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """a or b as they are, not rounded anew."""
    return tirx.reinterpret("bfloat16", tirx.Select(condition, _word_of(a), _word_of(b)))


def clipped(x: Any, lower: float, upper: float) -> Any:
    """A number in bfloat16 between two bounds, which are rounded to it; NaN is NaN."""
    names = steps.Steps()
    word = names.name(_word_of(x))
    for bound, ranges in ((lower, _words_below(lower)), (upper, _words_above(upper))):
        chosen_word = tirx.const(_bits_of(bound), "int16")
        word = names.name(tirx.Select(_among(word, ranges), chosen_word, word))
    return names.within(tirx.reinterpret("bfloat16", word))


def _word_of(x: Any) -> Any:
    """The bits of a bfloat16."""
    if isinstance(x, tirx.FloatImm):  # TVM does not take the bits of a constant
        return tirx.const(_bits_of(x.value), "int16")
    return tirx.reinterpret("int16", x)


def _bits_of(value: float) -> int:
    """The bit pattern, as int16, of the bfloat16 nearest to a value, which is not NaN."""
    with np.errstate(over="ignore"):
        wide = int(np.float32(value).view("uint32"))
    bits = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    return bits - (bits >> 15 << 16)


def _words_below(value: float) -> _Ranges:
    """The ranges of the bit patterns of all bfloat16 numbers below a value.

    Of two negative numbers the smaller one has the larger pattern.
    """
    if math.isnan(value):
        return []
    if value > 0:
        return [(0, _bits_of(value) - 1), (_LEAST, _LEAST + _INFINITY)]
    first = _bits_of(value) if value else _LEAST
    return [(first + 1, _LEAST + _INFINITY)]


def _words_above(value: float) -> _Ranges:
    """The ranges of the bit patterns of all bfloat16 numbers above a value."""
    if math.isnan(value):
        return []
    if value < 0:
        return [(0, _INFINITY), (_LEAST, _bits_of(value) - 1)]
    first = _bits_of(value) if value else 0
    return [(first + 1, _INFINITY)]


def _among(word: Any, ranges: _Ranges) -> Any:
    """Whether an integer is in one of the ranges.

    TVM makes a division of c <= x and of x < c with a constant c, and none of c < x and x <= c.
    """

    def within(first: int, last: int) -> Any:
        below = word <= tirx.const(last, "int16")
        return tirx.all(word > tirx.const(first - 1, "int16"), below) if first > _LEAST else below

    found = [within(first, last) for first, last in ranges if first <= last]
    return tirx.any(*found) if found else tirx.const(False, "bool")


def _signed(word: Any) -> Any:
    """An integer with the order of the number that has these bits; that of both zeros is 0."""
    sign = tirx.shift_right(word, tirx.const(15, "int16"))
    size = tirx.bitwise_and(word, tirx.max_value("int16"))
    return tirx.bitwise_xor(size, sign) - sign
