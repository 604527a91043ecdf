"""A float32 as a sum of bfloat16 parts, whose products give float32's accuracy at bfloat16's speed.

With x = x0 + x1 (+ x2) and w likewise, each part the rounded rest of those before it,

    bfloat16     x0 w0                                       one product
    bfloat16x3   x0 w0 + x0 w1 + x1 w0                       three, error about 3e-6 of the result
    bfloat16x6   the six x_i w_j with i + j <= 2             six, float32's own error

with sums in float32. A part keeps 8 significant bits and is rounded to nearest, ties away from 0.

Each addition to a sum rounds at the size of what is in it. With six products, those of x0 w0, which
alone have the size of the result, are therefore added after all others, so that the sum is small
before.

A number that is not finite goes to the last part and its other parts are 0. Otherwise the rest of
an infinity would be inf - inf, and an infinity would be multiplied by both parts of a weight, which
may have opposite signs or be 0. The last part is only multiplied by the first part of a weight,
which has the weight's sign, so that the product is that of float32.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

LARGEST = 0x7F7F
"""The word of the largest finite bfloat16. Larger finite numbers keep it as their first part."""
NAN = 0x7FC0

Pair = tuple[int, int]


class Parts(Enum):
    """How many bfloat16 parts a number has, and which products of parts are summed."""

    ONE = "bfloat16"
    TWO = "bfloat16x3"
    THREE = "bfloat16x6"

    @property
    def count(self) -> int:
        """The number of parts of each operand."""
        return _COUNTS[self]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """(part of the input, part of the weight) of each product.

        Neighbours share an operand.
        """
        return tuple(pair for some in self.passes for pair in some)

    @property
    def passes(self) -> tuple[tuple[Pair, ...], ...]:
        """The pairs of each pass over all terms of a sum. Small terms come first."""
        return _PASSES[self]


_COUNTS = {Parts.ONE: 1, Parts.TWO: 2, Parts.THREE: 3}
_PASSES: dict[Parts, tuple[tuple[Pair, ...], ...]] = {
    Parts.ONE: (((0, 0),),),
    Parts.TWO: (((1, 0), (0, 0), (0, 1)),),
    Parts.THREE: (((2, 0), (1, 0), (1, 1), (0, 1), (0, 2)), ((0, 0),)),
}


def split_words(values: NDArray[np.float32], parts: int) -> NDArray[np.uint16]:
    """The parts of float32 [...] as the words of bfloat16 numbers, uint16 [parts, ...]."""
    rest = np.ascontiguousarray(values, np.float32)
    finite = np.isfinite(rest)
    words = []
    for _ in range(parts - 1):
        largest = to_float32(np.uint16(LARGEST))
        near = _round(np.where(finite, np.clip(rest, -largest, largest), np.float32(0)))
        words.append(near)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            rest = rest - to_float32(near)
    words.append(np.where(np.isnan(rest), np.uint16(NAN), _round(rest)))
    return np.stack(words)


def to_float32(words: NDArray[np.uint16] | np.uint16) -> NDArray[np.float32]:
    """The values of bfloat16 numbers, given as words."""
    return (np.asarray(words, np.uint32) << np.uint32(16)).view(np.float32)


def _round(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x8000) >> 16).astype(np.uint16)
