"""Operators of ONNX Runtime's domain, com.microsoft, which its optimizer and quantizer write.

Stock reads the name of a node and not its domain, so that it takes Microsoft's operators for those
of ONNX. Of the others it has five: SkipLayerNormalization and EmbedLayerNormalization give zeros in
place of the sum that they normalize, and Attention has no mask but that of its own length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers, _runtime_layers, _runtime_quantized

_DOMAIN = "com.microsoft"
_OWN = _runtime_layers.OPERATORS | _runtime_quantized.OPERATORS
_AS_ONNX = {"GridSample", "MatMulInteger16", "Pad", "Range", "Trilu"}
"""Operators that stock's converter of the name computes."""


def _named(operator: str) -> str:
    return f"{_DOMAIN}.{operator}"


def by_domain(model: Any) -> Any:
    """The model with the domain in the name of every operator of com.microsoft."""
    import onnx

    if not any(node.domain.startswith(_DOMAIN) for node in _frontend.nodes(model.graph)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in _frontend.nodes(copy.graph):
        if not node.domain.startswith(_DOMAIN):
            continue
        if node.domain == _DOMAIN and node.op_type in _OWN:
            node.op_type = _named(node.op_type)
        elif node.domain != _DOMAIN or node.op_type not in _AS_ONNX:
            raise _frontend.refusal(
                f"{node.domain}.{node.op_type}" + (f" (node {node.name!r})" if node.name else ""),
                "it is an operator of ONNX Runtime alone, and is not read",
                "Take the model before ONNX Runtime has optimized it, or let it optimize less "
                "(SessionOptions.graph_optimization_level, optimized_model_filepath)",
            )
    return copy


def _install() -> Callable[[], None]:
    own = {_named(name): convert for name, convert in _OWN.items()} | _runtime_layers.OF_ONNX
    return _frontend.both(
        _frontend.with_operators(_layers.classes(own)), _frontend.rewriting(by_domain)
    )


_OF_STOCK = {
    "Attention": "assert inputs[4] is None",
    "EmbedLayerNormalization": "_np.zeros",
    "SkipLayerNormalization": "placeholder",
}
"""What stock's converters have that do not compute all of their operators."""


def _is_needed() -> bool:
    """Whether any part of what the fix does is missing."""
    operators = _frontend.listed()
    whole = (
        operators >= _OWN.keys() | _runtime_layers.OF_ONNX.keys()
        and f'"{_DOMAIN}"' in _frontend.text()
        and "channels_last" in _frontend.converter("QLinearConv")
        and not any(mark in _frontend.converter(name) for name, mark in _OF_STOCK.items())
    )
    return bool(operators) and not whole


FIX = Fix(
    id="onnx_runtime",
    what="operators of ONNX Runtime's domain com.microsoft are missing, or taken for ONNX's",
    op="ONNX Runtime's FusedConv, MultiHeadAttention, DynamicQuantizeLSTM, MatMulNBits, …",
    affected="",
    install=_install,
    probe=_is_needed,
    needs_torch=False,
)
