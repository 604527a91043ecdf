"""Blocks that wait for each other: relaxed loads and stores, side by side, and deadlocks."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script.builder import ir as T  # noqa: N812

from tvm_gpu_emulator import EmulationFault, emulate

BLOCKS, THREADS = 5, 40
NOTHING = 0xFFFFFFFF
LOAD, STORE = "ld.relaxed.gpu.global.u32", "st.relaxed.gpu.global.u32"


def chain(of_next=True, beyond=0, blocks=BLOCKS, barriers=1):
    """(y [blocks + 1, 40]): row b + 1 is row b plus the block's sum of it; row 0 is given.

    A block waits for row b, which the block before stores (or, without `of_next`, for its own).
    """
    with IRBuilder() as builder, T.prim_func():
        T.func_name("chain")
        T.func_attr({"global_symbol": "chain"})
        y = T.match_buffer(T.arg("y", T.handle()), (blocks + 1, THREADS), "uint32")
        with (
            T.launch_thread("blockIdx.x", blocks) as index,
            T.launch_thread("threadIdx.x", THREADS) as thread,
        ):
            block = blocks - 1 - index  # the first block of the grid has to wait for all others
            row = T.alloc_buffer((THREADS,), "uint32", scope="shared")
            word = T.alloc_buffer((1,), "uint32", scope="local")
            T.buffer_store(word, tirx.const(NOTHING, "uint32"), [0])
            source = tirx.address_of(y[block + (0 if of_next else 1), thread])
            with T.While(word[0] == tirx.const(NOTHING, "uint32")):
                T.evaluate(T.ptx[LOAD](word[0], source))
            T.buffer_store(row, word[0], [thread])
            with T.serial(0, barriers):
                T.evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))
            with T.serial(0, THREADS) as other:
                T.buffer_store(word, word[0] + row[other], [0])
            to = tirx.address_of(y[block + 1 + beyond, thread])
            T.evaluate(T.ptx[STORE](to, word[0]))
    return builder.get()


def run(kernel, cache, blocks=BLOCKS, **options):
    device = tvm.target.Target({"kind": "cuda", "arch": "sm_90"}, host="llvm")
    executable = emulate(kernel, device, cache=cache, **options)
    y = np.full((blocks + 1, THREADS), NOTHING, np.uint32)
    y[0] = np.arange(THREADS)
    executable["chain"](y)
    return y


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", [0, 7])
def test_blocks_hand_values_on(cache, check, seed):
    expected = [np.arange(THREADS, dtype=np.uint32)]
    for _ in range(BLOCKS):
        expected.append(expected[-1] + expected[-1].sum(dtype=np.uint32))
    found = run(chain(), cache, check=check, seed=seed)
    np.testing.assert_array_equal(found, np.array(expected))


@pytest.mark.parametrize("check", [False, True])
def test_a_deadlock_is_reported(cache, check):
    with pytest.raises(EmulationFault, match=r"deadlock.*thread.*waits for a value"):
        run(chain(of_next=False), cache, check=check)


def test_a_store_outside_of_the_buffer_is_found(cache):
    with pytest.raises(EmulationFault, match="outside of"):
        run(chain(beyond=1), cache, check=True)


def test_many_blocks_are_checked_and_too_many_are_refused(cache):
    found = run(chain(blocks=200), cache, blocks=200, check=True)
    assert (found[1:] != NOTHING).any(axis=1).all()
    with pytest.raises(RuntimeError, match="room for 1024 .* 1100 blocks"):
        run(chain(blocks=1100), cache, blocks=1100, check=True)


def test_more_barriers_than_the_checker_tells_apart_are_refused(cache):
    with pytest.raises(EmulationFault, match="barrier 65536 of a block that runs beside others"):
        run(chain(blocks=2, barriers=70000), cache, blocks=2, check=True)
    assert (run(chain(blocks=2, barriers=70000), cache, blocks=2)[2] != NOTHING).all()
