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
from ..common.builder import Buffer, Expr, T, bind, ceil_div, div, i64, minimum, mod, registers
from .tile_plan import HEIGHT, Task, TilePlan
from .tile_rows import SplitRows
from .tile_unit import COLUMNS, FIRST_COLUMNS, FIRST_ROWS, ROWS, SUMS, TERMS, WORDS
from .tile_weights import PANEL, NextPanel, SplitWeights

UNBROKEN = 96  # the most products between two stores of a tile: see `TileProducts.pause`
UNREAD = 2 * HEIGHT * PANEL  # where such a tile is stored, after the places of two blocks


Put = Callable[[Expr, int, Expr, Buffer, Expr], None]
"""(panel, its columns, row of the task, buffer, index): write the columns from buffer[index:]."""


@dataclass(frozen=True)
class Summed:
    """A block that is summed, and not yet put: `rows` rows from row `first` of the task on.

    Its sums [rows, 32] are those of a panel, at `place` in the buffer of `LastBlock`.
    """

    first: Expr
    panel: Expr
    rows: Expr
    place: Expr


class LastBlock:
    """The block that was summed last: it is put while the products of the next one are computed.

    Two places take turns: one is read while the other one is written.
    """

    def __init__(self, plan: TilePlan, put: Put) -> None:
        self._plan, self._put = plan, put
        self.sums = T.alloc_buffer((UNREAD + ROWS * COLUMNS,), "float32")
        self._block = registers(4, "int64")

    def set(self, block: Summed) -> None:
        """Remember what was summed."""
        for index, value in enumerate((block.first, block.panel, block.rows, block.place)):
            T.buffer_store(self._block, value, [i64(index)])

    def get(self) -> Summed:
        """What is to be put, with no rows if nothing is."""
        return Summed(*[bind(self._block[i64(index)]) for index in range(4)])

    def put(self, block: Summed, low: Expr, high: Expr) -> None:
        """Put the rows `low` to `high` of a block."""
        with T.serial(low, high) as r:

            def put_row(columns: int) -> None:
                row = bind(block.first + r)
                self._put(block.panel, columns, row, self.sums, bind(block.place + r * PANEL))

            self._plan.by_width(block.panel, put_row)

    def put_all(self) -> None:
        """Put the whole block."""
        block = self.get()
        self.put(block, i64(0), block.rows)

    def forget(self) -> None:
        """Leave nothing to be put."""
        T.buffer_store(self._block, i64(0), [i64(2)])


@dataclass(frozen=True)
class Block:
    """A block that is multiplied: 16 * high rows from row `first` on, and the columns of a panel.

    The tiles of the weights of its first product are at weights[at:]. `before` is the block that is
    put meanwhile. `unsplit` is the first group of 32 input channels (`SplitRows.split`) that this
    block does not need, and `done` the turns of this task that were before those of the panel.
    """

    panel: Expr
    first: Expr
    high: int
    weights: Buffer
    at: Expr
    before: Summed
    unsplit: Expr
    done: Expr


class TileProducts:
    """The products of a task.

    A turn is the products of a pair of parts for 32 input channels and one tap; a block has
    `turns`. After each turn, some of what the next products need is split or fetched.
    """

    def __init__(
        self,
        plan: TilePlan,
        task: Task,
        rows: SplitRows,
        w: Buffer,
        put: Put,
        ahead: Callable[[Expr, Expr], None] | None = None,
        after_panel: Callable[[Expr, int], None] | None = None,
    ) -> None:
        """Emit what precedes the products.

        `put` is called for every row of a panel. `ahead` is called with a panel and a row that will
        be put soon, to fetch what that takes. `after_panel` is called with a panel and its columns
        when all of its rows are put.
        """
        self.plan, self.task, self.rows, self.w = plan, task, rows, w
        self.ahead, self.after_panel = ahead, after_panel
        self.tiles = plan.unit.tiles()
        self.turns = plan.weights.products * len(plan.parts.pairs)
        self.following = HEIGHT * plan.conv.stride * plan.steps  # groups that the next block takes
        self.panels = bind(task.panel_to - task.panel_from)
        turns = self.panels * self.turns if plan.by_rows else i64(self.turns)
        self.pace = bind(div(self.following + turns - 1, turns))  # groups to split in a turn
        self.split_weights, self.next_panel = None, None
        if plan.weights.split_by_kernel:
            self.split_weights = SplitWeights(plan.weights, w)
        elif plan.fetches_panels:
            of_panel = bind(ceil_div(task.rows, HEIGHT) * self.turns)
            self.next_panel = NextPanel(plan.weights, plan.target, w, task.panel_to, of_panel)
        self.last = LastBlock(plan, put)

    def emit(self) -> None:
        """Emit all products of the task, and put all sums."""
        self.last.set(Summed(i64(0), i64(0), i64(0), i64(0)))
        self.tiles.configure()
        # Blocks of 32 rows. At most 16 rows are left after them, and become a block of one tile.
        whole = bind(div(self.task.rows + (ROWS - 1), HEIGHT))
        if self.plan.by_rows:

            def some_rows(high: int, first: Expr) -> None:
                self.all_panels(lambda panel: self.multiply(panel, high, first))

            self.all_rows(whole, some_rows)
            self.last.put_all()
            self.all_panels(self.finish)
        else:

            def one_panel(panel: Expr) -> None:
                self.all_rows(whole, lambda high, first: self.multiply(panel, high, first))
                self.last.put_all()
                self.last.forget()
                self.finish(panel)

            self.all_panels(one_panel)
        self.tiles.release()

    def all_rows(self, whole: Expr, body: Callable[[int, Expr], None]) -> None:
        """Call body(height in tiles, first row) for all blocks, of which `whole` are two high."""
        with T.serial(i64(0), whole) as block:
            body(2, block * HEIGHT)
        with T.If(self.task.rows > whole * HEIGHT), T.Then():
            body(1, whole * HEIGHT)

    def all_panels(self, body: Callable[[Expr], None]) -> None:
        """Call body(panel) for the panels of the task."""
        with T.serial(i64(0), self.panels) as i:
            body(bind(self.task.panel_from + i))

    def finish(self, panel: Expr) -> None:
        """Call `after_panel`, if it is given."""
        after = self.after_panel
        if after is not None:
            self.plan.by_width(panel, lambda columns: after(panel, columns))

    def multiply(self, panel: Expr, high: int, first: Expr) -> None:
        """Sum a block in tiles, and store it as the last one."""
        block = self.block(panel, high, bind(first))
        for tile in range(2 * high):
            self.tiles.zero(tile)
        before = 0
        for pairs in self.plan.parts.passes:
            self.add(block, pairs, before)
            before += len(pairs)
        place = bind(i64(HEIGHT * PANEL) - block.before.place)
        for i in range(high):
            for j in range(2):
                at = place + (i * ROWS * PANEL + j * COLUMNS)
                self.tiles.store(2 * i + j, self.last.sums, at, i64(PANEL))
        rows = minimum(self.task.rows - block.first, ROWS * high)
        self.last.set(Summed(block.first, panel, rows, place))

    def block(self, panel: Expr, high: int, first: Expr) -> Block:
        """A block and its weights, of which the first are split where that is the kernel's task."""
        plan, weights = self.plan, self.plan.weights
        before = self.last.get()
        unsplit = bind(plan.needed(first + HEIGHT) * plan.steps)
        done = bind((panel - self.task.panel_from) * self.turns)
        if self.split_weights is None:
            at = bind(panel * weights.panel_words + weights.bias_words)
            return Block(panel, first, high, self.w, at, before, unsplit, done)
        with T.If(tirx.EQ(first, i64(0))), T.Then():
            self.split_weights.split(panel, i64(0))
        tiles = self.split_weights.tiles
        return Block(panel, first, high, tiles, i64(0), before, unsplit, done)

    def add(self, block: Block, pairs: tuple[Pair, ...], before: int) -> None:
        """Add the products of some pairs of parts to the sums; `before` pairs were added before."""
        plan, inner = self.plan, self.plan.weights.products
        with T.serial(i64(0), i64(plan.steps)) as s, T.serial(i64(0), i64(plan.conv.taps)) as k:
            step = bind(s * plan.conv.taps + k)

            def between(turn: int) -> None:
                done = inner * before + step * len(pairs) + turn
                self.prepare(block, done)
                if self.split_weights is not None and before == 0:
                    with T.If(tirx.EQ(block.first, i64(0))), T.Then():
                        self.split_weights.split(block.panel, step + 1, turn, len(pairs))

            at = bind(block.at + step * plan.weights.product_words)
            self.accumulate(block, pairs, at, s, k, between)
            self.pause(step, len(pairs))
            if before == 0:
                self.put_some(block, step)
        if before + len(pairs) < len(plan.parts.pairs):
            self.tiles.store(0, self.last.sums, i64(UNREAD), i64(COLUMNS))

    def accumulate(
        self,
        block: Block,
        pairs: tuple[Pair, ...],
        weights_at: Expr,
        s: Expr,
        k: Expr,
        between: Callable[[int], None],
    ) -> None:
        """Add the products of the channels from 32 * s on and of tap k to the sums.

        The weights' tiles start at block.weights[weights_at]. `between` is called with the number
        of a pair after its products.
        """
        plan, tiles, conv = self.plan, self.tiles, self.plan.conv
        stride = conv.stride * plan.row
        rows_at = bind((block.first * conv.stride + k * conv.dilation) * plan.row + s * TERMS)
        loaded: tuple[int, int] = (-1, -1)
        for turn, pair in enumerate(pairs):
            if loaded[1] != pair[1]:
                for j in range(2):
                    at = weights_at + (pair[1] * 2 + j) * WORDS
                    tiles.load(FIRST_COLUMNS + j, block.weights, at, i64(TERMS))
            if loaded[0] != pair[0]:
                for i in range(block.high):
                    at = rows_at + (pair[0] * plan.padded + i * ROWS * stride)
                    tiles.load(FIRST_ROWS + i, self.rows.scratch, at, i64(stride))
            loaded = pair
            for i in range(block.high):
                for j in range(2):
                    tiles.product(2 * i + j, FIRST_ROWS + i, FIRST_COLUMNS + j)
            between(turn)

    # Between the products: the vector units work while the tiles do.

    def prepare(self, block: Block, done: Expr) -> None:
        """Split input rows and fetch weights of the next blocks, `done` turns into this one."""
        low = bind((block.done + done) * self.pace)
        high = minimum(low + self.pace, self.following)
        self.rows.split(block.unsplit + low, block.unsplit + high)
        if self.next_panel is not None:
            turn = bind(div(block.first, HEIGHT) * self.turns + done)
            self.next_panel.fetch(block.panel, turn)

    def pause(self, step: Expr, pairs: int) -> None:
        """Store a tile, to a place that nothing reads, after every `UNBROKEN` products at most.

        After more than about 140 products, the next store of a tile takes as long as 45 products
        do, and otherwise as long as one to four: so it was measured, and Intel does not document
        it.
        """
        inner = self.plan.weights.products
        stretches = -(-inner * pairs * SUMS // UNBROKEN)
        if stretches > 1:
            stretch = -(-inner // stretches)  # steps between two stores
            due = tirx.EQ(mod(step + 1, stretch), i64(0))
            with T.If(tirx.And(due, step < inner - 1)), T.Then():
                self.tiles.store(0, self.last.sums, i64(UNREAD), i64(COLUMNS))

    def put_some(self, block: Block, step: Expr) -> None:
        """Put some rows of the block before, and fetch what as many of this one's will take."""
        each = -(-HEIGHT // self.plan.weights.products)
        done = bind(step * each)
        low = bind(minimum(done, block.before.rows))
        self.last.put(block.before, low, bind(minimum(low + each, block.before.rows)))
        if self.ahead is not None:
            below = bind(minimum(self.task.rows - block.first, ROWS * block.high))
            with T.serial(done, minimum(done + each, below)) as r:
                self.ahead(block.panel, bind(block.first + r))
