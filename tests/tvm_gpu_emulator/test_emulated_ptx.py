"""Inline PTX on the CPU: fragments have the layout of the PTX ISA; other PTX is rejected."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm
from tvm.tirx.script.builder import ir as T  # noqa: N812

from tvm_gpu_emulator import EmulationFault, UnsupportedKernel, emulate
from tvm_gpu_emulator.ptx import emulate_ptx

# The ISA's tables (9.7.14, "Matrix Fragments"), as (row, column) of lane's element i; a column of A
# and a row of B count the inner dimension. Two half precision elements are in a register.
TF32 = {
    "a": lambda lane, i: (lane // 4 + 8 * (i % 2), lane % 4 + 4 * (i // 2)),
    "b": lambda lane, i: (lane % 4 + 4 * i, lane // 4),
}
HALF = {
    "a": lambda lane, i: (
        lane // 4 + (8 if i in (2, 3, 6, 7) else 0),
        2 * (lane % 4) + i % 2 + (8 if i >= 4 else 0),
    ),
    "b": lambda lane, i: (2 * (lane % 4) + i % 2 + (8 if i >= 2 else 0), lane // 4),
}
RESULT = lambda lane, i: (lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2)  # noqa: E731

# operand type: instruction, inner dimension, tables, elements of a register, numpy's type of bits
PRODUCTS = {
    "tf32": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, TF32, 1),
    "bf16": ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, HALF, 2),
    "f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, HALF, 2),
}


def warp_product(instruction, divergent=False):
    """(a [32, 4], b [32, 2], c [32, 4], d [32, 4]): a warp's registers, one product."""

    def extern(name, shape, dtype):
        return T.match_buffer(T.arg(name, T.handle()), shape, dtype)

    from tvm.script.ir_builder import IRBuilder

    with IRBuilder() as builder, T.prim_func():
        T.func_name("product")
        T.func_attr({"global_symbol": "product"})
        a, b = extern("a", (32, 4), "uint32"), extern("b", (32, 2), "uint32")
        c, d = extern("c", (32, 4), "float32"), extern("d", (32, 4), "float32")
        with T.launch_thread("blockIdx.x", 1), T.launch_thread("threadIdx.x", 32) as lane:
            sums = T.alloc_buffer((4,), "float32", scope="local")
            for i in range(4):
                T.buffer_store(sums, c[lane, i], [i])

            def multiply():
                values = [sums[i] for i in range(4)]
                left = [a[lane, i] for i in range(4)]
                right = [b[lane, i] for i in range(2)]
                T.evaluate(T.ptx[instruction](*values, *left, *right, *values))

            if divergent:
                with T.If(lane < 31), T.Then():
                    multiply()
            else:
                multiply()
            for i in range(4):
                T.buffer_store(d, sums[i], [lane, i])
    return builder.get()


@pytest.fixture
def device():
    return tvm.target.Target({"kind": "cuda", "arch": "sm_90"}, host="llvm")


def as_elements(values, kind):
    """float32 values that the type holds, and their bits."""
    if kind == "f16":
        return values.astype(np.float16).astype(np.float32), values.astype(np.float16).view(
            np.uint16
        )
    keep = 13 if kind == "tf32" else 16
    bits = values.view(np.uint32) >> keep << keep
    return bits.view(np.float32), bits if kind == "tf32" else (bits >> 16).astype(np.uint16)


@pytest.mark.parametrize("kind", PRODUCTS)
def test_a_product_of_matrices(kind, device, cache):
    instruction, inner, tables, per_register = PRODUCTS[kind]
    rng = np.random.default_rng(0)
    values, registers = {}, {}
    for name, shape, count in (("a", (16, inner), 4), ("b", (inner, 8), 2)):
        values[name], bits = as_elements(rng.standard_normal(shape).astype(np.float32), kind)
        fragment = [
            [bits[tables[name](lane, i)] for i in range(count * per_register)] for lane in range(32)
        ]
        registers[name] = np.array(fragment, bits.dtype).view(np.uint32)
    sums = rng.standard_normal((16, 8)).astype(np.float32)
    c = np.array([[sums[RESULT(lane, i)] for i in range(4)] for lane in range(32)])
    d = np.full((32, 4), np.nan, np.float32)
    executable = emulate(warp_product(instruction), device, cache=cache, check=True)
    executable["product"](registers["a"], registers["b"], c, d)
    expected = values["a"].astype(np.float64) @ values["b"] + sums
    found = np.full((16, 8), np.nan)
    for lane in range(32):
        for i in range(4):
            found[RESULT(lane, i)] = d[lane, i]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


INF, NAN = float("inf"), float("nan")
TINY = 2.0**-24  # half of the last bit of 1
SUBNORMAL = 2.0**-130


@pytest.mark.parametrize(
    ("terms", "start", "expected"),
    [
        ([1.75 * TINY], 1.0, 1.0),  # nearest is 1 + 2**-23
        ([2 * TINY], 1.0, 1.0 + 2 * TINY),
        ([-2.0 * TINY], 1.0, 1.0 - 2 * TINY),
        ([-TINY], 1.0, 1.0),  # nearest is 1 - 2**-24
        ([1.75 * TINY], -1.0, -1.0),
        ([1.5 * TINY, 1.5 * TINY], 1.0, 1.0),  # each is cut before it is added
        ([-1.0, 1.75 * TINY], 1.0, 0.0),
        ([1.0, 1.0, 1.0], 2.0**24 - 1, 2.0**24 + 2),  # the result is cut to its own last bit
        ([SUBNORMAL], SUBNORMAL, 2 * SUBNORMAL),
        ([0.0, -0.0], 0.0, 0.0),
        ([INF], 1.0, INF),
        ([1.0], -INF, -INF),
        ([INF, -INF], 1.0, NAN),
        ([NAN], 1.0, NAN),
    ],
)
def test_sums_are_cut_toward_zero(terms, start, expected, device, cache):
    """Each term is a product with 1, and all are within a group of four."""
    a, b = np.zeros((32, 4), np.float32), np.zeros((32, 2), np.float32)
    for lane, term in enumerate(terms):
        # Row 0 of A is in register 0 of lanes 0 to 3, and so is column 0 of B.
        a[lane, 0], b[lane, 0] = 1, term
    c, d = np.zeros((2, 32, 4), np.float32)
    c[0, 0] = start
    executable = emulate(warp_product(PRODUCTS["tf32"][0]), device, cache=cache)
    executable["product"](a.view(np.uint32), b.view(np.uint32), c, d)
    np.testing.assert_array_equal(d[0, 0], np.float32(expected))


def test_a_lane_that_stays_away_is_named(device, cache):
    kernel = warp_product(PRODUCTS["tf32"][0], divergent=True)
    executable = emulate(kernel, device, cache=cache)
    a, b = np.zeros((32, 4), np.uint32), np.zeros((32, 2), np.uint32)
    c, d = np.zeros((2, 32, 4), np.float32)
    with pytest.raises(EmulationFault, match="lane 31"):
        executable["product"](a, b, c, d)


@pytest.mark.parametrize(
    "edit",
    [
        ("m16n8k8", "m16n8k32"),  # a shape that is not known
        ("{%8, %9}", "{%9, %8}"),  # operands out of their order
    ],
)
def test_other_forms_are_refused(edit, device, cache):
    kernel = warp_product(PRODUCTS["tf32"][0])
    with pytest.raises(UnsupportedKernel, match=r"line \d+ of the generated"):
        emulate(kernel, device, cache=cache, edit_source=lambda text: text.replace(*edit))


def test_lines_keep_their_numbers():
    text = 'x\nasm volatile("cvt.rna.tf32.f32 %0, %1;"\n : "=r"(d)\n : "f"(s));\ny\n'
    lines = emulate_ptx(text).splitlines()
    assert lines[1].strip() == "d = emulator::round_tf32(s);"
    assert lines[4] == "y"
    assert re.search("asm", emulate_ptx('asm volatile("membar.gl;");'))
