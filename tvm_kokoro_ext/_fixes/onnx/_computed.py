"""Sizes that a graph computes from data: they become symbols when the function runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fixes.onnx import _known
from tvm_kokoro_ext._fixes.onnx._converters import Node, known_dims

_numbers = itertools.count()


def listed(node: Node, at: int) -> Any:
    """An input that lists sizes or places as a tensor int64 [count].

    None if the input is left out, or is known at import, or if its count or dtype is another.
    """
    value = node.given(at)
    if value is None or node.known(at) is not None or not _compat.is_tensor(value):
        return None
    dims = known_dims(value)
    if dims is None or len(dims) != 1 or not isinstance(dims[0], int):
        return None
    dtype = _compat.dtype_of(value)
    if dtype not in ("int64", "int32"):
        return None
    return value if dtype == "int64" else node.emit(relax.op.astype(value, "int64"))


def integers(values: Sequence[int]) -> Any:
    """A constant int64 [count]."""
    return relax.const(np.array(values, "int64"), "int64")


def sizes_of(node: Node, dims: Sequence[Any]) -> Any:
    """Sizes, ints and expressions, as a tensor int64 [rank]."""
    return _known.as_tensor(node.builder, _known.known_sizes(dims))


def symbols(node: Node, sizes: Any) -> list[Any]:
    """The elements of a tensor int64 [rank] as symbols.

    TVM raises in a call in which one of them is negative and a tensor gets that size.
    """
    sizes = node.emit(sizes)
    (rank,) = _compat.shape_of(sizes)
    shape = node.emit(relax.op.tensor_to_shape(sizes))
    name = f"{node.operator.lower()}_{next(_numbers)}"
    found = [_compat.tir_var(f"{name}_{axis}") for axis in range(_compat.as_int(rank) or 0)]
    node.builder.match_cast(shape, _compat.shape_type(found))
    return found


def checked(node: Node, tensor: Any, sizes: Any) -> Any:
    """The tensor, which has these sizes, int64 [rank]: a call in which it has others raises."""
    return _emit.with_sizes(node.builder, node.emit(tensor), symbols(node, sizes))


def where_equal(node: Node, sizes: Any, number: int, replacement: Any) -> Any:
    """Sizes, int64 [rank], with others in place of those that equal a number."""
    same = node.emit(relax.op.equal(sizes, relax.const(number, "int64")))
    return node.emit(relax.op.where(same, replacement, sizes))
