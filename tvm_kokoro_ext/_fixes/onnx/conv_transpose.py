"""ConvTranspose with `output_shape`, which stock ignores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]
_refuse = partial(_frontend.refusal, "ConvTranspose")


def conv_transpose(node: Node, previous: Previous) -> Any:
    """Compute everything, and cut it to `output_shape` by ONNX's rule of padding.

    The total padding of an axis is stride · (size - 1) + output_padding + dilation · (taps - 1) + 1
    - output size. Its larger half is at the end where `auto_pad` is SAME_UPPER, else at the start.
    Where the output is larger than everything, zeros follow, as in ONNX Runtime.
    """
    wanted = node.attributes.get("output_shape")
    if not wanted:
        return previous(node)
    x, weight, bias = node.tensor(0), node.tensor(1), node.tensor(2)
    sizes = _compat.shape_of(x)[2:]
    inputs = [size for size in map(_compat.as_int, sizes) if size is not None]
    if len(inputs) < len(sizes):
        raise _refuse(
            "its padding follows from output_shape and from a size that is not constant",
            "Give it pads in place of output_shape, or the input a constant size",
        )
    rank, given = len(inputs), dict(node.attributes)
    wanted, upper = list(wanted)[-rank:], node.text("auto_pad", "NOTSET") == "SAME_UPPER"
    for name in ("output_shape", "auto_pad", "pads", "output_padding"):
        given.pop(name, None)
    strides = list(given.get("strides") or [1] * rank)
    taps, dilations = _compat.shape_of(weight)[2:], list(given.get("dilations") or [1] * rank)
    extra = list(node.attributes.get("output_padding") or [0] * rank)
    whole = [
        stride * (size - 1) + dilation * (int(count) - 1) + 1
        for stride, size, dilation, count in zip(strides, inputs, dilations, taps, strict=True)
    ]
    made = node.emit(previous(replace(node, inputs=[x, weight, None], attributes=given)))
    begins, ends, widths = [], [], [0] * 4
    for full, own, size, stride in zip(whole, extra, wanted, strides, strict=True):
        if size - full >= stride:
            raise _refuse(
                f"its output_shape is {wanted}, and all that it computes is {whole}",
                "Give it the output_shape of a convolution from that shape to the input's",
            )
        total = max(full + own - size, 0)
        first = total // 2 if upper else total - total // 2
        begins.append(first)
        ends.append(min(first + size, full))
        widths += [0, max(first + size - full, 0)]
    axes = list(range(2, 2 + rank))
    made = node.emit(relax.op.strided_slice(made, axes, begins, ends))
    if any(widths):
        made = node.emit(relax.op.nn.pad(made, widths))
    if bias is None:
        return made
    return relax.op.add(made, node.emit(relax.op.reshape(bias, [1, -1] + [1] * rank)))


FIX = Fix(
    id="onnx_conv_transpose",
    what="ONNX ConvTranspose ignores output_shape",
    op="ONNX ConvTranspose",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"ConvTranspose": conv_transpose}),
    probe=lambda: _frontend.holds_expressions()
    and "_pads_of_output_shape" not in _frontend.converter("ConvTranspose"),
    needs_torch=False,
)
