"""Conditions on the elements of tensors that a program checks when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx


def require_no_zero(importer: Any, tensor: Any, name: str) -> None:
    """Let the program raise when it runs if an element of an integer tensor is 0."""
    require_none(importer, tensor, name, lambda x: tirx.EQ(x, tirx.const(0, x.dtype)))


def require_all_zero(importer: Any, tensor: Any, name: str) -> None:
    """Let the program raise when it runs if an element of an integer tensor is not 0."""
    require_none(importer, tensor, name, lambda x: tirx.NE(x, tirx.const(0, x.dtype)))


def require_none(
    importer: Any, tensor: Any, name: str, fails: Callable[[Any], Any] = lambda x: x
) -> None:
    """Let the program raise when it runs if an element fails; without `fails`, if one is true.

    One loop over all elements counts them in vectors; `relax.op.sum` of a comparison takes three
    kernels, and five times as long.
    """

    def count(elements: Any) -> Any:
        at = te.reduce_axis((0, elements.shape[0]), name="at")

        def failures(_: Any) -> Any:
            return te.sum(tirx.Cast("int64", fails(elements[at])), axis=at)

        return te.compute((1,), failures, name="failures")

    tensor = _emit.emit(importer, tensor)
    size = _emit.int64(_emit.extent(_compat.shape_of(tensor)))
    elements = _emit.emit(importer, relax.op.reshape(tensor, relax.ShapeExpr([size])))
    counted = _emit.emit_te(importer, count, elements, hint="failures")
    failures = _emit.dimension(importer, counted, name)
    _checks.check(importer, failures == tirx.const(0, "int64"))


def number(importer: Any, tensor: Any, name: str) -> Any:
    """The only element of an int64 tensor, as a symbolic number that can be checked."""
    one = _emit.emit(importer, relax.op.reshape(tensor, relax.ShapeExpr([_emit.int64(1)])))
    return _emit.dimension(importer, one, name)
