"""Tiles against Intel's definition of TDPBF16PS, bit for bit, and what is compiled for AMX.

The emulated form runs on every x86-64 CPU; the instructions run where this machine has them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm

from kokoro_pipeline.artifact.cpu import host_architecture
from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import split_words, to_float32
from kokoro_pipeline.compiler.kernels.common.builder import Parameter, T, bind, build_kernel, i64
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import TileUnit

pytestmark = pytest.mark.skipif(
    host_architecture() != "x86_64", reason="the emulation uses the vectors of x86-64"
)
STEPS = 5
LEAST = np.float32(2.0**-126)


def sum_of_products(unit):
    """(rows uint16 [STEPS, 16, 32], columns uint16 [STEPS, 16, 32]) -> float32 [16, 16]."""

    def body(rows, columns, y):
        tiles = unit.tiles()
        tiles.configure()
        tiles.zero(1)
        with T.serial(i64(0), i64(STEPS)) as step:
            at = bind(step * 512)
            tiles.load(5, rows, at, i64(32))
            tiles.load(6, columns, at, i64(32))
            tiles.product(1, 5, 6)
        tiles.store(1, y, i64(0), i64(16))
        tiles.release()

    inputs = [Parameter(name, (STEPS, 16, 32), "uint16") for name in ("rows", "columns")]
    return build_kernel(f"tiles_{unit.value}", [*inputs, Parameter("y", (16, 16))], body)


def flushed(x):
    """Numbers below 2^-126 as 0, of float32 or of float64 before the last rounding.

    Whether a result is that small is decided after rounding to 24 bits of an unlimited range.
    """
    limit = 2.0**-126 - (2.0**-151 if x.dtype == np.float64 else 0)
    return np.where(np.abs(x) < limit, np.copysign(x.dtype.type(0), x), x)


def add_rounded(a, b):
    """float64 + float64, rounded to odd, from which a rounding to float32 is the correct one."""
    total = a + b
    rest = total - a
    error = (a - (total - rest)) + (b - rest)
    bits = total.view(np.int64)
    # Towards the error, if the last bit is even.
    away = (error > 0) == (total > 0)
    moved = np.where((error != 0) & (bits % 2 == 0), np.where(away, bits + 1, bits - 1), bits)
    return np.where(np.isfinite(total), moved.view(np.float64), total)


def fused(a, b, c):
    exact = add_rounded(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return flushed(exact).astype(np.float32)


def add(a, b):
    return fused(a, np.ones_like(a), b)


def intel(rows, columns):
    """The operation in Intel's manual, on float32 values of bfloat16 numbers."""
    total = np.zeros((16, 16), np.float32)
    for row, column in zip(flushed(rows), flushed(columns), strict=True):
        halves = [np.zeros((16, 16), np.float32) for _ in range(2)]
        for k in range(16):
            for half in range(2):
                one = np.broadcast_to(row[:, 2 * k + half, None], (16, 16))
                other = np.broadcast_to(column[k].reshape(16, 2)[:, half], (16, 16))
                halves[half] = fused(one, other, halves[half])
        total = add(total, add(*halves))
    return total


def draw(kind):
    rng = np.random.default_rng(len(kind))
    rows, columns = rng.standard_normal((2, STEPS, 16, 32)).astype(np.float32)
    if kind == "every magnitude":
        rows, columns = (
            x * np.exp2(rng.integers(-60, 60, x.shape)).astype(np.float32) for x in (rows, columns)
        )
    elif kind == "small":  # results around 2^-126, operands on either side
        rows *= np.exp2(rng.integers(-67, -61, rows.shape)).astype(np.float32)
        columns *= np.exp2(rng.integers(-67, -63, columns.shape)).astype(np.float32)
    elif kind == "small operands":
        rows *= np.exp2(rng.integers(-130, -122, rows.shape)).astype(np.float32)
        columns *= np.float32(2.0**40)
    elif kind == "huge":
        rows, columns = rows * np.float32(2.0**63), columns * np.float32(2.0**63)
    elif kind == "special":
        for x in (rows, columns):
            where = rng.random(x.shape)
            for limit, value in ((0.01, np.inf), (0.02, -np.inf), (0.03, np.nan), (0.06, 0.0)):
                x[(where < limit) & (where >= limit - 0.01)] = value
    elif kind == "cancelling":
        columns[:, :, 1::2] = columns[:, :, ::2]
        rows[:, :, 1::2] = -rows[:, :, ::2]
    with np.errstate(over="ignore"):
        return split_words(rows, 1)[0], split_words(columns, 1)[0]


KINDS = ("ordinary", "every magnitude", "small", "small operands", "huge", "special", "cancelling")


@pytest.fixture(scope="module")
def sums(tile_target, call_kernel):
    """`sum_of_products` on numpy arrays."""
    kernel = sum_of_products(tile_target.unit)
    function = tile_target.compile([kernel])[str(kernel.attrs["global_symbol"])]

    def run(rows, columns):
        return call_kernel(function, [rows, columns], (16, 16))[0]

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_is_intels_definition_bit_for_bit(kind, sums):
    rows, columns = draw(kind)
    with np.errstate(all="ignore"):
        expected = intel(to_float32(rows), to_float32(columns))
    found = sums(rows, columns)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    both = ~np.isnan(expected)
    np.testing.assert_array_equal(found.view(np.uint32)[both], expected.view(np.uint32)[both])
    if kind == "small":
        assert (np.abs(expected[expected != 0]) >= LEAST).all()
        assert (expected == 0).any() and (expected != 0).any()


def test_flushing_ends_with_the_product(tile_target, call_kernel):
    """A kernel's own arithmetic after it keeps numbers below 2^-126."""

    def body(x, y):
        tiles = tile_target.unit.tiles()
        tiles.configure()
        tiles.zero(0)
        tiles.product(0, 4, 6)
        tiles.release()
        T.buffer_store(y, x[i64(0)] * x[i64(1)], [i64(0)])

    kernel = build_kernel("after", [Parameter("x", (2,)), Parameter("y", (1,))], body)
    function = tile_target.compile([kernel])["after"]
    (y,) = call_kernel(function, [np.array([2.0**-100, 2.0**-30], np.float32)], (1,))
    assert y[0] == np.float32(2.0**-130)


def test_amx_compiles_to_its_instructions():
    """Whatever this machine has: the assembly for the first CPU with AMX."""
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})
    library = tvm.compile(tvm.IRModule({"tiles": sum_of_products(TileUnit.AMX)}), target=target)
    lines = [line.split() for line in library.mod.inspect_source("asm").splitlines()]
    instruction = re.compile("ldtilecfg|tile(zero|loadd|stored|release)|tdpbf16ps")
    tiles = [words for words in lines if words and instruction.fullmatch(words[0])]
    names = [words[0] for words in tiles]
    assert names[0] == "ldtilecfg" and names[-1] == "tilerelease"
    # LLVM may unroll the loop.
    products = names.count("tdpbf16ps")
    assert products >= 1 and names.count("tileloadd") == 2 * products
    assert names.count("tilezero") == names.count("tilestored") == 1
    # The destination comes last in this syntax.
    operands = {"".join(words[1:]) for words in tiles if words[0] == "tdpbf16ps"}
    assert operands == {"%tmm6,%tmm5,%tmm1"}
