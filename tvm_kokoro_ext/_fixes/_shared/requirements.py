"""Conditions on the elements of tensors that a program checks when it runs."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit
from tvm_kokoro_ext._compat import relax, tirx


def require_no_zero(importer: Any, tensor: Any, name: str) -> None:
    """Let the program raise when it runs if an element of an integer tensor is 0."""
    zero = relax.const(0, _compat.dtype_of(tensor))
    require_none(importer, relax.op.equal(tensor, zero), name)


def require_all_zero(importer: Any, tensor: Any, name: str) -> None:
    """Let the program raise when it runs if an element of an integer tensor is not 0."""
    zero = relax.const(0, _compat.dtype_of(tensor))
    require_none(importer, relax.op.not_equal(tensor, zero), name)


def require_none(importer: Any, condition: Any, name: str) -> None:
    """Let the program raise when it runs if an element of a tensor of bools is true."""
    failed = _emit.emit(importer, condition)
    count = _emit.emit(importer, relax.op.sum(_emit.astype(importer, failed, "int64")))
    _checks.check(importer, number(importer, count, name) == tirx.const(0, "int64"))


def number(importer: Any, tensor: Any, name: str) -> Any:
    """The only element of an int64 tensor, as a symbolic number that can be checked."""
    one = _emit.emit(importer, relax.op.reshape(tensor, relax.ShapeExpr([_emit.int64(1)])))
    return _emit.dimension(importer, one, name)
