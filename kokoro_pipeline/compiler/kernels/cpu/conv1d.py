"""Conv1d on rows of channels (NWC), with stride, dilation and zero padding on either side.

A producer is applied to the input rows while the window of a block is copied to scratch; the zero
padding comes after it. A residual is added to the output. Neither costs an additional pass through
memory.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from ..common.builder import Buffer, Expr, Parameter, T, bind, build_kernel, i64, maximum, minimum
from ..common.convolutions import Conv1d
from ..common.producer import NOTHING, Producer
from .direct import Panels, Window, block_rows, emit_panel, emit_store, emit_tasks, emit_window_copy
from .lanes import Lanes, over_channels
from .producer import Prepared, check_vectors
from .vector import VectorTarget, zero_range


def pack_conv1d(
    target: VectorTarget, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """Pack PyTorch's weight [CO, CI, K] and bias [CO] into float32 [panels, (1 + K*CI) * width].

    A panel is `width` output channels: first their biases (0 without one), then for each (k, ci)
    their weights. Channels beyond CO are filled with 0.
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
    """scratch[0:count] = producer(rows start, start + 1, ... of x[base:]), or 0 outside of x."""
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

    The kernel is (x, *producer arguments, w[, residual]) -> y, all float32: x [B, L, CI]; the
    arguments that `Producer.parameters` lists; w as packed by `pack_conv1d`; residual and y
    [B, LO, CO] with LO = conv.out_length(L), which must be at least 1. B and L are at least 1. X is
    the result of applying the producer to x.
    """
    check_vectors(producer, target, conv.in_channels)
    panels = Panels.of(target, conv.out_channels)
    window = Window.of_taps(conv.in_channels, conv.taps, conv.dilation, conv.stride)
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
                prepared = Prepared(producer, target, CI, coefficients, b)
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
            total = T.alloc_buffer((block * panels.width,), "float64")
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
