"""A task of a transformed convolution: its tiles, and the three steps from x to y.

`transform_conv1d` says what the steps are, `transform` what lies in the scratch between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..common.builder import (
    Buffer,
    Expr,
    T,
    bind,
    div,
    i64,
    maximum,
    minimum,
    workspace,
)
from .lanes import Lanes, over_channels
from .producer import Prepared
from .statistics import Runs, runs_moments
from .transform import SameConv1d, Scratch, Transform
from .transform_blocks import Blocks
from .vector import LINE, VectorTarget, zero_range

COLUMNS = 32  # floats of a row read together: memory is fetched in pairs of cache lines
AHEAD = 16  # rows that are prefetched: with so few floats of a row, the processor does not do it


@dataclass(frozen=True)
class Arguments:
    """The arguments of a kernel, whose shapes `transformed_conv1d` gives."""

    x: Buffer
    producer: Sequence[Buffer]
    u: Buffer
    residual: Buffer | None
    dilation: Expr
    y: Buffer
    statistics: Sequence[Buffer]

    @classmethod
    def of(cls, conv: SameConv1d, x: Buffer, *rest: Buffer) -> Arguments:
        """Name the arguments, which come in the order of the kernel's parameters."""
        left = iter(rest)
        producer = [next(left) for _ in conv.producer.parameters(i64(1), conv.in_channels)]
        u = next(left)
        residual = next(left) if conv.residual else None
        return cls(x, producer, u, residual, next(left), next(left), list(left))


@dataclass(frozen=True)
class Tiles:
    """The tiles (q, p) of a task: phase p < `phases` of group q < `groups`, `count` in all.

    Row n of the output of tile (q, p) is row `output_row(q, p) + n * dilation` of the sequence. The
    tiles read `rows` input rows from row `start` of the sequence on, some of which may lie outside
    of it; row n of the input of tile (q, p) is row `input_row(q, p) + n * dilation` of these.
    """

    groups: Expr
    phases: Expr
    count: Expr
    step: Expr
    first: Expr
    start: Expr
    rows: Expr

    @classmethod
    def of(
        cls, transform: Transform, plan: Blocks, dilation: Expr, group: Expr, phase: Expr
    ) -> Tiles:
        """The tiles of the task that begins with this group of the sequence and this phase."""
        groups = bind(minimum(plan.groups - group, plan.per_block))
        phases = bind(minimum(dilation - phase, plan.phases))
        count = bind(groups * phases)
        step = bind(dilation * transform.outputs)
        first = bind(group * step + phase)
        start = bind(first - dilation * (transform.taps // 2))
        rows = bind((groups - 1) * step + dilation * (transform.window - 1) + phases)
        return cls(groups, phases, count, step, first, start, rows)

    @contextmanager
    def each(self) -> Iterator[tuple[Expr, Expr]]:
        """Emit a loop over the tiles."""
        with T.serial(i64(0), self.groups) as q, T.serial(i64(0), self.phases) as p:
            yield q, p

    def input_row(self, q: Expr, p: Expr) -> Expr:
        """The first input row of tile (q, p), counted from `start`."""
        return q * self.step + p

    def output_row(self, q: Expr, p: Expr) -> Expr:
        """The first output row of tile (q, p), which is in the sequence or after its end."""
        return self.first + q * self.step + p

    def index(self, q: Expr, p: Expr) -> Expr:
        """The number of tile (q, p)."""
        return q * self.phases + p


@dataclass(frozen=True)
class Window:
    """The input rows of a task for a few vectors of channels, produced: [vectors, rows, lanes].

    Those of vector v begin at buffer[starts[v]]. Rows `head` to `tail` lie in the sequence; row t
    of them is read from x[base + t * CI]. All others are zeros.
    """

    buffer: Buffer
    base: Expr
    head: Expr
    tail: Expr
    starts: Sequence[Expr]


@dataclass(frozen=True)
class TransformTask:
    """The code of a task: the rows of its tiles, in the batch row `batch`.

    Its scratch holds the numbers of all tiles and then their products, as `layout` says.
    """

    target: VectorTarget
    conv: SameConv1d
    transform: Transform
    layout: Scratch
    arguments: Arguments
    length: Expr
    plan: Blocks
    batch: Expr
    tiles: Tiles

    @property
    def columns(self) -> int:
        """Channels read together: the most vectors within `COLUMNS` that divide the padded ones."""
        V = self.target.lanes
        vectors = self.layout.products.in_channels // V
        return V * max(n for n in range(1, max(COLUMNS // V, 1) + 1) if vectors % n == 0)

    def emit(self) -> None:
        """Emit the three steps, from x to y."""
        most = self.plan.per_block * self.plan.phases
        # `BinProducts.emit` may read and write the rows of one more tile.
        scratch = T.alloc_buffer(((most + 1) * self.layout.of_tile,), "float32")
        self.read(scratch)
        self.multiply(scratch)
        self.write(scratch)

    # 1. The numbers of all tiles.

    def read(self, scratch: Buffer) -> None:
        """Read x[batch, rows, CI], and write the numbers [tiles, numbers, CI] of all tiles."""
        channels, columns = self.conv.in_channels, self.columns
        prepared = Prepared(
            self.conv.producer, self.target, channels, self.arguments.producer, self.batch
        )
        window = self.window()
        with T.serial(i64(0), i64(channels // columns)) as column:
            first = bind(column * columns)
            self.read_vectors(prepared, window, first)
            self.transform_window(window, first, scratch)
        for edge in range(channels // columns * columns, self.layout.products.in_channels, columns):
            self.read_channels(prepared, window, edge)
            self.transform_window(window, i64(edge), scratch)

    def window(self) -> Window:
        """A window for `columns` channels, not filled yet."""
        tiles, dilation, transform = self.tiles, self.arguments.dilation, self.transform
        V, CI, M = self.target.lanes, self.conv.in_channels, transform.outputs
        head = bind(minimum(maximum(i64(0) - tiles.start, 0), tiles.rows))
        tail = bind(maximum(minimum(self.length - tiles.start, tiles.rows), head))
        rows = (self.plan.per_block * M + (transform.window - M)) * dilation + self.plan.phases
        buffer = T.alloc_buffer((rows * self.columns,), "float32")
        base = bind((self.batch * self.length + tiles.start) * CI)
        starts = [bind(tiles.rows * c) for c in range(0, self.columns, V)]
        return Window(buffer, base, head, tail, starts)

    def read_vectors(self, prepared: Prepared, window: Window, first: Expr) -> None:
        """Fill the window with the channels from `first` on, all of which exist."""
        target, V, CI = self.target, self.target.lanes, self.conv.in_channels
        channels = [bind(first + v * V) for v in range(len(window.starts))]
        produce = [prepared.at(Lanes(target), c) for c in channels]
        zero = target.splat(0.0)

        def fill(t: Expr, make: Callable[[int], Expr]) -> None:
            for v, start in enumerate(window.starts):
                target.store(window.buffer, start + t * V, make(v))

        with T.serial(i64(0), window.head) as t:
            fill(t, lambda _: zero)
        with T.serial(i64(0), window.tail - window.head) as i:
            t = bind(window.head + i)
            at = bind(window.base + t * CI)
            for line in range(0, self.columns, LINE):
                target.prefetch(self.arguments.x, at + first + (AHEAD * CI + line))
            fill(t, lambda v: produce[v](target.load(self.arguments.x, at + channels[v])))
        with T.serial(i64(0), self.tiles.rows - window.tail) as i:
            fill(window.tail + i, lambda _: zero)

    def read_channels(self, prepared: Prepared, window: Window, first: int) -> None:
        """Fill the window with the channels from `first` on one by one, followed by zeros."""
        V, CI = self.target.lanes, self.conv.in_channels
        zero_range(self.target, window.buffer, i64(0), bind(self.tiles.rows * self.columns))
        for c in range(first, min(CI, first + self.columns)):
            vector, lane = divmod(c - first, V)
            produce = prepared.at(Lanes(None), i64(c))
            with T.serial(i64(0), window.tail - window.head) as i:
                t = bind(window.head + i)
                value = produce(self.arguments.x[window.base + t * CI + c])
                T.buffer_store(window.buffer, value, [window.starts[vector] + t * V + lane])

    def transform_window(self, window: Window, first: Expr, scratch: Buffer) -> None:
        """Write the numbers of all tiles for the channels from `first` on."""
        target, tiles, V, slot = self.target, self.tiles, self.target.lanes, self.layout.slot
        with T.serial(i64(0), i64(len(window.starts))) as v, tiles.each() as (q, p):
            row = bind((tiles.input_row(q, p) + v * tiles.rows) * V)
            spacing = bind(self.arguments.dilation * V)
            tile = bind(tiles.index(q, p) * self.layout.of_tile)
            to = bind(tile + self.layout.products.ahead * slot + first + v * V)
            self.transform.forward(
                target,
                lambda n: target.hold(target.load(window.buffer, row + spacing * n)),
                lambda number, value: target.store(scratch, to + number * slot, value),
            )

    # 2. The products of all bins.

    def multiply(self, scratch: Buffer) -> None:
        """Replace the numbers [tiles, numbers, CI] by the products [tiles, products, CO]."""
        products = self.layout.products
        products.emit(
            scratch,
            self.layout.of_tile,
            self.layout.slot,
            self.arguments.u,
            products.out_channels,
            self.tiles.count,
            self.conv.chunk,
        )

    # 3. The inverse transform.

    def write(self, scratch: Buffer) -> None:
        """Transform the products [tiles, products, CO] back, and write y[batch, rows, CO].

        The rows of a tile are gathered first, so that whole rows are written to memory.
        """
        tiles, dilation = self.tiles, self.arguments.dilation
        gathered = workspace(self.transform.outputs * self.layout.products.out_channels)
        with tiles.each() as (q, p):
            source = bind(tiles.index(q, p) * self.layout.of_tile)
            row = bind(tiles.output_row(q, p))
            to = bind((self.batch * self.length + row) * self.conv.out_channels)
            self.transform_back(scratch, source, to, gathered)
            inside = maximum(div(self.length - row + dilation - 1, dilation), 0)
            self.write_rows(gathered, bind(minimum(inside, self.transform.outputs)), to)

    def transform_back(self, scratch: Buffer, source: Expr, to: Expr, gathered: Buffer) -> None:
        """Gather the output rows [M, CO] of the tile whose products are at scratch[source].

        Its first row will be written to y[to].
        """
        target, transform, layout = self.target, self.transform, self.layout
        outputs, spacing = layout.products.out_channels, self.arguments.dilation
        with T.serial(i64(0), i64(outputs // target.lanes)) as vector:
            c = bind(vector * target.lanes)
            for n in range(transform.outputs):
                row = to + spacing * (n * self.conv.out_channels)
                target.prefetch(self.arguments.y, row + c, write=True)
            rows = transform.inverse(
                target,
                lambda product: target.hold(
                    target.load(scratch, source + c + product * layout.slot)
                ),
            )
            for n in range(transform.outputs):
                target.store(gathered, c + n * outputs, rows[n])

    def write_rows(self, gathered: Buffer, rows: Expr, first: Expr) -> None:
        """Write the first `rows` rows of a tile to y[first:], with bias and residual."""
        arguments, CO = self.arguments, self.conv.out_channels
        with T.serial(i64(0), rows) as n:
            to = bind(first + n * arguments.dilation * CO)
            source = bind(n * self.layout.products.out_channels)

            def write(lanes: Lanes, _: int, c: Expr) -> None:
                value = lanes.load(gathered, source + c) + lanes.load(arguments.u, c)
                if arguments.residual is not None:
                    value = value + lanes.load(arguments.residual, to + c)
                lanes.store(arguments.y, to + c, value)

            over_channels(self.target, CO, 1, write)

    # The statistics of what was written.

    def write_moments(self, partial: Buffer, to: Expr) -> None:
        """Write the moments of the task's rows of y to partial[to:], see `runs_moments`."""
        tiles, dilation, CO = self.tiles, self.arguments.dilation, self.conv.out_channels
        count = bind(tiles.groups * self.transform.outputs)
        runs = Runs(tiles.first, count, tiles.phases, dilation, self.length)
        base, to = bind(self.batch * self.length * CO), bind(to)
        runs_moments(self.target, CO, self.arguments.y, base, runs, partial, to)
