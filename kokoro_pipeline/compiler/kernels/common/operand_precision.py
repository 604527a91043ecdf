"""How exactly a matrix product reads its operands: float32, or what tensor cores multiply.

Sums are float32 always. tf32 keeps 10 bits of mantissa, as float16 does, and float32's range;
bfloat16 keeps 7. Operands are rounded to nearest (tf32: ties away from zero, the others: to even),
which is what the device's conversions do.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Precision(Enum):
    """What an operand of a product is rounded to."""

    FLOAT32 = "float32"
    TF32 = "tf32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"

    @property
    def per_word(self) -> int:
        """Operands in 32 bits."""
        return 2 if self in (Precision.BFLOAT16, Precision.FLOAT16) else 1

    @property
    def instruction(self) -> str:
        """The PTX product of 16 rows, 8 columns and 8 words of operands."""
        shape = "m16n8k8" if self.per_word == 1 else "m16n8k16"
        operand = _PTX_NAMES[self]
        return f"mma.sync.aligned.{shape}.row.col.f32.{operand}.{operand}.f32"

    @property
    def conversion(self) -> str:
        """The PTX conversion of float32 to one word."""
        if self is Precision.TF32:
            return "cvt.rna.tf32.f32"
        return f"cvt.rn.{_PTX_NAMES[self]}x2.f32"

    def of_product(self, rows: int, in_channels: int) -> Precision:
        """What a product of `rows` by `in_channels` is computed at where this is asked for.

        Smaller ones would leave tensor cores half empty, and save nothing.
        """
        return self if rows >= 64 and in_channels >= 32 else Precision.FLOAT32


_PTX_NAMES = {Precision.TF32: "tf32", Precision.BFLOAT16: "bf16", Precision.FLOAT16: "f16"}


def to_words(values: NDArray[np.float32], precision: Precision) -> NDArray[np.uint32]:
    """float32 [n * per_word, ...] -> uint32 [n, ...]: neighbours of the first axis in one word.

    The even one is the lower half. `precision` is not float32, which needs no words.
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
    return np.asarray(halves[0::2] | halves[1::2] << np.uint32(16))
