"""The built-in list: what it covers and that it stays affordable."""

from __future__ import annotations

import pytest

from kokoro_pipeline.config import MAX_PHONEMES, default_config
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.validation import Case, full_cases, select_cases, short_cases
from kokoro_pipeline.validation.cases import NAIVE_FRAMES, VOICES, resolve_voices

FRAMES_A_TOKEN = 5.0
"""More than the synthetic weights' 4 and the real ones' 3."""


def seconds(cases: tuple[Case, ...]) -> float:
    return sum(case.tokens / case.speed for case in cases) * FRAMES_A_TOKEN / 40


def test_the_list_spans_every_length_and_symbol() -> None:
    cases = full_cases()
    lengths = [len(case.phonemes) for case in cases]
    assert len(cases) >= 20
    assert lengths == sorted(lengths) and len(set(lengths)) == len(lengths)
    assert lengths[0] == 1 and lengths[-1] == MAX_PHONEMES
    assert {symbol for case in cases for symbol in case.phonemes} == set(default_config().vocab)
    assert [case.voice for case in cases] == [VOICES[i % 2] for i in range(len(cases))]
    assert {case.speed for case in cases} == {0.8, 1.0, 1.3}
    assert all(case.max_frames is None for case in cases)
    assert len({case.name for case in cases}) == len(cases)


def test_the_lists_stay_within_their_budgets_of_audio() -> None:
    assert seconds(full_cases()) <= 120
    assert seconds(short_cases()) <= 7
    assert set(short_cases()) < set(full_cases())


@pytest.mark.parametrize("selection", ["full", "short"])
def test_opt_level_0_gets_short_cases_cut_to_16_frames(selection: str) -> None:
    naive = select_cases(0, selection)  # type: ignore[arg-type]
    assert naive and all(case.max_frames == NAIVE_FRAMES == 16 for case in naive)
    assert max(len(case.phonemes) for case in naive) <= 24
    assert select_cases(1, "full") == full_cases()
    assert select_cases(2, "short") == short_cases()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"phonemes": ""}, "0 phonemes"),
        ({"phonemes": "a" * 511}, "511 phonemes"),
        ({"phonemes": "a€"}, "€"),
        ({"phonemes": "a", "speed": 0.0}, "speed 0.0"),
        ({"phonemes": "a", "speed": float("nan")}, "speed nan"),
        ({"phonemes": "a", "max_frames": 0}, "0 frames"),
    ],
)
def test_impossible_cases_are_refused(arguments: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Case(**arguments)


def test_the_digest_and_the_name_tell_cases_apart() -> None:
    cases = [
        Case("ab"),
        Case("ba"),
        Case("ab", "af_bella"),
        Case("ab", speed=0.8),
        Case("ab", max_frames=16),
    ]
    assert len({case.digest for case in cases}) == len(cases)
    assert Case("ab").digest == Case("ab").digest
    assert Case("ab", "af_bella", 0.8, 16).name == "p002-af_bella-x0.80-t16"


def test_a_missing_voice_is_replaced_by_one_that_exists() -> None:
    cases = full_cases()
    assert resolve_voices(cases, ["zf_xiaoni", *VOICES]) == cases
    others = resolve_voices(cases, ["zm_yunxi", "zf_xiaoni"])
    assert [case.voice for case in others[:3]] == ["zf_xiaoni", "zm_yunxi", "zf_xiaoni"]
    assert [case.phonemes for case in others] == [case.phonemes for case in cases]
    with pytest.raises(InputError, match="no voices"):
        resolve_voices(cases, [])
