"""upsample_nearest1d and upsample_linear1d kept whole, on constant and symbolic lengths."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes import _resize


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) and value else value or None


def _nearest(exact: bool, vector: bool) -> Converter:
    name = "scale_factors" if vector else "scales"

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, size, scale = _emit.arguments(importer, node, "input", "output_size", name)
        length = _compat.shape_of(x)[-1]
        out = _resize.output_length(importer, node, length, _first(size), _first(scale))
        return _resize.nearest(importer, x, out, _first(scale), exact)

    return convert


def _linear(vector: bool) -> Converter:
    name = "scale_factors" if vector else "scales"

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, size, align, scale = _emit.arguments(
            importer, node, "input", "output_size", "align_corners", name
        )
        length = _compat.shape_of(x)[-1]
        out = _resize.output_length(importer, node, length, _first(size), _first(scale))
        return _resize.linear(importer, x, out, _first(scale), bool(align))

    return convert


FIX = Fix(
    id="upsample1d",
    what="upsample_nearest1d and upsample_linear1d, with scale factors on symbolic lengths",
    op="aten.upsample_nearest1d, aten.upsample_linear1d",
    affected="",
    converters={
        "upsample_nearest1d.default": _nearest(exact=False, vector=False),
        "upsample_nearest1d.vec": _nearest(exact=False, vector=True),
        "_upsample_nearest_exact1d.default": _nearest(exact=True, vector=False),
        "_upsample_nearest_exact1d.vec": _nearest(exact=True, vector=True),
        "upsample_linear1d.default": _linear(vector=False),
        "upsample_linear1d.vec": _linear(vector=True),
    },
    probe=_probe.lacks("upsample_nearest1d.vec"),
)
