"""Transposed convolutions on rows of channels (NWC): the direct form, and the depthwise one.

With K = r * stride taps, row i of the input contributes to the r * stride output rows from
i * stride on. Conversely, the `stride` output rows of group q read the same r input rows q, q-1,
..., q-r+1:

    full[q * stride + j, co] = bias[co] + sum_{m < r, ci} X[q - m, ci] * W[ci, co, m * stride + j]

so a group is one row of an r-tap direct convolution with stride * CO channels, whose channels
(j, co) have the memory layout of the output rows. There are no multiplications by zero. The output
is the full result without its first `crop_left` and last `crop_right` rows; only the remaining rows
are written, so no slicing is needed.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    i64,
    maximum,
    minimum,
    mod,
)
from ..common.convolutions import ConvTranspose1d
from .direct import Panels, Window, block_rows, emit_panel, emit_tasks, emit_window_copy
from .lanes import Lanes, over_channels
from .vector import VectorTarget


def pack_conv_transpose1d(
    target: VectorTarget, weight: np.ndarray, stride: int, bias: np.ndarray | None = None
) -> np.ndarray:
    """Pack PyTorch's weight [CI, CO, K] and bias [CO] into float32 [panels, (1 + r*CI) * width]."""
    in_channels, out_channels, taps = weight.shape
    r = taps // stride
    # The oldest input row comes first: tap m of the window is X[q - (r - 1 - m)].
    split = np.asarray(weight, np.float32).reshape(in_channels, out_channels, r, stride)[:, :, ::-1]
    rows = split.transpose(3, 1, 2, 0).reshape(stride * out_channels, r * in_channels)
    biases = None if bias is None else np.tile(np.asarray(bias, np.float32), stride)
    return Panels.of(target, stride * out_channels).pack(rows, biases)


def conv_transpose1d(target: VectorTarget, conv: ConvTranspose1d) -> tirx.PrimFunc:
    """The direct form of the transposed convolution; see the module's docstring.

    Arguments of the kernel, all float32: X [B, L, CI]; W as packed by `pack_conv_transpose1d`;
    Y [B, LO, CO] with LO = conv.out_length(L), which must be at least 1. B and L are at least 1.
    """
    group = conv.stride * conv.out_channels
    panels = Panels.of(target, group)
    window = Window.of_taps(conv.in_channels, conv.reach + 1, 1, 1)
    lanes, width = target.lanes, panels.width
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out = conv.out_length(length)
    block = block_rows(panels, 4 * window.row_stride)
    CI, CO = conv.in_channels, conv.out_channels

    def body(x: Buffer, w: Buffer, y: Buffer) -> None:
        size = bind(out * CO)

        def store(b: Expr, first: Expr, rows: Expr, panel: Expr, total: Buffer) -> None:
            """Store whole vectors where possible, else only the floats that are in the output."""
            y_base = bind(b * size)
            valid = bind(minimum(group - panel * width, width))
            with T.serial(i64(0), rows) as t:
                to = bind((first + t) * group + panel * width - conv.crop_left * CO)
                whole = tirx.And(to >= 0, to + width <= size)
                with T.If(tirx.And(whole, valid == width)):
                    with T.Then():
                        for v in range(panels.tile.vectors):
                            value = target.load(total, t * width + v * lanes)
                            target.store(y, y_base + to + v * lanes, target.cast(value, "float32"))
                    with T.Else():
                        low = bind(maximum(i64(0) - to, 0))
                        high = bind(maximum(minimum(size - to, valid), low))
                        with T.serial(i64(0), high - low) as c:
                            number = tirx.Cast("float32", total[t * width + low + c])
                            T.buffer_store(y, number, [y_base + to + low + c])

        def task(b: Expr, first: Expr, rows: Expr, panel_from: Expr, panel_to: Expr) -> None:
            scratch = T.alloc_buffer(((block + conv.reach) * CI,), "float32")
            start = bind((first - conv.reach) * CI)
            count = bind((rows + conv.reach) * CI)
            emit_window_copy(
                target, scratch, x, bind(b * length * CI), bind(length * CI), start, count
            )
            total = T.alloc_buffer((block * width,), "float64")
            with T.serial(i64(0), panel_to - panel_from) as i:
                panel = bind(panel_from + i)
                emit_panel(target, panels, window, scratch, i64(0), w, panel, total, rows)
                store(b, first, rows, panel, total)

        # Groups that are cropped entirely are computed as well; there are few of them.
        emit_tasks(panels, window, batch, bind(length + conv.reach), block, task)

    return build_kernel(
        f"conv_transpose1d_ci{CI}_co{CO}_k{conv.taps}_s{conv.stride}"
        f"_c{conv.crop_left}_{conv.crop_right}_v{lanes}r{target.registers}",
        [
            Parameter("x", (batch, length, CI)),
            Parameter("w", panels.shape(window.terms)),
            Parameter("y", (batch, out, CO)),
        ],
        body,
    )


def pack_depthwise_upsample(weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """Pack a depthwise weight [C, 1, 3] and bias [C] into float32 [4, C]: bias first, then taps."""
    channels = weight.shape[0]
    packed = np.zeros((4, channels), np.float32)
    if bias is not None:
        packed[0] = bias
    packed[1:] = weight[:, 0].T
    return packed


def depthwise_upsample(target: VectorTarget, channels: int) -> tirx.PrimFunc:
    """ConvTranspose1d(C, C, 3, stride=2, padding=1, output_padding=1, groups=C): L rows become 2L.

    Y[2t] = b + X[t] W1 and Y[2t+1] = b + X[t] W2 + X[t+1] W0, with X[L] = 0. Arguments of the
    kernel, all float32: X [B, L, C]; W [4, C] as packed by `pack_depthwise_upsample`; Y [B, 2L, C].
    """
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    rows_a_task = 16

    def body(x: Buffer, w: Buffer, y: Buffer) -> None:
        rows_all = bind(batch * length)

        with T.parallel(i64(0), bind(ceil_div(rows_all, rows_a_task))) as task:
            first = bind(task * rows_a_task)
            with T.serial(i64(0), minimum(rows_all - first, rows_a_task)) as r:
                row = bind(first + r)
                last = mod(row, length) == length - 1

                def emit(lanes: Lanes, _: int, c: Expr) -> None:
                    bias, w0, w1, w2 = (bind(lanes.load(w, i * C + c)) for i in range(4))
                    here = bind(lanes.load(x, row * C + c))
                    to = bind(2 * row * C + c)
                    lanes.store(y, to, bias + here * w1)
                    odd = bind(bias + here * w2)
                    with T.If(last):
                        with T.Then():
                            lanes.store(y, to + C, odd)
                        with T.Else():
                            lanes.store(y, to + C, odd + lanes.load(x, (row + 1) * C + c) * w0)

                over_channels(target, C, 1, emit)

    return build_kernel(
        f"depthwise_upsample_c{C}_v{target.lanes}",
        [
            Parameter("x", (batch, length, C)),
            Parameter("w", (4, C)),
            Parameter("y", (batch, length * 2, C)),
        ],
        body,
    )
