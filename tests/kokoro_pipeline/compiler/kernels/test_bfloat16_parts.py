"""The split of float32 into bfloat16 parts: what is left over, and numbers that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import Parts, split_words, to_float32


@pytest.mark.parametrize("parts", Parts)
def test_the_parts_add_up(parts):
    rng = np.random.default_rng(1)
    exponents = rng.integers(-90, 126, 20_000)
    x = (rng.uniform(1, 2, 20_000) * np.exp2(exponents)).astype(np.float32)
    x[::2] *= -1
    values = to_float32(split_words(x, parts.count)).astype(np.float64)
    # Each part keeps 8 bits; rounding to nearest leaves half of the last.
    np.testing.assert_array_less(
        np.abs(values.sum(0) - x), np.abs(x) * 2.0 ** (-9 * parts.count + 1)
    )


def test_products_are_those_of_parts_that_matter():
    assert [(p.count, len(p.pairs)) for p in Parts] == [(1, 1), (2, 3), (3, 6)]
    for parts in Parts:
        expected = {(i, j) for i in range(3) for j in range(3) if i + j < parts.count}
        assert set(parts.pairs) == expected
        for before, after in zip(parts.pairs, parts.pairs[1:], strict=False):
            assert before[0] == after[0] or before[1] == after[1]


@pytest.mark.parametrize("parts", (Parts.TWO, Parts.THREE))
def test_what_is_not_finite_goes_to_the_last_part(parts):
    x = np.array([np.inf, -np.inf, np.nan, 0.0], np.float32)
    x = np.append(x, np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32))
    values = to_float32(split_words(x, parts.count))
    np.testing.assert_array_equal(values[:-1], 0)
    np.testing.assert_array_equal(values[-1], x)


def test_one_part_keeps_infinity_and_nan():
    x = np.array([np.inf, -np.inf, np.nan, 3.4e38], np.float32)
    x = np.append(x, np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32))
    values = to_float32(split_words(x, 1))[0]
    np.testing.assert_array_equal(values, np.where(x == x[3], np.inf, x))


@pytest.mark.parametrize("parts", (Parts.TWO, Parts.THREE))
def test_the_largest_numbers_stay_finite(parts):
    x = np.array([np.finfo(np.float32).max, 3.4e38, -3.4e38], np.float32)
    values = to_float32(split_words(x, parts.count)).astype(np.float64)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(0), x, rtol=2.0**-15)


def test_a_sum_of_products_is_float32s_where_an_input_is_not_finite():
    """Also where a weight is a bfloat16 itself, or its two parts have opposite signs."""
    weights = np.array([1.5, -1.5, 1.00390625, -0.99609375, 300.7, 3e-30], np.float32)
    for x in (np.inf, -np.inf, np.nan):
        for parts in Parts:
            a = to_float32(split_words(np.array([x, 1.0], np.float32), parts.count))
            for weight in weights:
                b = to_float32(split_words(np.array([weight, 2.0], np.float32), parts.count))
                with np.errstate(invalid="ignore"):
                    total = sum(np.float32((a[i] * b[j]).sum()) for i, j in parts.pairs)
                    np.testing.assert_array_equal(total, np.float32(x) * weight + 2)
