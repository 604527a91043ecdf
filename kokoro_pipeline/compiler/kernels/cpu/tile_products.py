"""Sums of products of rows and weights on tiles, with both split into bfloat16 parts.

    Y[t, c] = bias[c] + sum_{k, ci} X[t * stride + k * dilation - pad_left, ci] * W[c, ci, k]

An input row is produced (AdaIN, activation) and split once for a task, and lies in scratch with its
parts side by side, so that the 16 rows of a tile are one load for each tap. Weights are packed in
panels of 32 columns, see `tile_weights`. A block of 32 rows and 32 columns is summed in four tiles
over 32 channels at a time, the taps innermost: an input's rows are read for all taps while they lie
in the L1 cache. With three parts, the small products of all channels come before the others.

The vector units work while the tiles do. Between the products of a block, the block before it gets
its bias and residual and is written, the input rows of the next block are produced and split, and
the next weights are split, where that is the kernel's task.

An output is summed in the same order wherever its row lies and whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from ..common.bfloat16_parts import Pair
from ..common.builder import (
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    div,
    i64,
    minimum,
    mod,
    registers,
)
from .tile_plan import HEIGHT, Task, TilePlan
from .tile_rows import SplitRows
from .tile_unit import COLUMNS, FIRST_COLUMNS, FIRST_ROWS, ROWS, SUMS, TERMS, WORDS, Tiles
from .tile_weights import PANEL, NextPanel, SplitWeights

UNBROKEN = 96  # the most products between two stores of a tile: see `TileProducts.multiply`

Put = Callable[[Expr, int, Expr, Buffer, Expr], None]
"""(panel, its columns, row of the task, buffer, index): write the columns from buffer[index:]."""


@dataclass(frozen=True)
class TileProducts:
    """The products of a convolution on tiles."""

    plan: TilePlan

    def multiply(
        self,
        rows: SplitRows,
        w: Buffer,
        task: Task,
        put: Put,
        ahead: Callable[[Expr, Expr], None] | None = None,
        after_panel: Callable[[Expr, int], None] | None = None,
    ) -> None:
        """Emit the products of a task.

        `put` is called for every row of a panel. `ahead` is called with a panel and a row that will
        be put soon, to fetch what that takes. `after_panel` is called with a panel and its columns
        when all of its rows are put.

        After more than about 140 products, the next store of a tile takes as long as 45 products
        do, and otherwise as long as one to four: so it was measured, and Intel does not document
        it. Therefore a tile is stored every `UNBROKEN` products, to a place that nothing reads.
        """
        tiles = self.plan.unit.tiles()
        inner = self.plan.weights.products
        each = -(-HEIGHT // inner)  # rows written in each step of the inner loop
        pairs = len(self.plan.parts.pairs)
        # What the next rows take is split between the products, a little at a time: the vector
        # units work while the tiles do.
        following = HEIGHT * self.plan.conv.stride * self.plan.steps
        panels = bind(task.panel_to - task.panel_from)
        turns = panels * (inner * pairs) if self.plan.by_rows else i64(inner * pairs)
        pace = bind(div(following + turns - 1, turns))
        split_weights, next_panel = None, None
        if self.plan.weights.split_by_kernel:
            split_weights = SplitWeights(self.plan.weights, w)
        elif self.plan.fetches_panels:
            turns_of_panel = bind(ceil_div(task.rows, HEIGHT) * (inner * pairs))
            next_panel = NextPanel(
                self.plan.weights, self.plan.target, w, task.panel_to, turns_of_panel
            )
        # Two buffers take turns: one is written to the output while the other is computed.
        unread = 2 * HEIGHT * PANEL  # what is stored between products is not read
        out = T.alloc_buffer((unread + ROWS * COLUMNS,), "float32")
        waiting = registers(4, "int64")  # first row, panel, rows and place in `out`

        def set_waiting(*values: Expr) -> None:
            for index, value in enumerate(values):
                T.buffer_store(waiting, value, [i64(index)])

        def write(block: list[Expr], low: Expr, high: Expr) -> None:
            """Put the rows low to high of a block."""
            t, panel, _, place = block
            with T.serial(low, high) as r:

                def put_row(columns: int) -> None:
                    put(panel, columns, bind(t + r), out, bind(place + r * PANEL))

                self.plan.by_width(panel, put_row)

        def flush() -> None:
            block = [bind(waiting[i64(i)]) for i in range(4)]
            write(block, i64(0), block[2])

        def compute(panel: Expr, high: int, t: Expr) -> None:
            """16 * high rows from row t on, times the columns of a panel."""
            last = [bind(waiting[i64(i)]) for i in range(4)]
            unsplit = bind(self.plan.needed(t + HEIGHT) * self.plan.steps)
            earlier = bind((panel - task.panel_from) * (inner * pairs))
            if split_weights is None:
                columns = w
                columns_at = bind(
                    panel * self.plan.weights.panel_words + self.plan.weights.bias_words
                )
            else:
                columns, columns_at = split_weights.tiles, i64(0)
                with T.If(tirx.EQ(t, i64(0))), T.Then():
                    split_weights.split(panel, i64(0))

            def write_some(step: Expr) -> None:
                """Write some rows of the block before, and fetch what this one's will take."""
                done = bind(step * each)
                low = bind(minimum(done, last[2]))
                write(last, low, bind(minimum(low + each, last[2])))
                if ahead is not None:
                    below = bind(minimum(task.rows - t, ROWS * high))
                    with T.serial(done, minimum(done + each, below)) as r:
                        ahead(panel, bind(t + r))

            def add(some: tuple[Pair, ...], before: int) -> None:
                """Add the products of some pairs of parts, before which are `before` others."""
                ends = before + len(some) == pairs
                stretches = -(-inner * len(some) * SUMS // UNBROKEN)
                stretch = -(-inner // stretches)  # steps between two stores
                with (
                    T.serial(i64(0), i64(self.plan.steps)) as s,
                    T.serial(i64(0), i64(self.plan.conv.taps)) as k,
                ):
                    step = bind(s * self.plan.conv.taps + k)

                    def split(turn: int) -> None:
                        done = inner * before + step * len(some) + turn
                        low = bind((earlier + done) * pace)
                        rows.split(unsplit + low, unsplit + minimum(low + pace, following))
                        if next_panel is not None:
                            next_panel.fetch(panel, bind(div(t, HEIGHT) * (inner * pairs) + done))
                        if split_weights is not None and before == 0:
                            with T.If(tirx.EQ(t, i64(0))), T.Then():
                                split_weights.split(panel, step + 1, turn, len(some))

                    b_at = bind(columns_at + step * self.plan.weights.product_words)
                    self._accumulate(tiles, rows.scratch, columns, b_at, some, high, t, s, k, split)
                    if stretches > 1:
                        due = tirx.EQ(mod(step + 1, stretch), i64(0))
                        with T.If(tirx.And(due, step < inner - 1)), T.Then():
                            tiles.store(0, out, i64(unread), i64(COLUMNS))
                    if before == 0:
                        write_some(step)
                if not ends:
                    tiles.store(0, out, i64(unread), i64(COLUMNS))

            for tile in range(2 * high):
                tiles.zero(tile)
            before = 0
            for some in self.plan.parts.passes:
                add(some, before)
                before += len(some)
            place = bind(i64(HEIGHT * PANEL) - last[3])
            for i in range(high):
                for j in range(2):
                    at = place + (i * ROWS * PANEL + j * COLUMNS)
                    tiles.store(2 * i + j, out, at, i64(PANEL))
            set_waiting(t, panel, minimum(task.rows - t, ROWS * high), place)

        set_waiting(*(i64(0) for _ in range(4)))
        tiles.configure()
        whole = bind(div(task.rows + (ROWS - 1), HEIGHT))

        def all_rows(panel: Expr) -> None:
            with T.serial(i64(0), whole) as block:
                compute(panel, 2, bind(block * HEIGHT))
            with T.If(task.rows > whole * HEIGHT), T.Then():
                compute(panel, 1, bind(whole * HEIGHT))

        def all_panels(body: Callable[[Expr], None]) -> None:
            with T.serial(i64(0), panels) as i:
                body(bind(task.panel_from + i))

        def finish(panel: Expr) -> None:
            if after_panel is not None:
                self.plan.by_width(panel, lambda columns: after_panel(panel, columns))

        if self.plan.by_rows:
            with T.serial(i64(0), whole) as block:
                all_panels(lambda panel: compute(panel, 2, bind(block * HEIGHT)))
            with T.If(task.rows > whole * HEIGHT), T.Then():
                all_panels(lambda panel: compute(panel, 1, bind(whole * HEIGHT)))
            flush()
            all_panels(finish)
        else:

            def one_panel(panel: Expr) -> None:
                all_rows(panel)
                flush()
                T.buffer_store(waiting, i64(0), [i64(2)])
                finish(panel)

            all_panels(one_panel)
        tiles.release()

    def _accumulate(
        self,
        tiles: Tiles,
        scratch: Buffer,
        columns: Buffer,
        b_at: Expr,
        pairs: tuple[Pair, ...],
        high: int,
        t: Expr,
        s: Expr,
        k: Expr,
        between: Callable[[int], None],
    ) -> None:
        """Add the products of 32 channels and one tap, of some pairs of parts, to the tiles.

        The weights' tiles start at columns[b_at]. `between` is called with the number of a pair
        after its products.
        """
        conv = self.plan.conv
        a_at = bind((t * conv.stride + k * conv.dilation) * self.plan.row + s * TERMS)
        loaded: tuple[int, int] = (-1, -1)
        for turn, pair in enumerate(pairs):
            if loaded[1] != pair[1]:
                for j in range(2):
                    at = b_at + (pair[1] * 2 + j) * WORDS
                    tiles.load(FIRST_COLUMNS + j, columns, at, i64(TERMS))
            if loaded[0] != pair[0]:
                for i in range(high):
                    at = a_at + (
                        pair[0] * self.plan.padded + i * ROWS * conv.stride * self.plan.row
                    )
                    tiles.load(FIRST_ROWS + i, scratch, at, i64(conv.stride * self.plan.row))
            loaded = pair
            for i in range(high):
                for j in range(2):
                    tiles.product(2 * i + j, FIRST_ROWS + i, FIRST_COLUMNS + j)
            between(turn)
