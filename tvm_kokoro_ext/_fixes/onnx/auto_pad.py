"""Convolutions and pooling that are padded to the size of their input (auto_pad), and indices.

SAME_LOWER and SAME_UPPER give ceil(size / stride) elements. Stock's MaxPool rounds down with
SAME_LOWER, its AveragePool pads as if there were no dilation, and no symbolic size is taken. Its
MaxPool has no second result, the places of the maxima in the whole input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import pooled
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def padded(node: Node, previous: Previous) -> Any:
    """The amounts of padding in numbers, which do not depend on the size where the stride is 1.

    For a symbolic size and another stride the tensor itself is padded.
    """
    mode = node.text("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return previous(node)
    sizes = _compat.shape_of(node.tensor(0))[2:]
    kernel = node.attributes.get("kernel_shape") or _compat.shape_of(node.tensor(1))[2:]
    attributes = {k: v for k, v in node.attributes.items() if k != "auto_pad"}
    axes = _axes(sizes, kernel, attributes)
    if node.outputs == 1 and any(axis.depends_on_size for axis in axes):
        plain = replace(node, attributes=attributes | {"pads": (0,) * 2 * len(axes)})
        return _of_padded_tensor(plain, previous, axes, upper=mode == "SAME_UPPER")
    pads = amounts(node.operator, mode, sizes, kernel, node.attributes)
    return previous(replace(node, attributes=attributes | {"pads": tuple(pads)}))


@dataclass(frozen=True)
class _Axis:
    """A spatial axis, and the kernel's size with its gaps and step along it."""

    size: Any
    reach: int
    stride: int

    @property
    def depends_on_size(self) -> bool:
        """Whether only a call says how much is padded."""
        return _compat.as_int(self.size) is None and self.stride != 1

    def padded(self, size: Any) -> Any:
        """The size with the padding for ceil(size / stride) outputs."""
        needed = (tirx.ceildiv(size, self.stride) - 1) * self.stride + self.reach
        return needed if self.reach >= self.stride else tirx.max(needed, size)


def _axes(
    sizes: Sequence[Any], kernel: Sequence[Any], attributes: Mapping[str, Any]
) -> list[_Axis]:
    strides = attributes.get("strides") or (1,) * len(sizes)
    dilations = attributes.get("dilations") or (1,) * len(sizes)
    return [
        _Axis(size, (int(width) - 1) * dilation + 1, stride)
        for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
    ]


def _of_padded_tensor(node: Node, previous: Previous, axes: Sequence[_Axis], *, upper: bool) -> Any:
    """The result for the tensor with its padding, which an average does not count unless asked."""
    x = node.tensor(0)

    def applied(tensor: Any) -> Any:
        return previous(
            node.with_inputs(_with_padding(node, tensor, axes, upper), *node.inputs[1:])
        )

    if node.operator != "AveragePool" or node.attributes.get("count_include_pad", 0):
        return applied(x)
    mean, share = (node.emit(applied(t)) for t in (x, node.emit(relax.op.ones_like(x))))
    return relax.op.divide(mean, share)


def _with_padding(node: Node, x: Any, axes: Sequence[_Axis], upper: bool) -> Any:
    dtype = _compat.dtype_of(x)
    zero = tirx.const(0, dtype)
    if node.operator == "MaxPool":
        is_float = "float" in dtype
        zero = tirx.const(-math.inf, dtype) if is_float else tirx.min_value(dtype)

    def pad(data: Any) -> Any:
        sizes = [axis.padded(size) for axis, size in zip(axes, data.shape[2:], strict=True)]
        added = [wide - size for wide, size in zip(sizes, data.shape[2:], strict=True)]
        before = [tirx.floordiv(n if upper else n + 1, 2) for n in added]

        def element(*at: Any) -> Any:
            places = [i - n for i, n in zip(at[2:], before, strict=True)]
            inside = [
                tirx.all(place >= 0, place < size)
                for place, size in zip(places, data.shape[2:], strict=True)
            ]
            return tirx.if_then_else(tirx.all(*inside), data(*at[:2], *places), zero)

        return te.compute((*data.shape[:2], *sizes), element, name="padded")

    return node.builder.emit_te(pad, x, primfunc_name_hint="same_padding")


def max_pool(node: Node, previous: Previous) -> Any:
    """The maxima, and where they are, if the node names the places."""
    return padded(node, previous if node.outputs == 1 else partial(_with_places, previous))


def _with_places(previous: Previous, node: Node) -> Any:
    attributes, x = node.attributes, node.tensor(0)
    window = [int(size) for size in attributes["kernel_shape"]]
    ones = [1] * len(window)
    maxima = node.emit(previous(node))
    return relax.Tuple(
        pooled.with_places(
            SimpleNamespace(block_builder=node.builder),
            x,
            _compat.shape_of(maxima),
            window,
            list(attributes.get("strides") or ones),
            list(attributes.get("pads") or [0] * len(window))[: len(window)],
            list(attributes.get("dilations") or ones),
            of_all=True,
            columns=bool(attributes.get("storage_order", 0)),
        )
    )


def amounts(
    operator: str,
    mode: str,
    sizes: Sequence[Any],
    kernel: Sequence[Any],
    attributes: Mapping[str, Any],
) -> list[int]:
    """The padding of all axes at their starts, and that at their ends."""
    before, after = [], []
    for axis in _axes(sizes, kernel, attributes):
        if axis.depends_on_size:
            raise _frontend.refusal(
                operator,
                f"auto_pad is {mode}, its stride {axis.stride}, and the size {axis.size} is known "
                "only when the function runs",
                "Give the size as a number (shape_dict), or pads in place of auto_pad",
            )
        number = _compat.as_int(axis.size)
        # With a stride of 1 the amount is the same for every size.
        amount = int(axis.padded(number)) - number if number is not None else axis.reach - 1
        less, more = amount // 2, amount - amount // 2
        before.append(less if mode == "SAME_UPPER" else more)
        after.append(more if mode == "SAME_UPPER" else less)
    return [*before, *after]


FIX = Fix(
    id="onnx_auto_pad",
    what="ONNX MaxPool of SAME_LOWER has too few elements; auto_pad stops at symbolic sizes",
    op="ONNX Conv, ONNX MaxPool, ONNX AveragePool",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        dict.fromkeys(("Conv", "AveragePool", "LpPool"), padded) | {"MaxPool": max_pool}
    ),
    probe=lambda: _frontend.holds_expressions()
    and "_np.floor(input_spatial_shape[i] / strides[i])" in _frontend.converter("Pool"),
    needs_torch=False,
)
