"""ONNX's operators of quantized tensors.

ConvInteger, QLinearConv and QLinearMatMul are missing in stock, whose QuantizeLinear and
DequantizeLinear take no blocks and no scale of the type bfloat16, and stop at constants of 4 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers, _quantized
from tvm_kokoro_ext._fixes.onnx._quantized import optional


def quantize_linear(bb: Any, inputs: Any, attr: Any) -> Any:
    """y of the zero point's dtype, of `output_dtype`, or uint8."""
    x, scale, zero = inputs[0], inputs[1], optional(inputs, 2)
    wanted = int(attr.get("output_dtype", 0))
    if zero is not None:
        dtype = _compat.dtype_of(zero)
    else:
        dtype = _frontend.module().get_type(wanted) if wanted else "uint8"
    return _quantized.quantize(bb, x, scale, zero, dtype, attr, "QuantizeLinear")


def dequantize_linear(bb: Any, inputs: Any, attr: Any) -> Any:
    """Reals of the scale's dtype, or of `output_dtype`."""
    x, scale, zero = inputs[0], inputs[1], optional(inputs, 2)
    if _compat.dtype_of(x) not in _quantized.INTEGERS:
        raise _frontend.refusal(
            "DequantizeLinear", f"it reads {_compat.dtype_of(x)}", "Quantize to int8 or uint8"
        )
    wanted = int(attr.get("output_dtype", 0))
    dtype = _frontend.module().get_type(wanted) if wanted else _compat.dtype_of(scale)
    return _quantized.dequantize(bb, x, scale, zero, dtype, attr)


def conv_integer(bb: Any, inputs: Any, attr: Any) -> Any:
    """The convolution in int32."""
    zeros = optional(inputs, 2), optional(inputs, 3)
    return _quantized.convolved(bb, inputs[0], zeros[0], inputs[1], zeros[1], attr, "ConvInteger")


def matmul_integer(bb: Any, inputs: Any, attr: Any) -> Any:
    """The product in int32."""
    return _quantized.product(bb, inputs[0], optional(inputs, 2), inputs[1], optional(inputs, 3))


def qlinear_conv(bb: Any, inputs: Any, attr: Any) -> Any:
    """The convolution in int32, with a bias of int32, quantized."""
    x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero = inputs[:8]
    bias, rank = optional(inputs, 8), _compat.rank_of(x) - 2
    last = bool(attr.get("channels_last", 0))
    if last:
        x = bb.emit(relax.op.permute_dims(x, [0, rank + 1, *range(1, rank + 1)]))
    made = _quantized.convolved(bb, x, x_zero, weight, w_zero, attr, "QLinearConv")
    if bias is not None:
        made = bb.emit(relax.op.add(made, _quantized.by_channels(bb, bias, 1, rank)))
    scales = x_scale, _quantized.by_channels(bb, w_scale, 1, rank)
    made = _quantized.requantize(
        bb,
        made,
        _quantized.times(bb, *scales),
        y_scale,
        y_zero,
        _compat.dtype_of(y_zero),
        "QLinearConv",
    )
    if last:
        made = bb.emit(relax.op.permute_dims(made, [0, *range(2, rank + 2), 1]))
    return made


def qlinear_matmul(bb: Any, inputs: Any, attr: Any) -> Any:
    """The product in int32, quantized."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs[:8]
    factor = _quantized.times(bb, _quantized.by_rows(bb, a_scale, a, b), b_scale)
    made = _quantized.product(bb, a, a_zero, b, b_zero)
    dtype = _compat.dtype_of(y_zero)
    return _quantized.requantize(bb, made, factor, y_scale, y_zero, dtype, "QLinearMatMul")


OPERATORS: dict[str, _layers.Conversion] = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "ConvInteger": conv_integer,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
}


def with_bytes(model: Any) -> Any:
    """The model with the constants of 4 bits that are only dequantized as int8 and uint8."""
    import onnx
    from onnx import TensorProto, numpy_helper

    wide = {TensorProto.INT4: "int8", TensorProto.UINT4: "uint8"}
    narrow = {tensor.name for tensor in model.graph.initializer if tensor.data_type in wide}
    narrow |= {
        node.output[0]
        for node in model.graph.node
        if node.op_type == "Constant"
        and any(attribute.t.data_type in wide for attribute in node.attribute)
    }
    for node in _frontend.nodes(model.graph):
        if node.op_type != "DequantizeLinear":
            narrow -= set(node.input)
    narrow -= {value.name for value in model.graph.output}
    if not narrow:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)

    def widen(tensor: Any, name: str) -> None:
        array = numpy_helper.to_array(tensor).astype(wide[tensor.data_type])
        tensor.CopyFrom(numpy_helper.from_array(array, name))

    for tensor in copy.graph.initializer:
        if tensor.name in narrow:
            widen(tensor, tensor.name)
    for node in copy.graph.node:
        if node.op_type == "Constant" and node.output[0] in narrow:
            widen(node.attribute[0].t, "")
    return copy


def _install() -> Callable[[], None]:
    return _frontend.both(
        _frontend.with_operators(_layers.classes(OPERATORS)),
        _frontend.rewriting(with_bytes),
    )


FIX = Fix(
    id="onnx_quantization",
    what="ConvInteger, QLinearConv and QLinearMatMul of ONNX, blocks and 4 bits are missing",
    op="ONNX QuantizeLinear, DequantizeLinear, ConvInteger, QLinearConv, QLinearMatMul, …",
    affected="",
    install=_install,
    probe=lambda: bool(_frontend.listed()) and "QLinearConv" not in _frontend.listed(),
    needs_torch=False,
)
