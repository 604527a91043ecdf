"""The vectors of targets, and the resulting register tiles."""

from __future__ import annotations

import re

import pytest
import tvm

from kokoro_pipeline.compiler.kernels.common.builder import STACK_BYTES, registers
from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d
from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.attention import attention
from kokoro_pipeline.compiler.kernels.cpu.conv1d import conv1d
from kokoro_pipeline.compiler.kernels.cpu.fft_conv1d import RealFFT
from kokoro_pipeline.compiler.kernels.cpu.lstm import lstm_recurrence
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.transform_conv1d import transformed_conv1d
from kokoro_pipeline.compiler.kernels.cpu.vector import Tile, VectorTarget
from kokoro_pipeline.compiler.kernels.cpu.winograd_conv1d import winograd_of
from kokoro_pipeline.errors import InputError

ARM = {"kind": "llvm", "mtriple": "aarch64-unknown-linux-gnu", "mcpu": "cortex-a76"}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("znver4", VectorTarget(16, 32)),
        ("x86-64-v4", VectorTarget(16, 32)),
        ("x86-64-v3", VectorTarget(8, 16)),
        ("x86-64", VectorTarget(4, 16)),
        ({"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu"}, VectorTarget(4, 16)),
        (ARM, VectorTarget(4, 32)),
    ],
    ids=str,
)
def test_vectors_of_a_target(target, expected):
    assert VectorTarget.of(target) == expected


def test_other_kinds_are_refused():
    with pytest.raises(InputError, match="LLVM targets"):
        VectorTarget.of({"kind": "cuda", "arch": "sm_80"})


@pytest.mark.parametrize(
    "vectors", [VectorTarget(16, 32), VectorTarget(8, 16), VectorTarget(4, 32)]
)
@pytest.mark.parametrize("channels", [1, 5, 16, 22, 48, 50, 128, 180])
def test_a_tile_fits_the_registers(vectors, channels):
    tile = vectors.tile(channels)
    assert tile.rows >= 4
    assert tile.rows * tile.vectors + tile.vectors + 1 <= vectors.registers


def test_the_known_best_tiles():
    assert VectorTarget(16, 32).tile(128) == Tile(6, 4)
    assert VectorTarget(16, 32).tile(48) == Tile(9, 3)
    assert VectorTarget(8, 16).tile(128) == Tile(6, 2)


def test_registers_are_refused_where_tvm_would_fetch_them_from_a_pool():
    with pytest.raises(InputError, match="too many"):
        registers(STACK_BYTES // 4)


def test_a_transformed_convolution_fetches_its_scratch_alone():
    """A local array that came from TVM's workspace pool, by a call, would double the time."""
    vectors = VectorTarget.of("x86-64-v4")
    kernel = transformed_conv1d(vectors, SameConv1d(64, 64, 7), RealFFT(7, 32), tiles=16)
    module = tvm.IRModule({"kernel": kernel})
    target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v4"})
    target = target.with_host({"kind": "llvm", "mcpu": "x86-64-v4"})
    code = tvm.tirx.build(module, target=target).inspect_source("ll")
    assert code.count("load ptr, ptr @__TVMBackendAllocWorkspace") == 3  # numbers, window, gathered


@pytest.mark.slow
@pytest.mark.parametrize("channels", [64, 128, 192, 256])
@pytest.mark.parametrize("taps", [3, 7])
def test_the_sums_of_a_product_stay_in_registers(channels, taps):
    """A prefetch keeps LLVM from holding in registers what lies in the memory of a workspace, as
    the coefficients of AdaIN once did: with 256 channels that took half as long again."""
    vectors = VectorTarget.of("x86-64-v4")
    conv = SameConv1d(channels, channels, taps, Producer(True, Activation.SNAKE))
    target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v4"})
    target = target.with_host({"kind": "llvm", "mcpu": "x86-64-v4"})
    transform = winograd_of(3, 6) if taps == 3 else RealFFT(taps, 32)
    kernel = transformed_conv1d(vectors, conv, transform, tiles=16)
    module = tvm.IRModule({"kernel": kernel})
    assembly = tvm.tirx.build(module, target=target).inspect_source("asm")
    loops = [
        block
        for block in re.split(r"\n\.LBB\w+:", assembly)
        if "prefetcht1" in block and block.count("vfmadd231ps") >= 24
    ]
    assert loops
    for loop in loops:
        body = loop[: loop.index("jne")]
        assert not re.search(r"vmov\w+\s+%zmm\d+, .*\(", body)


def test_the_kernels_lower_to_neon():
    """No run, but the code of an Apple or Graviton CPU: fused multiply-adds on whole vectors."""
    vectors = VectorTarget.of(ARM)
    functions = [
        conv1d(vectors, Conv1d(32, 32, 3, 1, 1, 1, 1)),
        lstm_recurrence(vectors, 32),
        attention(vectors, 2, 16),
        transformed_conv1d(vectors, SameConv1d(32, 32, 7), RealFFT(7, 32), tiles=16),
        transformed_conv1d(vectors, SameConv1d(32, 32, 3), winograd_of(3, 6), tiles=30),
    ]
    for function in functions:
        module = tvm.IRModule({"kernel": function})
        target = tvm.target.Target(ARM).with_host(ARM)
        assembly = tvm.tirx.build(module, target=target).inspect_source("asm")
        assert assembly.count("fmla\tv") >= 8
