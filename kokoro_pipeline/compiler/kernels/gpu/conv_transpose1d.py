"""Transposed convolutions on [B, C, L]: the direct form as a tiled product, and the depthwise one.

With K = r * stride taps, the full result consists of groups of `stride` samples, and group q reads
the r input samples q, q-1, ..., q-r+1:

    full[co, q * stride + j] = sum_{m < r, ci} X[ci, q - m] W[ci, co, m * stride + j]

so the groups are the columns of an r-tap convolution with CO * stride rows (co, j). There are no
multiplications by zero. The output is the full result without its first `crop_left` and last
`crop_right` samples; only the remaining samples are written, so no slicing is needed.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from ..common.convolutions import ConvTranspose1d
from ..common.operand_precision import Precision
from .products import Product, make_product
from .threads import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    const,
    div,
    i32,
    launch,
    mod,
    store,
)
from .tiled_product import emit_product

__all__ = ["ConvTranspose1d", "conv_transpose1d", "depthwise_upsample", "pack_conv_transpose1d"]

THREADS = 256


def _product(conv: ConvTranspose1d, precision: Precision) -> Product:
    rows, taps = conv.out_channels * conv.stride, conv.reach + 1
    return make_product(rows, conv.in_channels, taps, pad_left=conv.reach, precision=precision)


def pack_conv_transpose1d(
    conv: ConvTranspose1d, weight: np.ndarray, precision: Precision = Precision.FLOAT32
) -> np.ndarray:
    """Pack PyTorch's weight [CI, CO, K] for the kernel that `conv_transpose1d` makes."""
    taps = conv.reach + 1
    # The oldest input sample comes first: tap m of the window is X[q - (r - 1 - m)].
    split = weight.reshape(conv.in_channels, conv.out_channels, taps, conv.stride)[:, :, ::-1]
    rows = split.transpose(1, 3, 0, 2)
    return _product(conv, precision).pack(rows.reshape(-1, conv.in_channels, taps))


def conv_transpose1d(
    conv: ConvTranspose1d, bias: bool = False, precision: Precision = Precision.FLOAT32
) -> tirx.PrimFunc:
    """The kernel (x, weight[, bias]) -> y; see the module's docstring.

    All arguments are float32: x [B, CI, L]; weight as packed by `pack_conv_transpose1d`; bias [CO];
    y [B, CO, LO] with LO = conv.out_length(L), which must be at least 1. B and L are at least 1.
    With a reduced `precision` the weight is packed for it.
    """
    product, CI, CO = _product(conv, precision), conv.in_channels, conv.out_channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out = conv.out_length(length)

    def body(x: Buffer, weights: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        L, size = bind(i32(length)), bind(i32(out))

        def write(b: Expr, m: Expr, q: Expr, total: Expr) -> None:
            channel = bind(div(m, conv.stride))
            to = bind(q * conv.stride + mod(m, conv.stride) - conv.crop_left)
            if bias:
                total = total + added[0][channel]
            with T.If(tirx.And(to >= 0, to < size)), T.Then():
                store(y, (b * CO + channel) * size + to, total)

        emit_product(product, bind(i32(batch)), L, bind(L + conv.reach), x, weights, write)

    crop = f"{conv.crop_left}_{conv.crop_right}"
    kind = "" if precision is Precision.FLOAT32 else f"_{precision.value}"
    return build_kernel(
        f"gpu_conv_transpose1d_{CI}x{CO}k{conv.taps}s{conv.stride}c{crop}" + "_bias" * bias + kind,
        [
            Parameter("x", (batch, CI, length)),
            Parameter("w", product.weight_shape, product.weight_dtype),
            *([Parameter("bias", (CO,))] if bias else []),
            Parameter("y", (batch, CO, out)),
        ],
        body,
    )


def depthwise_upsample(channels: int, bias: bool = False) -> tirx.PrimFunc:
    """A depthwise transposed convolution of 3 taps with stride 2, padding 1 and output padding 1.

        y[2 i] = w[1] x[i],    y[2 i + 1] = w[2] x[i] + w[0] x[i + 1]

    The kernel is (x, weight[, bias]) -> y, all float32: x [B, C, L]; weight [C, 1, 3] as in
    PyTorch; bias [C]; y [B, C, 2 L]; B and L are at least 1. A thread computes a pair of samples.
    """
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, w: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        L = bind(i32(length))
        grid = [ceil_div(L, THREADS), C, i32(batch)]
        with launch(grid, [THREADS]) as ((block, c, b), (thread,)):
            i = bind(block * THREADS + thread)
            with T.If(i < L), T.Then():
                row = bind((b * C + c) * L)
                start = added[0][c] if bias else const(0)
                here = x[row + i]
                after = tirx.if_then_else(i + 1 < L, x[row + tirx.min(i + 1, L - 1)], const(0))
                store(y, 2 * (row + i), w[c * 3 + 1] * here + start)
                store(y, 2 * (row + i) + 1, w[c * 3 + 2] * here + w[c * 3] * after + start)

    return build_kernel(
        f"gpu_depthwise_upsample_c{C}" + "_bias" * bias,
        [
            Parameter("x", (batch, C, length)),
            Parameter("w", (C, 1, 3)),
            *([Parameter("bias", (C,))] if bias else []),
            Parameter("y", (batch, C, length * 2)),
        ],
        body,
    )
