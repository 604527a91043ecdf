"""Convolutions and pooling that are padded to the size of their input (auto_pad), and indices.

SAME_LOWER and SAME_UPPER give ceil(size / stride) elements. Stock's MaxPool rounds down with
SAME_LOWER, its AveragePool pads as if there were no dilation, and no symbolic size is taken. Its
MaxPool has no second result, the places of the maxima in the whole input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import pooled
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def padded(node: Node, previous: Previous) -> Any:
    """The amounts of padding in numbers, which do not depend on the size where the stride is 1."""
    mode = node.text("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return previous(node)
    sizes = _compat.shape_of(node.tensor(0))[2:]
    kernel = node.attributes.get("kernel_shape") or _compat.shape_of(node.tensor(1))[2:]
    pads = amounts(node.operator, mode, sizes, kernel, node.attributes)
    attributes = {k: v for k, v in node.attributes.items() if k != "auto_pad"}
    return previous(replace(node, attributes=attributes | {"pads": tuple(pads)}))


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
    strides = attributes.get("strides") or (1,) * len(sizes)
    dilations = attributes.get("dilations") or (1,) * len(sizes)
    before, after = [], []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        number, reach = _compat.as_int(size), (int(width) - 1) * dilation + 1
        if number is None and stride != 1:
            raise _frontend.refusal(
                operator,
                f"auto_pad is {mode}, its stride {stride}, and the size {size} is known only when "
                "the function runs",
                "Give the size as a number (shape_dict), or pads in place of auto_pad",
            )
        # With a stride of 1 the amount is the same for every size.
        outputs = 1 if number is None else -(-number // stride)
        amount = max((outputs - 1) * stride + reach - (1 if number is None else number), 0)
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
