"""Values that an ONNX graph computes of sizes, known at import as numbers and symbolic expressions.

A `Known` stands for a tensor in the importer's table of values. It is evaluated further as long as
the graph only computes with sizes, and becomes a tensor where an operator needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.onnx._elements import (
    FLOATS,
    INTEGERS,
    cast,
    element,
    int_element,
    is_number,
    number_of,
)

LARGEST = 1024
"""Elements beyond which a constant is no list of sizes."""


@dataclass(frozen=True, eq=False)
class Known:
    """A tensor of known elements: an object array of Python numbers, expressions and `Scaled`."""

    values: np.ndarray
    dtype: str

    @property
    def ty(self) -> Any:
        """The tensor's type, under the name that the importer asks for."""
        return _compat.tensor_type(self.values.shape, self.dtype)

    @property
    def struct_info(self) -> Any:
        """The same, under the name of TVM 0.25."""
        return self.ty

    @property
    def constant(self) -> bool:
        """Whether every element is a number."""
        return all(is_number(value) for value in self.values.flat)

    def integers(self) -> list[Any]:
        """The elements of a list of sizes: ints and expressions of int64."""
        return [int_element(value) for value in self.values.flat]


def known_constant(array: np.ndarray) -> Known | None:
    """A small constant of integers, booleans or floats; None for any other."""
    if array.size > LARGEST or str(array.dtype) not in (*INTEGERS, *FLOATS, "bool"):
        return None
    values = np.empty(array.shape, object)
    if array.size:
        values[...] = array.tolist() if array.shape else array.item()
    return Known(values, str(array.dtype))


def known_sizes(dims: Sequence[Any]) -> Known:
    """A list of dimensions."""
    values = np.empty(len(dims), object)
    for place, dim in enumerate(dims):
        number = _compat.as_int(dim)
        values[place] = dim if number is None else number
    return Known(values, "int64")


def known_scalar(value: Any) -> Known:
    """A scalar of the shape language."""
    value = _compat.prim(value)
    dtype = _compat.prim_dtype(value) if _compat.is_prim(value) else "int64"
    number = number_of(value)
    values = np.empty((), object)
    values[()] = value if number is None else number
    return Known(values, dtype)


def as_tensor(builder: Any, known: Known) -> Any:
    """The tensor, emitted into the function under construction."""
    shape, dtype = known.values.shape, known.dtype
    if known.constant:
        return relax.const(np.array(known.values.tolist(), dtype).reshape(shape), dtype)
    elements = [element(value, dtype) for value in known.values.flat]
    if dtype not in INTEGERS:

        def compute(*numbers: Any) -> Any:
            def element(*at: Any) -> Any:
                place: Any = 0
                for index, size in zip(at, shape, strict=True):
                    place = place * size + index
                result = cast(dtype, numbers[-1])
                for number, value in reversed(list(enumerate(numbers[:-1]))):
                    result = tirx.Select(tirx.EQ(place, number), cast(dtype, value), result)
                return result

            return te.compute(shape, element, name="sizes")

        return builder.emit_te(compute, *elements, primfunc_name_hint="sizes")
    sizes = [tirx.IntImm("int64", e) if isinstance(e, int) else e for e in elements]
    tensor = builder.emit(relax.op.shape_to_tensor(relax.ShapeExpr(sizes)))
    if len(shape) != 1:
        tensor = builder.emit(relax.op.reshape(tensor, shape))
    return tensor if dtype == "int64" else builder.emit(relax.op.astype(tensor, dtype))
