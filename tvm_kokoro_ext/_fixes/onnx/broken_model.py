"""ONNX models that cannot be read: damaged, of an unknown opset or input, or without their data.

Stock warns of what onnx's checker finds, and then fails anywhere, or imports garbage. Nodes that
are out of order, as ONNX Runtime's conversion to float16 leaves them, are put in order, and
attributes that are empty lists, of which stock says that they cannot be parsed, are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _lists, _order


def require_readable(model: Any) -> None:
    """Raise UnsupportedOperatorError for a model that cannot be read."""
    import onnx

    if not isinstance(model, onnx.ModelProto):
        given = "a path" if isinstance(model, str | Path) else f"a {type(model).__name__}"
        raise _refusal(f"{given} was given", "Pass onnx.load(PATH)")
    newest = onnx.defs.onnx_opset_version()
    for used in model.opset_import:
        if used.domain in ("", "ai.onnx") and not 1 <= used.version <= newest:
            raise _refusal(
                f"its opset is {used.version}, and the installed onnx {onnx.__version__} knows "
                f"1 to {newest}",
                "Export it with an older opset, or convert it by onnx.version_converter where a "
                "newer onnx is installed",
            )
    if not model.opset_import:
        raise _refusal(
            "it names no opset", "Export it again: opset_import says what operators mean"
        )
    for value in model.graph.input:
        kind = value.type
        if kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        if kind.HasField("sequence_type"):
            raise _refusal(
                f"its input {value.name!r} is a sequence of tensors, which TVM takes for a tensor",
                "Make each tensor of the sequence an input of its own",
            )
    strings = [
        value.name
        for value in (*model.graph.input, *model.graph.output)
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING
    ] + [t.name for t in model.graph.initializer if t.data_type == onnx.TensorProto.STRING]
    if strings:
        raise _refusal(
            f"{strings[0]!r} holds strings, of which TVM has no tensors",
            "Cut the model where its strings have become numbers (onnx.utils.extract_model), and "
            "compute what comes before outside of it",
        )
    missing = [
        tensor.name
        for tensor in model.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    ]
    if missing:
        raise _refusal(
            f"the values of {', '.join(map(repr, missing[:3]))}"
            + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            + " are in another file and were not loaded",
            "Load it by onnx.load(PATH) with its external data beside it, or call "
            "onnx.external_data_helper.load_external_data_for_model(model, FOLDER)",
        )
    defined = {value.name for value in model.graph.input} | {
        t.name for t in model.graph.initializer
    }
    defined |= {t.values.name for t in model.graph.sparse_initializer} | {""}
    for node in model.graph.node:
        unknown = [name for name in node.input if name not in defined]
        if unknown:
            raise _refusal(
                f"its node {node.name or node.op_type!r} reads {unknown[0]!r}, which no node gives "
                "before it",
                "The file is damaged: export it again, and see onnx.checker.check_model(PATH)",
            )
        defined |= set(node.output)
    lost = [value.name for value in model.graph.output if value.name not in defined]
    if lost or not model.graph.output:
        raise _refusal(
            f"no node gives its output {lost[0]!r}" if lost else "it has no output",
            "The file is damaged: export it again, and see onnx.checker.check_model(PATH)",
        )


def _refusal(reason: str, way_around: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError("the ONNX model", reason, way_around)


def _readable(model: Any) -> Any:
    import onnx

    if isinstance(model, onnx.ModelProto):
        model = _lists.without_empty_lists(_order.in_order(model))
    require_readable(model)
    return model


FIX = Fix(
    id="onnx_model",
    what="an ONNX model of an unknown opset, damaged, unsorted or without data fails anywhere",
    op="from_onnx",
    affected="",
    install=lambda: _frontend.rewriting(_readable),
    probe=lambda: bool(_frontend.listed()) and "_require_readable" not in _frontend.text(),
    needs_torch=False,
)
