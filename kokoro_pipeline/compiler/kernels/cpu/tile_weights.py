"""The weights of products on tiles: how they are packed, and how a kernel splits them.

Panels have 32 outputs. Weights that stay in the L2 cache, and those of one or two parts, are packed
as the tiles that are multiplied. Others of three parts come from memory for every panel: they are
packed as float32, 4 bytes instead of 6, and the kernel splits them, those of a product between the
products before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.bfloat16_parts import LARGEST, Parts, split_words, to_float32
from ..common.builder import Buffer, Expr, T, bind, div, i64, minimum
from .lanes import Lanes
from .tile_unit import COLUMNS, ROWS, TERMS
from .vector import VectorTarget

PANEL = 2 * COLUMNS
CACHED_BYTES = 1 << 20  # weights that stay in the L2 cache: CPUs with AMX have 2 MB a core
LINE = 32  # words of a cache line
ROWS_OF_PRODUCT = 2 * ROWS  # rows of the tiles of one part


@dataclass(frozen=True)
class TileWeights:
    """Weights [outputs, inputs, taps] and biases [outputs], in words of 16 bits.

    First the biases, float32 in two words each; then a panel of 32 outputs after the other. A panel
    has for every 32 inputs, for every tap and for every part two tiles [16 pairs of inputs, 16
    outputs, 2]. Where the kernel splits, it has for every 32 inputs and every tap float32 [2, 16
    pairs of inputs, 2, 16 outputs]. Channels that do not exist are 0.
    """

    parts: Parts
    outputs: int
    inputs: int
    taps: int

    @property
    def steps(self) -> int:
        """Groups of 32 inputs, the terms of a product of tiles."""
        return -(-self.inputs // TERMS)

    @property
    def panels(self) -> int:
        """Groups of 32 outputs."""
        return -(-self.outputs // PANEL)

    @property
    def products(self) -> int:
        """Products of tiles in the sum of each pair of parts."""
        return self.steps * self.taps

    @property
    def product_words(self) -> int:
        """Words of the two tiles of each part, which are multiplied together."""
        return self.parts.count * PANEL * TERMS

    @property
    def tile_words(self) -> int:
        """Words of a panel's tiles."""
        return self.products * self.product_words

    @property
    def in_cache(self) -> bool:
        """Whether all tiles stay in the L2 cache."""
        return 2 * (self.bias_words + self.panels * self.tile_words) <= CACHED_BYTES

    @property
    def split_by_kernel(self) -> bool:
        """Whether weights are packed as float32, which the kernel splits."""
        return self.parts is Parts.THREE and not self.in_cache

    @property
    def bias_words(self) -> int:
        """Words of the biases, before the first panel."""
        return self.panels * PANEL * 2

    @property
    def panel_words(self) -> int:
        """Words of a panel as it is packed."""
        return self.products * 2 * PANEL * TERMS if self.split_by_kernel else self.tile_words

    @property
    def words(self) -> int:
        """Words in all."""
        return self.bias_words + self.panels * self.panel_words

    def bias(self, lanes: Lanes, w: Buffer, output: Expr) -> Expr:
        """The bias of some outputs."""
        width = lanes.width
        words = w.vload([output * 2], f"uint16x{2 * width}")
        return tirx.reinterpret("float32" if width == 1 else f"float32x{width}", words)


def pack_tiles(parts: Parts, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """Pack weight [CO, CI, K] and bias [CO] as `TileWeights` has them, uint16.

    Raises InputError for weights that are not finite where the kernel splits them.
    """
    weights = TileWeights(parts, *weight.shape)
    padded = np.zeros((weights.panels * PANEL, weights.steps * TERMS, weights.taps), np.float32)
    padded[: weights.outputs, : weights.inputs] = weight
    shape = weights.panels, 2, COLUMNS, weights.steps, ROWS, 2, weights.taps
    if weights.split_by_kernel:
        if not (np.abs(padded) <= to_float32(np.uint16(LARGEST))).all():
            raise InputError(
                f"weights {list(weight.shape)} are not finite, or above 3.38e38: check the file "
                "that they come from"
            )
        # From panel, tile, output, step, pair, term, tap.
        floats = padded.reshape(shape).transpose(0, 3, 6, 1, 4, 5, 2)
        panels = np.ascontiguousarray(floats, "<f4").view("<u2")
    else:
        words = split_words(padded, parts.count).reshape(parts.count, *shape)
        # From part, panel, tile, output, step, pair, term, tap.
        panels = words.transpose(1, 4, 7, 0, 2, 5, 3, 6)
    biases = np.zeros(weights.panels * PANEL, np.float32)
    if bias is not None:
        biases[: weights.outputs] = bias
    return np.concatenate([biases.astype("<f4").view("<u2"), panels.reshape(-1)])


def rounded_parts(
    values: Sequence[Expr], count: int, hold: Callable[[Expr], Expr]
) -> Iterator[list[Expr]]:
    """The parts of float32 vectors: lists of bits, uint32, whose upper halves are the words.

    The parts are those of `split_words` for numbers up to the largest bfloat16.
    """
    lanes = int(values[0].ty.dtype.lanes)

    def splat(number: int) -> Expr:
        return tirx.Broadcast(tirx.const(number, "uint32"), lanes)

    rest = list(values)
    for part in range(count):
        near = [bind(tirx.reinterpret(f"uint32x{lanes}", value) + splat(0x8000)) for value in rest]
        yield near
        if part < count - 1:
            kept = [tirx.bitwise_and(bits, splat(0xFFFF0000)) for bits in near]
            rest = [
                hold(value - tirx.reinterpret(f"float32x{lanes}", taken))
                for value, taken in zip(rest, kept, strict=True)
            ]


class NextPanel:
    """The panel after the one that is multiplied, fetched into the L2 cache bit by bit."""

    def __init__(
        self, weights: TileWeights, target: VectorTarget, w: Buffer, end: Expr, turns: Expr
    ) -> None:
        """Panels of packed weights w up to `end`, each of which is multiplied in `turns` turns."""
        self._weights, self._target, self._w, self._end = weights, target, w, end
        lines = weights.panel_words // LINE
        self._share = bind(div(turns + (lines - 1), turns))

    def fetch(self, panel: Expr, turn: Expr) -> None:
        """Fetch the share of the panel after `panel` that is due at a turn of its products."""
        weights = self._weights
        following = minimum(panel + 1, self._end - 1)
        start = following * weights.panel_words + weights.bias_words
        first = bind(start + turn * self._share * LINE)
        with T.serial(i64(0), self._share) as line:
            self._target.prefetch(self._w, first + line * LINE, near=False)


class SplitWeights:
    """The tiles of a panel in scratch, where the first rows' products split them step by step.

    A row of a packed panel is two vectors, an even and an odd input of 16 outputs, and becomes a
    row of one tile for each part. The parts are those of `split_words`.
    """

    def __init__(self, weights: TileWeights, w: Buffer) -> None:
        self._weights, self._w = weights, w
        self.tiles = T.alloc_buffer((weights.tile_words,), "uint16")

    def split(self, panel: Expr, product: Expr, share: int = 0, shares: int = 1) -> None:
        """Split one of some shares of the weights of product number `product`, if there is one."""
        weights = self._weights
        source = bind(panel * weights.panel_words + weights.bias_words)
        each = -(-ROWS_OF_PRODUCT // shares)
        low, high = share * each, min(share * each + each, ROWS_OF_PRODUCT)
        with T.If(product < weights.products), T.Then(), T.serial(i64(low), i64(high)) as row:
            at = bind(source + product * (2 * PANEL * TERMS) + row * (2 * TERMS))
            first = bind(product * weights.product_words + row * TERMS)
            inputs = [self._vector(at + half * TERMS) for half in range(2)]
            for part, (even, odd) in enumerate(rounded_parts(inputs, weights.parts.count, bind)):
                lower = tirx.shift_right(even, _words(16))
                pair = tirx.bitwise_or(lower, tirx.bitwise_and(odd, _words(0xFFFF0000)))
                index = tirx.Ramp(first + part * (PANEL * TERMS), i64(1), TERMS)
                T.buffer_store(self.tiles, tirx.reinterpret(f"uint16x{TERMS}", pair), [index])

    def _vector(self, at: Expr) -> Expr:
        words = self._w.vload([at], f"uint16x{TERMS}")
        return bind(tirx.reinterpret(f"float32x{COLUMNS}", words))


def _words(value: int) -> Expr:
    return tirx.Broadcast(tirx.const(value, "uint32"), COLUMNS)
