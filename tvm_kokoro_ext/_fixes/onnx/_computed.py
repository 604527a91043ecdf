"""Sizes that a graph computes from data: they become symbols when the function runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, tvm
from tvm_kokoro_ext._fixes.onnx import _known
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims

_numbers = itertools.count()


def listed(node: Node, at: int, count: int | None = None) -> Any:
    """An input that lists sizes or places as a tensor int64 [count].

    None if the input is left out, or is known at import, or if its count or dtype is another. A
    count that is not known at import must be that which is given.
    """
    value = node.given(at)
    if value is None or node.known(at) is not None or not _compat.is_tensor(value):
        return None
    dims = known_dims(value)
    if dims is None or len(dims) != 1 or (count is None and not isinstance(dims[0], int)):
        return None
    if not isinstance(dims[0], int):
        value = _emit.with_sizes(node.builder, node.emit(value), [int64(count)])
    dtype = _compat.dtype_of(value)
    if dtype not in ("int64", "int32"):
        return None
    return value if dtype == "int64" else node.emit(relax.op.astype(value, "int64"))


def elements(node: Node, value: Any) -> list[Any]:
    """What is known at import of a list, int64 or int32 [count]: ints, expressions, and None.

    A list that a graph joins of constants, of sizes and of data is a tensor, in whose bindings the
    first two are found.
    """
    dims = known_dims(value)
    unknown = [None] * (_compat.as_int(dims[0]) or 0 if dims else 1)
    if isinstance(value, relax.Var):
        value = node.builder.lookup_binding(value)
    constant = _compat.constant_value(value)
    if constant is not None:
        return [int(number) for number in np.ravel(constant)]
    if isinstance(value, relax.TupleGetItem):
        return _part(node, value, len(unknown)) or unknown
    if not isinstance(value, relax.Call):
        return unknown
    found: list[Any] = unknown
    if value.op == _op("concat"):
        found = [e for field in _fields(node, value.args[0]) for e in elements(node, field)]
    elif value.op == _op("shape_to_tensor") and isinstance(value.args[0], relax.ShapeExpr):
        found = [_compat.as_int(size) or size for size in value.args[0].values]
    elif value.op == _op("astype"):
        found = elements(node, value.args[0])
    return found if len(found) == len(unknown) else unknown


def _op(name: str) -> Any:
    return tvm.ir.Op.get(f"relax.{name}")


def _fields(node: Node, value: Any) -> list[Any]:
    if isinstance(value, relax.Var):
        value = node.builder.lookup_binding(value)
    return list(value.fields) if isinstance(value, relax.Tuple) else []


def _part(node: Node, value: Any, count: int) -> list[Any] | None:
    """What is known of a part of a list that is split into parts of equal sizes."""
    whole = value.tuple_value
    if isinstance(whole, relax.Var):
        whole = node.builder.lookup_binding(whole)
    if not isinstance(whole, relax.Call) or whole.op != _op("split"):
        return None
    own = elements(node, whole.args[0])
    return own[value.index * count : (value.index + 1) * count] if count == 1 else None


def integers(values: Sequence[int]) -> Any:
    """A constant int64 [count]."""
    return relax.const(np.array(values, "int64"), "int64")


def sizes_of(node: Node, dims: Sequence[Any]) -> Any:
    """Sizes, ints and expressions, as a tensor int64 [rank]."""
    return _known.as_tensor(node.builder, _known.known_sizes(dims))


def symbols(node: Node, sizes: Any, known: Sequence[Any] = ()) -> list[Any]:
    """The elements of a tensor int64 [rank] as symbols, or as what is `known` of them, if anything.

    TVM raises in a call in which one of them is negative and a tensor gets that size.
    """
    sizes = node.emit(sizes)
    (rank,) = _compat.shape_of(sizes)
    shape = node.emit(relax.op.tensor_to_shape(sizes))
    name = f"{node.operator.lower()}_{next(_numbers)}"
    found = [_compat.tir_var(f"{name}_{axis}") for axis in range(_compat.as_int(rank) or 0)]
    node.builder.match_cast(shape, _compat.shape_type(found))
    if not known:
        return found
    return [own if e is None else e for e, own in zip(known, found, strict=True)]


def of_list(node: Node, listed: Any) -> list[Any]:
    """A list that `listed` has given as ints, expressions and symbols."""
    return symbols(node, listed, elements(node, listed))


def checked(node: Node, tensor: Any, sizes: Any) -> Any:
    """The tensor, which has these sizes, int64 [rank]: a call in which it has others raises."""
    return _emit.with_sizes(node.builder, node.emit(tensor), symbols(node, sizes))


def where_equal(node: Node, sizes: Any, number: int, replacement: Any) -> Any:
    """Sizes, int64 [rank], with others in place of those that equal a number."""
    same = node.emit(relax.op.equal(sizes, relax.const(number, "int64")))
    return node.emit(relax.op.where(same, replacement, sizes))
