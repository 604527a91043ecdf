"""Conv1d on [B, C, L], with stride, dilation and zero padding on either side, as a tiled product.

A producer is applied to the input as it is read, and bias and residual are added as the output is
written. Neither costs an additional pass through memory.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from ..common.convolutions import Conv1d
from ..common.operand_precision import Precision
from .producer import NOTHING, Producer
from .products import Product, make_product
from .threads import Buffer, Expr, Parameter, bind, build_kernel, i32, store
from .tiled_product import emit_product

__all__ = ["Conv1d", "conv1d", "pack_conv1d"]


def conv_product(
    conv: Conv1d, dtype: str = "float32", precision: Precision = Precision.FLOAT32
) -> Product:
    return make_product(
        conv.out_channels,
        conv.in_channels,
        conv.taps,
        conv.stride,
        conv.dilation,
        conv.pad_left,
        dtype=dtype,
        precision=precision,
    )


def pack_conv1d(
    conv: Conv1d,
    weight: np.ndarray,
    dtype: str = "float32",
    precision: Precision = Precision.FLOAT32,
) -> np.ndarray:
    """Pack PyTorch's weight [CO, CI, K] for the kernel that `conv1d` makes."""
    return conv_product(conv, dtype, precision).pack(weight)


def conv1d(
    conv: Conv1d,
    producer: Producer = NOTHING,
    bias: bool = False,
    residual: bool = False,
    dtype: str = "float32",
    precision: Precision = Precision.FLOAT32,
) -> tirx.PrimFunc:
    """The kernel (x, *producer arguments, weight[, bias][, residual]) -> y.

    All arguments are of `dtype`, which must be float32 with a producer: x [B, CI, L]; weight as
    packed by `pack_conv1d`; bias [CO]; residual, y [B, CO, LO] with LO = conv.out_length(L), which
    must be at least 1. B and L are at least 1. With a reduced `precision` the weight is packed for
    it, and everything else stays float32.
    """
    product = conv_product(conv, dtype, precision)
    CI, CO = conv.in_channels, conv.out_channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out = conv.out_length(length)
    prepared = producer.parameters(batch, CI)

    def body(x: Buffer, *rest: Buffer) -> None:
        coefficients, after = rest[: len(prepared)], list(rest[len(prepared) :])
        weights, y = after[0], after[-1]
        added = after[1:-1]
        columns = bind(i32(out))

        def write(b: Expr, m: Expr, column: Expr, total: Expr) -> None:
            at = bind((b * CO + m) * columns + column)
            if bias:
                total = total + added[0][m]
            if residual:
                total = total + added[-1][at]
            store(y, at, total)

        sizes = bind(i32(batch)), bind(i32(length)), columns
        emit_product(product, *sizes, x, weights, write, producer, coefficients)

    names = f"s{conv.stride}d{conv.dilation}p{conv.pad_left}_{conv.pad_right}"
    kind = dtype if precision is Precision.FLOAT32 else precision.value
    ends = ("_bias" if bias else "") + ("_residual" if residual else "")
    return build_kernel(
        f"gpu_conv1d_{CI}x{CO}k{conv.taps}{names}{producer.name}{ends}_{kind}",
        [
            Parameter("x", (batch, CI, length), dtype),
            *prepared,
            Parameter("w", product.weight_shape, product.weight_dtype),
            *([Parameter("bias", (CO,), dtype)] if bias else []),
            *([Parameter("residual", (batch, CO, out), dtype)] if residual else []),
            Parameter("y", (batch, CO, out), dtype),
        ],
        body,
    )
