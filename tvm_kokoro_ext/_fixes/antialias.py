"""Antialiased resizing: refused where it shrinks; stock resizes as if nothing were to be filtered.

Where no axis shrinks the filter is that of plain interpolation, and stock is right.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def resize(importer: Any, node: Any, previous: Any) -> Any:
    given = _compat.shape_of(importer.retrieve_args(node)[0])[2:]
    value = node.meta.get("val")
    if value is None or any(_shrinks(a, b) for a, b in zip(given, value.shape[2:], strict=True)):
        raise _emit.refuse(
            node,
            "TVM's resizing has no filter against aliasing, which shrinking needs",
            "Blur or pool before resizing, or resize outside of the program",
        )
    return previous(node)


def _shrinks(size: Any, out: Any) -> bool:
    """Whether an axis may become shorter; what is symbolic may."""
    return not isinstance(size, int) or not isinstance(out, int) or out < size


@_probe.wrong
def _still_wrong() -> bool:
    made = _probe.convert(
        "_upsample_bilinear2d_aa.default",
        _probe.Input((1, 1, 8, 8)),
        [3, 3],
        False,
        out=((1, 1, 3, 3), "float32"),
    )
    return "relax.image.resize2d" in made.ops


FIX = Fix(
    id="antialias",
    what="resizing with antialias=True is not antialiased; refused where it shrinks",
    op="aten._upsample_bilinear2d_aa",
    affected="",
    converters={"_upsample_bilinear2d_aa.default": resize},
    probe=_still_wrong,
)
