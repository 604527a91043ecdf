"""An emulated module releases its resources: a process is limited to 65530 mappings."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

MAPS = Path("/proc/self/maps")
STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not MAPS.exists(), reason="reads Linux's /proc")


def mappings() -> int:
    gc.collect()
    return len(MAPS.read_text().splitlines())


def address_space_gib() -> float:
    gc.collect()
    line = next(each for each in STATUS.read_text().splitlines() if each.startswith("VmSize"))
    return int(line.split()[1]) / 2**20


@pytest.mark.slow
@pytest.mark.parametrize("check", [False, True])
def test_stacks_and_the_checkers_memory_go_with_the_executable(run, samples, check):
    def use() -> tuple[int, float]:
        executable = run(samples.matmul, check=check)  # 256 threads
        a = np.ones((16, 16), "float32")
        for _ in range(2):
            c = np.zeros((16, 16), "float32")
            executable["matmul"](a, a, c)
            np.testing.assert_array_equal(c, 16)
        return mappings(), address_space_gib()

    use()  # what the first use loads stays
    before, space = mappings(), address_space_gib()
    used, used_space = use()
    assert used - before > 2 * 256 - 2
    assert not check or used_space - space > 100
    assert mappings() - before < 20  # the library itself stays
    assert address_space_gib() - space < 1


def test_a_released_library_can_be_launched_again(run, samples):
    executable = run(samples.matmul, check=True)
    a = np.ones((16, 16), "float32")
    for _ in range(2):
        c = np.zeros((16, 16), "float32")
        executable["matmul"](a, a, c)
        np.testing.assert_array_equal(c, 16)
        assert executable.reports == []
        executable._native.emulator_release()
