"""The vectors of a target and the IRBuilder helpers that all kernels are written with.

A kernel is written once for `VectorTarget(lanes, registers)`; AVX-512, AVX2 and NEON differ only in
these two numbers. The emitted code is explicit vector code: LLVM contracts `a * b + c` into a fused
multiply-add but does not reorder anything, so results depend only on the order in the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm.target import codegen
from tvm.tirx.script.builder import ir as T  # noqa: N812

from kokoro_pipeline.errors import InputError

from ..common.builder import Buffer, Expr, bind, div, f32, i64, maximum, registers
from ..common.elementary import Arithmetic

LINE = 16  # floats per cache line


@dataclass(frozen=True)
class Tile:
    """A block of `rows` x `vectors` accumulators in registers."""

    rows: int
    vectors: int


@dataclass(frozen=True)
class VectorTarget(Arithmetic):
    """The number of float32 lanes of a vector register, and the number of vector registers.

    Its vectors are an arithmetic, in which the elementary functions emit straight-line code.

    Raises InputError unless lanes is a power of two from 4 and there are at least 8 registers.
    """

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
        """The vectors of an LLVM target, given as a Target, its dictionary, or an mcpu name.

        Raises InputError for a target of another kind.
        """
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
        """The register tile for `channels` outputs: as wide as is useful, then as high as fits.

        Besides the accumulators, the inner loop keeps `vectors` weights and one broadcast in
        registers. Twelve independent sums hide the latency of a multiply-add; more rows would only
        increase the code size.
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
        """A vector with the same scalar in every lane."""
        scalar = tirx.const(value, dtype) if isinstance(value, int | float) else value
        return tirx.Broadcast(scalar, self.lanes)

    def load(self, buffer: Buffer, index: Expr) -> Expr:
        """A vector of `lanes` neighbours, in the dtype of the buffer."""
        return buffer.vload([index], f"{buffer.dtype}x{self.lanes}")

    def cast(self, value: Expr, dtype: str) -> Expr:
        return tirx.Cast(f"{dtype}x{self.lanes}", value)

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        T.buffer_store(buffer, value, [tirx.Ramp(index, tirx.const(1, "int64"), self.lanes)])

    def prefetch(self, buffer: Buffer, index: Expr, write: bool = False, near: bool = True) -> None:
        """Fetch the cache line of an element that is to be read or written, `near` into L1.

        It need not lie within the buffer.
        """
        flags = (tirx.const(number, "int32") for number in (int(write), 3 if near else 2, 1))
        address = tirx.address_of(buffer[index])
        T.evaluate(tirx.call_llvm_intrin("void", "llvm.prefetch", address, *flags))

    # The arithmetic of `common.elementary`

    def const(self, value: float) -> Expr:
        return self.splat(value)

    def integer(self, value: int) -> Expr:
        return self.splat(value, "int32")

    def to_integer(self, x: Expr) -> Expr:
        return tirx.Cast(f"int32x{self.lanes}", x)

    def from_integer(self, x: Expr) -> Expr:
        return tirx.Cast(self.type, x)

    def bits_of(self, x: Expr) -> Expr:
        return tirx.reinterpret(f"int32x{self.lanes}", x)

    def from_bits(self, bits: Expr) -> Expr:
        return tirx.reinterpret(self.type, bits)

    def fma(self, a: Expr, b: Expr, c: Expr) -> Expr:
        # Of a * b + c, LLVM takes the product from elsewhere where it is needed rounded as well.
        return tirx.call_llvm_intrin(f"float32x{self.lanes}", "llvm.fmuladd", a, b, c)

    def nearest(self, x: Expr, factor: float) -> Expr:
        return tirx.nearbyint(x * self.splat(factor))

    def clamp(self, x: Expr, low: float, high: float) -> Expr:
        # NaN is kept, since max(a, b) is `a > b ? a : b` and x is b.
        return tirx.min(self.splat(high), bind(tirx.max(self.splat(low), x)))

    def name(self, value: Expr) -> Expr:
        return self.hold(value)

    def step(self, value: Expr) -> Expr:
        return bind(value)

    def hold(self, value: Expr, dtype: str = "float32") -> Expr:
        """Bind a vector and hide its definition from TVM's simplifier.

        The simplifier looks through a binding at every use, which takes exponential time for long
        chains of bindings. It does not look through a local buffer, which LLVM keeps in a register.
        """
        register = registers(self.lanes, dtype)
        self.store(register, i64(0), value)
        return T.bind(self.load(register, i64(0)))


def store_first(buffer: Buffer, index: Expr, value: Expr, width: int, count: Expr) -> None:
    """Store the first `count` elements of a float32 vector of `width`, or all if it has fewer.

    A no-op for a count below 1.
    """
    with T.If(count >= width):
        with T.Then():
            T.buffer_store(buffer, value, [tirx.Ramp(index, i64(1), width)])
        with T.Else():
            numbers = registers(width)
            T.buffer_store(numbers, value, [tirx.Ramp(i64(0), i64(1), width)])
            with T.serial(i64(0), maximum(count, 0)) as i:
                T.buffer_store(buffer, numbers[i], [index + i])


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
    """destination[to : to + count] = source[start : start + count]; a no-op for a count below 1."""
    whole = bind(div(maximum(count, 0), target.lanes))
    with T.serial(0, whole) as i:
        target.store(
            destination, to + i * target.lanes, target.load(source, start + i * target.lanes)
        )
    with T.serial(0, maximum(count - whole * target.lanes, 0)) as i:
        offset = whole * target.lanes + i
        T.buffer_store(destination, source[start + offset], [to + offset])
