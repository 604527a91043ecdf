"""The choice of an algorithm by the model of costs: structure, no times."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm.target import codegen

from kokoro_pipeline.compiler.kernels.common.builder import i64
from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d
from kokoro_pipeline.compiler.kernels.cpu.bin_products import Kind, effort
from kokoro_pipeline.compiler.kernels.cpu.choose_conv1d import (
    DIRECT,
    SMALL_BLOCK,
    ConvShape,
    candidates,
    choose,
    cost,
    named,
    ranked,
    shape_of,
)
from kokoro_pipeline.compiler.kernels.cpu.core import CORES, DEFAULT_CORE, KB, MB, Core
from kokoro_pipeline.compiler.kernels.cpu.fft_conv1d import RealFFT
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d, Scratch
from kokoro_pipeline.compiler.kernels.cpu.transform_blocks import Blocks
from kokoro_pipeline.compiler.kernels.cpu.vector import Tile, VectorTarget
from kokoro_pipeline.compiler.lowering.cpu_backend import CpuBackend
from kokoro_pipeline.compiler.passes.pipeline import TILED
from kokoro_pipeline.errors import InputError

AVX512, AVX2, NEON = VectorTarget(16, 32), VectorTarget(8, 16), VectorTarget(4, 32)

# The convolutions of the decoder for 4 s of audio.
LOW = [ConvShape(256, 256, taps, 3200) for taps in (3, 7, 11)]
HIGH = [ConvShape(128, 128, taps, 19201) for taps in (3, 7, 11)]
WIDE = [ConvShape(512, 512, 3, 320), ConvShape(1090, 1024, 3, 160)]
INTEL = ("cascadelake", "icelake-server", "sapphirerapids", "emeraldrapids")


def test_every_cpu_of_the_table_is_one_of_llvm():
    for name in CORES:
        triple = (
            "aarch64-linux-gnu"
            if name.startswith(("neoverse", "apple"))
            else "x86_64-unknown-linux-gnu"
        )
        assert codegen.llvm_is_valid_cpu(name, triple), name


def test_a_core_is_found_by_the_name_of_its_cpu():
    assert Core.of("icelake-server").l2 == 1280 * KB
    assert Core.of({"kind": "llvm", "mcpu": "sapphirerapids"}).l2 == 2 * MB
    for unknown in ("x86-64-v4", "no such CPU", {"kind": "llvm"}):
        assert Core.of(unknown) is DEFAULT_CORE


@pytest.mark.parametrize("target", [AVX512, AVX2, NEON], ids=["AVX-512", "AVX2", "NEON"])
def test_candidates_have_names_of_their_own_that_lead_back_to_them(target):
    for shape in (*LOW, *HIGH, *WIDE):
        known = candidates(target, shape)
        assert known[0] == DIRECT
        assert len(known) > 1
        assert len({candidate.name for candidate in known}) == len(known)
        for candidate in known:
            assert named(target, shape, candidate.name) == candidate


@pytest.mark.parametrize("name", ["fft33x8", "fft32x7", "winograd6x30", "", "Direct", "fft32"])
def test_an_unknown_candidate_is_refused_with_the_known(name):
    with pytest.raises(InputError, match=r"256->256 k7, 3200 rows: there are direct, fft16x"):
        named(AVX512, LOW[1], name)


@pytest.mark.parametrize(
    "conv",
    [
        Conv1d(128, 128, 3, 2, 1, 1, 1),
        Conv1d(128, 128, 3, 1, 1, 2, 0),
        Conv1d(128, 128, 3, 1, 3, 1, 1),
        Conv1d(128, 128, 4, 1, 1, 2, 2),
    ],
)
def test_only_same_convolutions_of_odd_taps_have_a_choice(conv):
    assert shape_of(conv, 100) is None


def test_what_would_be_padded_too_much_or_has_few_taps_is_direct():
    for shape in (ConvShape(1, 1, 3, 320), ConvShape(36, 64, 3, 320), ConvShape(128, 128, 5, 320)):
        assert candidates(AVX512, shape) == (DIRECT,)
        assert choose(AVX512, DEFAULT_CORE, shape) == DIRECT


def test_winograd_is_no_candidate_where_it_is_not_exact_enough():
    outputs = {
        channels: {
            candidate.transform.outputs
            for candidate in candidates(AVX512, ConvShape(channels, channels, 3, 320))
            if candidate.transform is not None
        }
        for channels in (256, 512, 1024)
    }
    assert outputs == {256: {2, 4, 6}, 512: {2, 4}, 1024: {2}}


def test_a_zen_4_keeps_the_transforms_that_were_measured_to_be_fast():
    """In blocks of about the tiles that were, before register tiles of the FFT had half of them."""
    core = Core.of("znver4")
    chosen = [choose(AVX512, core, shape).name for shape in (*LOW, *HIGH[1:])]
    assert chosen == ["winograd6x18", "fft32x8", "fft32x8", "fft32x12", "fft64x8"]
    assert choose(AVX512, core, HIGH[0]).transform.outputs == 6
    assert [choose(AVX512, core, shape).transform.outputs for shape in WIDE] == [4, 2]


@pytest.mark.parametrize("mcpu", INTEL)
@pytest.mark.parametrize("shape", [*LOW, *HIGH], ids=str)
def test_on_intel_weights_are_read_behind_the_products(mcpu, shape):
    """Reading them takes less time than the products, and a block prefetches at least three
    quarters of them, or they stay in L2."""
    core = Core.of(mcpu)
    candidate = choose(AVX512, core, shape)
    chosen = cost(AVX512, core, shape, candidate)
    assert chosen.weights / core.far <= 0.75 * chosen.compute
    same = SameConv1d(shape.in_channels, shape.out_channels, shape.taps)
    products = Scratch.of(AVX512, same, candidate.required).products
    assert products.prefetched(candidate.tiles) >= 0.75 or 4 * products.floats <= core.l2


def test_a_larger_l2_gives_longer_blocks():
    tiles = []
    for l2 in (1 * MB, 2 * MB, 4 * MB):
        chosen = choose(AVX512, replace(Core.of("icelake-server"), l2=l2), HIGH[1])
        tiles.append(chosen.tiles * chosen.transform.outputs)
    assert tiles == sorted(tiles)
    assert tiles[0] < tiles[-1]


@pytest.mark.slow
def test_the_scratch_of_what_is_chosen_is_no_larger_than_l2():
    for mcpu in CORES:
        target = AVX512 if mcpu in (*INTEL, "znver4", "znver5") else AVX2
        core = Core.of(mcpu)
        for shape in HIGH:
            chosen = choose(target, core, shape)
            same = SameConv1d(shape.in_channels, shape.out_channels, shape.taps)
            size = 4 * chosen.tiles * Scratch.of(target, same, chosen.transform).of_tile
            assert size <= max(core.l2, SMALL_BLOCK), (mcpu, shape, chosen.name)


def test_the_model_counts_what_it_says():
    """With one block that holds all rows, weights are read once, from memory."""
    core = replace(DEFAULT_CORE, l2=1 * KB)
    direct = cost(AVX512, core, ConvShape(64, 64, 3, 48), DIRECT)
    assert direct.weights < 4 * (1 + 3 * 64) * 64 / 48 * 3
    short, long = (cost(AVX512, core, replace(LOW[0], rows=rows), DIRECT) for rows in (960, 9600))
    assert short.weights == pytest.approx(long.weights, rel=0.1)  # a block has 96 rows at most
    first, *rest = ranked(AVX512, core, LOW[0])
    assert [each.name for each in rest] == [
        each.name for each in sorted(rest, key=lambda each: cost(AVX512, core, LOW[0], each).cycles)
    ]
    assert first in candidates(AVX512, LOW[0])


@pytest.mark.parametrize("tiles", [8, 16, 24, 30])
@pytest.mark.parametrize("heights", [(6, 5, 3, 2), (8, 4, 2), (12, 6, 3, 2)], ids=str)
def test_blocks_cover_every_group_once_and_stay_near_their_size(tiles, heights):
    for length in (1, 25, 601, 3200, 19201):
        for dilation in (1, 2, 3, 5, 7, 40):
            plan = Blocks.of(i64(length), i64(dilation), 26, tiles, heights)
            phases, parts, groups, per_block, blocks = (
                int(value)
                for value in (plan.phases, plan.parts, plan.groups, plan.per_block, plan.blocks)
            )
            assert (blocks - 1) * per_block < groups <= blocks * per_block
            assert groups * dilation * 26 >= length
            assert (parts - 1) * phases < dilation <= parts * phases
            assert per_block * phases <= tiles + phases


@pytest.mark.parametrize(
    ("heights", "tiles", "rows"),
    [
        ((8, 4, 2), 16, 16),
        ((8, 4, 2), 15, 18),
        ((8, 4, 2), 9, 11),
        ((8, 4, 2), 6, 7),
        ((8, 4, 2), 5, 7),
        ((6, 3, 2), 11, 12),
        ((6, 5, 3, 2), 11, 11),
        ((6, 5, 3, 2), 4, 6),
        ((3, 2), 1, 3),
        ((12, 6, 3, 2), 12, 12),
    ],
)
def test_low_register_tiles_take_as_long_as_higher_ones(heights, tiles, rows):
    assert int(effort(heights, i64(tiles))) == rows


@pytest.mark.parametrize(
    ("target", "tile", "heights"),
    [
        (AVX512, Tile(4, 2), (4, 2)),
        (NEON, Tile(4, 2), (4, 2)),
        (AVX2, Tile(6, 2), (6, 5, 3, 2)),
        (VectorTarget(4, 16), Tile(6, 2), (6, 5, 3, 2)),
    ],
    ids=["AVX-512", "NEON", "AVX2", "SSE"],
)
def test_products_of_a_complex_bin_take_turns_where_there_are_few_registers(target, tile, heights):
    """Three sums, their factors and a number would leave register tiles of three rows, for which
    LLVM stored sums in memory in every step. What is held fits into the registers."""
    products = Scratch.of(target, SameConv1d(256, 256, 11), RealFFT(11, 32)).products
    assert products.tile(Kind.COMPLEX) == tile
    assert products.heights == heights
    for kind in Kind:
        shape, passes = products.tile(kind), products.passes(kind)
        assert sorted(product for each in passes for product in each) == [*range(kind.numbers)]
        for together in passes:
            held = len(together) * shape.vectors
            assert shape.rows * held + held + 1 <= target.registers, (kind, together)


def test_a_zen_3_keeps_the_transforms_that_were_measured_to_be_fast():
    """Blocks of one register tile, whose numbers stay in its L2, and windows of 32 rows."""
    core = Core.of("znver3")
    chosen = [choose(AVX2, core, shape).name for shape in (*LOW, *HIGH)]
    assert chosen == [
        *("winograd6x18", "fft32x6", "fft32x6"),
        *("winograd6x18", "fft32x6", "fft32x6"),
    ]


@pytest.mark.parametrize(
    ("tiles", "dilation", "used"),
    [(8, 1, 8), (8, 3, 6), (8, 5, 10), (16, 3, 18), (16, 5, 20), (24, 3, 24), (24, 5, 20)],
)
def test_blocks_fill_register_tiles(tiles, dilation, used):
    plan = Blocks.of(i64(100_000), i64(dilation), 26, tiles, (8, 4, 2))
    assert int(plan.per_block) * int(plan.phases) == used


@pytest.mark.parametrize("target", [AVX512, AVX2, NEON], ids=["AVX-512", "AVX2", "NEON"])
def test_what_decides_the_pitch_has_no_algorithm_with_a_larger_error(target):
    """An error of the pitch is accumulated by the phase, so neither the model of costs nor a
    recorded choice may trade exactness for time there."""
    shape = ConvShape(512, 512, 3, 320)
    fast = named(target, shape, "winograd4x30")
    backend = CpuBackend(True, target, parts=tuple(TILED.items()), choices=((shape, fast),))
    assert backend.for_function("decoder_forward").algorithm(shape.conv(), shape.rows) == fast
    for name in ("bert_forward", "duration_forward", "f0n_forward"):
        own = backend.for_function(name)
        assert own.conv_shape(shape.conv(), shape.rows) is None
        for each in (shape, replace(shape, taps=7), replace(shape, in_channels=256)):
            chosen = own.algorithm(each.conv(), each.rows)
            assert chosen.name.startswith("winograd2" if each.taps == 3 else "direct")
