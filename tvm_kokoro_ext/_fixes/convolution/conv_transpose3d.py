"""conv_transpose3d, which TVM lacks, as a gather for each output element."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.convolution import _gathered
from tvm_kokoro_ext._fixes.convolution._gathered import Window


def convolution(importer: Any, node: Any, previous: Any) -> Any:
    x, weight, bias, strides, padding, dilation, flipped, extra, groups = _emit.arguments(
        importer,
        node,
        *("input", "weight", "bias", "stride", "padding", "dilation"),
        *("transposed", "output_padding", "groups"),
    )
    if not flipped or _compat.rank_of(x) != 5:
        return previous(node)
    window = Window(strides, padding, dilation, extra)
    return _gathered.convolution(importer, x, weight, bias, window, groups, transposed=True)


def transposed(importer: Any, node: Any, previous: Any) -> Any:
    x, weight, bias, strides, padding, extra, groups, dilation = _emit.arguments(
        importer,
        node,
        *("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
    )
    if _compat.rank_of(x) != 5:
        raise _emit.refuse(node, "an input without a batch dimension", "Add one: x[None]")
    window = Window(strides, padding, dilation, extra)
    return _gathered.convolution(importer, x, weight, bias, window, groups, transposed=True)


FIX = Fix(
    id="conv_transpose3d",
    what="conv_transpose3d is missing",
    op="aten.conv_transpose3d",
    affected="",
    converters={"convolution.default": convolution, "conv_transpose3d.input": transposed},
    probe=_probe.lacks("conv_transpose3d.input"),
)
