"""Direct convolution at the speed of a matrix product.

These are the loops of conv1d, linear and the transposed convolution.

Activations are rows of channels (NWC). An output row reads a window of the input that consists of
`segments` runs of `length` consecutive floats, `segment_stride` apart: one run of K*CI floats if
the taps are adjacent, K runs of CI floats with a dilation. Then

    total[t, c] = bias[c] + sum_{s, j} X[t * row_stride + s * segment_stride + j] * W[s, j, c]

is computed in a register tile of rows x vectors (the lanes are output channels c), with the
reduction split into chunks of at most `CHUNK` terms. A chunk is summed in registers, starting from
zero, and then added to the total, which is float64. Its weights stay in the cache for all rows of
the block, while those of the next one are prefetched, and the rounding error grows with the square
root of the chunk size only.

The order in which an output is summed depends neither on the number of threads nor on the position
of its row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.builder import Buffer, Expr, T, bind, ceil_div, div, i64, maximum, minimum, mod
from .sums import Sums, WeightsAhead
from .vector import Tile, VectorTarget, copy_range, zero_range

CHUNK = 256
SCRATCH_BYTES = 256 * 1024
TASKS = 32  # below this many row blocks, output channels are spread over tasks too
TASK_TERMS = 1 << 16  # a few microseconds of work


@dataclass(frozen=True)
class Window:
    """The input that one output row reads, in floats; see the module's docstring."""

    segments: int
    length: int
    segment_stride: int
    row_stride: int

    @classmethod
    def of_taps(cls, channels: int, taps: int, dilation: int, stride: int) -> Window:
        if dilation == 1:
            return cls(1, taps * channels, taps * channels, stride * channels)
        return cls(taps, channels, dilation * channels, stride * channels)

    @property
    def terms(self) -> int:
        return self.segments * self.length


@dataclass(frozen=True)
class Panels:
    """Output channels in panels of `width`, each with weights [1 + terms, width], bias first."""

    channels: int
    tile: Tile
    lanes: int

    @classmethod
    def of(cls, target: VectorTarget, channels: int) -> Panels:
        return cls(channels, target.tile(channels), target.lanes)

    @property
    def width(self) -> int:
        return self.tile.vectors * self.lanes

    @property
    def count(self) -> int:
        return -(-self.channels // self.width)

    def shape(self, terms: int) -> tuple[int, int]:
        return self.count, (1 + terms) * self.width

    def pack(self, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """Pack weight [channels, terms], bias [channels] into float32 [count, (1 + terms) * width].

        Channels beyond `channels` are filled with 0.
        """
        channels, terms = weight.shape
        padded = np.zeros((self.count * self.width, 1 + terms), np.float32)
        padded[:channels, 1:] = weight
        if bias is not None:
            padded[:channels, 0] = bias
        panels = padded.reshape(self.count, self.width, 1 + terms).transpose(0, 2, 1)
        return np.ascontiguousarray(panels).reshape(self.shape(terms))


def block_rows(panels: Panels, row_bytes: int) -> int:
    """Rows per task: enough to reuse each chunk of weights, few enough for the L2 cache."""
    rows = min(96, max(48, SCRATCH_BYTES // max(row_bytes, 1)))
    return -(-rows // panels.tile.rows) * panels.tile.rows


def emit_tasks(
    panels: Panels,
    window: Window,
    batch: Expr,
    rows: Expr,
    block: int,
    body: Callable[[Expr, Expr, Expr, Expr, Expr], None],
) -> None:
    """Emit a parallel loop over (panel group, batch, row block).

    Panels are split into groups to reach `TASKS` tasks, but a task has at least about `TASK_TERMS`
    multiply-adds. The arguments of the body are: batch index, first row, number of rows, first
    panel, and the panel after the last one.
    """
    blocks = bind(ceil_div(rows, block))
    per_group = batch * blocks
    wanted = bind(maximum(minimum(div(i64(TASKS - 1), maximum(per_group, 1)) + 1, panels.count), 1))
    panel_terms = minimum(rows, block) * (window.terms * panels.width)
    least = bind(div(i64(TASK_TERMS), maximum(panel_terms, 1)) + 1)
    spread = bind(div(i64(panels.count - 1) + wanted, wanted))
    each = bind(minimum(maximum(spread, least), panels.count))
    groups = bind(div(i64(panels.count - 1) + each, each))
    with T.parallel(i64(0), groups * per_group) as task:
        group = bind(div(task, per_group))
        rest = bind(mod(task, per_group))
        b = bind(div(rest, blocks))
        first = bind(mod(rest, blocks) * block)
        body(
            b,
            first,
            bind(minimum(rows - first, block)),
            bind(group * each),
            bind(minimum(group * each + each, panels.count)),
        )


def emit_window_copy(
    target: VectorTarget,
    scratch: Buffer,
    source: Buffer,
    base: Expr,
    size: Expr,
    start: Expr,
    count: Expr,
) -> None:
    """scratch[i] = source[base + start + i] for i < count; 0 if start + i is not in [0, size)."""
    head = bind(minimum(maximum(i64(0) - start, 0), count))
    tail = bind(maximum(minimum(size - start, count), head))
    zero_range(target, scratch, i64(0), head)
    copy_range(target, scratch, head, source, base + start + head, bind(tail - head))
    zero_range(target, scratch, tail, count)


def emit_panel(
    target: VectorTarget,
    panels: Panels,
    window: Window,
    x: Buffer,
    x_base: Expr,
    w: Buffer,
    panel: Expr,
    total: Buffer,
    rows: Expr,
    chunk: int = CHUNK,
    chains: int = 1,
) -> None:
    """total[0:rows, 0:width] = bias + windows of X * W, in float64, for one panel.

    A chunk of `chunk` terms is summed in `chains` registers, which divide the rows of the tile.
    """
    width, lanes, vectors = panels.width, panels.lanes, panels.tile.vectors
    w_base = bind(panel * ((1 + window.terms) * width))
    with T.serial(i64(0), rows) as t:
        for v in range(vectors):
            bias = target.cast(target.load(w, w_base + v * lanes), "float64")
            target.store(total, t * width + v * lanes, bias)

    parts = -(-window.length // chunk)
    part = -(-window.length // parts)
    together = max(1, chunk // window.length) if parts == 1 else 1
    with T.serial(i64(0), i64(-(-window.segments // together))) as group:
        segment = bind(group * together)
        segments = minimum(window.segments - segment, together) if window.segments > 1 else i64(1)
        with T.serial(i64(0), i64(parts)) as p:
            offset = bind(p * part)
            length = (
                i64(part) if window.length % part == 0 else minimum(window.length - offset, part)
            )

            read = (segment * window.length + offset + 1) + segments * length
            weights_ahead = WeightsAhead(target, w, w_base + read * width)

            def tile(count: int, t: Expr, skip: Expr | None) -> None:
                ahead = weights_ahead.of_tile(length)
                sums = Sums(target, Tile(count, vectors), chains)
                with T.serial(i64(0), segments) as s:
                    run = bind(segment + s)
                    xs = bind(x_base + t * window.row_stride + run * window.segment_stride + offset)
                    ws = bind(w_base + (run * window.length + offset + 1) * width)
                    sums.accumulate(
                        length,
                        lambda r, j: x[xs + j + r * window.row_stride],
                        lambda v, j: target.load(w, ws + j * width + v * lanes),
                        ahead,
                    )

                for r in range(count):
                    if skip is None:
                        sums.add_row_to(total, r, (t + r) * width)
                    else:
                        with T.If(skip <= r), T.Then():
                            sums.add_row_to(total, r, (t + r) * width)

            # The last tile is moved back to end at the last row. The rows it shares with the tile
            # before it are computed again, but not added again.
            height = panels.tile.rows // chains
            with T.If(rows >= height):
                with T.Then(), T.serial(i64(0), ceil_div(rows, height)) as i:
                    t = bind(minimum(i * height, rows - height))
                    tile(height, t, bind(i * height - t))
                with T.Else(), T.serial(i64(0), rows) as t:
                    tile(1, t, None)


def emit_store(
    target: VectorTarget,
    panels: Panels,
    panel: Expr,
    total: Buffer,
    rows: Expr,
    y: Buffer,
    y_base: Expr,
    residual: Buffer | None = None,
) -> None:
    """y[y_base + t * channels + c] = total[t, c] for the existing channels of one panel.

    A residual, which has the layout of y, is added if given.
    """
    width, lanes, channels = panels.width, panels.lanes, panels.channels

    def copy(valid: int) -> None:
        with T.serial(i64(0), rows) as t:
            to = bind(y_base + t * channels + panel * width)
            for v in range(valid // lanes):
                value = target.cast(target.load(total, t * width + v * lanes), "float32")
                if residual is not None:
                    value = value + target.load(residual, to + v * lanes)
                target.store(y, to + v * lanes, value)
            for c in range(valid // lanes * lanes, valid):
                number = tirx.Cast("float32", total[t * width + c])
                if residual is not None:
                    number = number + residual[to + c]
                T.buffer_store(y, number, [to + c])

    tail = channels - (panels.count - 1) * width
    if tail == width:
        copy(width)
    elif panels.count == 1:
        copy(tail)
    else:
        with T.If(panel < panels.count - 1):
            with T.Then():
                copy(width)
            with T.Else():
                copy(tail)
