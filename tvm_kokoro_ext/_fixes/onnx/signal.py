"""DFT, STFT and MelWeightMatrix, which stock's frontend lacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.complex import _fourier
from tvm_kokoro_ext._fixes.complex._complex import Complex
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers
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
    used = length // 2 + 1 if to_reals else length
    if used < size:
        x = bb.emit(relax.op.strided_slice(x, [axis], [0], [used]))
    elif used > size:
        behind = [(0, used - size if a == axis else 0) for a in range(rank)]
        x = bb.emit(relax.op.nn.pad(x, [amount for pair in behind for amount in pair]))
    importer, last = SimpleNamespace(block_builder=bb), list(range(rank - 1))
    last[axis], last[-1] = last[-1], axis
    parts = [
        bb.emit(
            relax.op.permute_dims(
                bb.emit(relax.op.take(x, relax.const(part, "int64"), axis=rank - 1)), last
            )
        )
        for part in range(int(_compat.shape_of(x)[rank - 1]))
    ]
    made = _transformed(importer, parts, length, inverse=inverse, half=half)
    return relax.op.stack([bb.emit(relax.op.permute_dims(m, last)) for m in made], axis=rank - 1)


def _transformed(
    importer: Any, parts: list[Any], length: int, *, inverse: bool, half: bool
) -> list[Any]:
    """The parts of the transform of the last axis of reals or of complex numbers."""
    bins = length // 2 + 1 if half and not inverse else length
    if len(parts) == 1 and not inverse:
        made = _fourier.of_real(importer, parts[0], count=bins, scale=1.0)
        return [made.real, made.imag]
    imag = parts[1] if len(parts) > 1 else _emit.emit(importer, relax.op.zeros_like(parts[0]))
    x, scale = Complex(parts[0], imag), 1 / length if inverse else 1.0
    if half and inverse:
        return [_fourier.to_real(importer, x, length, scale=scale)]
    made = _fourier.transform(importer, x, forward=not inverse, scale=scale)
    if bins == length:
        return [made.real, made.imag]
    last = _compat.rank_of(imag) - 1
    return [
        _emit.emit(importer, relax.op.strided_slice(part, [last], [0], [bins]))
        for part in (made.real, made.imag)
    ]


def stft(bb: Any, inputs: Any, attr: Any) -> Any:
    """[batch, frames, bins, 2] of a signal [batch, length], or [batch, length, 1 or 2]."""
    x, step = inputs[0], number(inputs[1], "STFT", "frame_step")
    window = optional(inputs, 2)
    length = number(optional(inputs, 3), "STFT", "frame_length")
    if length is None and window is not None:
        length = _compat.as_int(_compat.shape_of(window)[0])
    if length is None:
        raise _frontend.refusal(
            "STFT", "it has neither a window nor a frame_length", "Give it one of them"
        )
    if _compat.rank_of(x) == 2:
        x = bb.emit(relax.op.expand_dims(x, -1))

    def frames(signal: Any, part: int, *factors: Any) -> Any:
        count = tirx.floordiv(signal.shape[1] - length, step) + 1

        def element(row: Any, frame: Any, place: Any) -> Any:
            value = signal(row, frame * step + place, part)
            return value * factors[0](place) if factors else value

        return te.compute((signal.shape[0], count, length), element, name="frames")

    factors = [] if window is None else [window]
    parts = [
        bb.emit_te(frames, x, part, *factors, primfunc_name_hint="frames")
        for part in range(int(_compat.shape_of(x)[2]))
    ]
    half = bool(attr.get("onesided", 1))
    importer = SimpleNamespace(block_builder=bb)
    made = _transformed(importer, parts, int(length), inverse=False, half=half)
    return relax.op.stack(made, axis=3)


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
