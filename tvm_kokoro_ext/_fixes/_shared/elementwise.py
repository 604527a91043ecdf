"""Elementwise functions of broadcasting tensors, as a single kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import te
from tvm_kokoro_ext._fixes._shared import indexing


def emit(importer: Any, function: Callable[..., Any], *tensors: Any, hint: str) -> Any:
    """Apply `function` to the elements of broadcasting tensors; it determines the dtype."""
    shape = indexing.broadcast_shapes([_compat.shape_of(tensor) for tensor in tensors])

    def compute(out: Any, *data: Any) -> Any:
        return te.compute(
            tuple(out),
            lambda *at: function(*[indexing.read(tensor, list(at)) for tensor in data]),
            name=hint,
        )

    return _emit.emit_te(importer, compute, shape, *tensors, hint=hint)


def broadcast(*tensors: Any) -> list[Any]:
    """The shape that the tensors broadcast to."""
    return indexing.broadcast_shapes([_compat.shape_of(tensor) for tensor in tensors])
