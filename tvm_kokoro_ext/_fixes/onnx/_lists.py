"""Attributes of ONNX nodes that are empty lists, at which TVM's importer stops."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext._fixes.onnx import _frontend

_NUMBERS = {"value_ints": "int64", "value_floats": "float32"}
_WITHOUT_EFFECT = {"Slice": ("starts", "ends"), "Unsqueeze": ("axes",)}
"""Operators that change nothing where a list that they must have is empty."""


def without_empty_lists(model: Any) -> Any:
    """The model with nodes that mean the same; itself if no attribute is an empty list.

    A list that may be left out has no default but that of its absence, as in ONNX Runtime.
    """
    if not any(map(_empty, _nodes(model))):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    for node in _nodes(copy):
        for attribute in _empty(node):
            _replace(node, attribute)
    return copy


def _nodes(model: Any) -> list[Any]:
    """The nodes of the model, of graphs within it and of its functions."""
    return [node for graph in (model.graph, *model.functions) for node in _frontend.nodes(graph)]


def _empty(node: Any) -> list[Any]:
    """The attributes of a node of ONNX that are empty lists."""
    from onnx import AttributeProto

    lists = {
        AttributeProto.FLOATS: "floats",
        AttributeProto.INTS: "ints",
        AttributeProto.STRINGS: "strings",
    }
    return [
        attribute
        for attribute in node.attribute
        if node.domain in ("", "ai.onnx")
        and attribute.type in lists
        and not attribute.ref_attr_name
        and not getattr(attribute, lists[attribute.type])
    ]


def _replace(node: Any, attribute: Any) -> None:
    import numpy as np
    from onnx import helper, numpy_helper

    if node.op_type == "Constant" and attribute.name in _NUMBERS:
        empty = np.zeros(0, _NUMBERS[attribute.name])
        attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(empty)))
    elif attribute.name in _WITHOUT_EFFECT.get(node.op_type, ()):
        node.op_type = "Identity"
        del node.attribute[:]
    elif attribute in node.attribute:
        node.attribute.remove(attribute)
