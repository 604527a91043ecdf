"""The operators that ONNX Runtime's optimizer writes into a graph of Kokoro, as ONNX's own.

The kernels are chosen by what torch exports, and shapes are inferred by ONNX's operators alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper, shape_inference

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto, NodeProto

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""


def without_fusions(model: ModelProto) -> None:
    """Write the operators of `com.microsoft` that are known with ONNX's; others are left.

    The model is changed.
    """
    while True:
        ranks: dict[str, int] = {}
        if any(_transposed(node) for node in model.graph.node):
            inferred = shape_inference.infer_shapes(model).graph
            ranks = {
                value.name: len(value.type.tensor_type.shape.dim)
                for value in (*inferred.value_info, *inferred.input)
                if value.type.tensor_type.HasField("shape")
            }
        writer = _Writer(ranks)
        nodes = [new for node in model.graph.node for new in writer.written(node)]
        if not writer.changed:
            return
        del model.graph.node[:]
        model.graph.node.extend(nodes)


def _transposed(node: NodeProto) -> bool:
    return node.op_type == "FusedMatMul" and any(
        attribute.i for attribute in node.attribute if attribute.name.startswith("trans")
    )


class _Writer:
    """What stands for each node; `ranks` are those of the tensors that are known."""

    def __init__(self, ranks: dict[str, int]) -> None:
        self.ranks = ranks
        self.changed = False
        self.nodes: list[NodeProto] = []

    def written(self, node: NodeProto) -> list[NodeProto]:
        """The nodes that compute the results of a node: others, or itself."""
        write = _WRITTEN.get(node.op_type) if node.domain == MICROSOFT else None
        if write is None:
            return [node]
        self.nodes = []
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        result = write(self, node, attributes)
        if result is None:
            return [node]
        self.changed = True
        self._emit("Identity", [result], node.output[0])
        return self.nodes

    def _emit(self, operator: str, inputs: list[str], result: str = "", **attributes: Any) -> str:
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(operator, inputs, [result], **given))
        return result

    def of(self, node: NodeProto, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of the result of a new node."""
        name = f"{node.output[0]}_{len(self.nodes)}"
        return self._emit(operator, list(inputs), name, **attributes)

    def number(self, node: NodeProto, value: float) -> str:
        """The name of a constant."""
        tensor = numpy_helper.from_array(np.array(value, np.float32))
        return self.of(node, "Constant", value=tensor)


Attributes = dict[str, Any]


def _given(node: NodeProto, at: int) -> str:
    return node.input[at] if at < len(node.input) else ""


def _matmul(to: _Writer, node: NodeProto, attributes: Attributes) -> str | None:
    if attributes.get("transBatchA") or attributes.get("transBatchB"):
        return None
    sides = []
    for side, name in zip("AB", node.input, strict=True):
        if attributes.get(f"trans{side}"):
            if name not in to.ranks:
                return None
            axes = list(range(to.ranks[name]))
            axes[-2:] = axes[:-3:-1]
            name = to.of(node, "Transpose", name, perm=axes)
        sides.append(name)
    made = to.of(node, "MatMul", *sides)
    alpha = attributes.get("alpha", 1.0)
    return made if alpha == 1 else to.of(node, "Mul", made, to.number(node, alpha))


def _biased(to: _Writer, node: NodeProto) -> str:
    bias = _given(node, 1)
    return to.of(node, "Add", node.input[0], bias) if bias else node.input[0]


def _gelu(to: _Writer, node: NodeProto, attributes: Attributes) -> str:
    x = _biased(to, node)
    scaled = to.of(node, "Div", x, to.number(node, math.sqrt(2)))
    moved = to.of(node, "Add", to.of(node, "Erf", scaled), to.number(node, 1))
    return to.of(node, "Mul", to.of(node, "Mul", x, moved), to.number(node, 0.5))


def _fast_gelu(to: _Writer, node: NodeProto, attributes: Attributes) -> str:
    """As torch writes the approximation by a hyperbolic tangent."""
    x = _biased(to, node)
    cube = to.of(node, "Mul", to.of(node, "Mul", x, x), x)
    small = to.of(node, "Mul", cube, to.number(node, 0.044715))
    inner = to.of(node, "Add", x, small)
    inner = to.of(node, "Mul", inner, to.number(node, math.sqrt(2 / math.pi)))
    moved = to.of(node, "Add", to.of(node, "Tanh", inner), to.number(node, 1))
    return to.of(node, "Mul", to.of(node, "Mul", x, to.number(node, 0.5)), moved)


def _conv(to: _Writer, node: NodeProto, attributes: Attributes) -> str | None:
    activation = attributes.pop("activation", b"").decode()
    numbers = list(attributes.pop("activation_params", ()))
    names = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta")}
    if activation not in ("", "Relu", "Tanh", "Sigmoid", *names):
        return None
    made = to.of(node, "Conv", *node.input[:3], **attributes)
    if _given(node, 3):
        made = to.of(node, "Add", made, node.input[3])
    if not activation:
        return made
    own = dict(zip(names.get(activation, ()), numbers, strict=False))
    return to.of(node, activation, made, **own)


def _skip(to: _Writer, node: NodeProto, attributes: Attributes) -> str | None:
    if any(node.output[1:3]):
        return None
    x = to.of(node, "Add", *node.input[:2])
    if _given(node, 4):
        x = to.of(node, "Add", x, node.input[4])
    if len(node.output) > 3 and node.output[3]:
        to.nodes.append(helper.make_node("Identity", [x], [node.output[3]]))
    scaling = [name for name in node.input[2:4] if name]
    epsilon = attributes.get("epsilon", 1e-12)
    return to.of(node, "LayerNormalization", x, *scaling, axis=-1, epsilon=epsilon)


_WRITTEN: dict[str, Callable[[_Writer, Any, Attributes], str | None]] = {
    "BiasGelu": _gelu,
    "FastGelu": _fast_gelu,
    "FusedConv": _conv,
    "FusedMatMul": _matmul,
    "Gelu": _gelu,
    "SkipLayerNormalization": _skip,
}
"""What writes an operator with ONNX's, by name; None for uses of it that are not known."""
