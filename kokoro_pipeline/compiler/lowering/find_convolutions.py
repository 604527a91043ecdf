"""The convolutions of a program whose algorithm is a choice, with the rows they typically have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import tvm
from tvm import relax

from ..kernels.common.convolutions import Conv1d
from ..kernels.cpu.choose_conv1d import ConvShape
from .backend import typical
from .cpu_backend import CpuBackend
from .custom_operators import operator_name

Found = Mapping[ConvShape, Mapping[int, int]]
"""How often a shape occurs, by its dilation."""


def find_convolutions(module: tvm.IRModule, backend: CpuBackend) -> Found:
    """The shapes for which `backend` has a choice, in the order of the program.

    A shape that occurs with several dilations is one choice, since its kernel serves them all.
    """
    found: dict[ConvShape, Counter[int]] = {}
    for function in module.functions.values():
        if not isinstance(function, relax.Function):
            continue
        own = backend.for_function(str(function.attrs["global_symbol"]))

        def visit(expression: relax.Expr, own: CpuBackend = own) -> None:
            if operator_name(expression) != "relax.nn.conv1d":
                return
            conv = conv1d_of(expression)
            if conv is None:
                return
            shape = own.conv_shape(conv, typical(expression.ty.shape[2]))
            if shape is not None:
                found.setdefault(shape, Counter())[conv.dilation] += 1

        relax.analysis.post_order_visit(function, visit)
    return found


def conv1d_of(call: relax.Call) -> Conv1d | None:
    """The static parameters of a float32 convolution in one group; None for others."""
    weight = call.args[1].ty
    if int(call.attrs.groups) != 1 or {str(arg.ty.dtype) for arg in call.args} != {"float32"}:
        return None
    out_channels, in_channels, taps = (int(extent) for extent in weight.shape)
    left, right = (int(pad) for pad in call.attrs.padding)
    stride, dilation = int(call.attrs.strides[0]), int(call.attrs.dilation[0])
    return Conv1d(in_channels, out_channels, taps, stride, dilation, left, right)
