"""The loop of a tile over its chunks, in which reading is ahead of multiplying.

At each step, what the next step needs is asked for before the product of this one: `Window` and
`Panels` keep it in registers, or copy it to memory that nothing reads yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import tirx

from .panel import make_panels
from .producer import NOTHING, Producer
from .products import Product
from .threads import (
    CUDA_SHARED_BYTES,
    ENOUGH_BLOCKS,
    MAX_SHARED_BYTES,
    WARP,
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    hold,
    i32,
    launch,
    shared,
    synchronize,
)
from .tile import Place, ProductTile
from .window import Input, Window

Store = Callable[[Expr, Expr, Expr, Expr], None]
"""(batch row, row m, column l, total): writes one sum; m and l are within bounds."""


def emit_product(
    product: Product,
    batch: Expr,
    length: Expr,
    columns: Expr,
    x: Buffer,
    weights: Buffer,
    write: Store,
    producer: Producer = NOTHING,
    arguments: Sequence[Buffer] = (),
) -> None:
    """Launch the product over all rows, `columns` columns and `batch` sequences of `length`.

    `x` is of the tiles' dtype, `weights` as packed by `product.pack`; `arguments` are those of the
    producer. The first tile whose blocks keep a GPU busy is taken, else the last one.
    """
    sizes = batch, length, columns

    def launch_first(tiles: Sequence[ProductTile]) -> None:
        tile, *others = tiles
        if not others:
            _launch(tile, product, sizes, x, weights, write, producer, arguments)
            return
        blocks = ceil_div(columns, tile.block_columns) * tile.blocks * batch
        with T.If(blocks >= ENOUGH_BLOCKS):
            with T.Then():
                launch_first(tiles[:1])
            with T.Else():
                launch_first(others)

    launch_first(product.tiles)


def _launch(
    tile: ProductTile,
    product: Product,
    sizes: tuple[Expr, Expr, Expr],
    x: Buffer,
    weights: Buffer,
    write: Store,
    producer: Producer,
    arguments: Sequence[Buffer],
) -> None:
    """Launch a product with one of its tiles, for (batch, length, columns)."""
    batch, length, columns = sizes
    geometry = tile.geometry
    grid = [ceil_div(columns, tile.block_columns), tile.blocks, batch]
    block = [WARP, tile.warps, *([tile.slices] if tile.slices > 1 else [])]
    # ptxas gives a thread as many registers as the blocks of a multiprocessor leave: here at
    # least 128, which tiles on tensor cores take.
    resident = None
    if tile.is_asynchronous:
        resident = 2 if tile.warps * tile.slices > 4 else 3
    with launch(grid, block, resident) as (
        (column_block, row_block, b),
        (lane, warp, *slice_index),
    ):
        part = slice_index[0] if slice_index else i32(0)
        window_words = tile.precision.parts * tile.chunk * tile.window_pitch
        limit = CUDA_SHARED_BYTES if tile.is_asynchronous else MAX_SHARED_BYTES
        window = shared(tile.slices * window_words, tile.weights.word_dtype, limit)
        meeting_words = (tile.slices - 1) * tile.block_rows * tile.block_columns
        panel_words = tile.panel_buffers * tile.slices * tile.panel_words
        panel = shared(max(panel_words, meeting_words), tile.weights.word_dtype, limit)
        place = Place(lane, warp, part, window, part * window_words, panel)
        multiplier = tile.multiplier(tile, place)
        first = bind(column_block * (tile.block_columns * geometry.stride) - geometry.pad_left)
        source = Input(x, b, length, first, producer, arguments)
        ahead = Window(tile, place, source)
        panels = make_panels(tile, product, place, weights, row_block)

        def write_existing(row: Expr, column: Expr, total: Expr) -> None:
            m = bind(row_block * tile.block_rows + row)
            at = bind(column_block * tile.block_columns + column)
            with T.If(tirx.And(m < geometry.rows, at < columns)), T.Then():
                write(b, m, at, hold(total, tile.dtype))

        ahead.start()
        panels.start()
        with T.serial(i32(0), i32(tile.turns)) as turn:
            step = bind(turn * tile.stages)
            panels.wait()
            synchronize()
            # In this order: TVM must not give the panel the memory of the window's table.
            panels.place(step)
            ahead.place(turn, multiplier)
            synchronize()
            panels.fetch(step + 1)
            ahead.fetch(turn + 1)
            multiplier.multiply(i32(0), bind(panels.start_of(step)))
            if tile.stages > 1:
                with T.serial(i32(1), i32(tile.stages)) as stage:
                    later = bind(step + stage)
                    panels.wait()
                    synchronize()
                    panels.fetch(later + 1)
                    multiplier.multiply(stage, bind(panels.start_of(later)))
        multiplier.write(write_existing)
