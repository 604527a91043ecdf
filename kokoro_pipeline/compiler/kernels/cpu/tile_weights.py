"""The weights of products on tiles, as they are packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.bfloat16_parts import Parts, split_words
from ..common.builder import Buffer, Expr
from .lanes import Lanes
from .tile_unit import COLUMNS, ROWS, TERMS

PANEL = 2 * COLUMNS
CACHED_BYTES = 1 << 20  # weights that stay in the L2 cache: CPUs with AMX have 2 MB a core
LINE = 32  # words of a cache line


def up(value: int, multiple: int) -> int:
    """The least multiple that is not below a value."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True)
class TileWeights:
    """Weights [outputs, inputs, taps] and biases [outputs], in words of 16 bits.

    First the biases, float32 in two words each; then a panel of 32 outputs after the other. A panel
    has for every 32 inputs, for every tap and for every part two tiles [16 pairs of inputs, 16
    outputs, 2]. Channels that do not exist are 0.
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
    def bias_words(self) -> int:
        """Words of the biases, before the first panel."""
        return self.panels * PANEL * 2

    @property
    def panel_words(self) -> int:
        """Words of a panel as it is packed."""
        return self.tile_words

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
    """Pack weight [CO, CI, K] and bias [CO] as `TileWeights` has them, uint16."""
    weights = TileWeights(parts, *weight.shape)
    padded = np.zeros((weights.panels * PANEL, weights.steps * TERMS, weights.taps), np.float32)
    padded[: weights.outputs, : weights.inputs] = weight
    shape = weights.panels, 2, COLUMNS, weights.steps, ROWS, 2, weights.taps
    words = split_words(padded, parts.count).reshape(parts.count, *shape)
    # From part, panel, tile, output, step, pair, term, tap.
    panels = words.transpose(1, 4, 7, 0, 2, 5, 3, 6)
    biases = np.zeros(weights.panels * PANEL, np.float32)
    if bias is not None:
        biases[: weights.outputs] = bias
    return np.concatenate([biases.astype("<f4").view("<u2"), panels.reshape(-1)])
