"""Random numbers of an ONNX model as inputs of the compiled function.

Stock's frontend lacks the operators that draw them, and a compiled function has no random state.
Each becomes an input, named after its result, of standard normal or of uniform numbers from 0 to 1,
which the operator's mean, scale and limits are then applied to.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend

NORMAL = ("RandomNormalLike", "RandomNormal")
UNIFORM = ("RandomUniformLike", "RandomUniform")


def with_noise_inputs(model: Any) -> Any:
    """A copy of a ModelProto without random operators; the model itself if it has none.

    Raises
    ------
    UnsupportedOperatorError
        If the number of dimensions of a random tensor is unknown, or it is in a branch.
    """
    if not any(node.op_type in NORMAL + UNIFORM for node in model.graph.node):
        return model
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    inferred = onnx.shape_inference.infer_shapes(model)
    graph = inferred.graph
    known = {v.name: v for v in [*graph.value_info, *graph.input, *graph.output]}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        if node.op_type not in NORMAL + UNIFORM:
            nodes.append(node)
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        name = node.output[0]
        dims = _dimensions(node, attributes, known, constants)
        dtype = attributes.get("dtype") or TensorProto.FLOAT
        if not attributes.get("dtype") and node.input and node.input[0] in known:
            dtype = known[node.input[0]].type.tensor_type.elem_type
        drawn = f"{name}_noise"
        graph.input.append(helper.make_tensor_value_info(drawn, dtype, dims))
        if node.op_type in NORMAL:
            scale, shift = attributes.get("scale", 1.0), attributes.get("mean", 0.0)
        else:
            low, high = attributes.get("low", 0.0), attributes.get("high", 1.0)
            scale, shift = high - low, low
        for part, value in (("scale", scale), ("shift", shift)):
            array = helper.make_tensor(f"{name}_{part}", dtype, [], [float(value)])
            graph.initializer.append(
                numpy_helper.from_array(numpy_helper.to_array(array), array.name)
            )
        nodes.append(helper.make_node("Mul", [drawn, f"{name}_scale"], [f"{name}_scaled"]))
        nodes.append(helper.make_node("Add", [f"{name}_scaled", f"{name}_shift"], [name]))
    del graph.node[:]
    graph.node.extend(nodes)
    return inferred


def _dimensions(node: Any, attributes: Any, known: Any, constants: Any) -> list[Any]:
    """The sizes of a random tensor: numbers and names."""
    if "shape" in attributes:
        return list(attributes["shape"])
    if node.input and node.input[0] in constants:
        return list(constants[node.input[0]].dims)
    for name in (node.output[0], node.input[0]):
        tensor = known[name].type.tensor_type if name in known else None
        if tensor is not None and tensor.HasField("shape"):
            return [
                d.dim_value
                if d.HasField("dim_value")
                else d.dim_param or f"{node.output[0]}_{axis}"
                for axis, d in enumerate(tensor.shape.dim)
            ]
    raise UnsupportedOperatorError(
        f"the ONNX operator {node.op_type} (result {node.output[0]!r})",
        "it draws random numbers, which become an input of the compiled function, and how many is "
        "not known from the model",
        "Export the model with the noise as an input",
    )


FIX = Fix(
    id="onnx_random",
    what="ONNX operators that draw random numbers are missing; the noise becomes an input",
    op="ONNX RandomNormal, RandomUniform, RandomNormalLike, RandomUniformLike",
    affected="",
    install=lambda: _frontend.rewriting(with_noise_inputs),
    probe=lambda: "RandomNormalLike" not in _frontend.text(),
    needs_torch=False,
)
