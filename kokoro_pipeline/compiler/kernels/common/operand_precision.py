"""The precision of the operands of a matrix product: float32, or the dtypes of tensor cores.

Sums are always float32. tf32 keeps 10 bits of the mantissa, like float16, and the range of float32;
bfloat16 keeps 7 bits. Operands are rounded to nearest (ties away from zero for tf32, to even for
the others), like the conversions of the device.

bfloat16x3 stands for float32 on tensor cores: both operands are split into two bfloat16 parts, and
three products of parts are added (see `bfloat16_parts`). Its rms error is 4.5e-6 of the result's
deviation. Three products of two tf32 parts would have an rms error of 8e-8 before the rounding of
sums, less than float32's own. They would take twice as many instructions of the tensor cores, and
twice the shared memory or a split at every use. Bfloat16x3 holds the tolerances of float32.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from .bfloat16_parts import Pair, split_words


class Precision(Enum):
    """What the operands of a product are rounded to, or split into.

    FLOAT32 is neither: threads multiply it. The others are for tensor cores.
    """

    FLOAT32 = "float32"
    TF32 = "tf32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    BFLOAT16X3 = "bfloat16x3"

    @property
    def per_word(self) -> int:
        """The number of operands, or of parts of as many operands, in a 32-bit word."""
        return 1 if self in (Precision.FLOAT32, Precision.TF32) else 2

    @property
    def parts(self) -> int:
        """The number of parts of an operand, each in words of its own."""
        return 2 if self is Precision.BFLOAT16X3 else 1

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """(part of the input, part of the weight) of each product, the small terms first."""
        return ((1, 0), (0, 1), (0, 0)) if self.parts == 2 else ((0, 0),)

    @property
    def instruction(self) -> str:
        """The PTX instruction for a product of 16 rows, 8 columns and 8 words of operands."""
        shape = "m16n8k8" if self.per_word == 1 else "m16n8k16"
        operand = _PTX_NAMES[self]
        return f"mma.sync.aligned.{shape}.row.col.f32.{operand}.{operand}.f32"

    @property
    def conversion(self) -> str:
        """The PTX instruction that converts float32 to one word."""
        if self is Precision.TF32:
            return "cvt.rna.tf32.f32"
        return f"cvt.rn.{_PTX_NAMES[self]}x2.f32"

    def of_product(self, rows: int, in_channels: int) -> Precision:
        """The precision to use for a product of `rows` by `in_channels` if this one is requested.

        Small products stay float32: they would underuse the tensor cores and save nothing.
        """
        return self if rows >= 64 and in_channels >= 32 else Precision.FLOAT32


_PTX_NAMES = {
    Precision.TF32: "tf32",
    Precision.BFLOAT16: "bf16",
    Precision.FLOAT16: "f16",
    Precision.BFLOAT16X3: "bf16",
}


def to_parts(values: NDArray[np.float32], precision: Precision) -> NDArray[np.uint32]:
    """Convert float32 [n * per_word, ...] to the words of each part, uint32 [parts, n, ...].

    `precision` must not be FLOAT32.
    """
    if precision.parts == 1:
        return to_words(values, precision)[None]
    return np.stack([_paired(part) for part in split_words(values, precision.parts)])


def to_words(values: NDArray[np.float32], precision: Precision) -> NDArray[np.uint32]:
    """Round float32 [n * per_word, ...] to words uint32 [n, ...].

    For 16-bit precisions a word holds two neighbours along the first axis, the even one in the
    lower half. `precision` must have one part, and not be FLOAT32.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    finite = np.isfinite(values)
    if precision is Precision.TF32:
        rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
        return np.where(finite, rounded, bits)
    if precision is Precision.BFLOAT16:
        even = bits >> np.uint32(16) & np.uint32(1)
        rounded = (bits + np.uint32(0x7FFF) + even) >> np.uint32(16)
        halves = np.where(np.isnan(values), np.uint32(0x7FFF), rounded)
    else:
        with np.errstate(over="ignore"):
            halves = values.astype(np.float16).view(np.uint16).astype(np.uint32)
    return _paired(halves)


def _paired(halves: NDArray[np.unsignedinteger]) -> NDArray[np.uint32]:
    """Words of two neighbours along the first axis, the even one in the lower half."""
    wide = halves.astype(np.uint32)
    return np.asarray(wide[0::2] | wide[1::2] << np.uint32(16))
