"""The tile that multiplies on tensor cores: operands of reduced precision, float32 sums.

A warp computes 32 by 32 sums, in products of 16 by 8. A word of shared memory holds one channel of
tf32, or two of half precision, rounded once after the producer; weights were rounded when they were
packed. The 32 lanes of a fragment read 8 neighbours in each of 4 words, so the length of a word's
row is 8 modulo 32, which makes them read 32 different banks.
"""

from __future__ import annotations

from collections.abc import Callable

from kokoro_pipeline.errors import InputError

from ..common.operand_precision import Precision
from .threads import Expr, T, bind, const, div, i32, mod, registers, store
from .tile import Geometry, Multiplier, Place, ProductTile

ROWS, COLUMNS, WORDS = 16, 8, 8  # of one product; words are counted along its inner dimension
WARP_ROWS, WARP_COLUMNS = 2 * ROWS, 4 * COLUMNS
DOWN = 2  # warps per block along the rows
BLOCK_ROWS = DOWN * WARP_ROWS
BANKS = 32
SHARED_BYTES = 32 << 10
MAX_CHUNK = 32


def tensor_core_tile(geometry: Geometry, precision: Precision) -> ProductTile:
    """A block has BLOCK_ROWS rows, and fewer columns with many rows, where sequences are short.

    Smaller blocks then give a GPU enough blocks.

    Raises InputError if not even one product fits shared memory.
    """
    across = 2 if geometry.rows >= 512 or geometry.stride > 2 else 4  # warps along the columns
    columns = across * WARP_COLUMNS
    window, panel = geometry.window(columns), geometry.taps * BLOCK_ROWS + 8
    window += (8 - window) % BANKS
    fitting = SHARED_BYTES // (4 * (window + panel))
    wanted = -(-geometry.in_channels // precision.per_word)
    chunk = min(MAX_CHUNK, fitting // WORDS * WORDS, -(-wanted // WORDS) * WORDS)
    if chunk == 0:
        raise InputError(
            f"a convolution of {geometry.taps} taps, dilation {geometry.dilation} and stride "
            f"{geometry.stride} needs more than {SHARED_BYTES} bytes of shared memory on tensor "
            "cores: build with --precision float32"
        )
    sizes = BLOCK_ROWS, columns, DOWN * across, chunk, window, panel
    return ProductTile(geometry, _TensorCores, *sizes, precision=precision)


class _TensorCores(Multiplier):
    def __init__(self, tile: ProductTile, place: Place) -> None:
        self._tile, self._place = tile, place
        # Products of a warp.
        self._down, self._across = WARP_ROWS // ROWS, WARP_COLUMNS // COLUMNS
        self._totals = registers(self._down * self._across * 4)
        self._left = registers(self._down * 4, "uint32")
        self._right = registers(self._across * 2, "uint32")
        self._values = registers(tile.precision.per_word)
        self._word = registers(1, "uint32")
        for i in range(self._down * self._across * 4):
            store(self._totals, i, const(0))
        # The lanes of a fragment: eight groups of rows (or columns) by four words.
        self._group, self._quarter = bind(div(place.lane, 4)), bind(mod(place.lane, 4))
        self._row = bind(div(place.warp, tile.warps // DOWN) * WARP_ROWS)
        self._column = bind(mod(place.warp, tile.warps // DOWN) * WARP_COLUMNS)

    def put(self, index: int, value: Expr, to: Expr) -> None:
        store(self._values, index, value)

    def end_word(self, to: Expr) -> None:
        # PTX takes the upper half first.
        operands = [self._values[i32(i)] for i in reversed(range(self._tile.precision.per_word))]
        T.evaluate(T.ptx[self._tile.precision.conversion](self._word[i32(0)], *operands))
        store(self._place.window, to, self._word[i32(0)])

    def multiply(self) -> None:
        """Multiply the chunk, eight words of channels and one tap at a time."""
        tile, place, geometry = self._tile, self._place, self._tile.geometry
        chunk, taps = i32(tile.chunk // WORDS), i32(geometry.taps)
        with T.serial(i32(0), chunk) as c, T.serial(i32(0), taps) as k:
            words = [bind(c * WORDS + self._quarter), bind(c * WORDS + self._quarter + 4)]
            for i in range(self._down):
                for half, at in enumerate(words):
                    for side in range(2):
                        row = self._row + (i * ROWS + side * 8) + self._group
                        value = place.panel[at * tile.panel_pitch + k * BLOCK_ROWS + row]
                        store(self._left, i * 4 + half * 2 + side, value)
            for j in range(self._across):
                column = (self._column + j * COLUMNS + self._group) * geometry.stride
                for half, at in enumerate(words):
                    sample = place.window[at * tile.window_pitch + (column + k * geometry.dilation)]
                    store(self._right, j * 2 + half, sample)
            for i in range(self._down):
                for j in range(self._across):
                    sums = [self._totals[i32((i * self._across + j) * 4 + n)] for n in range(4)]
                    left = [self._left[i32(i * 4 + n)] for n in range(4)]
                    right = [self._right[i32(j * 2 + n)] for n in range(2)]
                    product = T.ptx[tile.precision.instruction]
                    T.evaluate(product(*sums, *left, *right, *sums))

    def write(self, write: Callable[[Expr, Expr, Expr], None]) -> None:
        for i in range(self._down):
            for side in range(2):
                row = self._row + (i * ROWS + side * 8) + self._group
                for j in range(self._across):
                    for n in range(2):
                        column = self._column + j * COLUMNS + self._quarter * 2 + n
                        at = (i * self._across + j) * 4 + side * 2 + n
                        write(row, column, self._totals[i32(at)])
