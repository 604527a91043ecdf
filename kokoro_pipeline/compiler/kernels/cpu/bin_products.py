"""The products of a transformed convolution: for each bin, numbers [tiles, CI] times a matrix.

A bin is either real, with one product with a matrix [CI, CO], or complex. A complex bin multiplies
numbers a + ib with a matrix c + id in three real products that share their loads,

    p = (a + b) c,  q = a (d - c),  r = b (c + d)      ->      real p - r,  imaginary p + q.

Stored are the numbers (a + b) / 2, a, b and the matrices 2c and d - c. The third matrix is their
sum, which is computed in registers.

With 32 registers, register tiles hold the sums of all three products and share what they load. With
16 there is not enough room for that, and the products are computed in turn, each by register tiles
like those of a real bin.

Numbers and products are rows of a scratch buffer, in slots of their tile. The products of a bin
overwrite the slots of numbers that earlier bins no longer need: the numbers are stored `ahead`
slots further on.

The weights that one register tile after the other multiplies, those of a panel of outputs and a
chunk of terms, stay in the L1 cache. The next ones come from L3 or memory for every block of tiles;
they are prefetched in the meantime (`WeightsAhead`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from kokoro_pipeline.errors import InputError

from ..common.builder import Buffer, Expr, T, bind, div, i64
from .sums import Sums, WeightsAhead
from .vector import LINE, Tile, VectorTarget

CHUNK = 128  # terms of a sum in a register, whose weights are a part of the L1 cache
TURN_CHUNK = 64  # the same where each product takes a turn: both matrices are read in between
PAIR = 2  # the minimum number of transform tiles in a register tile
LEAST_HEIGHT = 3


class Kind(Enum):
    """Whether a bin is real or complex."""

    REAL = "real"
    COMPLEX = "complex"

    @property
    def numbers(self) -> int:
        """Input slots: for a complex bin these hold (a + b) / 2, a and b."""
        return 3 if self is Kind.COMPLEX else 1

    @property
    def parts(self) -> int:
        """Matrices (2c, d - c) and output slots (real, imaginary part), two for a complex bin."""
        return 2 if self is Kind.COMPLEX else 1


@dataclass(frozen=True)
class Bins:
    """Consecutive bins of one kind."""

    kind: Kind
    count: int

    @property
    def numbers(self) -> int:
        return self.count * self.kind.numbers

    @property
    def parts(self) -> int:
        return self.count * self.kind.parts


def _chunk(lanes: int, in_channels: int, chunk: int = CHUNK) -> int:
    """Terms that are summed before they are added to the total: at most `chunk`."""
    most = max(min(in_channels, chunk), lanes)
    return max(n for n in range(lanes, most + 1, lanes) if in_channels % n == 0)


def padded_channels(lanes: int, channels: int) -> int:
    """The smallest number of input channels >= `channels` that divides into suitable chunks.

    Chunks are whole vectors, and long enough that adding them to the total is cheap in comparison.
    """
    padded = -(-channels // lanes) * lanes
    while _chunk(lanes, padded) < min(padded, CHUNK // 2):
        padded += lanes
    return padded


def padded_outputs(target: VectorTarget, out_channels: int) -> int:
    """The smallest number of output channels >= `out_channels` that divides into panels."""
    width = _panel_width(target, out_channels)
    return -(-out_channels // width) * width


def _panel_width(target: VectorTarget, out_channels: int) -> int:
    return target.tile(out_channels).vectors * target.lanes


@dataclass(frozen=True)
class BinProducts:
    """The products of all `bins` for CI input and CO output channels.

    Raises InputError if the output channels do not divide into panels.
    """

    target: VectorTarget
    in_channels: int
    out_channels: int
    bins: Sequence[Bins]

    def __post_init__(self) -> None:
        width = _panel_width(self.target, self.out_channels)
        if self.out_channels % width:
            raise InputError(
                f"{self.out_channels} output channels do not divide into panels of {width}"
            )

    @property
    def ahead(self) -> int:
        """Slots between the products and the numbers of a bin, so that no number is lost early."""
        return max(bins.kind.parts for bins in self.bins)

    @property
    def slots(self) -> int:
        return self.ahead + sum(bins.numbers for bins in self.bins)

    @property
    def floats(self) -> int:
        """Size of all matrices, in floats."""
        parts = sum(bins.parts for bins in self.bins)
        return parts * self.in_channels * self.out_channels

    @property
    def heights(self) -> tuple[int, ...]:
        """Heights of the register tiles of the most frequent kind, in tiles of the transform."""
        return self._heights(max(self.bins, key=lambda bins: bins.numbers).kind)

    def _heights(self, kind: Kind) -> tuple[int, ...]:
        """The highest register tile, and lower ones down to a pair for the remaining tiles.

        Each is half of the one before, so that a few register tiles serve any remainder. Where the
        products of a bin are computed in turn, a block has at most as many tiles as the highest
        register tile. With a dilation of 5 a block is a multiple of 5 tiles, often one less than
        that, so that a register tile of one less is added.
        """
        heights = [self.tile(kind).rows]
        while heights[-1] > PAIR:
            heights.append(max(PAIR, heights[-1] // 2))
        if len(self.passes(kind)) > 1:
            heights.insert(1, heights[0] - 1)
        return tuple(heights)

    def tile(self, kind: Kind) -> Tile:
        """The register tile of a kind of bin.

        If the three products of a complex bin share it, there are three sums, and registers also
        hold three factors and a number. Two vectors of outputs share the loads of the numbers,
        which would otherwise take longer than the products.
        """
        if len(self.passes(kind)[0]) == 1:
            return self.target.tile(self.out_channels)
        vectors = 2 if self.out_channels // self.target.lanes % 2 == 0 else 1
        rows = (self.target.registers - 2 - 3 * vectors) // (3 * vectors)
        return Tile(rows=min(8, rows), vectors=vectors)

    def passes(self, kind: Kind) -> tuple[tuple[int, ...], ...]:
        """The products of a bin, those that share a register tile together: p, q, r are 0, 1, 2."""
        if kind is Kind.REAL:
            return ((0,),)
        return ((0, 1, 2),) if self.target.registers >= 32 else ((0,), (1,), (2,))

    def prefetched(self, tiles: int) -> float:
        """The part of the matrices that a block of tiles prefetches; above 1, more than all."""
        kind = max(self.bins, key=lambda bins: bins.numbers).kind
        tile = self.tile(kind)
        register_tiles = len(self.passes(kind)) * tiles / tile.rows
        return register_tiles * LINE / (kind.parts * tile.vectors * self.target.lanes)

    def pack(self, matrices: np.ndarray) -> np.ndarray:
        """Pack matrices [CO, parts, CI], 2c before d - c for a complex bin, into float32 [floats].

        The order is bin, panel of as many output channels as a register tile has, input channel,
        part.
        """
        packed = []
        first = 0
        for bins in self.bins:
            width = self.tile(bins.kind).vectors * self.target.lanes
            part = matrices[:, first : first + bins.parts].astype(np.float32)
            panels = part.reshape(-1, width, bins.count, bins.kind.parts, self.in_channels)
            packed.append(panels.transpose(2, 0, 4, 3, 1).ravel())
            first += bins.parts
        return np.concatenate(packed)

    def emit(
        self,
        scratch: Buffer,
        of_tile: int,
        slot: int,
        weights: Buffer,
        base: int,
        tiles: Expr,
        chunk: int = CHUNK,
    ) -> None:
        """scratch[tile, product slot] = numbers * matrices for all tiles.

        The matrices start at weights[base]. A slot is `slot` floats long, and the slots of
        neighbouring tiles are `of_tile` floats apart. The rows after the last tile, up to a full
        pair, may be read and written. A register adds up at most `chunk` terms.
        """
        numbers, products = self.ahead, 0
        for bins in self.bins:
            most = chunk if len(self.passes(bins.kind)) == 1 else min(chunk, TURN_CHUNK)
            with T.serial(i64(0), i64(bins.count)) as index:
                self._bin(
                    bins.kind,
                    scratch,
                    of_tile,
                    slot,
                    bind((numbers + index * bins.kind.numbers) * slot),
                    bind((products + index * bins.kind.parts) * slot),
                    weights,
                    bind(base + index * (bins.kind.parts * self.in_channels * self.out_channels)),
                    tiles,
                    _chunk(self.target.lanes, self.in_channels, most),
                )
            base += bins.parts * self.in_channels * self.out_channels
            numbers += bins.numbers
            products += bins.parts

    def _bin(
        self,
        kind: Kind,
        scratch: Buffer,
        of_tile: int,
        slot: int,
        numbers: Expr,
        products: Expr,
        weights: Buffer,
        base: Expr,
        tiles: Expr,
        part: int,
    ) -> None:
        """Multiply one bin, whose numbers, products and matrices start at the given offsets.

        A register adds up `part` terms, which divide the input channels.
        """
        target, CI = self.target, self.in_channels
        shape = self.tile(kind)
        width = shape.vectors * target.lanes
        with (
            T.serial(i64(0), i64(self.out_channels // width)) as panel,
            T.serial(i64(0), i64(CI // part)) as chunk,
        ):
            terms = bind(chunk * part)
            step = width * kind.parts
            matrix = bind(base + (panel * CI + terms) * step)
            weights_ahead = WeightsAhead(target, weights, matrix + part * step)

            def weight(k: int, v: int, j: Expr) -> Expr:
                return target.load(weights, matrix + j * step + (k * width + v * target.lanes))

            def multiply_tiles(rows: int, first: Expr, together: tuple[int, ...]) -> None:
                own = bind(numbers + first * of_tile + terms)
                to = bind(products + first * of_tile + panel * width)
                sums = Sums(target, Tile(rows, len(together) * shape.vectors))
                ahead = weights_ahead.of_tile(i64(part))
                with T.serial(i64(0), i64(part)) as j:
                    ahead(j)
                    factors = _factors(shape.vectors, together, weight, j)
                    for r in range(rows):
                        for i, k in enumerate(together):
                            number = scratch[own + j + (r * of_tile + k * slot)]
                            value = bind(target.splat(number))
                            for v in range(shape.vectors):
                                sums.add(r, i * shape.vectors + v, value * factors[i][v])

                def flush(add: bool) -> None:
                    for r in range(rows):
                        for k, result in enumerate(_RESULTS[kind]):
                            terms = [term for term in result if term[0] in together]
                            for v in range(shape.vectors if terms else 0):
                                at = to + (r * of_tile + k * slot + v * target.lanes)
                                held = {
                                    product: sums.get(r, i * shape.vectors + v)
                                    for i, product in enumerate(together)
                                }
                                before = target.load(scratch, at) if add else None
                                target.store(scratch, at, _added(terms, held, before))

                if 0 not in together:  # whose results come first
                    flush(add=True)
                elif part == CI:
                    flush(add=False)
                else:
                    with T.If(chunk > 0):
                        with T.Then():
                            flush(add=True)
                        with T.Else():
                            flush(add=False)

            for together in self.passes(kind):
                first: Expr = i64(0)
                for rows in self._heights(kind):
                    # An odd last tile is paired with the row after it, whose result is never read.
                    left = tiles - first + (1 if rows == PAIR else 0)
                    count = bind(div(left, rows))
                    with T.serial(i64(0), count) as i:
                        multiply_tiles(rows, bind(first + i * rows), together)
                    first = bind(first + count * rows)


def effort(heights: Sequence[int], tiles: Expr) -> Expr:
    """What register tiles of these heights take for a number of tiles, in rows.

    A low register tile takes as long as one of `LEAST_HEIGHT`, since its sums wait for each other;
    an odd last tile is computed by a pair. Constants give constants.
    """
    total: Expr = i64(0)
    for rows in heights:
        count = div(tiles + (1 if rows == PAIR else 0), rows)
        total = total + count * max(rows, LEAST_HEIGHT)
        tiles = tiles - count * rows
    return total


# The products of each stored part of a result, with their signs.
_RESULTS: Mapping[Kind, Sequence[Sequence[tuple[int, int]]]] = {
    Kind.REAL: (((0, 1),),),
    Kind.COMPLEX: (((0, 1), (2, -1)), ((0, 1), (1, 1))),
}


def _factors(
    vectors: int, together: tuple[int, ...], weight: Callable[[int, int, Expr], Expr], j: Expr
) -> list[list[Expr]]:
    """The factors of the products `together`: weight(k, vector, j), of r the sum of both."""
    stored = {
        k: [bind(weight(k, v, j)) for v in range(vectors)] for k in range(2) if {k, 2} & {*together}
    }
    if 2 in together:
        stored[2] = [bind(stored[0][v] + stored[1][v]) for v in range(vectors)]
    return [stored[k] for k in together]


def _added(terms: Sequence[tuple[int, int]], held: Mapping[int, Expr], before: Expr | None) -> Expr:
    """The terms (product, sign) of what is `held`, added to what is there `before`.

    The first term is added to nothing only where its sign is positive.
    """
    (first, sign), *others = terms
    value = held[first]
    for product, other in others:
        value = value + held[product] if other > 0 else value - held[product]
    if before is None:
        return value
    return before + value if sign > 0 else before - value
