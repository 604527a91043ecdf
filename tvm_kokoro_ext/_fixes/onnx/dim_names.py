"""Sizes of inputs that are named by an expression of names that no input has by itself.

Stock reads the name "n + 4" as an expression of a variable n, which has no value where no input
has n elements, and the program does not build. A name is any text in ONNX, and equal names are
equal sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend


def with_plain_names(model: Any) -> Any:
    """The model, or a copy in which such sizes have names of their own."""
    names = {dim.dim_param for dim in _dims(model)}
    plain = {name for name in names if name.isidentifier()}
    renamed = {
        name: f"size_{number}"
        for number, name in enumerate(sorted(names - plain - {""}))
        if not plain.issuperset(re.findall(r"[^\s+\-*/\d][^\s+\-*/]*", name))
    }
    if not renamed:
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    for dim in _dims(copy):
        if dim.dim_param in renamed:
            dim.dim_param = renamed[dim.dim_param]
    return copy


def _dims(model: Any) -> Iterator[Any]:
    """The sizes of the inputs."""
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in constants:
            yield from value.type.tensor_type.shape.dim


FIX = Fix(
    id="onnx_dim_names",
    what="an ONNX input whose size is named n + 4 does not build where no input has n elements",
    op="ONNX inputs",
    affected="",
    install=lambda: _frontend.rewriting(with_plain_names),
    probe=lambda: "value = get_value(token, value_dict)" in _frontend.text(),
    needs_torch=False,
)
