"""Functions of ONNX: those of a model, and operators that ONNX defines by other operators.

Stock reads the name of a node and not its domain. So it takes a function of the model for ONNX's
operator of the same name, and ONNX's Attention for that of Microsoft, and refuses any other
function.
"""

from __future__ import annotations

import inspect
from typing import Any

from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend

_DEFAULT = ("", "ai.onnx")
_OTHERS = {"Attention"}
"""Operators of ONNX for which stock has the converter of another domain's operator."""


def without_functions(model: Any) -> Any:
    """The model with every function replaced by its nodes; the model itself if there is none."""
    import onnx.inliner

    if model.functions:
        model = onnx.inliner.inline_local_functions(_with_defaults_of_functions(model), True)
    for node in _frontend.nodes(model.graph):
        own = node.domain in _DEFAULT or node.domain.startswith("com.microsoft")
        if not own and onnx.defs.has(node.op_type):
            raise UnsupportedOperatorError(
                f"the operator {node.op_type} of the domain {node.domain!r}",
                "it is not ONNX's operator of that name, and the model does not define it",
                "Add the function to the model, or write the node with ONNX's operators",
            )
    inline = onnx.inliner.inline_selected_functions
    while wanted := _defined_by_functions(model):
        if "inline_schema_functions" not in inspect.signature(inline).parameters:
            raise _frontend.refusal(
                ", ".join(sorted(wanted)),
                "TVM has no converter of it, and the installed onnx "
                f"{onnx.__version__} does not write out the functions of ONNX itself",
                "Install onnx 1.19.1 or newer",
            )
        named = [("", name) for name in wanted]
        try:
            inlined = inline(
                _with_defaults(model, wanted), named, exclude=False, inline_schema_functions=True
            )
        except RuntimeError as error:
            raise _frontend.refusal(
                ", ".join(sorted(wanted)),
                f"TVM has no converter of it, and onnx does not write it out: {error}",
                "Write it with other operators, or give its inputs types (onnx.shape_inference)",
            ) from error
        if wanted == _defined_by_functions(inlined):  # functions of another opset
            break
        model = inlined
    return model


def _with_defaults_of_functions(model: Any) -> Any:
    """A copy whose calls of functions say the attributes that they leave out.

    onnx's inliner leaves them out of the function's nodes as well, where others are the default.
    """
    copy = type(model)()
    copy.CopyFrom(model)
    defaults = {
        (f.domain, f.name, getattr(f, "overload", "")): f.attribute_proto for f in copy.functions
    }
    for graph in (copy.graph, *copy.functions):
        for node in _frontend.nodes(graph):
            given = {attribute.name for attribute in node.attribute}
            called = node.domain, node.op_type, getattr(node, "overload", "")
            for attribute in defaults.get(called, ()):
                if attribute.name not in given:
                    node.attribute.append(attribute)
    return copy


def _defined_by_functions(model: Any) -> set[str]:
    """Operators without a converter, which ONNX defines by a function."""
    import onnx

    known = _frontend.module()._get_convert_map().keys() - _OTHERS
    opset = next((o.version for o in model.opset_import if o.domain in _DEFAULT), 1)
    names = {
        node.op_type for node in _frontend.nodes(model.graph) if node.domain in _DEFAULT
    } - known
    schemas: list[Any] = [
        onnx.defs.get_schema(name, opset) for name in names if onnx.defs.has(name, opset)
    ]
    return {s.name for s in schemas if s.has_function or s.has_context_dependent_function}


def _with_defaults(model: Any, operators: set[str]) -> Any:
    """A copy that says what onnx's inliner asks for: attributes left out, types of constants."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    opset = next(o.version for o in copy.opset_import if o.domain in _DEFAULT)
    for node in _frontend.nodes(copy.graph):
        if node.op_type in operators and node.domain in _DEFAULT:
            given = {attribute.name for attribute in node.attribute}
            for name, attribute in onnx.defs.get_schema(node.op_type, opset).attributes.items():
                if name not in given and attribute.default_value.name:
                    node.attribute.append(attribute.default_value)
    described = {value.name for value in (*copy.graph.input, *copy.graph.value_info)}
    for tensor in copy.graph.initializer:
        if tensor.name not in described:
            copy.graph.value_info.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    return onnx.shape_inference.infer_shapes(copy)


FIX = Fix(
    id="onnx_functions",
    what="a function of an ONNX model is taken for an operator of its name, or refused",
    op="ONNX functions, Attention, Celu, NegativeLogLikelihoodLoss, …",
    affected="",
    install=lambda: _frontend.rewriting(without_functions),
    probe=lambda: bool(_frontend.listed()) and "inline" not in _frontend.text(),
    needs_torch=False,
)
