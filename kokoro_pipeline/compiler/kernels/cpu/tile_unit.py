"""Products of tiles: the instructions of Intel AMX, and the same by loops for any x86-64 CPU.

A tile of a sum is float32 [16, 16]; the tiles of a product are bfloat16 [16, 32] for the rows and
[16, 16, 2] for the columns, whose pairs of neighbouring terms share 32 bits:

    sum[m, n] += row[m, 2k] column[k, n, 0] + row[m, 2k + 1] column[k, n, 1]      over k < 16

Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 columns.

TDPBF16PS adds in a fixed order (Intel's Software Developer's Manual, volume 2): from zero, the even
and the odd terms each by fused multiply-adds, then both together, and that to the tile. It takes
and gives numbers below 2^-126 as 0, rounds to nearest and reads no mode register. `EmulatedTiles`
does that in the vector registers, so its results are bit for bit those of the instructions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

import tvm
from tvm import tirx
from tvm.target import codegen

from ..common.builder import Buffer, Expr, T, bind, i64, registers

ROWS = 16
"""Rows of a tile."""
TERMS = 32
"""Terms of a product of two tiles: the bfloat16 numbers in a row of 64 bytes."""
COLUMNS = 16
"""Columns of a sum."""
WORDS = ROWS * TERMS
"""bfloat16 numbers in a tile."""
SUMS, FIRST_ROWS, FIRST_COLUMNS = 4, 4, 6

FEATURES = ("amx-bf16", "amx-tile")
"""LLVM's names of the instructions."""


class Tiles(ABC):
    """Eight tiles. Positions and strides are counted in elements of the buffer."""

    @abstractmethod
    def configure(self) -> None:
        """Prepare the tiles of the calling thread; emit this inside of a parallel loop."""

    @abstractmethod
    def release(self) -> None:
        """Return the thread to the state without tiles."""

    @abstractmethod
    def zero(self, tile: int) -> None:
        """Set a sum to 0."""

    @abstractmethod
    def load(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        """Load rows or columns, 16 times 32 bfloat16 words of a uint16 buffer."""

    @abstractmethod
    def store(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        """Store a sum to a float32 buffer."""

    @abstractmethod
    def product(self, tile: int, rows: int, columns: int) -> None:
        """Add the product of two tiles to a sum."""


def _emit(name: str, *arguments: Expr) -> None:
    T.evaluate(tirx.call_llvm_intrin("void", f"llvm.x86.{name}", *arguments))


def _tile(number: int) -> Expr:
    # The instructions have the number of a tile in their encoding.
    return tirx.const(number, "int8")


class AmxTiles(Tiles):
    """The tile registers, through LLVM's intrinsics."""

    def configure(self) -> None:
        # TILECFG: palette 1, then the bytes of a row and the number of rows of each tile.
        palette, rows_of_64_bytes, rows_of_16 = 1, 0x00400040, 0x10101010
        words = [palette, 0, 0, 0] + [rows_of_64_bytes] * 4 + [0] * 4 + [rows_of_16] * 2 + [0] * 2
        block = registers(len(words), "int32")
        for index, word in enumerate(words):
            T.buffer_store(block, tirx.const(word, "int32"), [i64(index)])
        _emit("ldtilecfg", tirx.address_of(block[i64(0)]))

    def release(self) -> None:
        _emit("tilerelease")

    def zero(self, tile: int) -> None:
        _emit("tilezero", _tile(tile))

    def load(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        _emit("tileloadd64", _tile(tile), tirx.address_of(buffer[at]), stride * 2)

    def store(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        _emit("tilestored64", _tile(tile), tirx.address_of(buffer[at]), stride * 4)

    def product(self, tile: int, rows: int, columns: int) -> None:
        _emit("tdpbf16ps", _tile(tile), _tile(rows), _tile(columns))


class EmulatedTiles(Tiles):
    """The same results by vector instructions of x86-64, for tests."""

    # Bits of the mode register MXCSR: take, and give, numbers below 2^-126 as 0. The rest of this
    # value is its state at the start of a process: nearest rounding, all exceptions masked.
    FLUSHING = 0x1F80 | 0x0040 | 0x8000

    def configure(self) -> None:
        self._sums = [T.alloc_buffer((ROWS * COLUMNS,), "float32") for _ in range(SUMS)]
        self._rows = [T.alloc_buffer((WORDS,), "float32") for _ in range(2)]
        # For each pair of terms: the columns of the even one, then those of the odd one.
        self._columns = [T.alloc_buffer((WORDS,), "float32") for _ in range(2)]
        self._modes = registers(2, "int32")
        _emit("sse.stmxcsr", tirx.address_of(self._modes[i64(0)]))
        T.buffer_store(self._modes, tirx.const(self.FLUSHING, "int32"), [i64(1)])

    def release(self) -> None:
        pass

    def zero(self, tile: int) -> None:
        zeros = tirx.Broadcast(tirx.const(0.0, "float32"), COLUMNS)
        with T.serial(i64(0), i64(ROWS)) as m:
            _store(self._sums[tile], m * COLUMNS, zeros)

    def load(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        rows = tile < FIRST_COLUMNS
        to = (
            self._rows[tile - FIRST_ROWS]
            if tile < FIRST_COLUMNS
            else self._columns[tile - FIRST_COLUMNS]
        )
        with T.serial(i64(0), i64(ROWS)) as r:
            start, own = bind(at + stride * r), bind(r * TERMS)
            for half in range(2):
                if rows:
                    index = tirx.Ramp(start + half * COLUMNS, i64(1), COLUMNS)
                else:
                    index = tirx.Ramp(start + half, i64(2), COLUMNS)
                words = tirx.BufferLoad(buffer, [index])
                wide = tirx.Cast(f"uint32x{COLUMNS}", words)
                shift = tirx.Broadcast(tirx.const(16, "uint32"), COLUMNS)
                number = tirx.reinterpret(f"float32x{COLUMNS}", tirx.shift_left(wide, shift))
                _store(to, own + half * COLUMNS, number)

    def store(self, tile: int, buffer: Buffer, at: Expr, stride: Expr) -> None:
        with T.serial(i64(0), i64(ROWS)) as m:
            _store(buffer, at + stride * m, _load(self._sums[tile], m * COLUMNS))

    def product(self, tile: int, rows: int, columns: int) -> None:
        row, column = self._rows[rows - FIRST_ROWS], self._columns[columns - FIRST_COLUMNS]
        total, wide = self._sums[tile], f"float32x{COLUMNS}"
        # LLVM moves no memory access over these, and nothing below is without one on either side.
        _emit("sse.ldmxcsr", tirx.address_of(self._modes[i64(1)]))
        with T.serial(i64(0), i64(ROWS)) as m:
            terms = registers(2 * COLUMNS)
            zeros = tirx.Broadcast(tirx.const(0.0, "float32"), COLUMNS)
            for half in range(2):
                _store(terms, i64(half * COLUMNS), zeros)
            with T.serial(i64(0), i64(ROWS)) as k:
                for half in range(2):
                    one = tirx.Broadcast(row[m * TERMS + k * 2 + half], COLUMNS)
                    other = _load(column, k * TERMS + half * COLUMNS)
                    so_far = _load(terms, i64(half * COLUMNS))
                    fused = tirx.call_llvm_intrin(wide, "llvm.fma", one, other, so_far)
                    _store(terms, i64(half * COLUMNS), fused)
            pair = bind(_load(terms, i64(0)) + _load(terms, i64(COLUMNS)))
            _store(total, m * COLUMNS, _load(total, m * COLUMNS) + pair)
        _emit("sse.ldmxcsr", tirx.address_of(self._modes[i64(0)]))


def _load(buffer: Buffer, at: Expr) -> Expr:
    return buffer.vload([at], f"float32x{COLUMNS}")


def _store(buffer: Buffer, at: Expr, value: Expr) -> None:
    T.buffer_store(buffer, value, [tirx.Ramp(at, i64(1), COLUMNS)])


_emulating = ContextVar("emulating", default=False)


@contextmanager
def emulated_tiles() -> Iterator[None]:
    """Lower programs as for AMX, with its instructions emulated: to check them on another CPU."""
    token = _emulating.set(True)
    try:
        yield
    finally:
        _emulating.reset(token)


class TileUnit(Enum):
    """Who multiplies tiles: the CPU's matrix unit, or its vectors in the same order."""

    AMX = "amx"
    EMULATED = "emulated"

    @classmethod
    def of(cls, target: tvm.target.Target) -> TileUnit | None:
        """The matrix unit of an LLVM target; None where it has none."""
        if _emulating.get():
            return cls.EMULATED
        return cls.AMX if codegen.target_has_features(list(FEATURES), target) else None

    def tiles(self) -> Tiles:
        """The tiles for the body of one kernel."""
        return AmxTiles() if self is TileUnit.AMX else EmulatedTiles()
