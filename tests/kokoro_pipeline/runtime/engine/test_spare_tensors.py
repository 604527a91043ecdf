"""Device memory that is kept between calls is never shared, and its amount is limited."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.runtime.engine.spare_tensors import SpareTensors


@pytest.fixture
def spare():
    return SpareTensors(lambda shape, dtype: np.empty(shape, dtype), limit=3)


def test_a_tensor_comes_back_for_its_shape_and_dtype_only(spare):
    given = spare.take((2, 3), "float32")
    spare.give([given])
    for shape, dtype in (((3, 2), "float32"), ((2, 3), "int64"), ((6,), "float32")):
        assert spare.take(shape, dtype) is not given
    assert spare.take((2, 3), "float32") is given


def test_nobody_shares_a_tensor(spare):
    first = spare.take((4,), "int64")
    spare.give([first])
    assert spare.take((4,), "int64") is first
    assert spare.take((4,), "int64") is not first


def test_the_shape_longest_unused_makes_room(spare):
    old = spare.take((1,), "float32")
    others = [spare.take((size,), "float32") for size in (2, 3, 4)]
    spare.give([old, *others])
    assert len(spare) == 3
    assert spare.take((1,), "float32") is not old
    assert all(spare.take(each.shape, "float32") is each for each in others)


def test_memory_is_given_up_when_asked_for(spare):
    given = spare.take((2,), "float32")
    spare.give([given])
    spare.clear()
    assert len(spare) == 0
    assert spare.take((2,), "float32") is not given


def test_a_limit_of_none_keeps_none():
    spare = SpareTensors(lambda shape, dtype: np.empty(shape, dtype), limit=0)
    given = spare.take((2,), "float32")
    spare.give([given])
    assert len(spare) == 0
    assert spare.take((2,), "float32") is not given
