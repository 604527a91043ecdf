"""The arithmetic of a benchmark: medians, ratios per round, turns, and lengths."""

from __future__ import annotations

import pytest

from benchmarks.peers.comparison import median_ratio
from kokoro_pipeline.benchmarking.lengths import phonemes_lasting
from kokoro_pipeline.benchmarking.samples import interleave, summarize
from kokoro_pipeline.errors import InputError


def test_a_summary_keeps_every_value():
    found = summarize([3.0, 1.0, 2.0])
    assert (found.median, found.best, found.worst) == (2.0, 1.0, 3.0)
    assert found.values == (3.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio"),
    [
        ([1.0, 1.0, 1.0], [4.0, 4.0, 4.0], 0.25),
        # The machine was twice as slow in the second round, for both: the ratio does not move.
        ([1.0, 2.0, 1.0], [4.0, 8.0, 4.0], 0.25),
        # A ratio of medians would say 2/3 here.
        ([1.0, 2.0, 3.0], [4.0, 2.0, 3.0], 1.0),
    ],
)
def test_a_ratio_compares_each_round_with_itself(ours, theirs, ratio):
    assert median_ratio(ours, theirs) == ratio


def test_a_ratio_refuses_rounds_without_a_partner():
    with pytest.raises(ValueError, match="shorter"):
        median_ratio([1.0, 2.0], [1.0])


def test_contenders_take_turns_and_nobody_is_always_first():
    calls = []
    names = ("a", "b", "c")
    results = interleave(
        {name: lambda name=name: calls.append(name) or len(calls) for name in names}, 3, warm_up=1
    )
    assert "".join(calls) == "abcbcacababc"
    # The warm-up's three calls are made and not kept.
    assert sorted(value for values in results.values() for value in values) == list(range(4, 13))
    assert results["a"] == [6, 8, 10]


def test_without_a_warm_up_every_round_counts():
    assert interleave({"a": lambda: 1}, 2, warm_up=0) == {"a": [1, 1]}


@pytest.mark.parametrize("seconds", [0.01, 0.4, 1.0, 4.0, 10.0, 60.0, 600.0])
def test_phonemes_last_as_long_as_wanted(seconds):
    found = phonemes_lasting(seconds, lambda phonemes: 0.09 * len(phonemes))
    assert abs(0.09 * len(found) - seconds) <= max(0.045, 0.09 - seconds) + 1e-9


def test_few_predictions_find_a_length():
    asked = []
    phonemes_lasting(40.0, lambda phonemes: asked.append(phonemes) or 0.09 * len(phonemes))
    assert len(asked) == len(set(asked)) <= 20


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 601.0])
def test_lengths_that_nothing_has_are_refused(seconds):
    with pytest.raises(InputError, match="lengths are above 0"):
        phonemes_lasting(seconds, lambda phonemes: 1.0)
