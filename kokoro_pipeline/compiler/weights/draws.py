"""Random numbers that are bit-identical on every machine: exact float32 from Philox integers.

Every tensor has its own stream, keyed by the seed and the name of the tensor, so that its numbers
do not depend on which other tensors are drawn, or in which order. An integer is converted to a
value by an exact conversion, one multiplication and one addition, each rounded once as required by
IEEE 754. There are no logarithms, exponentials, or sums whose order a library could choose.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Spread = Literal["even", "split"]
"""`even` draws from (-1, 1); `split` from (-1, -1/2] and [1/2, 1), which excludes values near 0."""


@dataclass(frozen=True)
class Draw:
    """How a tensor is drawn: `offset + scale * u`, where `u` is distributed according to `spread`.

    `offset` has one value for the whole tensor, or several, each for an equal share of the rows
    (the first axis), in order.

    Raises ValueError for an unknown spread or offsets that do not divide the rows.
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
    """`count` float32 values uniform in (-1, 1): odd multiples of 2**-24, exact and never 0."""
    raw = np.random.Philox(key=stream_key(seed, name)).random_raw((count + 1) // 2)
    words = np.empty(2 * len(raw), np.uint32)
    words[0::2] = raw & np.uint64(0xFFFFFFFF)
    words[1::2] = raw >> np.uint64(32)
    odd = (words[:count] >> np.uint32(8)).astype(np.int32) * 2 + (1 - 2**24)
    return odd.astype(np.float32) * np.float32(2.0**-24)


def draw_tensor(seed: int, name: str, draw: Draw) -> np.ndarray:
    """Draw the tensor `name` under `seed`: float32 of the shape of the draw."""
    values = symmetric_units(seed, name, math.prod(draw.shape))
    if draw.spread == "split":
        values = np.float32(0.5) * values + np.copysign(np.float32(0.5), values)
    values *= np.float32(draw.scale)
    values = values.reshape(draw.shape)
    rows = np.repeat(np.asarray(draw.offset, np.float32), draw.shape[0] // len(draw.offset))
    values += rows.reshape(-1, *[1] * (len(draw.shape) - 1))
    return values
