"""The products of a transformed convolution: for each bin, numbers [tiles, CI] times a matrix.

A bin is either real, with one product with a matrix [CI, CO], or complex. A complex bin multiplies
numbers a + ib with a matrix c + id in three real products that share their loads,

    p = (a + b) c,  q = a (d - c),  r = b (c + d)      ->      real p - r,  imaginary p + q.

Stored are the numbers (a + b) / 2, a, b and the matrices 2c and d - c. The third matrix is their
sum, which is computed in registers.

Numbers and products are rows of a scratch buffer, in slots of their tile. The products of a bin
overwrite the slots of numbers that earlier bins no longer need: the numbers are stored `ahead`
slots further on.

The weights that one register tile after the other multiplies, those of a panel of outputs and a
chunk of terms, stay in the L1 cache. The next ones come from L3 or memory for every block of tiles;
they are prefetched in the meantime (`WeightsAhead`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from kokoro_pipeline.errors import InputError

from ..common.builder import Buffer, Expr, T, bind, div, i64
from .sums import Sums, WeightsAhead
from .vector import LINE, Tile, VectorTarget

CHUNK = 128  # terms of a sum in a register, whose weights are a part of the L1 cache
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
    def height(self) -> int:
        """Tiles that one register tile of the most frequent kind holds."""
        most = max(self.bins, key=lambda bins: bins.numbers)
        return self.tile(most.kind).rows

    def tile(self, kind: Kind) -> Tile:
        """The register tile of a kind of bin.

        For a complex bin, there are three sums, and registers also hold three factors and a
        number. Two vectors of outputs share the loads of the numbers, which would otherwise take
        longer than the products.
        """
        if kind is Kind.REAL:
            return self.target.tile(self.out_channels)
        registers, vectors = self.target.registers, self.out_channels // self.target.lanes
        together = 2 if registers >= 32 and vectors % 2 == 0 else 1
        rows = (registers - 2 - 3 * together) // (3 * together)
        return Tile(rows=min(8, rows), vectors=together)

    def prefetched(self, tiles: int) -> float:
        """The part of the matrices that a block of tiles prefetches; above 1, more than all."""
        kind = max(self.bins, key=lambda bins: bins.numbers).kind
        tile = self.tile(kind)
        return tiles / tile.rows * LINE / (kind.parts * tile.vectors * self.target.lanes)

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
                    _chunk(self.target.lanes, self.in_channels, chunk),
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
        shape, multiply = self.tile(kind), _MULTIPLY[kind]
        width = shape.vectors * target.lanes
        with (
            T.serial(i64(0), i64(self.out_channels // width)) as panel,
            T.serial(i64(0), i64(CI // part)) as chunk,
        ):
            terms = bind(chunk * part)
            step = width * kind.parts
            matrix = bind(base + (panel * CI + terms) * step)
            weights_ahead = WeightsAhead(target, weights, matrix + part * step)

            def multiply_tiles(rows: int, first: Expr) -> None:
                own = bind(numbers + first * of_tile + terms)
                to = bind(products + first * of_tile + panel * width)
                results = multiply(
                    target,
                    Tile(rows, shape.vectors),
                    part,
                    lambda r, k, j: scratch[own + j + (r * of_tile + k * slot)],
                    lambda v, j: target.load(weights, matrix + j * step + v * target.lanes),
                    weights_ahead.of_tile(i64(part)),
                )

                def flush(add: bool) -> None:
                    for r in range(rows):
                        for k in range(kind.parts):
                            for v in range(shape.vectors):
                                at = to + (r * of_tile + k * slot + v * target.lanes)
                                total = results(r, k, v)
                                if add:
                                    total = target.load(scratch, at) + total
                                target.store(scratch, at, total)

                if part == CI:
                    flush(add=False)
                    return
                with T.If(chunk > 0):
                    with T.Then():
                        flush(add=True)
                    with T.Else():
                        flush(add=False)

            first: Expr = i64(0)
            for rows in _heights(shape.rows):
                # An odd last tile is paired with the row after it, whose result is never read.
                left = tiles - first + (1 if rows == PAIR else 0)
                count = bind(div(left, rows))
                with T.serial(i64(0), count) as i:
                    multiply_tiles(rows, bind(first + i * rows))
                first = bind(first + count * rows)


def _heights(rows: int) -> list[int]:
    """Heights of register tiles, halved from the highest down to a pair for the remaining rows."""
    heights = [rows]
    while heights[-1] > PAIR:
        heights.append(max(PAIR, heights[-1] // 2))
    return heights


def effort(height: int, tiles: Expr) -> Expr:
    """What register tiles of at most this height take for a number of tiles, in rows.

    A low register tile takes as long as one of `LEAST_HEIGHT`, since its sums wait for each other;
    an odd last tile is computed by a pair. Constants give constants.
    """
    total: Expr = i64(0)
    for rows in _heights(height):
        count = div(tiles + (1 if rows == PAIR else 0), rows)
        total = total + count * max(rows, LEAST_HEIGHT)
        tiles = tiles - count * rows
    return total


Scalar = Callable[[int, int, Expr], Expr]
Vector = Callable[[int, Expr], Expr]
Ahead = Callable[[Expr], None]
Results = Callable[[int, int, int], Expr]


def _multiply_real(
    target: VectorTarget, tile: Tile, steps: int, scalar: Scalar, vector: Vector, ahead: Ahead
) -> Results:
    sums = Sums(target, tile)
    sums.accumulate(i64(steps), lambda r, j: scalar(r, 0, j), vector, ahead)
    return lambda r, _, v: sums.get(r, v)


def _multiply_complex(
    target: VectorTarget, tile: Tile, steps: int, scalar: Scalar, vector: Vector, ahead: Ahead
) -> Results:
    vectors = range(tile.vectors)
    sums = Sums(target, Tile(tile.rows, 3 * tile.vectors))

    def sum_of(k: int, v: int) -> int:
        return k * tile.vectors + v

    with T.serial(i64(0), i64(steps)) as j:
        ahead(j)
        factors = [[bind(vector(sum_of(k, v), j)) for v in vectors] for k in range(2)]
        factors.append([bind(factors[0][v] + factors[1][v]) for v in vectors])
        for r in range(tile.rows):
            for k, factor in enumerate(factors):
                number = bind(target.splat(scalar(r, k, j)))
                for v in vectors:
                    sums.add(r, sum_of(k, v), number * factor[v])

    def results(row: int, part: int, v: int) -> Expr:
        p, q, r = (sums.get(row, sum_of(k, v)) for k in range(3))
        return p - r if part == 0 else p + q

    return results


_MULTIPLY = {Kind.REAL: _multiply_real, Kind.COMPLEX: _multiply_complex}
