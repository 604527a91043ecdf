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

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.bfloat16_parts import LARGEST, NAN, Pair, Parts
from ..common.builder import (
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    div,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from ..common.convolutions import Conv1d
from .lanes import Lanes, over_channels
from .producer import Prepared
from .tile_unit import COLUMNS, FIRST_COLUMNS, FIRST_ROWS, ROWS, SUMS, TERMS, WORDS, Tiles, TileUnit
from .tile_weights import LINE, PANEL, NextPanel, SplitWeights, TileWeights, rounded_parts
from .vector import VectorTarget

HEIGHT = 2 * ROWS
TASKS = 4  # for each of more than two threads; where blocks are fewer, tasks share their panels
UNBROKEN = 96  # the most products between two stores of a tile: see `multiply`
FETCHED_BYTES = 1_400_000  # of rows and panels in the L2 cache, beside which outputs have room
# Rows of a task: its split rows and the weights of a panel share the L2 cache.
NARROW_WORDS, NARROW_BLOCK, WIDE_BLOCK = 512, 512, 320


@dataclass(frozen=True)
class Task:
    """Some rows and panels of one batch row: rows `first` to `first + rows`, panels from and to.

    `block` is the number of the block of rows, `blocks` that of all blocks of a batch row.
    """

    batch: Expr
    block: Expr
    blocks: Expr
    first: Expr
    rows: Expr
    panel_from: Expr
    panel_to: Expr


Put = Callable[[Expr, int, Expr, Buffer, Expr], None]
"""(panel, its columns, row of the task, buffer, index): write the columns from buffer[index:]."""


@dataclass(frozen=True)
class SplitRows:
    """The input rows of a task, with their parts side by side.

    `split(low, high)` emits those of some groups of 32 channels, counted row by row.
    """

    scratch: Buffer
    split: Callable[[Expr, Expr], None]


@dataclass(frozen=True)
class TileProducts:
    """The products of a convolution on tiles. `columns` of the outputs are summed for each row."""

    target: VectorTarget
    conv: Conv1d
    parts: Parts
    unit: TileUnit

    @property
    def weights(self) -> TileWeights:
        """How the weights are packed."""
        conv = self.conv
        return TileWeights(self.parts, conv.out_channels, conv.in_channels, conv.taps)

    @property
    def steps(self) -> int:
        """Groups of 32 input channels, the terms of a product of tiles."""
        return self.weights.steps

    @property
    def padded(self) -> int:
        """Input channels, up to whole tiles."""
        return self.steps * TERMS

    @property
    def row(self) -> int:
        """Words of a split row in scratch: rows must not all start in the same cache set."""
        return self.parts.count * self.padded + LINE

    @property
    def panels(self) -> int:
        """Groups of 32 output channels."""
        return self.weights.panels

    @property
    def by_rows(self) -> bool:
        """Whether all panels of some rows are multiplied before the next rows.

        That leaves more time for splitting the next rows, and takes all weights from the L2 cache.
        """
        return self.weights.in_cache

    @property
    def fetches_panels(self) -> bool:
        """Whether the weights of the next panel are fetched during the products of this one.

        Otherwise only the first rows' products wait for memory, and all others for none. Both
        panels and the rows of a task must have room in the L2 cache.
        """
        if self.by_rows:
            return False
        return 2 * (2 * self.weights.panel_words + self.block * self.row) <= FETCHED_BYTES

    @property
    def block(self) -> int:
        """The most rows of a task."""
        narrow = self.parts.count * self.padded <= NARROW_WORDS
        return NARROW_BLOCK if narrow else WIDE_BLOCK

    def blocks(self, rows: Expr) -> Expr:
        """At most this many blocks have `rows` rows, as an expression that binds nothing."""
        return ceil_div(rows, self.block) + 1

    def tasks(self, batch: Expr, rows: Expr, body: Callable[[Task], None]) -> Expr:
        """Emit a parallel loop over tasks; returns the number of blocks of a batch row."""
        fewest = bind(ceil_div(rows, self.block))
        even = bind(tirx.Select(fewest > 1, fewest + mod(fewest, 2), fewest))
        height = bind(ceil_div(div(rows + even - 1, even), HEIGHT) * HEIGHT)
        blocks = bind(div(rows + height - 1, height))
        per_group = bind(batch * blocks)
        # A task splits its rows by itself. Two threads share an even number of blocks evenly.
        threads = bind(tirx.Cast("int64", tirx.call_packed("runtime.NumThreads")))
        least = bind(tirx.Select(threads > 2, threads * TASKS, threads))
        wanted = bind(minimum(div(least - 1, per_group) + 1, self.panels))
        each = bind(div(wanted + (self.panels - 1), wanted))
        groups = bind(div(each + (self.panels - 1), each))
        with T.parallel(i64(0), bind(groups * per_group)) as task:
            group, rest = bind(div(task, per_group)), bind(mod(task, per_group))
            b, block = bind(div(rest, blocks)), bind(mod(rest, blocks))
            first = bind(block * height)
            body(
                Task(
                    b,
                    block,
                    blocks,
                    first,
                    bind(minimum(rows - first, height)),
                    bind(group * each),
                    bind(minimum(group * each + each, self.panels)),
                )
            )
        return blocks

    # The rows

    def split_rows(
        self, x: Buffer, base: Expr, length: Expr, prepared: Prepared, task: Task
    ) -> SplitRows:
        """The rows that a task reads, of which those outside of x[base:] are zeros.

        Emits the zeros and the first rows, which the products start with.
        """
        conv, row, parts = self.conv, self.row, self.parts.count
        size = (self.block - 1) * conv.stride + conv.reach + 1
        scratch = T.alloc_buffer((size * row,), "uint16")
        start = bind(task.first * conv.stride - conv.pad_left)
        span = bind((ceil_div(task.rows, ROWS) * ROWS - 1) * conv.stride + (conv.reach + 1))
        head = bind(minimum(maximum(i64(0) - start, 0), span))
        tail = bind(maximum(minimum(length - start, span), head))
        _zero_words(scratch, i64(0), bind(head * row))
        _zero_words(scratch, bind(tail * row), bind(span * row))

        def split_some(row_at: Expr, first: Expr, channels: int) -> None:
            """Split `channels` of the 32 channels from `first` on of row `row_at`."""
            to = bind(row_at * row + first)
            source = bind(base + (start + row_at) * conv.in_channels + first)

            def produced(lanes: Lanes, c: Expr) -> Expr:
                return prepared.at(lanes, bind(first + c))(lanes.load(x, source + c))

            def split(lanes: Lanes, _: int, c: Expr) -> None:
                self._store_parts(lanes, scratch, bind(to + c), produced(lanes, c))

            if channels == TERMS:
                lanes = Lanes(self.target)
                starts = range(0, TERMS, lanes.width)
                self._store_group(scratch, to, [produced(lanes, i64(c)) for c in starts])
            else:
                over_channels(self.target, channels, 1, split)
                with T.serial(i64(0), i64(parts)) as part, T.serial(i64(channels), TERMS) as c:
                    T.buffer_store(scratch, tirx.const(0, "uint16"), [to + part * self.padded + c])

        def split(low: Expr, high: Expr) -> None:
            first = bind(maximum(low, head * self.steps))
            with T.serial(i64(0), maximum(minimum(high, tail * self.steps) - first, 0)) as i:
                row_at, step = bind(div(first + i, self.steps)), bind(mod(first + i, self.steps))
                last = conv.in_channels - (self.steps - 1) * TERMS
                if self.steps == 1 or last == TERMS:
                    split_some(row_at, bind(step * TERMS), last)
                else:
                    with T.If(step < self.steps - 1):
                        with T.Then():
                            split_some(row_at, bind(step * TERMS), TERMS)
                        with T.Else():
                            split_some(row_at, bind(step * TERMS), last)

        split(i64(0), self._needed(i64(HEIGHT)) * self.steps)
        return SplitRows(scratch, split)

    def _needed(self, rows: Expr) -> Expr:
        """How many input rows the first `rows` output rows of a task take."""
        return (rows - 1) * self.conv.stride + (self.conv.reach + 1)

    def _store_group(self, scratch: Buffer, at: Expr, values: list[Expr]) -> None:
        """Split the vectors of 32 channels; each part of them is one store of a cache line."""
        target, lanes = self.target, self.target.lanes

        def splat(number: int) -> Expr:
            return tirx.Broadcast(tirx.const(number, "uint32"), lanes)

        values = [target.hold(value) for value in values]
        bits = [tirx.reinterpret(f"uint32x{lanes}", value) for value in values]
        sizes = [tirx.bitwise_and(each, splat(0x7FFFFFFF)) for each in bits]
        above = functools.reduce(tirx.max, sizes) > splat(LARGEST << 16)
        with T.If(tirx.call_llvm_intrin("bool", "llvm.vector.reduce.or", above)):
            with T.Then():
                cells = registers(TERMS)
                for index, value in enumerate(values):
                    target.store(cells, i64(index * lanes), value)
                with T.serial(i64(0), i64(TERMS)) as c:
                    self._store_parts(Lanes(None), scratch, bind(at + c), cells[c])
            with T.Else():
                split = rounded_parts(values, self.parts.count, target.hold)
                for part, near in enumerate(split):
                    words = [tirx.reinterpret(f"uint16x{2 * lanes}", each) for each in near]
                    upper = tirx.Shuffle(words, [i64(2 * c + 1) for c in range(TERMS)])
                    index = tirx.Ramp(at + part * self.padded, i64(1), TERMS)
                    T.buffer_store(scratch, upper, [index])

    def _store_parts(self, lanes: Lanes, scratch: Buffer, at: Expr, value: Expr) -> None:
        """Split as `split_words` does; the parts of a channel are `padded` words apart."""
        width = lanes.width

        def typed(dtype: str) -> str:
            return dtype if width == 1 else f"{dtype}x{width}"

        def splat(number: int | float, dtype: str = "uint32") -> Expr:
            constant = tirx.const(number, dtype)
            return constant if width == 1 else tirx.Broadcast(constant, width)

        def bits_of(number: Expr) -> Expr:
            return bind(tirx.reinterpret(typed("uint32"), number))

        def hold(number: Expr) -> Expr:
            if lanes.target is not None:
                return lanes.target.hold(number)
            cell = registers(1)
            T.buffer_store(cell, number, [i64(0)])
            return T.bind(cell[i64(0)])

        def store(part: int, word: Expr) -> None:
            to = at + part * self.padded
            index = to if width == 1 else tirx.Ramp(to, i64(1), width)
            T.buffer_store(scratch, tirx.Cast(typed("uint16"), word), [index])

        half, high = splat(0x8000), splat(0xFFFF0000)
        rest = hold(value)
        exponent = bind(tirx.bitwise_and(bits_of(rest), splat(0x7F800000)))
        largest = float(np.array(LARGEST << 16, np.uint32).view(np.float32))
        for part in range(self.parts.count - 1):
            near = rest
            if part == 0:
                below = tirx.min(rest, splat(largest, "float32"))
                near = bind(tirx.max(below, splat(-largest, "float32")))
            rounded = tirx.bitwise_and(bits_of(near) + half, high)
            finite = exponent < splat(0x7F800000)
            kept = bind(tirx.Select(finite, rounded, splat(0)))
            store(part, tirx.shift_right(kept, splat(16)))
            rest = hold(rest - tirx.reinterpret(typed("float32"), kept))
        bits = bits_of(rest)
        nan = tirx.bitwise_and(bits, splat(0x7FFFFFFF)) > splat(0x7F800000)
        word = tirx.shift_right(bits + half, splat(16))
        store(self.parts.count - 1, tirx.Select(nan, splat(NAN), word))

    # The products

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
        tiles = self.unit.tiles()
        inner = self.weights.products
        each = -(-HEIGHT // inner)  # rows written in each step of the inner loop
        pairs = len(self.parts.pairs)
        # What the next rows take is split between the products, a little at a time: the vector
        # units work while the tiles do.
        following = HEIGHT * self.conv.stride * self.steps
        panels = bind(task.panel_to - task.panel_from)
        turns = panels * (inner * pairs) if self.by_rows else i64(inner * pairs)
        pace = bind(div(following + turns - 1, turns))
        split_weights, next_panel = None, None
        if self.weights.split_by_kernel:
            split_weights = SplitWeights(self.weights, w)
        elif self.fetches_panels:
            turns_of_panel = bind(ceil_div(task.rows, HEIGHT) * (inner * pairs))
            next_panel = NextPanel(self.weights, self.target, w, task.panel_to, turns_of_panel)
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

                self.by_width(panel, put_row)

        def flush() -> None:
            block = [bind(waiting[i64(i)]) for i in range(4)]
            write(block, i64(0), block[2])

        def compute(panel: Expr, high: int, t: Expr) -> None:
            """16 * high rows from row t on, times the columns of a panel."""
            last = [bind(waiting[i64(i)]) for i in range(4)]
            unsplit = bind(self._needed(t + HEIGHT) * self.steps)
            earlier = bind((panel - task.panel_from) * (inner * pairs))
            if split_weights is None:
                columns = w
                columns_at = bind(panel * self.weights.panel_words + self.weights.bias_words)
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
                    T.serial(i64(0), i64(self.steps)) as s,
                    T.serial(i64(0), i64(self.conv.taps)) as k,
                ):
                    step = bind(s * self.conv.taps + k)

                    def split(turn: int) -> None:
                        done = inner * before + step * len(some) + turn
                        low = bind((earlier + done) * pace)
                        rows.split(unsplit + low, unsplit + minimum(low + pace, following))
                        if next_panel is not None:
                            next_panel.fetch(panel, bind(div(t, HEIGHT) * (inner * pairs) + done))
                        if split_weights is not None and before == 0:
                            with T.If(tirx.EQ(t, i64(0))), T.Then():
                                split_weights.split(panel, step + 1, turn, len(some))

                    b_at = bind(columns_at + step * self.weights.product_words)
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
            for some in self.parts.passes:
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
                self.by_width(panel, lambda columns: after_panel(panel, columns))

        if self.by_rows:
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

    def by_width(self, panel: Expr, emit: Callable[[int], None]) -> None:
        """Emit code for the number of columns of a panel, of which the last may have fewer."""
        last = self.conv.out_channels - (self.panels - 1) * PANEL
        if last == PANEL or self.panels == 1:
            emit(last)
            return
        with T.If(panel < self.panels - 1):
            with T.Then():
                emit(PANEL)
            with T.Else():
                emit(last)

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
        conv = self.conv
        a_at = bind((t * conv.stride + k * conv.dilation) * self.row + s * TERMS)
        loaded: tuple[int, int] = (-1, -1)
        for turn, pair in enumerate(pairs):
            if loaded[1] != pair[1]:
                for j in range(2):
                    at = b_at + (pair[1] * 2 + j) * WORDS
                    tiles.load(FIRST_COLUMNS + j, columns, at, i64(TERMS))
            if loaded[0] != pair[0]:
                for i in range(high):
                    at = a_at + (pair[0] * self.padded + i * ROWS * conv.stride * self.row)
                    tiles.load(FIRST_ROWS + i, scratch, at, i64(conv.stride * self.row))
            loaded = pair
            for i in range(high):
                for j in range(2):
                    tiles.product(2 * i + j, FIRST_ROWS + i, FIRST_COLUMNS + j)
            between(turn)


def _zero_words(buffer: Buffer, start: Expr, stop: Expr) -> None:
    """buffer[start:stop] = 0, a whole number of cache lines."""
    zeros = tirx.Broadcast(tirx.const(0, "uint16"), LINE)
    with T.serial(i64(0), bind(div(stop - start, LINE))) as i:
        T.buffer_store(buffer, zeros, [tirx.Ramp(start + i * LINE, i64(1), LINE)])
