"""The operators of quantized tensors of ONNX Runtime's own domain, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.onnx import _activations, _frontend, _layers, _quantized, quantization
from tvm_kokoro_ext._fixes.onnx._layers import Direction
from tvm_kokoro_ext._fixes.onnx._quantized import optional
from tvm_kokoro_ext._fixes.onnx._runtime_layers import added, attended, scaled
from tvm_kokoro_ext._fixes.recurrence import _recurrence


def _integer_to_float(bb: Any, inputs: Any, attr: Any) -> Any:
    a, b, a_scale, b_scale = inputs[:4]
    made = _quantized.product(bb, a, optional(inputs, 4), b, optional(inputs, 5))
    made = _quantized.real(bb, made, _quantized.by_rows(bb, a_scale, a, b), b_scale)
    return added(bb, made, optional(inputs, 6))


def _dynamic_matmul(bb: Any, inputs: Any, attr: Any) -> Any:
    a, scale, zero = _quantized.dynamically(bb, inputs[0])
    made = _quantized.product(bb, a, zero, inputs[1], optional(inputs, 3))
    made = _quantized.real(bb, made, scale, inputs[2])
    return added(bb, made, optional(inputs, 4))


def _gemm(bb: Any, inputs: Any, attr: Any) -> Any:
    """Of floats where the result has no scale."""
    a, a_scale, a_zero, b, b_scale, b_zero = inputs[:6]
    c, y_scale, y_zero = (optional(inputs, i) for i in (6, 7, 8))
    if attr.get("transA"):
        a = bb.emit(relax.op.permute_dims(a))
    if attr.get("transB"):
        b = bb.emit(relax.op.permute_dims(b))
    made = added(bb, _quantized.product(bb, a, a_zero, b, b_zero), c)
    factor = scaled(bb, _quantized.times(bb, a_scale, b_scale), float(attr.get("alpha", 1.0)))
    if y_scale is None:
        return _quantized.real(bb, made, factor)
    dtype = "uint8" if y_zero is None else _compat.dtype_of(y_zero)
    return _quantized.requantize(bb, made, factor, y_scale, y_zero, dtype, "QGemm")


def _attention(bb: Any, inputs: Any, attr: Any) -> Any:
    x, weight, bias, x_scale, weight_scale = inputs[:5]
    mask, x_zero, weight_zero, past = (optional(inputs, i) for i in (5, 6, 7, 8))
    made = _quantized.product(bb, x, x_zero, weight, weight_zero)
    made = added(bb, _quantized.real(bb, made, x_scale, weight_scale), bias)
    return attended(bb, made, attr, "QAttention", mask, past, None)


def _read(bb: Any, x: Any, scale: Any, zero: Any) -> Any:
    return _quantized.dequantize(bb, x, scale, zero, "float32", {"axis": 0})


def _written(bb: Any, x: Any, scale: Any, zero: Any, like: Any, operator: str) -> Any:
    dtype = _compat.dtype_of(like if zero is None else zero)
    return _quantized.quantize(bb, x, scale, zero, dtype, {"axis": 0}, operator)


def _pairwise(operator: str, function: Any) -> _layers.Conversion:
    """A function of two tensors, each with its scale and zero point."""

    def convert(bb: Any, inputs: Any, attr: Any) -> Any:
        reals = [_read(bb, *inputs[at : at + 3]) for at in (0, 3)]
        made = bb.emit(function(*reals))
        return _written(bb, made, inputs[6], optional(inputs, 7), inputs[0], operator)

    return convert


def _of_one(operator: str, function: Callable[[Any, Any, Any], Any]) -> _layers.Conversion:
    """A function (builder, reals, attributes) of one tensor, with two scales and zero points."""

    def convert(bb: Any, inputs: Any, attr: Any) -> Any:
        x = _read(bb, *inputs[:3])
        last = bool(attr.get("channels_last", 0))
        rank = _compat.rank_of(x)
        if last:
            x = bb.emit(relax.op.permute_dims(x, [0, rank - 1, *range(1, rank - 1)]))
        made = bb.emit(function(bb, x, attr))
        if last:
            made = bb.emit(relax.op.permute_dims(made, [0, *range(2, rank), 1]))
        return _written(bb, made, inputs[3], optional(inputs, 4), inputs[0], operator)

    return convert


def _softmax(bb: Any, x: Any, attr: Any) -> Any:
    rank = _compat.rank_of(x)
    axis = int(attr.get("axis", -1)) % rank
    if int(attr["opset"]) < 13 and axis != rank - 1:
        raise _frontend.refusal(
            "QLinearSoftmax", "its axis is not the last", "Convert the model to opset 13"
        )
    return relax.op.nn.softmax(x, axis=axis)


def _pooled(bb: Any, x: Any, attr: Any) -> Any:
    importer = _frontend.module()
    own = {k: v for k, v in attr.items() if k != "channels_last"}
    convert = importer._get_convert_map()["AveragePool"].get_converter(13)
    return convert(bb, importer.onnx_input([x]), own, [{}, {}])


def _concatenated(bb: Any, inputs: Any, attr: Any) -> Any:
    scale, zero, *given = inputs
    parts = [_read(bb, *given[at : at + 3]) for at in range(0, len(given), 3)]
    made = bb.emit(relax.op.concat(parts, axis=int(attr["axis"])))
    return _written(bb, made, scale, zero, given[0], "QLinearConcat")


def _where(bb: Any, inputs: Any, attr: Any) -> Any:
    reals = [_read(bb, *inputs[at : at + 3]) for at in (1, 4)]
    made = bb.emit(relax.op.where(inputs[0], *reals))
    return _written(bb, made, inputs[7], optional(inputs, 8), inputs[1], "QLinearWhere")


def _bits(packed: Any, bits: int, place: Any) -> Any:
    """The number at a place of a row of bytes, each of which holds 8 / bits numbers."""
    count = 8 // bits
    byte = packed(place // count).astype("int32")
    if count == 1:
        return byte
    shift = (place % count * bits).astype("int32")
    return tirx.bitwise_and(tirx.shift_right(byte, shift), tirx.const((1 << bits) - 1, "int32"))


def _number_of_bits(operator: str, attr: Any) -> int:
    bits = int(attr.get("bits", 4))
    if bits not in (2, 4, 8):
        raise _frontend.refusal(
            operator, f"its weights have {bits} bits", "Quantize them to 2, 4 or 8 bits"
        )
    return bits


def _matmul_of_bits(bb: Any, inputs: Any, attr: Any) -> Any:
    """A · Wᵀ, where W [N, K] has a scale and a zero point for each block of a row."""
    a, packed, scales = inputs[:3]
    zeros, order, bias = (optional(inputs, i) for i in (3, 4, 5))
    bits = _number_of_bits("MatMulNBits", attr)
    if attr.get("weight_prepacked"):
        raise _frontend.refusal(
            "MatMulNBits", "its weights are packed for one machine", "Leave out weight_prepacked"
        )
    rows, columns, block = (int(attr[name]) for name in ("N", "K", "block_size"))
    blocks = -(-columns // block)
    dtype = _compat.dtype_of(a)
    scales = bb.emit(relax.op.reshape(scales, [rows, blocks]))
    packed = bb.emit(relax.op.reshape(packed, [rows, blocks, -1]))
    plain = zeros is not None and _compat.dtype_of(zeros) == "uint8"
    if zeros is not None:
        zeros = bb.emit(
            relax.op.reshape(zeros, [rows, -(-blocks * bits // 8) if plain else blocks])
        )
    given = [x for x in (zeros, order) if x is not None]

    def compute(packed: Any, scales: Any, *given: Any) -> Any:
        zeros_of = given[0] if zeros is not None else None
        order_of = given[-1] if order is not None else None

        def element(n: Any, k: Any) -> Any:
            own = k // block if order_of is None else order_of[k].astype("int64")
            number = _bits(lambda i: packed[n, k // block, i], bits, k % block).astype("float32")
            if zeros_of is None:
                zero = tirx.const(float(1 << (bits - 1)), "float32")
            elif plain:
                zero = _bits(lambda i: zeros_of[n, i], bits, own).astype("float32")
            else:
                zero = zeros_of[n, own].astype("float32")
            return ((number - zero) * scales[n, own].astype("float32")).astype(dtype)

        return te.compute((rows, columns), element, name="weight")

    weight = bb.emit_te(compute, packed, scales, *given, primfunc_name_hint="weight_of_bits")
    made = bb.emit(relax.op.matmul(a, bb.emit(relax.op.permute_dims(weight))))
    return added(bb, made, bias)


def _until_longest(bb: Any, own: Direction) -> Any:
    """The input with zeros behind the longest row, which do not change its range."""
    if own.lengths is None:
        return own.x
    longest = bb.emit(relax.op.max(own.lengths))

    def compute(x: Any, longest: Any) -> Any:
        zero = tirx.const(0.0, str(x.dtype))
        return te.compute(
            x.shape, lambda t, b, i: tirx.Select(t < longest(), x[t, b, i], zero), name="valid"
        )

    return bb.emit_te(compute, own.x, longest, primfunc_name_hint="valid")


def _lstm(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y, Y_h and Y_c. The inputs, and the state of each row at each step, are quantized to uint8.

    ONNX Runtime takes one range for all rows of a batch that it computes together.
    """
    names = _activations.named(attr, ("Sigmoid", "Tanh", "Tanh"), "DynamicQuantizeLSTM")
    standard = names[:3] == ("Sigmoid", "Tanh", "Tanh") and names[3:] in ((), names[:3])
    if not standard or attr.get("input_forget") or optional(inputs, 7) is not None:
        raise _frontend.refusal(
            "DynamicQuantizeLSTM",
            "it has other activations than Sigmoid and Tanh, coupled gates, or peepholes",
            "Quantize the model without its LSTMs (op_types_to_quantize)",
        )
    weights = [bb.emit(relax.op.permute_dims(inputs[at], [0, 2, 1])) for at in (1, 2)]
    scales = [inputs[at] for at in (8, 9, 10, 11)]

    def layer(own: Direction) -> list[Any]:
        rows = int(_compat.shape_of(own.r)[0])

        def of_rows(values: Any) -> Any:
            """The numbers of this direction, one for each row of a weight."""
            value = bb.emit(relax.op.take(values, relax.const(own.index, "int64"), axis=0))
            value = bb.emit(relax.op.reshape(value, [-1]))
            return bb.emit(relax.op.broadcast_to(value, [rows]))

        w_scale, w_zero, r_scale, r_zero = map(of_rows, scales)
        x, x_scale, x_zero = _quantized.dynamically(bb, _until_longest(bb, own))
        turned = bb.emit(relax.op.permute_dims(own.w))
        made = _quantized.real(
            bb, _quantized.product(bb, x, x_zero, turned, w_zero), x_scale, w_scale
        )
        gates = _layers.torch_order(bb.emit, added(bb, made, *(own.biases or ())), axis=2)
        shifted = _quantized.shifted(bb, own.r, bb.emit(relax.op.expand_dims(r_zero, -1)))
        weight = _layers.torch_order(bb.emit, bb.emit(relax.op.astype(shifted, "float32")))
        steps = _layers.torch_order(bb.emit, bb.emit(relax.op.astype(r_scale, "float32")))
        return own.scanned(
            _recurrence.quantized_lstm, gates, weight, steps, *own.states, hint="onnx_lstm"
        )

    given = [inputs[0], *weights, *(optional(inputs, at) for at in (3, 4, 5, 6))]
    return _layers.convert(bb, given, attr, layer, states=2)


OPERATORS: dict[str, _layers.Conversion] = {
    "QuantizeLinear": quantization.quantize_linear,
    "DequantizeLinear": quantization.dequantize_linear,
    "QLinearConv": quantization.qlinear_conv,
    "MatMulIntegerToFloat": _integer_to_float,
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "DynamicQuantizeLSTM": _lstm,
    "MatMulNBits": _matmul_of_bits,
    "QGemm": _gemm,
    "QAttention": _attention,
    "QLinearAdd": _pairwise("QLinearAdd", relax.op.add),
    "QLinearMul": _pairwise("QLinearMul", relax.op.multiply),
    "QLinearSigmoid": _of_one("QLinearSigmoid", lambda bb, x, attr: relax.op.sigmoid(x)),
    "QLinearLeakyRelu": _of_one(
        "QLinearLeakyRelu",
        lambda bb, x, attr: relax.op.nn.leakyrelu(x, float(attr.get("alpha", 0.01))),
    ),
    "QLinearGlobalAveragePool": _of_one(
        "QLinearGlobalAveragePool",
        lambda bb, x, attr: relax.op.mean(x, list(range(2, _compat.rank_of(x))), keepdims=True),
    ),
    "QLinearAveragePool": _of_one("QLinearAveragePool", _pooled),
    "QLinearSoftmax": _of_one("QLinearSoftmax", _softmax),
    "QLinearConcat": _concatenated,
    "QLinearWhere": _where,
}
"""By their names in the domain com.microsoft."""
