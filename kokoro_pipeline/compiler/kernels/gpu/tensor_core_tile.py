"""The tile that multiplies on tensor cores: rounded or split operands, float32 sums.

A warp computes 32 by 32 sums, or 32 by 16, in products of 16 by 8. A word of
shared memory holds one channel of tf32, or two of half precision, rounded once after the producer;
weights were rounded when they were packed. The 32 lanes of a fragment read 8 neighbours in each of
4 words: in 32 different banks, since the length of a window's row is 8 modulo 32, and weights are
packed in such an order.

Operands of two parts lie in shared memory as parts, in as many bytes as float32: an input is split
once, after the producer, and a weight when it is packed. Tensor cores cut their sums toward zero,
which adds up over thousands of terms. With parts, the product of each panel therefore starts from 0
on the tensor cores, and the threads add it to the total, rounded to nearest (Ootomo and Yokota
2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.bfloat16_parts import LARGEST, to_float32
from ..common.operand_precision import Precision
from ..common.producer import MAX_COEFFICIENTS
from .threads import (
    CUDA_SHARED_BYTES,
    Expr,
    T,
    add_to,
    bind,
    const,
    div,
    hold,
    i32,
    mod,
    registers,
    store,
    synchronize,
    u32,
)
from .tile import Geometry, Multiplier, Place, ProductTile, WeightOrder

ROWS, COLUMNS, WORDS = 16, 8, 8  # of one product; words are counted along its inner dimension
WARP_ROWS = 2 * ROWS
BANKS = 32
MAX_CHUNK = 32
LARGEST_BFLOAT16 = float(to_float32(np.uint16(LARGEST)))
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Shape:
    """The warps of a block: `down` by `across` of them in each of `slices` slices.

    A warp has WARP_ROWS rows and `columns` columns.
    """

    down: int
    across: int
    columns: int
    slices: int = 1


LARGE, SMALL = Shape(2, 2, 4 * COLUMNS), Shape(2, 2, 2 * COLUMNS, slices=2)
LARGE_DEEP, SMALL_DEEP = (
    Shape(2, 1, 4 * COLUMNS, slices=4),
    Shape(1, 1, 2 * COLUMNS, slices=4),
)


def tensor_core_tiles(geometry: Geometry, precision: Precision) -> list[ProductTile]:
    """The tile for many columns, and the one for few of them.

    With many channels, which in a model means that sequences are short, the warps of a block share
    the channels: smaller blocks keep more of a GPU busy. Taps are taken in as few stages as fit.

    Raises InputError if not even one product of one tap fits shared memory.
    """
    shapes = (LARGE_DEEP, SMALL_DEEP) if geometry.is_deep else (LARGE, SMALL)
    found = [tile_of_shape(geometry, precision, shape) for shape in shapes]
    tiles = [tile for tile in found if tile is not None]
    if tiles:
        return tiles
    tile = tile_of_shape(geometry, precision, LARGE)
    if tile is not None:
        return [tile]
    raise InputError(
        f"a convolution of {geometry.taps} taps, dilation {geometry.dilation} and stride "
        f"{geometry.stride} needs more than {CUDA_SHARED_BYTES} bytes of shared memory on tensor "
        "cores: build with --precision float32-fma"
    )


def tile_of_shape(geometry: Geometry, precision: Precision, shape: Shape) -> ProductTile | None:
    """The tile of a shape; None if it does not fit shared memory."""
    rows, columns = shape.down * WARP_ROWS, shape.across * shape.columns
    slices, warps = shape.slices, shape.down * shape.across
    window = geometry.window(columns)
    window += (8 - window) % BANKS
    wanted = -(-geometry.in_channels // (precision.per_word * slices))
    for stages in range(1, geometry.taps + 1):
        panel = -(-geometry.taps // stages) * rows
        # Of a word of channels: the window, two panels, and coefficients.
        coefficients = MAX_COEFFICIENTS * precision.per_word
        word_bytes = 4 * slices * (precision.parts * (window + 2 * panel) + coefficients)
        fitting = CUDA_SHARED_BYTES // word_bytes
        chunk = min(MAX_CHUNK, fitting // WORDS * WORDS, -(-wanted // WORDS) * WORDS)
        if chunk > 0:
            order = WeightOrder(geometry, WARP_ROWS, WORDS, precision=precision)
            sizes = rows, columns, warps, chunk, window, slices, stages
            return ProductTile(order, _TensorCores, *sizes)
    return None


class _TensorCores(Multiplier):
    def __init__(self, tile: ProductTile, place: Place) -> None:
        self._tile, self._place = tile, place
        self._parts = tile.precision.parts
        # Warps along the columns, and products of a warp.
        warps_across = tile.warps // (tile.block_rows // WARP_ROWS)
        warp_columns = tile.block_columns // warps_across
        self._down, self._across = WARP_ROWS // ROWS, warp_columns // COLUMNS
        self._count = self._down * self._across * 4
        self._totals = registers(self._count)
        # The sums that the tensor cores add to: those of a panel, or the totals themselves.
        self._sums = registers(self._count) if self._parts > 1 else self._totals
        self._left = registers(self._parts * self._down * 4, "uint32")
        self._right = registers(self._parts * self._across * 2, "uint32")
        self._values = registers(tile.precision.per_word)
        self._word = registers(1, "uint32")
        for i in range(self._count):
            store(self._totals, i, const(0))
        # The lanes of a fragment: eight groups of rows (or columns) by four words.
        self._group, self._quarter = bind(div(place.lane, 4)), bind(mod(place.lane, 4))
        self._unit = bind(div(place.warp, warps_across))
        # Where the lane's row of each group of eight lies among the rows of a word (`WeightOrder`).
        self._rows = registers(WARP_ROWS // 8, "int32")
        for eight in range(WARP_ROWS // 8):
            place_of_row = tirx.bitwise_xor(i32(eight), self._quarter) * 8 + self._group
            store(self._rows, eight, place_of_row)
        self._column = bind(mod(place.warp, warps_across) * warp_columns)

    def put(self, index: int, value: Expr, to: Expr) -> None:
        store(self._values, index, value)

    def end_word(self, to: Expr) -> None:
        values = [self._values[i32(i)] for i in range(self._tile.precision.per_word)]
        if self._parts == 1:
            self._store_word(to, values)
            return
        # As in `split_words`, what is not finite is left to the second part, and no first part is
        # infinite. The comparison is false for NaN.
        near = [
            tirx.Select(
                tirx.abs(value) <= const(LARGEST_FLOAT32),
                tirx.max(tirx.min(value, const(LARGEST_BFLOAT16)), const(-LARGEST_BFLOAT16)),
                const(0),
            )
            for value in values
        ]
        self._store_word(to, near)
        word = self._word[i32(0)]
        kept = tirx.shift_left(word, u32(16)), tirx.bitwise_and(word, u32(0xFFFF0000))
        rests = [
            hold(value - tirx.reinterpret("float32", bits))
            for value, bits in zip(values, kept, strict=True)
        ]
        self._store_word(to + self._tile.chunk * self._tile.window_pitch, rests)

    def _store_word(self, to: Expr, values: list[Expr]) -> None:
        """Round values to a word of the window."""
        # PTX takes the upper half first.
        T.evaluate(T.ptx[self._tile.precision.conversion](self._word[i32(0)], *reversed(values)))
        store(self._place.window, to, self._word[i32(0)])

    def multiply(self, stage: Expr, panel_start: Expr) -> None:
        """Multiply the chunk, eight words of channels and one tap at a time."""
        tile, geometry = self._tile, self._tile.geometry
        if self._parts > 1:
            for i in range(self._count):
                store(self._sums, i, const(0))
        first_tap = bind(stage * tile.stage_taps)
        taps = i32(geometry.taps) if tile.stages == 1 else bind(_least(tile, first_tap))
        with T.serial(i32(0), i32(tile.chunk // WORDS)) as c, T.serial(i32(0), taps) as k:
            panel = bind(panel_start + self._tap(c, k))
            for part in range(self._parts):
                self._load_left(part, panel)
                self._load_right(part, c, first_tap + k)
            for right_part, left_part in tile.precision.pairs:
                for i in range(self._down):
                    for j in range(self._across):
                        self._add_product(i, j, left_part, right_part)
        if self._parts > 1:
            for i in range(self._count):
                add_to(self._totals, i, self._sums[i32(i)])

    def _tap(self, group: Expr, tap: Expr) -> Expr:
        """Where a tap of a group of the warp's unit begins in the panel."""
        tile = self._tile
        number = (self._unit * tile.groups + group) * tile.stage_taps + tap
        return number * tile.weights.tap_words

    def _load_left(self, part: int, panel: Expr) -> None:
        """The fragments of a part of the weights, from the place of their tap on."""
        for i in range(self._down):
            for half in range(2):
                word = part * WORDS + half * 4 + self._quarter
                for side in range(2):
                    row = self._rows[i32(i * 2 + side)]
                    to = (part * self._down + i) * 4 + half * 2 + side
                    store(self._left, to, self._place.panel[panel + word * WARP_ROWS + row])

    def _load_right(self, part: int, group: Expr, tap: Expr) -> None:
        """The fragments of a part of the input."""
        tile, geometry = self._tile, self._tile.geometry
        for j in range(self._across):
            column = (self._column + j * COLUMNS + self._group) * geometry.stride
            for half in range(2):
                sample = column + tap * geometry.dilation
                word = part * tile.chunk + group * WORDS + half * 4 + self._quarter
                at = self._place.window_start + word * tile.window_pitch + sample
                to = (part * self._across + j) * 2 + half
                store(self._right, to, self._place.window[at])

    def _add_product(self, i: int, j: int, left_part: int, right_part: int) -> None:
        """Multiply fragments (i, j), and add the product to the sums."""
        sums = [self._sums[i32((i * self._across + j) * 4 + n)] for n in range(4)]
        left = [self._left[i32((left_part * self._down + i) * 4 + n)] for n in range(4)]
        right = [self._right[i32((right_part * self._across + j) * 2 + n)] for n in range(2)]
        T.evaluate(T.ptx[self._tile.precision.instruction](*sums, *left, *right, *sums))

    def write(self, write: Callable[[Expr, Expr, Expr], None]) -> None:
        tile, place = self._tile, self._place
        places: list[tuple[int, Expr, Expr]] = []  # a sum, its row and its column
        for i in range(self._down):
            for side in range(2):
                row = self._unit * WARP_ROWS + (i * ROWS + side * 8) + self._group
                for j in range(self._across):
                    for n in range(2):
                        column = self._column + j * COLUMNS + self._quarter * 2 + n
                        places.append(((i * self._across + j) * 4 + side * 2 + n, row, column))

        def meeting(part: Expr, row: Expr, column: Expr) -> Expr:
            """Where a sum of a part other than 0 lies."""
            return (part * tile.block_rows + row) * tile.block_columns + column

        def write_all() -> None:
            for at, row, column in places:
                write(row, column, self._totals[i32(at)])

        if tile.slices == 1:
            write_all()
            return
        synchronize()
        with T.If(place.part > 0), T.Then():
            for at, row, column in places:
                word = tirx.reinterpret("uint32", self._totals[i32(at)])
                store(place.panel, meeting(place.part - 1, row, column), word)
        synchronize()
        with T.If(place.part == 0), T.Then():
            with T.serial(i32(0), i32(tile.slices - 1)) as other:
                for at, row, column in places:
                    word = place.panel[meeting(other, row, column)]
                    add_to(self._totals, at, tirx.reinterpret("float32", word))
            write_all()


def _least(tile: ProductTile, first_tap: Expr) -> Expr:
    """The taps of the stage that begins with a tap."""
    return tirx.min(i32(tile.stage_taps), i32(tile.geometry.taps) - first_tap)
