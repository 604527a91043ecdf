"""The basis of the estimate of GPU kernels: counts of operations, bytes, barriers and loads."""

from __future__ import annotations

import math

import pytest
from tvm import ir, relax, te, tirx

from benchmarks.roofline.estimate import GPUS, estimate, launches
from benchmarks.roofline.kernel_work import KernelWork, count_work
from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision
from kokoro_pipeline.compiler.kernels.gpu.conv1d import Conv1d, conv1d, conv_product
from kokoro_pipeline.compiler.kernels.gpu.linear import LinearTile, linear
from kokoro_pipeline.compiler.kernels.gpu.lstm import lstm_recurrence
from kokoro_pipeline.compiler.kernels.gpu.spread_lstm import spread_lstm_recurrence
from kokoro_pipeline.compiler.kernels.gpu.statistics import row_statistics
from kokoro_pipeline.compiler.kernels.gpu.threads import Parameter, T, build_kernel, launch, store
from kokoro_pipeline.compiler.passes.bind_threads import bind_function
from kokoro_pipeline.errors import InputError

A100 = GPUS["A100"]


def bound(make):
    """The function of `make(n, x)`, x float32 [n, 64], an element or a row a thread."""
    n = tirx.Var("n", "int64")
    x = te.placeholder((n, 64), "float32", "x")
    return bind_function(te.create_prim_func([x, make(n, x)]))


def every_element(n, x):
    return te.compute((n, 64), lambda i, j: x[i, j] * 2.0 + 1.0)


def turned(n, x):
    return te.compute((64, n), lambda i, j: x[j, i])


def sum_of_row(n, x):
    k = te.reduce_axis((0, 64))
    return te.compute((n,), lambda i: te.sum(x[i, k], axis=k))


def test_an_element_a_thread():
    (work,) = count_work(bound(every_element), [(64, 64), (64, 64)])
    assert (work.blocks, work.threads, work.kind) == (16, 256, "element")
    assert work.flops == 2 * 64 * 64
    assert work.requested == work.unique == 2 * 4 * 64 * 64
    assert work.barriers == work.trips == 0


def test_strides_cost_whole_sectors():
    """A warp's lanes read 32 rows: 32 bytes each for the 4 that they take."""
    (work,) = count_work(bound(turned), [(256, 64), (64, 256)])
    assert work.requested == (32 + 4) * 64 * 256
    assert work.unique == 2 * 4 * 64 * 256


def test_a_sum_within_a_thread_is_told_from_an_element():
    (work,) = count_work(bound(sum_of_row), [(512, 64), (512,)])
    assert (work.kind, work.trips) == ("thread sum", 64)
    assert work.flops == 512 * 64
    assert work.waits >= 64 / 4


def test_threads_beyond_the_tail_do_nothing():
    (work,) = count_work(bound(sum_of_row), [(32, 64), (32,)])
    assert (work.blocks, work.threads) == (1, 256)
    assert work.flops < 256 * 64


@pytest.mark.parametrize(
    ("rows", "blocks", "large"),
    [(1, 3, False), (8, 3, False), (9, 6, False), (2032, 762, False), (2048, 256, True)],
)
def test_a_linear_layer(rows, blocks, large):
    """Rows and features that do not exist are multiplied too, as on a GPU."""
    tile = LinearTile(256, 96, 16, 2) if large else LinearTile(256, 96)
    shapes = [(rows, 256), tile.shape, (rows, 96)]
    (work,) = count_work(linear(256, 96), shapes)
    assert (work.blocks, work.threads, work.kind) == (blocks, 256, "block")
    products = work.blocks * tile.rows * tile.columns * 32 * 256
    assert 2 * products <= work.flops <= 2.1 * products
    assert work.barriers == 2 * tile.turns + 2
    assert work.shared_bytes == 4 * 8 * tile.rows * 32 * tile.columns


@pytest.mark.parametrize("columns", [256, 8192])
@pytest.mark.parametrize(
    ("precision", "products", "weight"),
    [(Precision.TF32, 1, 2), (Precision.BFLOAT16, 1, 1), (Precision.BFLOAT16X3, 3, 1)],
)
def test_a_convolution_on_tensor_cores(precision, products, weight, columns):
    """A block of 64 by 32 sums for few columns, and 64 by 64 for many, of 64 channels."""
    conv = Conv1d(64, 64, 7, 1, 1, 3, 3)
    product = conv_product(conv, precision=precision)
    shapes = [(1, 64, columns), product.weight_shape, (1, 64, columns)]
    (work,) = count_work(conv1d(conv, precision=precision), shapes)
    tile = product.tiles[columns < 8192]
    sums = 64 * tile.block_columns * 64 * 7 * products
    assert (work.blocks, work.kind) == (columns // tile.block_columns, "block")
    assert work.tensor == sums * weight
    assert work.flops == pytest.approx(2 * work.blocks * sums, rel=0.02)
    assert work.barriers == tile.turns * (1 + tile.stages) + 2 * (tile.slices > 1)
    each = tile.block_rows * tile.block_columns // (32 * tile.warps)  # sums of a thread
    assert each + 16 <= work.registers <= 3 * each + 24


def test_registers_bound_the_blocks_that_are_resident():
    few, many = (KernelWork(1000, 256, waits=100, registers=words) for words in (20, 200))
    assert estimate(many, A100).seconds > 3 * estimate(few, A100).seconds


def test_a_recurrence_waits_for_every_step():
    """Twice the steps, twice the barriers; the weights are read again in every step."""
    kernel = lstm_recurrence(64, 2)

    def counted(steps):
        shapes = [(1, steps, 512), (2, 64, 64, 4), (1,), (1, steps, 128)]
        return count_work(kernel, shapes)[0]

    short, long = counted(10), counted(20)
    assert (short.barriers, long.barriers) == (20, 40)
    assert long.waits == pytest.approx(2 * short.waits, rel=0.1)
    assert long.requested > 20 * 2 * 64 * 64 * 4 * 4
    assert long.unique < 3 * 64 * 64 * 4 * 4
    assert estimate(long, A100).seconds > 1.8 * estimate(short, A100).seconds


def test_a_recurrence_over_blocks_waits_for_the_others_and_reads_weights_once():
    def counted(steps):
        shapes = [(1, steps, 2048), (2, 256, 256, 4), (1,), (1, steps, 512)]
        return count_work(spread_lstm_recurrence(256), shapes)

    (_, short), (_, long) = counted(10), counted(20)
    assert (short.blocks, short.threads) == (16, 512)
    assert (short.barriers, long.barriers) == (20, 40)
    assert long.waits > 1.8 * short.waits
    assert long.unique == pytest.approx(2 * 256 * 1024 * 4, rel=0.2)
    assert long.requested < 2 * long.unique


def test_copies_are_counted_as_they_are_made():
    """The weights of a convolution on tensor cores, 16 bytes at a time, each once a block.

    Besides them, a block reads 64 samples of a channel, a chunk more than there is and from places
    that share a sector with the warp beside, and writes 32, a sector in two parts.
    """
    conv = Conv1d(64, 64, 7, 1, 1, 3, 3)
    product = conv_product(conv, precision=Precision.BFLOAT16X3)
    tile = product.tiles[-1]
    (work,) = count_work(
        conv1d(conv, precision=Precision.BFLOAT16X3),
        [(1, 64, 128), product.weight_shape, (1, 64, 128)],
    )
    weights = 4 * math.prod(product.weight_shape)
    others = 4 * 64 * (1.25 * 64 * (tile.turns + 1) / tile.turns + 2 * 32)
    assert work.requested == pytest.approx(4 * (weights + others), rel=0.05)


def test_a_condition_that_always_holds_takes_all_lanes():
    def body(x, y):
        with launch([1], [64]) as ((_,), (thread,)), T.If(tirx.const(True, "bool")), T.Then():
            store(y, thread, x[thread])

    kernel = build_kernel("copy", [Parameter("x", (64,)), Parameter("y", (64,))], body)
    (work,) = count_work(kernel, [(64,), (64,)])
    assert work.requested == work.unique == 2 * 4 * 64


def test_statistics_are_sums_of_a_block():
    (work,) = count_work(row_statistics(3, 1e-5, 256), [(1, 3, 5120), (1, 3), (1, 3)])
    assert (work.blocks, work.kind) == (3, "block")
    assert work.requested >= 2 * 4 * 3 * 5120


@pytest.mark.parametrize(
    ("work", "bound_by"),
    [
        (KernelWork(blocks=1, threads=32, instructions=10, serial=10), "launch"),
        (KernelWork(1000, 256, requested=1e9, unique=1e9), "memory"),
        (KernelWork(1000, 256, instructions=1e6, serial=1e4), "instructions"),
        (KernelWork(1, 256, instructions=1e5, requested=1e8, unique=1e5), "cache"),
        (KernelWork(1, 256, waits=1e5), "latency"),
        (KernelWork(1000, 256, instructions=1e5, shared=1e6), "shared"),
        (KernelWork(1000, 256, instructions=1e5, tensor=1e9), "tensor cores"),
    ],
)
def test_an_estimate_names_what_bounds(work, bound_by):
    found = estimate(work, A100)
    assert found.bound == bound_by
    assert found.seconds == found.parts[bound_by] == max(found.parts.values())


def test_few_blocks_leave_processors_idle():
    work = KernelWork(A100.multiprocessors, 256, instructions=1e6)
    more = KernelWork(A100.multiprocessors + 1, 256, instructions=1e6)
    assert estimate(more, A100).seconds == 2 * estimate(work, A100).seconds


def test_launches_of_a_function_at_its_sizes():
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 64], "float32"))
    kernel = builder.add_func(bound(every_element), "every_element")
    with builder.function("main", [x]):
        with builder.dataflow():
            once = builder.emit(relax.call_tir(kernel, [x], relax.TensorType([n, 64], "float32")))
            twice = relax.call_tir(kernel, [once], relax.TensorType([n, 64], "float32"))
            result = builder.emit_output(builder.emit(twice))
        builder.emit_func_output(result)
    (launch,) = launches(builder.get(), {"main": [(128, 64)]})
    assert (launch.kernel, launch.function, launch.count) == ("every_element", "main", 2)
    assert launch.work.flops == 2 * 128 * 64
    with pytest.raises(InputError, match="does not follow from the inputs' sizes"):
        launches(builder.get(), {"main": []})


def test_what_cannot_be_counted_is_refused():
    body = tirx.AssertStmt(tirx.const(True), ir.StringImm("RuntimeError"), [])
    with pytest.raises(InputError, match="a kernel with AssertStmt cannot be counted"):
        count_work(tirx.PrimFunc([], body), [])
