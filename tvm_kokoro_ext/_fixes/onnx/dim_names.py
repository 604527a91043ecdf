"""Sizes of inputs without a name, or named by an expression of names that no input has by itself.

Stock reads the name "n + 4" as an expression of a variable n, which has no value where no input
has n elements, and the program does not build. A name is any text in ONNX, and equal names are
equal sizes. Sizes without a name may be anything each, of which stock makes one variable, so that a
call in which two of them differ raises; so may negative ones, of which stock makes tensors.
"""

from __future__ import annotations

import itertools
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
    if not renamed and not any(map(_unnamed, _dims(model))):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    free = (f"any_{number}" for number in itertools.count())
    for dim in _dims(copy):
        if dim.dim_param in renamed:
            dim.dim_param = renamed[dim.dim_param]
        elif _unnamed(dim):
            dim.dim_param = next(name for name in free if name not in names)
    return copy


def _unnamed(dim: Any) -> bool:
    """Whether nothing is said of a size. Stock and some exporters write 0 for that, too."""
    return not dim.dim_param and dim.dim_value <= 0


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
