"""Rules that map operators to GPU kernels and pack their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import tvm
from tvm import relax, tirx

from ..kernels.common.operand_precision import Precision
from ..kernels.gpu.adain import adain
from ..kernels.gpu.attention import attention
from ..kernels.gpu.conv1d import Conv1d, conv1d, pack_conv1d
from ..kernels.gpu.conv_transpose1d import (
    ConvTranspose1d,
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
)
from ..kernels.gpu.harmonic_source import (
    excitation,
    pack_basis,
    pack_mix,
    phase_increments,
    spectrum,
)
from ..kernels.gpu.layer_norm import layer_norm
from ..kernels.gpu.linear import linear, pack_linear
from ..kernels.gpu.lstm import lstm_recurrence, lstm_splits, pack_lstm_recurrent
from ..kernels.gpu.producer import NOTHING, Activation, Producer
from ..kernels.gpu.scan import running_sum
from ..kernels.gpu.statistics import row_statistics
from .channels_last import Value, dimensions
from .custom_operators import HARMONIC_SOURCE, LSTM_RECURRENCE, MASKED_ATTENTION, SourceCall
from .match_adain import AdaIN, match_adain
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
    from .gpu_lowering import GpuLowering


def _vectors(lowering: GpuLowering, *names: str | None) -> list[relax.Expr]:
    """The arguments for those of the named parameters that are not None."""
    return [lowering.argument(name) for name in names if name is not None]


def _suffix(precision: Precision) -> str:
    """The suffix of a packing recipe for reduced precision; empty for float32."""
    return "" if precision is Precision.FLOAT32 else f"_{precision.value}"


def _producer(found: AdaIN) -> Producer:
    if found.alpha is not None:
        return Producer(adain=True, activation=Activation.SNAKE)
    if found.slope is not None:
        return Producer(adain=True, activation=Activation.LEAKY_RELU, slope=found.slope)
    return Producer(adain=True)


def _coefficients(lowering: GpuLowering, found: AdaIN) -> list[relax.Expr]:
    """x, followed by the arguments that an AdaIN producer takes after it."""
    x = lowering.value(found.x)
    expressions = [
        x.in_first(lowering.builder),
        *_statistics(lowering, x, found.epsilon),
        *(original(lowering, e) for e in (found.weight, found.bias, found.style)),
    ]
    if found.alpha is not None:
        alpha = original(lowering, found.alpha)
        expressions.append(lowering.emit(relax.op.reshape(alpha, [int(found.x.ty.shape[1])])))
    return expressions


def _statistics(
    lowering: GpuLowering, value: Value, epsilon: float
) -> tuple[relax.Expr, relax.Expr]:
    """Mean and reciprocal standard deviation [B, C] over time, computed once for all users."""
    if epsilon not in value.statistics:
        x = value.in_first(lowering.builder)
        batch, channels, _ = dimensions(x)
        kernel = lowering.kernel(row_statistics, int(channels), epsilon)
        both = lowering.call(kernel, [x], [batch, channels], [batch, channels])
        mean, rstd = (lowering.emit(relax.TupleGetItem(both, index)) for index in range(2))
        value.statistics[epsilon] = mean, rstd
    return value.statistics[epsilon]


def _input(lowering: GpuLowering, data: relax.Expr) -> tuple[Producer, list[relax.Expr]]:
    """The producer and arguments of a convolution's input.

    When lowering with fusion, the producer includes the norm or activation before the convolution.
    """
    if lowering.fused:
        found = match_adain(data, lowering.bindings)
        if found is not None:
            return _producer(found), _coefficients(lowering, found)
        leaky = lowering.definition(data, "relax.nn.leakyrelu")
        if leaky is not None and 0 <= float(leaky.attrs.alpha) <= 1:
            producer = Producer(activation=Activation.LEAKY_RELU, slope=float(leaky.attrs.alpha))
            return producer, [original(lowering, leaky.args[0])]
    return NOTHING, [original(lowering, data)]


def _conv1d(lowering: GpuLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    data, weight = call.args
    name, dtype = lowering.weight(weight), str(data.ty.dtype)
    if name is None or dtype not in ("float32", "float64") or int(call.attrs.groups) != 1:
        return None
    out_channels, in_channels, taps = lowering.parameters[name].shape
    left, right = (int(pad) for pad in call.attrs.padding)
    stride, dilation = int(call.attrs.strides[0]), int(call.attrs.dilation[0])
    conv = Conv1d(in_channels, out_channels, taps, stride, dilation, left, right)
    single = dtype == "float32"
    producer, arguments = (
        _input(lowering, data) if single else (NOTHING, [original(lowering, data)])
    )
    batch, _, length = dimensions(arguments[0])
    epilogue = lowering.epilogue(
        variable, out_channels, column=True, residual=lowering.fused and single
    )

    precision = (
        lowering.precision.of_product(out_channels, in_channels) if single else Precision.FLOAT32
    )

    def pack(array: np.ndarray) -> np.ndarray:
        return pack_conv1d(conv, array, dtype, precision)

    kernel = lowering.kernel(
        conv1d,
        conv,
        producer,
        epilogue.bias is not None,
        epilogue.residual is not None,
        dtype,
        precision,
    )
    recipe = f"gpu_conv1d_s{stride}d{dilation}{_suffix(precision)}"
    arguments += [lowering.packed([name], recipe, pack)]
    arguments += _vectors(lowering, epilogue.bias)
    if epilogue.residual is not None:
        arguments.append(epilogue.residual.in_first(lowering.builder))
    output = relax.TensorType([batch, out_channels, conv.out_length(length)], dtype)
    result = lowering.emit(relax.call_tir(kernel, arguments, output))
    return lowering.finish(epilogue, Value(first=result))


def _conv1d_transpose(lowering: GpuLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    data, weight = call.args
    name = lowering.weight(weight)
    if name is None or str(data.ty.dtype) != "float32" or int(call.attrs.dilation[0]) != 1:
        return None
    in_channels, out_channels, taps = lowering.parameters[name].shape
    left, right = (int(pad) for pad in call.attrs.padding)
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

    precision = lowering.precision.of_product(out_channels * stride, in_channels)

    def pack(array: np.ndarray) -> np.ndarray:
        return pack_conv_transpose1d(conv, array, precision)

    x = original(lowering, data)
    batch, _, length = dimensions(x)
    epilogue = lowering.epilogue(variable, out_channels, column=True)
    kernel = lowering.kernel(conv_transpose1d, conv, epilogue.bias is not None, precision)
    recipe = f"gpu_conv_transpose1d_s{stride}{_suffix(precision)}"
    packed = lowering.packed([name], recipe, pack)
    arguments = [x, packed, *_vectors(lowering, epilogue.bias)]
    shape = [batch, out_channels, conv.out_length(length)]
    return lowering.finish(epilogue, Value(first=lowering.call(kernel, arguments, shape)))


def _depthwise_upsample(
    lowering: GpuLowering, variable: relax.Var, data: relax.Expr, name: str
) -> Value:
    channels = lowering.parameters[name].shape[0]
    found = match_adain(data, lowering.bindings) if lowering.fused else None
    if found is None:
        x = original(lowering, data)
    else:
        arguments = _coefficients(lowering, found)
        kernel = lowering.kernel(adain, channels, _producer(found))
        x = lowering.call(kernel, arguments, dimensions(arguments[0]))
    batch, _, length = dimensions(x)
    epilogue = lowering.epilogue(variable, channels, column=True)
    kernel = lowering.kernel(depthwise_upsample, channels, epilogue.bias is not None)
    arguments = [x, *_vectors(lowering, name, epilogue.bias)]
    result = lowering.call(kernel, arguments, [batch, channels, length * 2])
    return lowering.finish(epilogue, Value(first=result))


def _instance_norm(lowering: GpuLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    data, weight, bias = call.args
    axes = [int(axis) for axis in call.attrs.axes]
    if str(data.ty.dtype) != "float32" or int(data.ty.ndim) != 3 or axes != [2]:
        return None
    value = lowering.value(data)
    x = value.in_first(lowering.builder)
    channels = int(dimensions(x)[1])

    def column(vector: relax.Expr) -> relax.Var:
        """Reshape [C] or [B, C] to [-1, C, 1], so that it broadcasts over [B, C, L]."""
        return lowering.emit(relax.op.reshape(vector, [-1, channels, 1]))

    mean, rstd = (
        column(moment) for moment in _statistics(lowering, value, float(call.attrs.epsilon))
    )
    scale, shift = (column(original(lowering, vector)) for vector in (weight, bias))
    # The mean is subtracted first: folding a large mean into the shift would lose accuracy.
    centred = lowering.emit(relax.op.subtract(x, mean))
    factor = lowering.emit(relax.op.multiply(rstd, scale))
    scaled = lowering.emit(relax.op.multiply(centred, factor))
    return Value(first=lowering.emit(relax.op.add(scaled, shift)))


def _linear(lowering: GpuLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    name = linear_weight(lowering, call)
    if name is None:
        return None
    out_features, in_features = lowering.parameters[name].shape
    epilogue = lowering.epilogue(variable, out_features, column=False)
    kernel = lowering.kernel(linear, in_features, out_features, epilogue.bias is not None)
    weights = [
        lowering.packed([name], "gpu_linear", pack_linear),
        *_vectors(lowering, epilogue.bias),
    ]
    result = over_rows(
        lowering,
        original(lowering, call.args[0]),
        lambda rows, count: lowering.call(kernel, [rows, *weights], [count, out_features]),
    )
    return lowering.finish(epilogue, Value(first=result))


def _lstm_recurrence(
    lowering: GpuLowering, gates: relax.Expr, recurrent: relax.Expr, lengths: relax.Expr
) -> Value | None:
    name = lowering.weight(recurrent)
    if name is None:
        return None
    hidden = lowering.parameters[name].shape[2]
    rows = original(lowering, gates)
    batch, steps, _ = dimensions(rows)
    arguments = [
        rows,
        lowering.packed([name], "gpu_lstm_recurrent", pack_lstm_recurrent),
        original(lowering, lengths),
    ]
    kernel = lowering.kernel(lstm_recurrence, hidden, lstm_splits(hidden, lowering.max_threads))
    return Value(first=lowering.call(kernel, arguments, [batch, steps, 2 * hidden]))


def _harmonic_source(lowering: GpuLowering, call: SourceCall) -> relax.Expr:
    """The harmonic source in fixed point.

    Metal has no float64, and consumer GPUs compute it at a sixty-fourth of the float32 speed.
    """
    source, transform, blocks = call.source, call.transform, call.blocks

    def pack(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return pack_mix(source, weight, bias)

    names = [lowering.weight(each) for each in (call.weight, call.bias)]
    mix = lowering.packed(names, f"source_mix.{source}", pack)
    basis = lowering.packed([lowering.weight(call.basis)], "source_basis", pack_basis)
    f0, noise = (original(lowering, each) for each in (call.f0, call.noise))

    def run(
        kernel: tvm.ir.GlobalVar, arguments: list[relax.Expr], *shape: tirx.Expr | int
    ) -> relax.Var:
        return lowering.call(kernel, arguments, list(shape), dtype="int64")

    H = source.harmonics
    increments = run(lowering.kernel(phase_increments, source), [f0], 1, blocks, H)
    sums = run(lowering.kernel(running_sum, H, "int64"), [increments], 1, blocks, H)
    kernel = lowering.kernel(excitation, source)
    wave = run(kernel, [f0, noise, increments, sums, mix], 1, blocks * source.block)
    kernel = lowering.kernel(spectrum, transform.bins, transform.taps, transform.hop)
    return lowering.call(kernel, [wave, basis], call.spectrum_shape)


SOURCE_RULES: Mapping[str, Callable[[GpuLowering, relax.Var, relax.Call], Value | None]] = {
    "relax.call_dps_packed": custom_operator_rule({HARMONIC_SOURCE: source_rule(_harmonic_source)})
}
"""For level 0 on Metal, which cannot compute the harmonic source in any other way."""

GPU_KERNEL_RULES: Mapping[str, Callable[[GpuLowering, relax.Var, relax.Call], Value | None]] = {
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
