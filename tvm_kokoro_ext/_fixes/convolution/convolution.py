"""Convolutions give the dtype of their operands; stock gives float32, whatever they are.

float16 and bfloat16 are multiplied as they are, added up in float32 and rounded once, the bias
included.
"""

from __future__ import annotations

import itertools
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.convolution import _gathered
from tvm_kokoro_ext._fixes.convolution._gathered import Window
from tvm_kokoro_ext._fixes.linear_algebra.matmul import accumulation_dtype

_FORWARD = {3: "conv1d", 4: "conv2d", 5: "conv3d"}
_TRANSPOSED = {3: "conv1d_transpose", 4: "conv2d_transpose"}


def _emit_convolution(
    importer: Any, node: Any, x: Any, weight: Any, bias: Any, transposed: bool, **attributes: Any
) -> Any:
    rank = len(_compat.shape_of(x))
    if _lacks_kernel(importer, node):
        return _by_gather(importer, node, x, weight, bias, transposed, **attributes)
    names = _TRANSPOSED if transposed else _FORWARD
    if rank not in names:
        raise _emit.refuse(
            node, f"no such convolution of {rank} dimensions", "add a batch dimension"
        )
    operator = getattr(relax.op.nn, names[rank])
    dtype = _compat.dtype_of(x)
    wide = accumulation_dtype(dtype)
    result = _emit.emit(importer, operator(x, weight, out_dtype=wide, **attributes))
    if bias is not None:
        column = _emit.emit(importer, relax.op.reshape(bias, [1, -1] + [1] * (rank - 2)))
        column = _emit.astype(importer, column, wide)
        result = _emit.emit(importer, relax.op.add(result, column))
    return _emit.astype(importer, result, dtype)


def _is_left(importer: Any, node: Any) -> bool:
    """Whether stock's converter has the right dtype, and a kernel."""
    x = importer.retrieve_args(node)[0]
    return _compat.dtype_of(x) == "float32" and not _lacks_kernel(importer, node)


def _lacks_kernel(importer: Any, node: Any) -> bool:
    """Whether no kernel of TVM takes the node.

    Groups have a number of channels that is unknown, the stride, padding or dilation is, or the
    output is padded by a stride or more, as far as a larger dilation, which torch allows.
    """
    x, weight, *_ = importer.retrieve_args(node)
    names = [argument.name for argument in node.target._schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    defaults = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}
    window = Window(*(given.get(name, default) for name, default in defaults.items()))
    axes = window.axes(_compat.rank_of(weight) - 2)
    if not all(isinstance(number, int) for number in itertools.chain.from_iterable(axes)):
        return True
    if any(extra >= stride for stride, _, _, extra in axes):
        return True
    groups = given.get("groups", 1)
    channels = (_compat.shape_of(x)[1], *_compat.shape_of(weight)[:2])
    return groups != 1 and not all(isinstance(size, int) for size in (*channels, groups))


def _by_gather(
    importer: Any,
    node: Any,
    x: Any,
    weight: Any,
    bias: Any,
    transposed: bool,
    *,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
    output_padding: Any = 0,
) -> Any:
    if _compat.rank_of(x) != _compat.rank_of(weight):
        raise _emit.refuse(node, "an input without a batch dimension", "Add one: x[None]")
    window = Window(strides, padding, dilation, output_padding)
    return _gathered.convolution(importer, x, weight, bias, window, groups, transposed)


def convolution(importer: Any, node: Any, previous: Any) -> Any:
    if _is_left(importer, node):
        return previous(node)
    x, weight, bias, strides, padding, dilation, transposed, extra, groups = _emit.arguments(
        importer,
        node,
        *[
            "input",
            "weight",
            "bias",
            "stride",
            "padding",
            "dilation",
            "transposed",
            "output_padding",
            "groups",
        ],
    )
    attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    if transposed:
        attributes["output_padding"] = extra
    return _emit_convolution(importer, node, x, weight, bias, transposed, **attributes)


def forward(importer: Any, node: Any, previous: Any) -> Any:
    if _is_left(importer, node):
        return previous(node)
    x, weight, bias, strides, padding, dilation, groups = _emit.arguments(
        importer,
        node,
        *["input", "weight", "bias", "stride", "padding", "dilation", "groups"],
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
    )
    return _emit_convolution(
        importer,
        node,
        x,
        weight,
        bias,
        False,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


def transposed(importer: Any, node: Any, previous: Any) -> Any:
    if _is_left(importer, node):
        return previous(node)
    x, weight, bias, strides, padding, extra, groups, dilation = _emit.arguments(
        importer,
        node,
        *["input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"],
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
    )
    return _emit_convolution(
        importer,
        node,
        x,
        weight,
        bias,
        True,
        strides=strides,
        padding=padding,
        output_padding=extra,
        dilation=dilation,
        groups=groups,
    )


@_probe.wrong
def _still_wrong() -> bool:
    x, weight = _probe.Input((1, 1, 4), "float64"), _probe.Input((1, 1, 2), "float64")
    general = (None, [1], [0], [1], True, [0], 1)
    made = [
        _probe.convert("conv1d.default", x, weight),
        _probe.convert("conv_transpose1d.default", x, weight),
        _probe.convert("convolution.default", x, weight, *general),
    ]
    return any(each.dtype != "float64" for each in made)


@_probe.wrong
def _half_is_wrong() -> bool:
    """Whether float16 is added up in anything but float32."""
    x, weight = _probe.Input((1, 1, 4), "float16"), _probe.Input((1, 1, 2), "float16")
    made = _probe.convert("conv1d.default", x, weight, _probe.Input((1,), "float16"))
    return made.dtype != "float16" or made.ops[-1] != "relax.astype"


FIX = Fix(
    id="convolution",
    what="convolutions compute in float32 whatever the operands; symbolic groups and strides, and "
    "outputs padded by a stride or more, fail",
    op="aten.convolution, aten.conv1d, aten.conv2d, aten.conv3d, aten.conv_transpose1d/2d",
    affected="",
    converters={
        "convolution.default": convolution,
        "conv1d.default": forward,
        "conv2d.default": forward,
        "conv3d.default": forward,
        "conv_transpose1d.default": transposed,
        "conv_transpose2d.input": transposed,
    },
    probe=_probe.any_of(_still_wrong, _half_is_wrong),
)
