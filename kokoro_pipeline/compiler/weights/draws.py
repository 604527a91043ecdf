"""Numbers that are the same bits on every machine: Philox integers made float32 exactly.

Every tensor has a stream of its own, keyed by the seed and the tensor's name, so that one tensor's
numbers do not depend on which others are drawn or in which order. From an integer to the value
there is only: a conversion that loses nothing, one multiplication and one addition, each rounded
once as IEEE 754 demands. No logarithm, no exponential, no sum whose order a library could choose.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Spread = Literal["even", "split"]
"""`even` draws from (-1, 1); `split` from (-1, -1/2] and [1/2, 1), which never comes near 0."""


@dataclass(frozen=True)
class Draw:
    """How one tensor is drawn: `offset + scale * u`, with `u` spread as said.

    `offset` has one value for the whole tensor, or several that share the rows (the first axis) out
    evenly, in order.
    """

    shape: tuple[int, ...]
    offset: tuple[float, ...]
    scale: float
    spread: Spread

    def __post_init__(self) -> None:
        if self.spread not in ("even", "split"):
            raise ValueError(f"unknown spread {self.spread!r}")
        if len(self.offset) > 1 and self.shape[0] % len(self.offset):
            raise ValueError(f"{len(self.offset)} offsets do not divide {self.shape[0]} rows")


def stream_key(seed: int, name: str) -> int:
    """The 128-bit Philox key of the stream `name` under `seed`."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:16], "little")


def symmetric_units(seed: int, name: str, count: int) -> np.ndarray:
    """`count` float32 values, even in (-1, 1): odd multiples of 2**-24, never 0, each exact."""
    raw = np.random.Philox(key=stream_key(seed, name)).random_raw((count + 1) // 2)
    words = np.empty(2 * len(raw), np.uint32)
    words[0::2] = raw & np.uint64(0xFFFFFFFF)
    words[1::2] = raw >> np.uint64(32)
    odd = (words[:count] >> np.uint32(8)).astype(np.int32) * 2 + (1 - 2**24)
    return odd.astype(np.float32) * np.float32(2.0**-24)


def draw_tensor(seed: int, name: str, draw: Draw) -> np.ndarray:
    """The tensor `name` under `seed`: float32 of the draw's shape."""
    values = symmetric_units(seed, name, math.prod(draw.shape))
    if draw.spread == "split":
        values = np.float32(0.5) * values + np.copysign(np.float32(0.5), values)
    values *= np.float32(draw.scale)
    values = values.reshape(draw.shape)
    rows = np.repeat(np.asarray(draw.offset, np.float32), draw.shape[0] // len(draw.offset))
    values += rows.reshape(-1, *[1] * (len(draw.shape) - 1))
    return values
