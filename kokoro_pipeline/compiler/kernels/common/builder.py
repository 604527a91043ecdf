"""What every kernel is written with, whatever the device: arguments, indices, a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script.builder import ir as T  # noqa: N812

from kokoro_pipeline.errors import InputError

__all__ = [
    "OPAQUE",
    "REUSE_RATIO",
    "STACK_BYTES",
    "Buffer",
    "Expr",
    "Number",
    "Parameter",
    "T",
    "bind",
    "build_kernel",
    "ceil_div",
    "div",
    "f32",
    "f64",
    "i64",
    "maximum",
    "minimum",
    "mod",
    "registers",
    "workspace",
]

# TVM declares no types of its own to a checker, and its classes get their fields at run time; the
# names say what is meant.
Expr: TypeAlias = tirx.Expr
Buffer: TypeAlias = tirx.Buffer

STACK_BYTES = 1024  # TVM does not put arrays of this size or more on the stack
REUSE_RATIO = 16  # of the sizes of arrays that TVM puts in one place, one after the other
OPAQUE = 8  # relax.op.OpPatternKind.kOpaque: never fused or rescheduled


def registers(size: int, dtype: str = "float32") -> Buffer:
    """An array that LLVM keeps in registers if all indices are constants.

    TVM puts an array below 1024 bytes on the stack. A larger one, and any of scope "local", is
    allocated from a pool on entry and released on exit, which takes longer than most operations on
    it.

    Raises InputError for an array of 1024 bytes or more.
    """
    if size * tvm.DataType(dtype).bits // 8 >= STACK_BYTES:
        raise InputError(f"{size} x {dtype} are too many for registers")
    return T.alloc_buffer((size,), dtype)


def workspace(size: int, dtype: str = "float32") -> Buffer:
    """Scratch memory for `size` numbers that shares its place with no `registers`.

    TVM gives the place of an array that is dead to another one, unless the larger has more than
    `REUSE_RATIO` times the bytes. LLVM would then store registers in every step of a loop that
    prefetches.
    """
    least = REUSE_RATIO * STACK_BYTES * 8 // tvm.DataType(dtype).bits + 1
    return T.alloc_buffer((max(size, least),), dtype)


def bind(value: Expr) -> Expr:
    """Bind a value to a variable, so that it is computed only once.

    An int64 index goes through a local buffer for the reason given in `VectorTarget.hold`: this
    makes compiling a convolution four times as fast.
    """
    if isinstance(value, tirx.IntImm) or str(value.ty) != "int64":
        return T.bind(value)
    register = registers(1, "int64")
    T.buffer_store(register, value, [i64(0)])
    return T.bind(register[i64(0)])


def i64(value: int) -> Expr:
    return tirx.const(value, "int64")


def f32(value: float) -> Expr:
    return tirx.const(float(value), "float32")


def f64(value: float) -> Expr:
    return tirx.const(float(value), "float64")


def div(a: Expr, b: Expr | int) -> Expr:
    """Quotient of two nonnegative integers (no sign correction is emitted)."""
    return tirx.truncdiv(a, i64(b) if isinstance(b, int) else b)


def mod(a: Expr, b: Expr | int) -> Expr:
    """Remainder of two nonnegative integers."""
    return tirx.truncmod(a, i64(b) if isinstance(b, int) else b)


def ceil_div(a: Expr, b: int) -> Expr:
    return div(a + i64(b - 1), b)


def minimum(a: Expr, b: Expr | int) -> Expr:
    return tirx.min(a, i64(b) if isinstance(b, int) else b)


def maximum(a: Expr, b: Expr | int) -> Expr:
    return tirx.max(a, i64(b) if isinstance(b, int) else b)


@dataclass(frozen=True)
class Parameter:
    """A tensor argument of a kernel; extents are ints or expressions of int64 shape variables."""

    name: str
    shape: Sequence[Expr | int]
    dtype: str = "float32"


@dataclass(frozen=True)
class Number:
    """An int64 argument of a kernel, passed in `relax.call_tir` as a `relax.PrimValue`."""

    name: str


def build_kernel(
    name: str,
    parameters: Sequence[Parameter | Number],
    body: Callable[..., None],
    index: Callable[[Expr | int], Expr] = lambda value: value,
) -> tirx.PrimFunc:
    """Build a destination-passing PrimFunc; `body` gets each tensor as a flat, row-major, 1-D view.

    A shape variable gets its value from the first argument that has it as a plain extent; all other
    extents are checked against it when the function is called. `index` converts an int64 extent or
    number to an index, for views with another index type.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(name)
        T.func_attr(
            {
                "tirx.noalias": True,
                "tirx.is_scheduled": True,
                "op_pattern": OPAQUE,
                "global_symbol": name,
            }
        )
        arguments = [
            T.arg(p.name, T.int64()) if isinstance(p, Number) else T.arg(f"p_{p.name}", T.handle())
            for p in parameters
        ]
        shaped = [
            argument if isinstance(p, Number) else T.match_buffer(argument, tuple(p.shape), p.dtype)
            for argument, p in zip(arguments, parameters, strict=True)
        ]
        views = []
        for value, parameter in zip(shaped, parameters, strict=True):
            if isinstance(parameter, Number):
                views.append(index(value))
                continue
            size: Expr = index(i64(1))
            for extent in parameter.shape:
                size = size * index(extent)
            views.append(T.decl_buffer((size,), parameter.dtype, data=value.data))
        body(*views)
    return builder.get()
