"""Vectors of a target: how wide, how many, and the IRBuilder helpers every kernel is written with.

A kernel is written once for `VectorTarget(lanes, registers)`; AVX-512, AVX2 and NEON differ in
these two numbers only. Everything emitted is explicit vector code: LLVM contracts `a * b + c` into
a fused multiply-add and reorders nothing, so results depend on the kernel's own order only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.target import codegen
from tvm.tirx.script.builder import ir as T  # noqa: N812

from kokoro_pipeline.errors import InputError

# The builder's own types are dynamic: these say what is meant, not what is checked.
Expr = Any
Buffer = Any

STACK_BYTES = 1024  # an array of this size or more is not put on the stack
OPAQUE = 8  # relax.op.OpPatternKind.kOpaque: never fused, never rescheduled


@dataclass(frozen=True)
class Tile:
    """A block of accumulators in registers: `rows` by `vectors`."""

    rows: int
    vectors: int


@dataclass(frozen=True)
class VectorTarget:
    """float32 lanes of one vector register, and how many registers there are."""

    lanes: int
    registers: int

    def __post_init__(self) -> None:
        if self.lanes < 4 or self.lanes & (self.lanes - 1) or self.registers < 8:
            raise InputError(
                f"VectorTarget(lanes={self.lanes}, registers={self.registers}): lanes must be a "
                "power of two from 4, registers at least 8"
            )

    @classmethod
    def of(cls, target: tvm.target.Target | Mapping[str, Any] | str) -> VectorTarget:
        """The vectors of an LLVM target: a Target, its dictionary, or an mcpu of this machine."""
        if isinstance(target, str):
            target = {"kind": "llvm", "mcpu": target}
        if not isinstance(target, tvm.target.Target):
            target = tvm.target.Target(dict(target))
        if target.kind.name != "llvm":
            raise InputError(
                f"the vector kernels are for LLVM targets, not {target.kind.name!r}; "
                "build with --opt 0"
            )

        def has(*features: str) -> bool:
            return bool(codegen.target_has_features(list(features), target))

        if has("avx512f"):
            return cls(lanes=16, registers=32)
        if has("avx2", "fma"):
            return cls(lanes=8, registers=16)
        if has("neon"):
            return cls(lanes=4, registers=32)
        return cls(lanes=4, registers=16)

    def tile(self, channels: int) -> Tile:
        """The register tile for `channels` outputs: as wide as pays, then as many rows as fit.

        Beside the accumulators the inner loop holds `vectors` weights and one broadcast. Twelve
        independent sums hide the latency of a multiply-add; more rows would only cost code.
        """
        widest = 4 if self.registers >= 32 else 2
        needed = -(-channels // self.lanes)
        vectors = min(widest, needed)
        if vectors == 4 and needed % 4 and needed % 3 == 0:
            vectors = 3
        return Tile(rows=min(12, (self.registers - 1 - vectors) // vectors), vectors=vectors)

    # Expressions

    @property
    def type(self) -> str:
        return f"float32x{self.lanes}"

    def splat(self, value: Expr | float, dtype: str = "float32") -> Expr:
        """A scalar in every lane."""
        scalar = tirx.const(value, dtype) if isinstance(value, int | float) else value
        return tirx.Broadcast(scalar, self.lanes)

    def load(self, buffer: Buffer, index: Expr) -> Expr:
        return buffer.vload([index], self.type)

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        T.buffer_store(buffer, value, [tirx.Ramp(index, tirx.const(1, "int64"), self.lanes)])

    def hold(self, value: Expr) -> Expr:
        """Name a vector, and hide what it is made of.

        TVM's simplifier looks through a binding at every use, which takes exponential time for
        long chains of them. It does not look through a local buffer, which LLVM then keeps in a
        register.
        """
        register = registers(self.lanes)
        self.store(register, i64(0), value)
        return T.bind(self.load(register, i64(0)))


def registers(size: int, dtype: str = "float32") -> Buffer:
    """An array that LLVM keeps in registers, if all indices are constants.

    TVM puts an array below 1024 bytes on the stack. A larger one, and any of scope "local", it
    fetches from a pool at each entry and gives back at the exit, which takes longer than most of
    what is done with them.
    """
    if size * tvm.DataType(dtype).bits // 8 >= STACK_BYTES:
        raise InputError(f"{size} x {dtype} are too many for registers")
    return T.alloc_buffer((size,), dtype)


def bind(value: Expr) -> Expr:
    """Name a value, so that it is computed once.

    An index goes through a local buffer for the reason given in `VectorTarget.hold`: a convolution
    compiles in a quarter of the time.
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


def div(a: Expr, b: Expr | int) -> Expr:
    """Quotient of two numbers that are never negative (no sign correction is emitted)."""
    return tirx.truncdiv(a, i64(b) if isinstance(b, int) else b)


def mod(a: Expr, b: Expr | int) -> Expr:
    """Remainder of two numbers that are never negative."""
    return tirx.truncmod(a, i64(b) if isinstance(b, int) else b)


def ceil_div(a: Expr, b: int) -> Expr:
    return div(a + i64(b - 1), b)


def minimum(a: Expr, b: Expr | int) -> Expr:
    return tirx.min(a, i64(b) if isinstance(b, int) else b)


def maximum(a: Expr, b: Expr | int) -> Expr:
    return tirx.max(a, i64(b) if isinstance(b, int) else b)


def zero_range(target: VectorTarget, buffer: Buffer, start: Expr, stop: Expr) -> None:
    """buffer[start:stop] = 0."""
    count = bind(maximum(stop - start, 0))
    whole = bind(div(count, target.lanes))
    with T.serial(0, whole) as i:
        target.store(buffer, start + i * target.lanes, target.splat(0.0))
    with T.serial(0, count - whole * target.lanes) as i:
        T.buffer_store(buffer, f32(0), [start + whole * target.lanes + i])


def copy_range(
    target: VectorTarget,
    destination: Buffer,
    to: Expr,
    source: Buffer,
    start: Expr,
    count: Expr,
) -> None:
    """destination[to : to + count] = source[start : start + count]; nothing for a count below 1."""
    whole = bind(div(maximum(count, 0), target.lanes))
    with T.serial(0, whole) as i:
        target.store(
            destination, to + i * target.lanes, target.load(source, start + i * target.lanes)
        )
    with T.serial(0, maximum(count - whole * target.lanes, 0)) as i:
        offset = whole * target.lanes + i
        T.buffer_store(destination, source[start + offset], [to + offset])


@dataclass(frozen=True)
class Parameter:
    """A kernel's argument; its extents are ints or expressions in int64 shape variables."""

    name: str
    shape: Sequence[Expr | int]
    dtype: str = "float32"


@dataclass(frozen=True)
class Number:
    """An int64 argument of a kernel; in `relax.call_tir` a `relax.PrimValue` at its place."""

    name: str


def build_kernel(
    name: str,
    parameters: Sequence[Parameter | Number],
    body: Callable[..., None],
    index: Callable[[Expr | int], Expr] = lambda value: value,
) -> tirx.PrimFunc:
    """A destination-passing PrimFunc; `body` gets each tensor as a flat, row-major, 1-D view.

    Shape variables take their values from the first arguments that have them bare; every other
    dimension is checked against them when the function is called. `index` makes an index of an
    int64 extent or number, for views of another index type.
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
