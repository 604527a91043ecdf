"""cp.async on the CPU: a copy happens when its thread waits for its group, and is checked."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script.builder import ir as T  # noqa: N812

from tvm_gpu_emulator import EmulationFault, UnsupportedKernel, emulate

THREADS, WORDS = 64, 4
WAIT = re.compile(r"^  tvm_builtin_ptx_cp_async_wait_group\w*\(\);", re.M)


def copying_kernel(groups=0, shift=0, meets=True):
    """(x [2, 256], y [2, 256]): thread t copies two groups of 16 bytes, and waits for all but
    `groups`; y gets what thread 63 - t copied."""

    def buffer(name):
        return T.match_buffer(T.arg(name, T.handle()), (2, THREADS * WORDS), "uint32")

    with IRBuilder() as builder, T.prim_func():
        T.func_name("copying")
        T.func_attr({"global_symbol": "copying"})
        x, y = buffer("x"), buffer("y")
        with T.launch_thread("blockIdx.x", 1), T.launch_thread("threadIdx.x", THREADS) as thread:
            place = T.alloc_buffer((2, THREADS * WORDS), "uint32", scope="shared")
            for half in range(2):
                to = tirx.address_of(place[half, thread * WORDS + shift])
                source = tirx.address_of(x[half, thread * WORDS])
                T.evaluate(T.ptx["cp.async.cg.shared.global"](to, source, 16))
                T.evaluate(T.ptx["cp.async.commit_group"]())
            T.evaluate(T.ptx["cp.async.wait_group"](groups))
            if meets:
                T.evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))
            for half in range(2):
                with T.serial(0, WORDS) as word:
                    at = (THREADS - 1 - thread) * WORDS + word
                    T.buffer_store(y, place[half, at], [half, thread * WORDS + word])
    return builder.get()


def run(kernel, cache, **options):
    device = tvm.target.Target({"kind": "cuda", "arch": "sm_90"}, host="llvm")
    executable = emulate(kernel, device, cache=cache, **options)
    x = np.arange(2 * THREADS * WORDS, dtype=np.uint32).reshape(2, -1)
    y = np.zeros_like(x)
    executable["copying"](x, y)
    expected = x.reshape(2, THREADS, WORDS)[:, ::-1].reshape(x.shape)
    return y, expected


@pytest.mark.parametrize("check", [False, True])
def test_what_is_waited_for_is_there(cache, check):
    found, expected = run(copying_kernel(), cache, check=check)
    np.testing.assert_array_equal(found, expected)


def test_a_group_that_is_not_waited_for_is_not_there(cache):
    found, expected = run(copying_kernel(groups=1), cache)
    np.testing.assert_array_equal(found[0], expected[0])
    assert (found[1] == 0xFFFFFFFF).all()  # NaN, as float32


def test_a_wait_that_is_missing_shows(cache):
    found, _ = run(copying_kernel(), cache, edit_source=lambda text: WAIT.sub("", text))
    assert (found == 0xFFFFFFFF).all()


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        ({"meets": False}, "race|no barrier"),
        ({"shift": 2}, "misaligned|no multiple"),
        ({"shift": 4}, "outside of"),
    ],
    ids=["no barrier", "half of 16 bytes", "beyond the array"],
)
def test_faults_of_copies_are_found(cache, kernel, named):
    with pytest.raises(EmulationFault, match=named):
        run(copying_kernel(**kernel), cache, check=True)


def test_other_copies_are_refused(cache):
    def edit(text):
        return text.replace("cp.async.cg.shared.global [", "cp.async.cg.shared.global.L2::128B [")

    with pytest.raises(UnsupportedKernel, match=r"line \d+ of the generated.*PTX"):
        run(copying_kernel(), cache, edit_source=edit)
