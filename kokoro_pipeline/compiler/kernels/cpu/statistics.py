"""Mean and reciprocal standard deviation of each channel over time, for instance norms.

Rows are processed in chunks of `CHUNK`, in parallel. A chunk is read twice, the second time from
the cache: first for its mean m, then for s1 = sum (x - m) and s2 = sum (x - m)^2, which give the
chunk's mean m + s1/n and its sum of squared deviations s2 - s1^2/n without cancellation. The chunks
are then combined in order, in float64, by

    mean = sum n_i (m_i + s1_i/n_i) / L,
    variance = sum (S_i + n_i (m_i + s1_i/n_i - mean)^2) / L

Thus a channel of mean 1000 and standard deviation 1 does not lose accuracy, and the result does not
depend on the number of threads. An error here is the same for a whole utterance: the phase, which
adds up the pitch, would drift by it.

A kernel that has just written some rows, and still has them in its cache, reads them only once: it
sums x - p, where p is the mean of a few of its rows. This p is within about a standard deviation of
the mean, unless there are outliers, whose squares then dominate the sum anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    div,
    f32,
    f64,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from .lanes import Lanes, over_channels
from .vector import VectorTarget, zero_range

CHUNK = 64
PIVOTS = 8  # rows whose mean is subtracted before squaring
MOMENTS = ("mean", "rstd")
VECTORS = 4  # vectors summed together: independent sums hide the latency of an addition


def _chunk_moments(
    lanes: Lanes,
    count: int,
    x: Buffer,
    at: Expr,
    stride: int,
    rows: Expr,
    store: Callable[[int, Expr, Expr, Expr], None],
) -> None:
    """Call store(i, m, s1/n, sum of squared deviations) for each of `count` vectors of channels.

    The rows start at x[at], `stride` floats apart.
    """
    width = lanes.width
    inverse = bind(f32(1) / tirx.Cast("float32", rows))
    first = registers(count * width)
    second = registers(count * width)
    middle = registers(count * width)
    slots = [i64(i * width) for i in range(count)]
    for slot in slots:
        lanes.store(first, slot, lanes.splat(0.0))
    with T.serial(i64(0), rows) as t:
        for slot in slots:
            value = lanes.load(x, at + t * stride + slot)
            lanes.store(first, slot, lanes.load(first, slot) + value)
    for slot in slots:
        lanes.store(middle, slot, lanes.load(first, slot) * lanes.splat(inverse))
        lanes.store(first, slot, lanes.splat(0.0))
        lanes.store(second, slot, lanes.splat(0.0))
    with T.serial(i64(0), rows) as t:
        for slot in slots:
            deviation = bind(lanes.load(x, at + t * stride + slot) - lanes.load(middle, slot))
            lanes.store(first, slot, lanes.load(first, slot) + deviation)
            lanes.store(second, slot, lanes.load(second, slot) + deviation * deviation)
    for i, slot in enumerate(slots):
        rest = bind(lanes.load(first, slot))
        share = bind(rest * lanes.splat(inverse))
        store(i, lanes.load(middle, slot), share, lanes.load(second, slot) - rest * share)


def statistics_name(epsilon: float | None) -> str:
    """The suffix of the name of a kernel that also computes statistics; empty without epsilon."""
    return "" if epsilon is None else f"_e{epsilon:g}".replace("-", "m").replace(".", "_")


@dataclass(frozen=True)
class Runs:
    """A subset of the rows of [..., L, C].

    It consists of `count` runs of `width` rows each, whose starts are `spacing` rows apart,
    beginning at row `first`. Rows from `stop` on are excluded.
    """

    first: Expr
    count: Expr
    width: Expr
    spacing: Expr
    stop: Expr

    def each(self, body: Callable[[Expr, Expr], None]) -> None:
        """Call body(first row, number of rows) for each run; runs without gaps are merged."""
        whole = self.width == self.spacing
        count = bind(tirx.Select(whole, i64(1), self.count))
        width = bind(tirx.Select(whole, self.count * self.spacing, self.width))
        with T.serial(i64(0), count) as run:
            start = bind(self.first + run * self.spacing)
            body(start, bind(minimum(maximum(self.stop - start, 0), width)))

    def starts(self, count: int) -> list[Expr]:
        """The first rows of `count` runs, repeating the last one if there are fewer.

        There must be at least one run.
        """
        last = bind(minimum(self.count - 1, div(self.stop - 1 - self.first, self.spacing)))
        return [bind(self.first + minimum(i64(run), last) * self.spacing) for run in range(count)]


def runs_moments(
    target: VectorTarget,
    channels: int,
    x: Buffer,
    base: Expr,
    runs: Runs,
    partial: Buffer,
    to: Expr,
    some: tuple[Expr, int] | None = None,
) -> None:
    """Compute the moments of the rows `runs` of x[base:].

    Writes the number of rows, p [C], the means minus p [C] and the sums of squared deviations [C]
    to partial[to:], or zeros if there are no rows. No other row is read, since another task may not
    have written it yet.

    `some` is the first channel and the number of those to compute, by default all. The number of
    rows is written with channel 0, and there must be rows.
    """
    if some is not None:
        _some_runs_moments(target, channels, x, base, runs, partial, to, some)
        return
    with T.If(runs.first < runs.stop):
        with T.Then():
            everything = i64(0), channels
            _some_runs_moments(target, channels, x, base, runs, partial, to, everything)
        with T.Else():
            zero_range(target, partial, to, to + (1 + 3 * channels))


def _some_runs_moments(
    target: VectorTarget,
    channels: int,
    x: Buffer,
    base: Expr,
    runs: Runs,
    partial: Buffer,
    to: Expr,
    some: tuple[Expr, int],
) -> None:
    C = channels
    first_channel, computed = some
    rows = registers(1, "int64")
    T.buffer_store(rows, i64(0), [i64(0)])
    runs.each(lambda _, count: T.buffer_store(rows, rows[i64(0)] + count, [i64(0)]))
    total = bind(tirx.Cast("float32", rows[i64(0)]))
    with T.If(first_channel == 0), T.Then():
        T.buffer_store(partial, total, [to])
    inverse = bind(f32(1) / total)
    pivot_rows = [bind(base + row * C) for row in runs.starts(PIVOTS)]

    def moments(lanes: Lanes, count: int, offset: Expr) -> None:
        c = bind(first_channel + offset)
        width = lanes.width
        slots = [i64(i * width) for i in range(count)]
        first, second = registers(count * width), registers(count * width)
        pivots = []
        for slot in slots:
            lanes.store(first, slot, lanes.splat(0.0))
            for row in pivot_rows:
                lanes.store(first, slot, lanes.load(first, slot) + lanes.load(x, row + c + slot))
            pivots.append(bind(lanes.load(first, slot) * lanes.splat(1.0 / PIVOTS)))
            lanes.store(first, slot, lanes.splat(0.0))
            lanes.store(second, slot, lanes.splat(0.0))

        def add(start: Expr, length: Expr) -> None:
            at = bind(base + start * C + c)
            with T.serial(i64(0), length) as t:
                for slot, pivot in zip(slots, pivots, strict=True):
                    deviation = bind(lanes.load(x, at + t * C + slot) - pivot)
                    lanes.store(first, slot, lanes.load(first, slot) + deviation)
                    lanes.store(second, slot, lanes.load(second, slot) + deviation * deviation)

        runs.each(add)
        for slot, pivot in zip(slots, pivots, strict=True):
            rest = bind(lanes.load(first, slot))
            share = bind(rest * lanes.splat(inverse))
            squares = lanes.load(second, slot) - rest * share
            for part, value in enumerate((pivot, share, squares)):
                lanes.store(partial, to + (1 + part * C) + c + slot, value)

    over_channels(target, computed, VECTORS, moments)


def combine_moments(
    target: VectorTarget,
    channels: int,
    partial: Buffer,
    parts: Expr,
    record: Callable[[Expr], Expr],
    rows: Callable[[Expr], Expr],
    length: Expr,
    epsilon: float,
    mean: Buffer,
    rstd: Buffer,
    to: Expr,
) -> None:
    """Combine the moments of `parts` parts of a sequence into mean, rstd[to : to + C].

    The sequence has `length` rows, part k has rows(k) rows, as float32. partial[record(k):] holds
    numbers m [C], the means of the part minus m [C], and its sums of squared deviations [C].
    """
    C = channels

    def combine(lanes: Lanes, count: int, c: Expr) -> None:
        for i in range(count):
            _combine(lanes, bind(c + i * lanes.width))

    def _combine(lanes: Lanes, at: Expr) -> None:
        def wide(index: Expr) -> Expr:
            return lanes.cast(lanes.load(partial, index), "float64")

        inverse = bind(f64(1) / tirx.Cast("float64", length))
        total = registers(lanes.width, "float64")
        zero = i64(0)

        def over_parts(term: Callable[[Expr, Expr], Expr]) -> Expr:
            """sum over parts of term(index of the part's mean, rows of the part) / length."""
            lanes.store(total, zero, lanes.splat(f64(0)))
            with T.serial(i64(0), parts) as k:
                weight = bind(lanes.splat(tirx.Cast("float64", rows(k))))
                part = term(bind(record(k) + at), weight)
                lanes.store(total, zero, lanes.load(total, zero) + part)
            return bind(lanes.load(total, zero) * lanes.splat(inverse))

        centre = over_parts(lambda k, n: n * (wide(k) + wide(k + C)))

        def squares(k: Expr, n: Expr) -> Expr:
            distance = bind(wide(k) + wide(k + C) - centre)
            return wide(k + 2 * C) + n * distance * distance

        variance = over_parts(squares)
        lanes.store(mean, to + at, lanes.cast(centre, "float32"))
        root = tirx.sqrt(variance + lanes.splat(f64(epsilon)))
        lanes.store(rstd, to + at, lanes.cast(lanes.splat(f64(1)) / root, "float32"))

    over_channels(target, C, VECTORS, combine)


def channel_statistics(target: VectorTarget, channels: int, epsilon: float) -> tirx.PrimFunc:
    """The kernel x -> mean, rstd with rstd = 1 / sqrt(variance + epsilon).

    x is float32 [B, L, C]; mean and rstd are float32 [B, C]. The variance is over L, divided by L,
    as in instance norms. B and L are at least 1.
    """
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, mean: Buffer, rstd: Buffer) -> None:
        chunks = bind(ceil_div(length, CHUNK))
        # For each chunk, the record that `combine_moments` expects.
        partial = T.alloc_buffer((batch * ceil_div(length, CHUNK) * (3 * C),), "float32")
        with T.parallel(i64(0), batch * chunks) as task:
            first = bind(mod(task, chunks) * CHUNK)
            rows = bind(minimum(length - first, CHUNK))
            start = bind((div(task, chunks) * length + first) * C)

            def moments(lanes: Lanes, count: int, c: Expr) -> None:
                def store(i: int, *parts: Expr) -> None:
                    to = bind(task * (3 * C) + c + i * lanes.width)
                    for part, value in enumerate(parts):
                        lanes.store(partial, to + part * C, value)

                _chunk_moments(lanes, count, x, start + c, C, rows, store)

            over_channels(target, C, VECTORS, moments)

        def chunk_rows(k: Expr) -> Expr:
            return tirx.Cast("float32", minimum(length - k * CHUNK, CHUNK))

        with T.serial(i64(0), batch) as b:
            start = bind(b * chunks * (3 * C))
            combine_moments(
                target,
                C,
                partial,
                chunks,
                lambda k: start + k * (3 * C),
                chunk_rows,
                length,
                epsilon,
                mean,
                rstd,
                bind(b * C),
            )

    return build_kernel(
        f"channel_statistics_c{C}{statistics_name(epsilon)}_v{target.lanes}",
        [
            Parameter("x", (batch, length, C)),
            Parameter("mean", (batch, C)),
            Parameter("rstd", (batch, C)),
        ],
        body,
    )
