"""Rules for convolutions, the norms and activations around them, and polar coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax

from ..kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..kernels.common.producer import NOTHING, Activation, Producer
from .backend import Fusion, typical
from .channels_last import Value, dimensions
from .match_adain import AdaIN, match_adain
from .match_polar import match_polar
from .program_lowering import FunctionLowering


@dataclass(frozen=True)
class _Input:
    """The input of a convolution: a sequence, and how it is transformed on reading."""

    x: relax.Expr
    producer: Producer = NOTHING
    coefficients: tuple[relax.Expr, ...] = ()


def _input(lowering: FunctionLowering, data: relax.Expr) -> _Input:
    """Look through the norm or the activation before a convolution, if there is one."""
    backend = lowering.backend
    adain = match_adain(data, lowering.bindings)
    if adain is not None and backend.fits(adain.producer, adain.channels):
        return _normalized(lowering, adain)
    leaky = lowering.definition(data, "relax.nn.leakyrelu") if backend.fuses_activation else None
    if leaky is not None and 0 <= float(leaky.attrs.alpha) <= 1:
        producer = Producer(activation=Activation.LEAKY_RELU, slope=float(leaky.attrs.alpha))
        return _Input(lowering.sequence(leaky.args[0]), producer)
    return _Input(lowering.sequence(data))


def _normalized(lowering: FunctionLowering, adain: AdaIN) -> _Input:
    """The sequence and the coefficients of an adaptive instance norm and its activation."""
    x = lowering.sequence(adain.x)
    coefficients = [
        *_statistics(lowering, lowering.value(adain.x), adain.epsilon),
        *(lowering.first(each) for each in (adain.weight, adain.bias, adain.style)),
    ]
    if adain.alpha is not None:
        alpha = lowering.first(adain.alpha)
        coefficients.append(lowering.emit(relax.op.reshape(alpha, [adain.channels])))
    return _Input(x, adain.producer, tuple(coefficients))


def _statistics(
    lowering: FunctionLowering, value: Value, epsilon: float
) -> tuple[relax.Expr, relax.Expr]:
    """Mean and reciprocal standard deviation [B, C] over time, computed once for all users."""
    if epsilon not in value.statistics:
        x = lowering.backend.arranged(value, lowering.builder)
        batch, channels, _ = lowering.backend.extents(x)
        kernel = lowering.backend.statistics(int(channels), epsilon)
        both = lowering.call(kernel, [x], [batch, channels], [batch, channels])
        mean, rstd = (lowering.emit(relax.TupleGetItem(both, index)) for index in range(2))
        value.statistics[epsilon] = mean, rstd
    return value.statistics[epsilon]


def _norm_epsilon(lowering: FunctionLowering, variable: relax.Var) -> float | None:
    """The epsilon of an instance norm over time that reads the variable, or None."""
    for user in lowering.users(variable):
        norm = lowering.definition(user, "relax.nn.instance_norm")
        if norm is not None and [int(axis) for axis in norm.attrs.axes] == [2]:
            return float(norm.attrs.epsilon)
    return None


def conv1d(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    """A convolution, with what is fused into it on either side."""
    data, weight = call.args
    backend, name, dtype = lowering.backend, lowering.weight(weight), str(data.ty.dtype)
    if name is None or dtype not in backend.conv_dtypes or int(call.attrs.groups) != 1:
        return None
    out_channels, in_channels, taps = lowering.parameters[name].shape
    left, right = (int(pad) for pad in call.attrs.padding)
    stride, dilation = int(call.attrs.strides[0]), int(call.attrs.dilation[0])
    conv = Conv1d(in_channels, out_channels, taps, stride, dilation, left, right)
    fuse = backend.fused and dtype == "float32"
    source = _input(lowering, data) if fuse else _Input(lowering.sequence(data))
    epilogue = lowering.epilogue(variable, out_channels, column=True, residual=fuse)
    batch, _, length = backend.extents(source.x)
    fusion = Fusion(
        source.producer,
        epilogue.bias is not None,
        epilogue.residual is not None,
        _norm_epsilon(lowering, epilogue.end),
        typical(call.ty.shape[2]),
    )
    kernel = backend.conv1d(conv, fusion, dtype)
    arguments = [source.x, *source.coefficients, *lowering.weights(kernel, name, epilogue.bias)]
    if epilogue.residual is not None:
        arguments.append(backend.arranged(epilogue.residual, lowering.builder))
    shape = backend.shape(batch, out_channels, conv.out_length(length))
    if not kernel.moments or fusion.epsilon is None:
        result = lowering.call(kernel, arguments, shape, dtype=dtype)
        return lowering.finish(epilogue, backend.value(result))
    moment = [batch, out_channels]
    results = lowering.call(kernel, arguments, shape, moment, moment)
    result, mean, rstd = (lowering.emit(relax.TupleGetItem(results, i)) for i in range(3))
    value = backend.value(result)
    value.statistics[fusion.epsilon] = mean, rstd
    return lowering.finish(epilogue, value)


def conv1d_transpose(
    lowering: FunctionLowering, variable: relax.Var, call: relax.Call
) -> Value | None:
    """A transposed convolution, or the depthwise one that doubles the length."""
    data, weight = call.args
    name = lowering.weight(weight)
    if name is None or str(data.ty.dtype) != "float32" or int(call.attrs.dilation[0]) != 1:
        return None
    in_channels, out_channels, taps = lowering.parameters[name].shape
    left, right = (int(pad) for pad in call.attrs.padding)
    stride, groups = int(call.attrs.strides[0]), int(call.attrs.groups)
    extra = int(call.attrs.output_padding[0])
    doubling = (out_channels, taps, stride, left, right, extra) == (1, 3, 2, 1, 1, 1)
    if groups == in_channels and doubling:
        return _depthwise_upsample(lowering, variable, data, name)
    if groups != 1 or taps % stride or right < extra:
        return None
    conv = ConvTranspose1d(in_channels, out_channels, taps, stride, left, right - extra)
    backend = lowering.backend
    x = lowering.sequence(data)
    batch, _, length = backend.extents(x)
    epilogue = lowering.epilogue(variable, out_channels, column=True)
    kernel = backend.conv_transpose1d(conv, epilogue.bias is not None)
    arguments = [x, *lowering.weights(kernel, name, epilogue.bias)]
    shape = backend.shape(batch, out_channels, conv.out_length(length))
    return lowering.finish(epilogue, backend.value(lowering.call(kernel, arguments, shape)))


def _depthwise_upsample(
    lowering: FunctionLowering, variable: relax.Var, data: relax.Expr, name: str
) -> Value:
    backend = lowering.backend
    adain = match_adain(data, lowering.bindings) if backend.fused else None
    norm = None if adain is None else backend.adain(adain.channels, adain.producer)
    if adain is None or norm is None:
        x = lowering.sequence(data)
    else:
        source = _normalized(lowering, adain)
        x = lowering.call(norm, [source.x, *source.coefficients], dimensions(source.x))
    batch, channels, length = backend.extents(x)
    epilogue = lowering.epilogue(variable, int(channels), column=True)
    kernel = backend.depthwise_upsample(int(channels), epilogue.bias is not None)
    arguments = [x, *lowering.weights(kernel, name, epilogue.bias)]
    shape = backend.shape(batch, int(channels), length * 2)
    return lowering.finish(epilogue, backend.value(lowering.call(kernel, arguments, shape)))


def instance_norm(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    """An instance norm over time that no kernel has fused: a kernel for the moments, operators."""
    data, weight, bias = call.args
    axes = [int(axis) for axis in call.attrs.axes]
    if str(data.ty.dtype) != "float32" or int(data.ty.ndim) != 3 or axes != [2]:
        return None
    backend, x = lowering.backend, lowering.sequence(data)
    _, channels, _ = backend.extents(x)

    def column(vector: relax.Expr) -> relax.Var:
        """Reshape [C] or [B, C] so that it broadcasts over the sequence."""
        return lowering.emit(relax.op.reshape(vector, backend.shape(-1, int(channels), 1)))

    moments = _statistics(lowering, lowering.value(data), float(call.attrs.epsilon))
    mean, rstd = (column(moment) for moment in moments)
    scale, shift = (column(lowering.first(vector)) for vector in (weight, bias))
    # The mean is subtracted first: folding a large mean into the shift would lose accuracy.
    centred = lowering.emit(relax.op.subtract(x, mean))
    factor = lowering.emit(relax.op.multiply(rstd, scale))
    scaled = lowering.emit(relax.op.multiply(centred, factor))
    return backend.value(lowering.emit(relax.op.add(scaled, shift)))


def polar(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """Magnitudes and phases to the real and imaginary parts of a spectrum."""
    found = match_polar(lowering, call)
    kernel = None if found is None else lowering.backend.polar(found.bins)
    if found is None or kernel is None:
        return None
    x = lowering.sequence(found.source)
    return lowering.backend.value(lowering.call(kernel, [x], dimensions(x)))
