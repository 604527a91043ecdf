"""A graph of Kokoro in float16, or with quantized weights, as the same graph in float32.

The kernels compute in float32. A float16 graph is widened. Of a graph with quantized weights, the
weights become the reals that they stand for, and what is multiplied by them is not rounded to
integers, as it is in ONNX Runtime: the result is that of the same weights without this rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from kokoro_pipeline.errors import InputError

from .fused import without_fusions

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_MOVING = ("Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
"""Operators that keep the elements of a quantized table."""
_QUANTIZED = {
    "ConvInteger": "_conv",
    "DequantizeLinear": "_dequantize",
    "DynamicQuantizeLinear": "_quantize",
    "DynamicQuantizeLSTM": "_lstm",
    "DynamicQuantizeMatMul": "_dynamic_matmul",
    "MatMulInteger": "_matmul",
    "MatMulIntegerToFloat": "_dynamic_matmul",
    "MatMulNBits": "_matmul_of_bits",
    "QuantizeLinear": "_static",
}
"""The quantized operators that are read, and the methods of `_Reals` that replace them."""


def in_float32(model: ModelProto, where: str) -> ModelProto:
    """The model in float32, with every node behind those that it reads. The model is used up.

    ONNX Runtime's quantizer leaves a loop before the node whose result it reads.

    Raises InputError for quantized operators other than those of dynamic quantization, of pairs of
    QuantizeLinear and DequantizeLinear, and of weights in blocks, and for operators of ONNX Runtime
    that are not known.
    """
    _restore_scales(model.graph)
    _widen(model.graph)
    _sort(model.graph)
    if any(node.op_type in _QUANTIZED for node in model.graph.node):
        _Reals(model.graph, where).replace()
    without_fusions(model)
    odd = {n.op_type for n in model.graph.node if n.domain not in ("", "ai.onnx")}
    odd |= {n.op_type for n in model.graph.node if "Linear" in n.op_type or "Integer" in n.op_type}
    if odd:
        raise InputError(
            f"{where} has operators that are not compiled: {', '.join(sorted(odd))}. Kokoro is "
            "built from graphs in float32 and float16, quantized ones (quantize_dynamic, "
            "quantize_static with QuantFormat.QDQ), and those with weights in blocks "
            "(MatMulNBits), before ONNX Runtime has optimized them or at its level extended. "
            "Build from another file of the same model"
        )
    used = [opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    del model.opset_import[:]
    model.opset_import.extend(used)
    return model


def _restore_scales(graph: GraphProto) -> None:
    """Make the scales of `Resize` that are float16 the float32 that they were rounded from.

    A scale is a whole number or 1 / k of one. What float16 holds of 1 / 300 gives a frame too many
    beyond 58 seconds of audio, for which ONNX Runtime stops, and sizes that are no product of the
    number of frames.
    """
    producers = {name: node for node in graph.node for name in node.output}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type != "Resize" or len(node.input) < 3 or not node.input[2]:
            continue
        name = node.input[2]
        while name in producers and producers[name].op_type in ("Cast", "Identity"):
            name = producers[name].input[0]
        tensor = tensors.get(name)
        if name in producers and producers[name].op_type == "Constant":
            tensor = next(a.t for a in producers[name].attribute)
        if tensor is None or tensor.data_type != TensorProto.FLOAT16:
            continue
        held = numpy_helper.to_array(tensor)
        inverse = np.rint(1 / held.astype(np.float64))
        exact = np.where(inverse > 1, 1 / np.maximum(inverse, 1), held)
        if (exact.astype(np.float16) == held).all():
            value = numpy_helper.from_array(exact.astype(np.float32))
            node.input[2] = f"{node.output[0]}_scales"
            made = graph.initializer.add()
            made.CopyFrom(value)
            made.name = node.input[2]


def _widen(graph: GraphProto) -> None:
    """Make every float16 of a graph, and of the graphs within it, a float32."""
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        kind = value.type.tensor_type
        if kind.elem_type == TensorProto.FLOAT16:
            kind.elem_type = TensorProto.FLOAT
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _widen(attribute.g)
            elif attribute.type == AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            elif attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT16:
        wide = numpy_helper.to_array(tensor).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def _sort(graph: GraphProto) -> None:
    """Put every node behind those whose results it reads; nodes in order stay as they are."""
    from .graph import read_by

    waiting, made = list(graph.node), set[str]()
    produced = {name for node in waiting for name in node.output}
    ordered: list[NodeProto] = []
    while waiting:
        ready, rest = [], []
        for node in waiting:
            if all(name in made or name not in produced for name in read_by(node)):
                ready.append(node)
                made.update(node.output)
            else:
                rest.append(node)
        if not ready:
            return  # a cycle, of which the checker tells
        ordered, waiting = [*ordered, *ready], rest
    if ordered != list(graph.node):
        del graph.node[:]
        graph.node.extend(ordered)


class _Reals:
    """The replacement of quantized operators by those of floats."""

    def __init__(self, graph: GraphProto, where: str) -> None:
        self.graph, self.where = graph, where
        self.initial = {tensor.name: tensor for tensor in graph.initializer}
        self.producers = {name: node for node in graph.node for name in node.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.made: dict[str, list[NodeProto]] = {}
        """What stands for a node, by its first result."""

    def replace(self) -> None:
        """Change the graph."""
        for node in self.graph.node:
            if node.op_type in _QUANTIZED:
                getattr(self, _QUANTIZED[node.op_type])(node)
        nodes = [new for node in self.graph.node for new in self.made.get(node.output[0], [node])]
        del self.graph.node[:]
        self.graph.node.extend(nodes)

    def _value(self, name: str) -> np.ndarray | None:
        """The value of a constant tensor."""
        if name in self.initial:
            return numpy_helper.to_array(self.initial[name])
        node = self.producers.get(name)
        if node is not None and node.op_type == "Constant":
            return next(numpy_helper.to_array(a.t) for a in node.attribute if a.name == "value")
        return None

    def _constant(self, node: NodeProto, at: int, default: Any = None) -> np.ndarray:
        """A constant input of a quantized node."""
        if default is not None and (at >= len(node.input) or not node.input[at]):
            return np.asarray(default)
        value = self._value(node.input[at])
        if value is None:
            raise InputError(
                f"{self.where}: its node {node.name or node.op_type} is given {node.input[at]}, "
                "which is not a constant, and only weights may be quantized. Build from another "
                "file of the same model"
            )
        return value

    def _keep(self, name: str, array: np.ndarray) -> str:
        """The name under which a weight is kept."""
        name = f"{name}_float32"
        if name not in self.initial:
            tensor = self.graph.initializer.add()
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
            self.initial[name] = tensor
        return name

    def _quantize(self, node: NodeProto) -> None:
        """Left out: its readers take what it reads, and their scale is that of the weight."""
        for reader in self.readers.get(node.output[0], []):
            if reader.op_type not in ("ConvInteger", "MatMulInteger", "MatMulIntegerToFloat"):
                raise InputError(
                    f"{self.where}: its node {reader.name or reader.op_type} reads integers that "
                    "are computed. Build from another file of the same model"
                )
        one = numpy_helper.from_array(np.ones((), np.float32))
        self.made[node.output[0]] = [helper.make_node("Constant", [], [node.output[1]], value=one)]

    def _conv(self, node: NodeProto) -> None:
        weight = self._constant(node, 1).astype(np.float32)
        zero = self._constant(node, 3, 0).astype(np.float32)
        zero = zero.reshape(-1, *[1] * (weight.ndim - 1)) if zero.size > 1 else zero.reshape(())
        self._product(node, "Conv", weight - zero, scale_axis=0)

    def _matmul(self, node: NodeProto) -> None:
        weight = self._constant(node, 1).astype(np.float32)
        zero = self._constant(node, 3, 0).astype(np.float32)
        self._product(node, "MatMul", weight - zero, scale_axis=-1)

    def _product(self, node: NodeProto, operator: str, weight: np.ndarray, scale_axis: int) -> None:
        """A product of floats, in place of that of integers, its cast and its scales."""
        source = self.producers.get(node.input[0])
        if source is None or source.op_type != "DynamicQuantizeLinear":
            raise self._unknown(node)
        result, scale = node.output[0], None
        cast = self._only_reader(result, "Cast")
        scaled = None if cast is None else self._only_reader(cast.output[0], "Mul")
        if cast is not None and scaled is not None:
            scale = self._scale_of_weight(scaled, cast.output[0], source.output[1])
        if cast is None or scaled is None or scale is None:
            raise self._unknown(node)
        if scale.size > 1:
            scale = scale.reshape(-1, *[1] * (weight.ndim - 1)) if scale_axis == 0 else scale
        else:
            scale = scale.reshape(())
        kept = self._keep(node.input[1], weight * scale)
        new = helper.make_node(operator, [source.input[0], kept], scaled.output, node.name)
        new.attribute.extend(node.attribute)
        self.made[result] = []
        self.made[cast.output[0]] = []
        self.made[scaled.output[0]] = [new]
        bias = self._only_reader(scaled.output[0], "Add") if operator == "Conv" else None
        if bias is not None:
            other = self.producers.get(next(n for n in bias.input if n != scaled.output[0]))
            if other is not None and other.op_type == "Reshape" and other.input[0] in self.initial:
                new.input.append(other.input[0])
                new.output[:] = bias.output
                self.made[scaled.output[0]] = []
                self.made[bias.output[0]] = [new]

    def _only_reader(self, name: str, operator: str) -> NodeProto | None:
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 and readers[0].op_type == operator else None

    def _scale_of_weight(self, node: NodeProto, product: str, given: str) -> np.ndarray | None:
        """The scale of a weight: the factor of a product besides the scale `given` of its input."""
        scales = self.producers.get(next(name for name in node.input if name != product))
        if scales is None or scales.op_type != "Mul" or given not in scales.input:
            return None
        return self._value(next(name for name in scales.input if name != given))

    def _unknown(self, node: NodeProto) -> InputError:
        return InputError(
            f"{self.where}: its node {node.name or node.op_type} is not a product by a quantized "
            "weight as quantize_dynamic writes it. Build from another file of the same model"
        )

    def _dynamic_matmul(self, node: NodeProto) -> None:
        """A product with a scale, as ONNX Runtime's optimizer writes it."""
        if node.op_type == "MatMulIntegerToFloat":
            source = self.producers.get(node.input[0])
            if source is None or source.op_type != "DynamicQuantizeLinear":
                raise self._unknown(node)
            x, scale_at, zero_at, bias_at = source.input[0], 3, 5, 6
        else:
            x, scale_at, zero_at, bias_at = node.input[0], 2, 3, 4
        weight = self._constant(node, 1).astype(np.float32)
        zero = self._constant(node, zero_at, 0).astype(np.float32)
        kept = self._keep(node.input[1], (weight - zero) * self._constant(node, scale_at))
        self._plus_bias(node, [x, kept], bias_at)

    def _plus_bias(self, node: NodeProto, sides: list[str], bias_at: int) -> None:
        """A product of floats, plus the bias that a node may have at a place of its inputs."""
        biased = len(node.input) > bias_at and bool(node.input[bias_at])
        result = f"{node.output[0]}_product" if biased else node.output[0]
        new = [helper.make_node("MatMul", sides, [result], node.name)]
        if biased:
            new.append(helper.make_node("Add", [result, node.input[bias_at]], node.output))
        self.made[node.output[0]] = new

    def _static(self, node: NodeProto) -> None:
        """Left out, with the DequantizeLinear that read it: nothing is rounded."""
        for reader in self.readers.get(node.output[0], []):
            if reader.op_type != "DequantizeLinear":
                raise self._unknown(reader)
            places = [
                np.array_equal(self._constant(node, at, 0), self._constant(reader, at, 0))
                for at in (1, 2)
            ]
            if not all(places):
                raise self._unknown(reader)
        self.made[node.output[0]] = []

    def _dequantize(self, node: NodeProto) -> None:
        """Of what was a float, of a weight, or of what is read of a table with one scale."""
        source = self.producers.get(node.input[0])
        if source is not None and source.op_type == "QuantizeLinear":
            new = helper.make_node("Identity", [source.input[0]], node.output)
            self.made[node.output[0]] = [new]
            return
        scale, zero = self._constant(node, 1), self._constant(node, 2, 0)
        name, path = node.input[0], list[str]()
        while self._value(name) is None:
            producer = self.producers.get(name)
            if producer is None or producer.op_type not in _MOVING or scale.size > 1:
                raise self._unknown(node)
            path.append(name)
            name = producer.input[0]
        table = self._value(name)
        assert table is not None
        attributes = {a.name: a.i for a in node.attribute}
        places = [_along(v, table.shape, attributes) for v in (scale, zero)]
        kept = self._keep(name, (table.astype(np.float32) - places[1]) * places[0])
        if path:
            first = self.producers[path[-1]]
            first.input[0] = kept
        self.made[node.output[0]] = [
            helper.make_node("Identity", [node.input[0] if path else kept], node.output)
        ]

    def _lstm(self, node: NodeProto) -> None:
        inputs = list(node.input)
        for at, scales in ((1, 8), (2, 10)):
            weight = self._constant(node, at).astype(np.float32)
            scale, zero = self._constant(node, scales), self._constant(node, scales + 1)
            scale, zero = (v.astype(np.float32).reshape(len(weight), 1, -1) for v in (scale, zero))
            reals = ((weight - zero) * scale).transpose(0, 2, 1)
            inputs[at] = self._keep(inputs[at], reals)
        new = helper.make_node("LSTM", inputs[:8], node.output, node.name)
        new.attribute.extend(node.attribute)
        self.made[node.output[0]] = [new]

    def _matmul_of_bits(self, node: NodeProto) -> None:
        given = {a.name: a.i for a in node.attribute}
        bits, block, rows, columns = (
            given.get("bits", 4),
            given["block_size"],
            given["N"],
            given["K"],
        )
        blocks = -(-columns // block)
        if bits not in (2, 4, 8) or (len(node.input) > 4 and node.input[4]):
            raise self._unknown(node)
        numbers = _numbers(self._constant(node, 1).reshape(rows, -1), bits)
        numbers = numbers.reshape(rows, blocks, -1)[:, :, :block]
        zero = self._constant(node, 3, 1 << (bits - 1))
        if zero.dtype == np.uint8:
            zero = _numbers(zero.reshape(rows, -1), bits)[:, :blocks]
        zero = zero.reshape(-1, blocks, 1) if zero.ndim else zero
        scale = self._constant(node, 2).astype(np.float32).reshape(rows, blocks, 1)
        weight = ((numbers - zero) * scale).reshape(rows, -1)[:, :columns]
        kept = self._keep(node.input[1], weight.T)
        self._plus_bias(node, [node.input[0], kept], 5)


def _numbers(packed: np.ndarray, bits: int) -> np.ndarray:
    """The numbers of rows of bytes, each of which holds 8 / bits of them, as floats."""
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(len(packed), -1).astype(np.float32)


def _along(values: np.ndarray, shape: tuple[int, ...], attributes: dict[str, int]) -> np.ndarray:
    """Scales or zero points as an array that broadcasts against the weight."""
    values = values.astype(np.float32)
    if values.size == 1:
        return values.reshape(())
    axis = attributes.get("axis", 1) % len(shape)
    if values.ndim == 1:
        return values.reshape([-1 if at == axis else 1 for at in range(len(shape))])
    spread = np.repeat(values, attributes["block_size"], axis=axis)
    return spread[tuple(slice(size) for size in shape)]
