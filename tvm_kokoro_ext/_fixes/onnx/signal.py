"""DFT, STFT and MelWeightMatrix, which stock's frontend lacks, by constant matrices of waves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.complex.fft import waves
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._layers import int64
from tvm_kokoro_ext._fixes.onnx._quantized import optional


def number(value: Any, operator: str, what: str, default: Any = None) -> Any:
    """An input of one element as a number; the default if it is left out."""
    if value is None:
        return default
    array = _compat.constant_value(value)
    if array is None:
        raise _frontend.refusal(
            operator, f"its {what} is computed from data", f"Give its {what} as a constant"
        )
    return np.asarray(array).item()


def dft(bb: Any, inputs: Any, attr: Any, *, axis_is_input: bool) -> Any:
    """The transform of reals [..., 1] or complex numbers [..., 2] along an axis."""
    x, rank = inputs[0], _compat.rank_of(inputs[0])
    length = number(optional(inputs, 1), "DFT", "dft_length")
    axis = attr.get("axis", 1)
    if axis_is_input:
        axis = number(optional(inputs, 2), "DFT", "axis", -2)
    axis = int(axis) % rank
    inverse, half = bool(attr.get("inverse", 0)), bool(attr.get("onesided", 0))
    size = _compat.as_int(_compat.shape_of(x)[axis])
    if size is None:
        raise _frontend.refusal(
            "DFT", "the size of its axis is symbolic", "Give the size as a number (shape_dict)"
        )
    to_reals = inverse and half
    if length is None:
        length = 2 * (size - 1) if to_reals else size
    used = min(size, length // 2 + 1 if to_reals else length)
    bins = length // 2 + 1 if half and not inverse else length
    if used < size:
        x = bb.emit(relax.op.strided_slice(x, [axis], [0], [used]))
    last = [a for a in range(rank - 1) if a != axis] + [axis]
    parts = [
        bb.emit(
            relax.op.permute_dims(
                bb.emit(relax.op.take(x, relax.const(part, "int64"), axis=rank - 1)), last
            )
        )
        for part in range(int(_compat.shape_of(x)[rank - 1]))
    ]
    cosines, sines = waves(used, bins, length)
    if inverse:
        weights = np.ones((used, 1))
        if to_reals:  # the half that is left out is the conjugate of the one that is given
            weights[1 : (length + 1) // 2] = 2
        cosines, sines = cosines * weights / length, -sines * weights / length

    def times(part: Any, matrix: np.ndarray) -> Any:
        return bb.emit(relax.op.matmul(part, relax.const(matrix, _compat.dtype_of(x))))

    made = [times(parts[0], cosines), times(parts[0], -sines)]
    if len(parts) > 1:
        made = [
            bb.emit(relax.op.add(made[0], times(parts[1], sines))),
            bb.emit(relax.op.add(made[1], times(parts[1], cosines))),
        ]
    back = [last.index(a) for a in range(rank - 1)]
    kept = [bb.emit(relax.op.permute_dims(m, back)) for m in made[: 1 if to_reals else 2]]
    return relax.op.stack(kept, axis=rank - 1)


def stft(bb: Any, inputs: Any, attr: Any) -> Any:
    """[batch, frames, bins, 2] of a signal [batch, length, 1 or 2], by a strided convolution."""
    x, step = inputs[0], number(inputs[1], "STFT", "frame_step")
    window = optional(inputs, 2)
    length = number(optional(inputs, 3), "STFT", "frame_length")
    if length is None and window is not None:
        length = _compat.as_int(_compat.shape_of(window)[0])
    if length is None:
        raise _frontend.refusal(
            "STFT", "it has neither a window nor a frame_length", "Give it one of them"
        )
    dtype = _compat.dtype_of(x)
    if _compat.rank_of(x) == 2:
        x = bb.emit(relax.op.expand_dims(x, -1))
    bins = length // 2 + 1 if attr.get("onesided", 1) else length
    cosines, sines = waves(bins, length, length)
    taps = np.stack([np.concatenate([cosines, -sines]), np.concatenate([sines, cosines])], axis=1)
    parts = int(_compat.shape_of(x)[2])
    weight = relax.const(taps[:, :parts], dtype)
    if window is not None:
        row = bb.emit(relax.op.reshape(window, [1, 1, length]))
        weight = bb.emit(relax.op.multiply(weight, row))
    turned = bb.emit(relax.op.permute_dims(x, [0, 2, 1]))
    made = bb.emit(relax.op.nn.conv1d(turned, weight, strides=[int(step)]))
    batch, _, frames = _compat.shape_of(made)
    shape = [int64(d) for d in (batch, 2, bins, frames)]
    return relax.op.permute_dims(bb.emit(relax.op.reshape(made, shape)), [0, 3, 2, 1])


def mel_weight_matrix(bb: Any, inputs: Any, attr: Any) -> Any:
    """The matrix of triangular filters, as onnx's evaluator computes it."""
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    numbers = [
        np.asarray(number(value, "MelWeightMatrix", name))
        for value, name in zip(inputs[:5], names, strict=True)
    ]
    dtype = int(attr.get("output_datatype", 1))
    node = helper.make_node("MelWeightMatrix", list(names), ["y"], output_datatype=dtype)
    constants = [numpy_helper.from_array(n, name) for n, name in zip(numbers, names, strict=True)]
    result = helper.make_tensor_value_info("y", dtype, None)
    graph = helper.make_graph([node], "mel", [], [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (made,) = ReferenceEvaluator(model).run(None, {})
    return relax.const(made, _frontend.module().get_type(dtype))


OPERATORS: dict[str, _layers.Conversion | Mapping[int, _layers.Conversion]] = {
    "DFT": {1: partial(dft, axis_is_input=False), 20: partial(dft, axis_is_input=True)},
    "STFT": stft,
    "MelWeightMatrix": mel_weight_matrix,
}

FIX = Fix(
    id="onnx_signal",
    what="the ONNX operators DFT, STFT and MelWeightMatrix are missing",
    op="ONNX DFT, ONNX STFT, ONNX MelWeightMatrix",
    affected="",
    install=lambda: _frontend.with_operators(_layers.classes(OPERATORS)),
    probe=lambda: bool(_frontend.listed()) and "STFT" not in _frontend.listed(),
    needs_torch=False,
)
