"""What noise is: the words of Philox, the order of values, and their distribution."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.normals import GROUP, VALUES, WORDS, philox, standard_normals

KEY = np.array([0xA4093822, 0x299F31D0], np.int64)


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        # The known answers of the authors' library have counters in all four words; of those with
        # zeros in the upper three there is one. The other was computed by the paper's definition.
        ((0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, None),
    ],
)
def test_the_words_are_those_of_philox(key, counter, words):
    found = philox(np.array(key, np.int64), np.array([counter], np.uint64))[0]
    assert found.tolist() == list(words or by_definition(key, (counter, 0, 0, 0)))


def by_definition(key, counter):
    """Philox4x32-10 in Python's own integers."""
    mask = 0xFFFFFFFF
    for n in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        keys = [(k + n * w) & mask for k, w in zip(key, (0x9E3779B9, 0xBB67AE85), strict=True)]
        counter = (
            (second >> 32) ^ counter[1] ^ keys[0],
            second & mask,
            (first >> 32) ^ counter[3] ^ keys[1],
            first & mask,
        )
    return counter


def test_a_part_is_the_part_of_the_whole():
    whole = standard_normals(KEY, 0, 500)
    assert whole.dtype == np.float64
    for start, stop in ((0, 1), (63, 65), (64, 128), (100, 499), (7, 7)):
        np.testing.assert_array_equal(standard_normals(KEY, start, stop), whole[start:stop])


def test_words_of_a_group_stand_in_the_order_of_their_number():
    words = philox(KEY, np.arange(GROUP, 2 * GROUP, dtype=np.uint64))
    values = standard_normals(KEY, VALUES, 2 * VALUES).reshape(WORDS, GROUP)
    signs = (words >> np.uint64(31)).astype(bool).T
    np.testing.assert_array_equal(values < 0, signs)


def test_values_are_standard_normals():
    values = standard_normals(KEY, 0, 200_000)
    assert abs(values.mean()) < 0.01
    assert abs(values.std() - 1) < 0.01
    assert abs((values**3).mean()) < 0.03
    assert abs((values**4).mean() - 3) < 0.1
    for limit, share in ((1, 0.3173), (2, 0.0455), (3, 0.0027)):
        assert abs((np.abs(values) > limit).mean() - share) < 0.002
    # Neighbours, words of one counter, and other keys have nothing to do with each other.
    others = standard_normals(KEY + 1, 0, 200_000)
    for other in (np.roll(values, 1), np.roll(values, GROUP), np.roll(values, VALUES), others):
        assert abs((values * other).mean()) < 0.01
