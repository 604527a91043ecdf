"""Relax operators that need their own GPU kernel at every optimization level.

They are passed to `LegalizeOps(customize_legalize_map=…)`, so nothing global changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import tvm
from tvm import relax, tirx

from ..kernels.gpu.lstm import lstm_recurrence
from ..kernels.gpu.scan import running_sum
from ..lowering.program_lowering import under_root_block


def _cumsum(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    (x,) = call.args
    shape, dtype = list(x.ty.shape), str(x.ty.dtype)
    if call.attrs.axis is None or call.attrs.exclusive or call.attrs.dtype not in (None, "", dtype):
        raise NotImplementedError(f"{call}: only inclusive sums along an axis, of the same dtype")
    axis = int(call.attrs.axis) % len(shape)
    outer, inner = shape[:axis], shape[axis + 1 :]
    if not all(isinstance(extent, tirx.IntImm) for extent in inner):
        raise NotImplementedError(f"{call}: the axes after the summed one must be static")
    channels = math.prod(int(extent) for extent in inner)
    leading: tvm.ir.Expr | int = 1
    for extent in outer:
        leading = leading * extent
    flat = [leading, shape[axis], channels]
    kernel = under_root_block(running_sum(channels, dtype))
    name = builder.add_func(kernel, str(kernel.attrs["global_symbol"]))
    rows = builder.emit(relax.op.reshape(x, flat))
    sums = builder.emit(relax.call_tir(name, [rows], out_ty=relax.TensorType(flat, dtype)))
    return relax.op.reshape(sums, shape)


GPU_OPERATORS: Mapping[str, Callable[[relax.BlockBuilder, relax.Call], relax.Expr]] = {
    "relax.cumsum": _cumsum,
}


def gpu_lstm_recurrence(
    builder: relax.BlockBuilder,
    gates: relax.Expr,
    recurrent: relax.Expr,
    lengths: relax.Expr,
    output: relax.TensorType,
) -> relax.Expr:
    """The LSTM recurrence with PyTorch's weight, which the program itself packs.

    For use as the `bind_lstm` of `bind_operators`.
    """
    hidden = int(recurrent.ty.shape[2])
    kernel = under_root_block(lstm_recurrence(hidden))
    name = builder.add_func(kernel, str(kernel.attrs["global_symbol"]))
    parts = builder.emit(relax.op.reshape(recurrent, [2, 4, hidden, hidden]))
    packed = builder.emit(relax.op.permute_dims(parts, [0, 3, 2, 1]))
    return relax.call_tir(name, [gates, packed, lengths], out_ty=output)
