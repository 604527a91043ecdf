"""Conv1d on rows of channels (NWC), with stride, dilation and zero padding on either side.

A producer is applied to the input's rows while a block's window is copied to scratch, zeros around
the sequence after it; a residual is added to the output. Neither costs a pass through memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from .direct import (
    Panels,
    Window,
    block_rows,
    emit_panel,
    emit_store,
    emit_tasks,
    emit_window_copy,
)
from .lanes import Lanes, over_channels
from .producer import NOTHING, Prepared, Producer
from .vector import (
    Buffer,
    Expr,
    Parameter,
    T,
    VectorTarget,
    bind,
    build_kernel,
    i64,
    maximum,
    minimum,
    zero_range,
)


@dataclass(frozen=True)
class Conv1d:
    """The static parameters of a convolution with a weight [out_channels, in_channels, taps]."""

    in_channels: int
    out_channels: int
    taps: int
    stride: int = 1
    dilation: int = 1
    pad_left: int = 0
    pad_right: int = 0

    def __post_init__(self) -> None:
        least = min(self.in_channels, self.out_channels, self.taps, self.stride, self.dilation)
        if least < 1 or min(self.pad_left, self.pad_right) < 0:
            raise InputError(f"{self}: sizes must be at least 1 and padding at least 0")

    @property
    def reach(self) -> int:
        """Input rows between the first and the last tap."""
        return (self.taps - 1) * self.dilation

    def out_length(self, length: Expr) -> Expr:
        """Output rows of `length` input rows: an int, or an expression in int64."""
        free = self.pad_left + self.pad_right - self.reach
        if self.stride == 1:
            return length + free
        return (length + (free - 1)) // self.stride + 1

    @property
    def window(self) -> Window:
        return Window.of_taps(self.in_channels, self.taps, self.dilation, self.stride)


def pack_conv1d(
    target: VectorTarget, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """PyTorch's weight [CO, CI, K] and bias [CO] -> float32 [panels, (1 + K*CI) * width].

    A panel is `width` output channels: first their biases (0 without one), then for each (k, ci)
    the weights of the panel's channels. Channels that do not exist are 0.
    """
    out_channels, in_channels, taps = weight.shape
    by_tap = np.asarray(weight, np.float32).transpose(0, 2, 1)
    rows = by_tap.reshape(out_channels, taps * in_channels)
    return Panels.of(target, out_channels).pack(rows, bias)


def _emit_produced_window(
    target: VectorTarget,
    channels: int,
    prepared: Prepared,
    scratch: Buffer,
    x: Buffer,
    base: Expr,
    length: Expr,
    start: Expr,
    count: Expr,
) -> None:
    """scratch[0:count] = produced rows start, start + 1, ... of x[base ...], zeros beyond it."""
    head = bind(minimum(maximum(i64(0) - start, 0), count))
    tail = bind(maximum(minimum(length - start, count), head))
    zero_range(target, scratch, i64(0), bind(head * channels))
    with T.serial(i64(0), tail - head) as i:
        to = bind((head + i) * channels)
        source = bind(base + start * channels + to)

        def apply(lanes: Lanes, _: int, c: Expr) -> None:
            value = prepared.at(lanes, c)(lanes.load(x, source + c))
            lanes.store(scratch, to + c, value)

        over_channels(target, channels, 1, apply)
    zero_range(target, scratch, bind(tail * channels), bind(count * channels))


def conv1d(
    target: VectorTarget, conv: Conv1d, producer: Producer = NOTHING, *, residual: bool = False
) -> tirx.PrimFunc:
    """Y[B, LO, CO] = bias + sum_{k, ci} X[B, t*stride + k*dilation - pad_left, ci] * W[co, ci, k].

    (x, *producer's arguments, w[, residual]) -> y, all float32: x [B, L, CI]; what
    `Producer.parameters` lists; w as `pack_conv1d` gives it; residual, y [B, LO, CO] with
    LO = conv.out_length(L) (which must be at least 1), B and L any from 1. X is what the producer
    makes of x.
    """
    producer.check(target, conv.in_channels)
    panels, window = Panels.of(target, conv.out_channels), conv.window
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out = conv.out_length(length)
    block = block_rows(panels, 4 * window.row_stride)
    padded = conv.pad_left + conv.pad_right > 0
    CI = conv.in_channels

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, w = rest[: len(producer.parameters(batch, CI)) + 1]
        *residuals, y = rest[len(coefficients) + 1 :]
        rows_out = bind(out)

        def task(b: Expr, first: Expr, rows: Expr, panel_from: Expr, panel_to: Expr) -> None:
            if padded or producer != NOTHING:
                size = ((block - 1) * conv.stride + conv.reach + 1) * CI
                scratch = T.alloc_buffer((size,), "float32")
                source, base = scratch, i64(0)
            if producer != NOTHING:
                start = bind(first * conv.stride - conv.pad_left)
                count = bind((rows - 1) * conv.stride + (conv.reach + 1))
                prepared = producer.prepare(target, CI, coefficients, b)
                _emit_produced_window(
                    target, CI, prepared, scratch, x, bind(b * length * CI), length, start, count
                )
            elif padded:
                start = bind((first * conv.stride - conv.pad_left) * CI)
                count = bind(((rows - 1) * conv.stride + (conv.reach + 1)) * CI)
                emit_window_copy(
                    target, scratch, x, bind(b * length * CI), bind(length * CI), start, count
                )
            else:
                source, base = x, bind(b * length * CI + first * (conv.stride * CI))
            total = T.alloc_buffer((block * panels.width,), "float32")
            with T.serial(i64(0), panel_to - panel_from) as i:
                panel = bind(panel_from + i)
                emit_panel(target, panels, window, source, base, w, panel, total, rows)
                y_base = bind((b * rows_out + first) * conv.out_channels)
                emit_store(target, panels, panel, total, rows, y, y_base, *residuals)

        emit_tasks(panels, window, batch, rows_out, block, task)

    name = (
        f"conv1d_ci{CI}_co{conv.out_channels}_k{conv.taps}_s{conv.stride}_d{conv.dilation}"
        f"_p{conv.pad_left}_{conv.pad_right}{producer.name}{'_residual' if residual else ''}"
        f"_v{target.lanes}r{target.registers}"
    )
    added = [Parameter("residual", (batch, out, conv.out_channels))] if residual else []
    return build_kernel(
        name,
        [
            Parameter("x", (batch, length, CI)),
            *producer.parameters(batch, CI),
            Parameter("w", panels.shape(window.terms)),
            *added,
            Parameter("y", (batch, out, conv.out_channels)),
        ],
        body,
    )
