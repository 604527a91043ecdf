"""Converters of functions of scalars: symbolic sizes, numbers computed from them, and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fix import Converter


def converter(python: Callable[..., Any], symbolic: Callable[..., Any]) -> Converter:
    """A converter that calls `symbolic` if an operand is symbolic, and `python` otherwise.

    Operands that are tensors are left to the converter that it replaces, and refused without one,
    except for truth values that are read from tensors.
    """

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        values = importer.retrieve_args(node)
        if is_scalar(node):
            values = [truth(importer, value, node.name) for value in values]
        operands = [_compat.prim(value) for value in values]
        if any(_compat.is_tensor(value) for value in operands):
            if previous is not None:
                return previous(node)
            raise _emit.refuse(
                node,
                "a tensor where torch has a scalar of the shape language",
                "Compute it with tensor operators",
            )
        function = symbolic if any(_compat.is_prim(v) for v in _flat(operands)) else python
        return function(*operands)

    return convert


def truth(importer: Any, value: Any, name: str) -> Any:
    """The truth value of `flag.item()`, which is a tensor, as a condition; others as they are."""
    if not _compat.is_tensor(value) or _compat.dtype_of(value) != "bool":
        return value
    return tirx.NE(integer(importer, value, f"{name}_truth"), tirx.const(0, "int64"))


def integer(importer: Any, number: Any, name: str) -> Any:
    """The element of a tensor without dimensions as a symbolic integer, which may be a size."""
    number = _emit.astype(importer, number, "int64")
    size = _emit.emit(importer, relax.op.reshape(number, relax.ShapeExpr([_emit.int64(1)])))
    return _emit.dimension(importer, size, name)


def is_scalar(node: Any) -> bool:
    """Whether torch has a scalar for the result of the node."""
    import torch

    recorded = getattr(node, "meta", {}).get("val")
    return isinstance(recorded, torch.SymBool | torch.SymInt | torch.SymFloat)


def _flat(values: Any) -> list[Any]:
    return [v for item in values for v in (item if isinstance(item, list | tuple) else [item])]


def float64(value: Any) -> Any:
    """A scalar in float64, like torch's SymFloat."""
    if isinstance(value, int | float):
        return tirx.const(float(value), "float64")
    return value if _compat.prim_dtype(value) == "float64" else tirx.Cast("float64", value)


def is_float(value: Any) -> bool:
    """Whether a scalar is a float, symbolic or not."""
    return isinstance(value, float) or (
        _compat.is_prim(value) and "float" in _compat.prim_dtype(value)
    )


def of_one_type(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function of two scalars, both in float64 if either is a float."""

    def convert(lhs: Any, rhs: Any) -> Any:
        if is_float(lhs) or is_float(rhs):
            lhs, rhs = float64(lhs), float64(rhs)
        return function(lhs, rhs)

    return convert
