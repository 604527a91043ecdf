"""Standard normals on every instruction set against their definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.normals import standard_normals
from kokoro_pipeline.normals import standard_normals as exact

KEYS = ([0, 0], [0xFFFFFFFF, 0xFFFFFFFF], [3757552657, 2018376492])
ROWS = ((600, 9), (7, 3))


@pytest.fixture(scope="module")
def compiled(kernel_target):
    kernels = {row: standard_normals(kernel_target.vectors, row) for row in ROWS}
    library = kernel_target.compile(list(kernels.values()))
    return {row: library[str(f.attrs["global_symbol"])] for row, f in kernels.items()}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("row", ROWS)
def test_values_are_those_of_the_definition(row, key, compiled, call_kernel):
    key = np.array(key, np.int64)
    for frames in (1, 2, 3, 9):  # groups and vectors that are cut, and that are not
        shape = (1, frames * row[0], row[1])
        (values,) = call_kernel(compiled[row], [np.zeros(frames, np.int64), key], shape)
        expected = exact(key, 0, values.size).reshape(shape)
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-6)


def test_a_value_does_not_depend_on_how_many_are_drawn(compiled, call_kernel):
    """Neither on the task that draws it, of which there are many here."""
    key = np.array(KEYS[2], np.int64)
    few, many = (
        call_kernel(compiled[600, 9], [np.zeros(n, np.int64), key], (1, 600 * n, 9))[0]
        for n in (2, 40)
    )
    np.testing.assert_array_equal(many[:, :1200], few)
    assert 4 < np.abs(many).max() < 6.4


def test_the_frames_are_not_read(compiled, call_kernel):
    key = np.array(KEYS[0], np.int64)
    zeros, others = (
        call_kernel(compiled[7, 3], [frames, key], (1, 35, 3))[0]
        for frames in (np.zeros(5, np.int64), np.arange(5) - 2**60)
    )
    np.testing.assert_array_equal(zeros, others)
