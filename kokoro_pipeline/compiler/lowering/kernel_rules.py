"""Rules that map operators to CPU kernels and pack their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from tvm import relax, tirx

from ..kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..kernels.cpu import harmonic_source
from ..kernels.cpu.attention import attention
from ..kernels.cpu.conv1d import conv1d, pack_conv1d
from ..kernels.cpu.conv_transpose1d import (
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
    pack_depthwise_upsample,
)
from ..kernels.cpu.layer_norm import layer_norm
from ..kernels.cpu.linear import linear, pack_linear
from ..kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from ..kernels.cpu.statistics import channel_statistics
from .channels_last import Value, dimensions
from .custom_operators import HARMONIC_SOURCE, LSTM_RECURRENCE, MASKED_ATTENTION, SourceCall
from .shared_rules import (
    attention_rule,
    custom_operator_rule,
    layer_norm_rule,
    linear_weight,
    original,
    over_rows,
    source_rule,
)

if TYPE_CHECKING:
    from .cpu_lowering import FunctionLowering


def _symmetric(padding: list[int]) -> tuple[int, int]:
    left, right = (int(pad) for pad in padding)
    return left, right


def read_conv1d(lowering: FunctionLowering, call: relax.Call) -> tuple[str, Conv1d] | None:
    """The weight's name and the geometry of a convolution; None if no kernel supports it."""
    data, weight = call.args
    name = lowering.weight(weight)
    if name is None or str(data.ty.dtype) != "float32" or int(call.attrs.groups) != 1:
        return None
    out_channels, in_channels, taps = lowering.parameters[name].shape
    left, right = _symmetric(call.attrs.padding)
    conv = Conv1d(
        in_channels,
        out_channels,
        taps,
        stride=int(call.attrs.strides[0]),
        dilation=int(call.attrs.dilation[0]),
        pad_left=left,
        pad_right=right,
    )
    return name, conv


def _conv1d(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    convolution = read_conv1d(lowering, call)
    if convolution is None:
        return None
    name, conv = convolution

    def pack(*arrays: np.ndarray) -> np.ndarray:
        return pack_conv1d(lowering.target, *arrays)

    x = lowering.value(call.args[0]).in_last(lowering.builder)
    batch, length, _ = dimensions(x)
    epilogue = lowering.epilogue(variable, conv.out_channels, column=True)
    packed = lowering.packed([name, epilogue.bias], "conv1d", pack)
    shape = [batch, conv.out_length(length), conv.out_channels]
    result = lowering.call(lowering.kernel(conv1d, conv), [x, packed], shape)
    return lowering.finish(epilogue, Value(last=result))


def _conv1d_transpose(
    lowering: FunctionLowering, variable: relax.Var, call: relax.Call
) -> Value | None:
    data, weight = call.args
    name = lowering.weight(weight)
    if name is None or str(data.ty.dtype) != "float32" or int(call.attrs.dilation[0]) != 1:
        return None
    in_channels, out_channels, taps = lowering.parameters[name].shape
    left, right = _symmetric(call.attrs.padding)
    stride, groups = int(call.attrs.strides[0]), int(call.attrs.groups)
    extra = int(call.attrs.output_padding[0])
    if groups == in_channels and (out_channels, taps, stride, left, right, extra) == (
        1,
        3,
        2,
        1,
        1,
        1,
    ):
        return _depthwise_upsample(lowering, variable, data, name)
    if groups != 1 or taps % stride or right < extra:
        return None
    conv = ConvTranspose1d(in_channels, out_channels, taps, stride, left, right - extra)

    def pack(array: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        return pack_conv_transpose1d(lowering.target, array, stride, bias)

    x = lowering.value(data).in_last(lowering.builder)
    batch, length, _ = dimensions(x)
    epilogue = lowering.epilogue(variable, out_channels, column=True)
    packed = lowering.packed([name, epilogue.bias], f"conv_transpose1d_s{stride}", pack)
    shape = [batch, conv.out_length(length), out_channels]
    result = lowering.call(lowering.kernel(conv_transpose1d, conv), [x, packed], shape)
    return lowering.finish(epilogue, Value(last=result))


def _depthwise_upsample(
    lowering: FunctionLowering, variable: relax.Var, data: relax.Expr, name: str
) -> Value | None:
    channels = lowering.parameters[name].shape[0]

    x = lowering.value(data).in_last(lowering.builder)
    batch, length, _ = dimensions(x)
    epilogue = lowering.epilogue(variable, channels, column=True)
    packed = lowering.packed([name, epilogue.bias], "depthwise_upsample", pack_depthwise_upsample)
    kernel = lowering.kernel(depthwise_upsample, channels)
    result = lowering.call(kernel, [x, packed], [batch, length * 2, channels])
    return lowering.finish(epilogue, Value(last=result))


def _instance_norm(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    data, weight, bias = call.args
    axes = [int(axis) for axis in call.attrs.axes]
    if str(data.ty.dtype) != "float32" or int(data.ty.ndim) != 3 or axes != [2]:
        return None
    value = lowering.value(data)
    x = value.in_last(lowering.builder)
    channels = dimensions(x)[-1]
    moments = instance_statistics(lowering, value, float(call.attrs.epsilon))

    def column(vector: relax.Expr) -> relax.Var:
        """Reshape [C] or [B, C] to [-1, 1, C], so that it broadcasts over [B, L, C]."""
        return lowering.emit(relax.op.reshape(vector, [-1, 1, int(channels)]))

    mean, rstd = (column(moment) for moment in moments)
    scale, shift = (column(original(lowering, vector)) for vector in (weight, bias))
    # The mean is subtracted first: folding a large mean into the shift would lose accuracy.
    centred = lowering.emit(relax.op.subtract(x, mean))
    scaled = lowering.emit(
        relax.op.multiply(centred, lowering.emit(relax.op.multiply(rstd, scale)))
    )
    return Value(last=lowering.emit(relax.op.add(scaled, shift)))


def instance_statistics(
    lowering: FunctionLowering, value: Value, epsilon: float
) -> tuple[relax.Expr, relax.Expr]:
    """Mean and reciprocal standard deviation [B, C] over time, computed once for all users."""
    if epsilon not in value.statistics:
        x = value.in_last(lowering.builder)
        batch, _, channels = dimensions(x)
        kernel = lowering.kernel(channel_statistics, int(channels), epsilon)
        both = lowering.call(kernel, [x], [batch, channels], [batch, channels])
        mean, rstd = (lowering.emit(relax.TupleGetItem(both, index)) for index in range(2))
        value.statistics[epsilon] = mean, rstd
    return value.statistics[epsilon]


def _linear(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    name = linear_weight(lowering, call)
    if name is None:
        return None
    out_features, in_features = lowering.parameters[name].shape

    def pack(*arrays: np.ndarray) -> np.ndarray:
        return pack_linear(lowering.target, *arrays)

    epilogue = lowering.epilogue(variable, out_features, column=False)
    packed = lowering.packed([name, epilogue.bias], "linear", pack)
    kernel = lowering.kernel(linear, in_features, out_features)

    def product(rows: relax.Expr, count: tirx.Expr) -> relax.Expr:
        return lowering.call(kernel, [rows, packed], [count, out_features])

    result = over_rows(lowering, original(lowering, call.args[0]), product)
    return lowering.finish(epilogue, Value(first=result))


def _lstm_recurrence(
    lowering: FunctionLowering, gates: relax.Expr, recurrent: relax.Expr, lengths: relax.Expr
) -> Value | None:
    name = lowering.weight(recurrent)
    if name is None:
        return None
    hidden = lowering.parameters[name].shape[2]

    def pack(weight: np.ndarray) -> np.ndarray:
        return pack_lstm_recurrent(lowering.target, weight)

    rows = original(lowering, gates)
    batch, steps, _ = dimensions(rows)
    return Value(
        first=lowering.call(
            lowering.kernel(lstm_recurrence, hidden),
            [rows, lowering.packed([name], "lstm_recurrent", pack), original(lowering, lengths)],
            [batch, steps, 2 * hidden],
        )
    )


def _harmonic_source(lowering: FunctionLowering, call: SourceCall) -> relax.Expr:
    """The harmonic source in float64."""
    source, transform = call.source, call.transform
    names = [lowering.weight(each) for each in (call.weight, call.bias)]
    mix = lowering.parameters.derive(
        tuple(name for name in names if name is not None), "source_mix", harmonic_source.pack_mix
    )
    waves = [original(lowering, each) for each in (call.f0, call.noise)]
    wave = lowering.call(
        lowering.kernel(harmonic_source.excitation, source),
        [*waves, lowering.argument(mix)],
        [1, call.blocks * source.block],
        dtype="float64",
    )
    kernel = lowering.kernel(
        harmonic_source.spectrum, transform.bins, transform.taps, transform.hop
    )
    return lowering.call(kernel, [wave, original(lowering, call.basis)], call.spectrum_shape)


KERNEL_RULES: Mapping[str, Callable[[FunctionLowering, relax.Var, relax.Call], Value | None]] = {
    "relax.nn.conv1d": _conv1d,
    "relax.nn.conv1d_transpose": _conv1d_transpose,
    "relax.nn.instance_norm": _instance_norm,
    "relax.nn.layer_norm": layer_norm_rule(layer_norm),
    "relax.matmul": _linear,
    "relax.call_dps_packed": custom_operator_rule(
        {
            LSTM_RECURRENCE: _lstm_recurrence,
            MASKED_ATTENTION: attention_rule(attention),
            HARMONIC_SOURCE: source_rule(_harmonic_source),
        }
    ),
}
