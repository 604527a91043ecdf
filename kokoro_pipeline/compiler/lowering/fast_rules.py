"""Rules that map operators to fast algorithms; `kernel_rules` handles everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from tvm import relax, tirx

from ..kernels.common.convolutions import Conv1d
from ..kernels.common.producer import Activation, Producer
from ..kernels.cpu.bin_products import padded_channels, padded_outputs
from ..kernels.cpu.conv1d import conv1d, pack_conv1d
from ..kernels.cpu.fft_conv1d import fft_conv1d, pack_fft_conv1d
from ..kernels.cpu.polar import polar_to_complex
from ..kernels.cpu.transform_conv1d import SameConv1d
from ..kernels.cpu.vector import VectorTarget
from ..kernels.cpu.winograd_conv1d import pack_winograd_conv1d, winograd_conv1d
from .channels_last import Value, dimensions
from .kernel_rules import instance_statistics, read_conv1d
from .match_adain import AdaIN, match_adain
from .shared_rules import original

if TYPE_CHECKING:
    from .cpu_lowering import FunctionLowering


@dataclass(frozen=True)
class _Algorithm:
    """A convolution kernel and the function that packs its weight."""

    recipe: str
    kernel: Callable[[VectorTarget, SameConv1d], tirx.PrimFunc]
    pack: Callable[..., np.ndarray]


_WINOGRAD = _Algorithm("winograd_conv1d", winograd_conv1d, pack_winograd_conv1d)
_FFT = _Algorithm("fft_conv1d", fft_conv1d, pack_fft_conv1d)

# By the number of taps. With fewer taps a transform does not pay off; more do not occur.
_ALGORITHMS: Mapping[int, _Algorithm] = {3: _WINOGRAD, 7: _FFT, 11: _FFT}


# Channels are padded with zeros to whole vectors. Padding by more than these factors would cost
# more than the fast algorithm saves.
MOST_INPUT_PADDING, MOST_OUTPUT_PADDING = 1.1, 1.5


@dataclass(frozen=True)
class _Input:
    """The input of a convolution: channels-last rows, and how they are transformed on reading."""

    rows: relax.Expr
    producer: Producer
    coefficients: tuple[relax.Expr, ...] = ()


def _input(lowering: FunctionLowering, data: relax.Expr) -> _Input:
    """Look through the adaptive instance norm before a convolution, if there is one."""
    adain = match_adain(data, lowering.bindings)
    if adain is None or not _in_whole_vectors(lowering.target, adain):
        return _Input(lowering.value(data).in_last(lowering.builder), Producer())
    x = lowering.value(adain.x)
    rows = x.in_last(lowering.builder)
    channels = int(dimensions(rows)[-1])
    coefficients = [
        *instance_statistics(lowering, x, adain.epsilon),
        original(lowering, adain.weight),
        original(lowering, adain.bias),
        original(lowering, adain.style),
    ]
    if adain.alpha is not None:
        alpha = original(lowering, adain.alpha)
        coefficients.append(lowering.emit(relax.op.reshape(alpha, [channels])))
    return _Input(rows, _producer(adain), tuple(coefficients))


def _in_whole_vectors(target: VectorTarget, adain: AdaIN) -> bool:
    """Whether a kernel can fuse the norm: Snake does not support partial vectors."""
    return adain.alpha is None or int(adain.x.ty.shape[1]) % target.lanes == 0


def _producer(adain: AdaIN) -> Producer:
    if adain.alpha is not None:
        return Producer(adain=True, activation=Activation.SNAKE)
    if adain.slope is not None:
        return Producer(adain=True, activation=Activation.LEAKY_RELU, slope=adain.slope)
    return Producer(adain=True)


def _conv1d(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    convolution = read_conv1d(lowering, call)
    if convolution is None:
        return None
    name, geometry = convolution
    source = _input(lowering, call.args[0])
    epilogue = lowering.epilogue(variable, geometry.out_channels, column=True, residual=True)
    algorithm = _algorithm(lowering.target, geometry)
    statistics = _norm_epsilon(lowering, epilogue.end) if algorithm is not None else None
    if algorithm is not None:
        recipe, pack = algorithm.recipe, algorithm.pack
        conv = SameConv1d(
            geometry.in_channels,
            geometry.out_channels,
            geometry.taps,
            source.producer,
            epilogue.residual is not None,
            statistics,
        )
        kernel = lowering.kernel(algorithm.kernel, conv)
        numbers = [relax.prim_value(tirx.IntImm("int64", geometry.dilation))]
    else:
        recipe, pack, numbers = "conv1d", pack_conv1d, []
        kernel = lowering.kernel(
            _fused_direct, geometry, source.producer, epilogue.residual is not None
        )

    def packed(*arrays: np.ndarray) -> np.ndarray:
        return pack(lowering.target, *arrays)

    residual = epilogue.residual
    arguments = [
        source.rows,
        *source.coefficients,
        lowering.packed([name, epilogue.bias], recipe, packed),
        *([residual.in_last(lowering.builder)] if residual is not None else []),
        *numbers,
    ]
    batch, length, _ = dimensions(source.rows)
    shape = [batch, geometry.out_length(length), geometry.out_channels]
    if statistics is None:
        return lowering.finish(epilogue, Value(last=lowering.call(kernel, arguments, shape)))
    moment = [batch, geometry.out_channels]
    results = lowering.call(kernel, arguments, shape, moment, moment)
    rows, mean, rstd = (lowering.emit(relax.TupleGetItem(results, i)) for i in range(3))
    return lowering.finish(epilogue, Value(last=rows, statistics={statistics: (mean, rstd)}))


def _norm_epsilon(lowering: FunctionLowering, variable: relax.Var) -> float | None:
    """The epsilon of an instance norm over time that reads the variable, or None."""
    for user in lowering.users(variable):
        norm = lowering.definition(user, "relax.nn.instance_norm")
        if norm is not None and [int(axis) for axis in norm.attrs.axes] == [2]:
            return float(norm.attrs.epsilon)
    return None


def _algorithm(target: VectorTarget, conv: Conv1d) -> _Algorithm | None:
    """The fast algorithm for a convolution, or None where none applies."""
    reach = conv.dilation * (conv.taps // 2)
    same = conv.stride == 1 and (conv.pad_left, conv.pad_right) == (reach, reach)
    inputs = padded_channels(target.lanes, conv.in_channels)
    outputs = padded_outputs(target, conv.out_channels)
    few_zeros = (
        inputs <= MOST_INPUT_PADDING * conv.in_channels
        and outputs <= MOST_OUTPUT_PADDING * conv.out_channels
    )
    return _ALGORITHMS.get(conv.taps) if same and few_zeros else None


def _fused_direct(
    target: VectorTarget, conv: Conv1d, producer: Producer, residual: bool
) -> tirx.PrimFunc:
    return conv1d(target, conv, producer, residual=residual)


def _halves(
    lowering: FunctionLowering, low: relax.Expr, high: relax.Expr
) -> tuple[relax.Expr, int] | None:
    """The tensor [B, 2K, L] whose lower and upper K channels two slices are, and K; else None."""
    first = lowering.definition(low, "relax.strided_slice")
    second = lowering.definition(high, "relax.strided_slice")
    if first is None or second is None or not first.args[0].same_as(second.args[0]):
        return None
    source = first.args[0]
    if source.ty.ndim != 3 or not isinstance(source.ty.shape[1], tirx.IntImm):
        return None
    channels = int(source.ty.shape[1])
    ranges = []
    for call in (first, second):
        numbers = [list(argument.fields) for argument in call.args[1:]]
        values = [[int(field.value) for field in fields] for fields in numbers]
        if len(values) == 3:
            values.append([1])
        (axis,), (begin,), (end,), (stride,) = values
        ranges.append((axis % 3, begin, min(end, channels), stride))
    K = channels // 2
    if channels % 2 or ranges != [(1, 0, K, 1), (1, K, channels, 1)]:
        return None
    return source, K


def _polar(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """Match concat([exp(a) * cos(sin(b)), exp(a) * sin(sin(b))]) with a, b halves of a tensor."""
    parts = call.args[0]
    if not isinstance(parts, relax.Tuple) or len(parts.fields) != 2 or int(call.attrs.axis) != 1:
        return None
    products = [lowering.definition(field, "relax.multiply") for field in parts.fields]
    if products[0] is None or products[1] is None:
        return None
    magnitude = products[0].args[0]
    cosine = lowering.definition(products[0].args[1], "relax.cos")
    sine = lowering.definition(products[1].args[1], "relax.sin")
    size = lowering.definition(magnitude, "relax.exp")
    if cosine is None or sine is None or size is None:
        return None
    phase = lowering.definition(cosine.args[0], "relax.sin")
    same = products[1].args[0].same_as(magnitude) and sine.args[0].same_as(cosine.args[0])
    if phase is None or not same or str(call.ty.dtype) != "float32":
        return None
    halves = _halves(lowering, size.args[0], phase.args[0])
    if halves is None:
        return None
    source, bins = halves
    rows = lowering.value(source).in_last(lowering.builder)
    kernel = lowering.kernel(polar_to_complex, bins)
    return Value(last=lowering.call(kernel, [rows], dimensions(rows)))


FAST_RULES: Mapping[str, Callable[[FunctionLowering, relax.Var, relax.Call], Value | None]] = {
    "relax.concat": _polar,
    "relax.nn.conv1d": _conv1d,
}
