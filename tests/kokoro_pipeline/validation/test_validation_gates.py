"""The tolerances reject values just over the limit, NaN, and wrong shapes."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import PRECISIONS
from kokoro_pipeline.validation.gates import (
    DECODER_SNR,
    is_reduced,
    judge_durations,
    judge_network,
    judge_signal,
    round_lengths,
)

REFERENCE = np.linspace(-2.0, 1.0, 1000)[None]
"""float64, peak 2: limits are 2e-4 at most and 2e-5 rms."""


def spoiled(error: float, count: int) -> np.ndarray:
    ours = REFERENCE.copy()
    ours[0, :count] += error
    return ours.astype(np.float32)


@pytest.mark.parametrize(
    ("ours", "passes"),
    [
        (spoiled(0.0, 1), True),
        (spoiled(1.9e-4, 1), True),
        (spoiled(2.1e-4, 1), False),
        (spoiled(1.9e-5, 1000), True),
        (spoiled(2.1e-5, 1000), False),  # the rms alone
        (spoiled(float("nan"), 1), False),
        (spoiled(float("inf"), 1), False),
        (spoiled(0.0, 1)[:, :-1], False),
        (spoiled(0.0, 1).T, False),
        (REFERENCE, False),  # float64: no output of a compiled function
    ],
)
def test_a_networks_limits_are_shares_of_the_peak(ours: np.ndarray, passes: bool) -> None:
    judged = judge_network("case", "step", "quantity", ours, REFERENCE)
    assert judged.passed is passes
    assert (judged.strain <= 1) is passes
    assert judged.usable == (
        ours.dtype == np.float32 and ours.shape == REFERENCE.shape and bool(np.isfinite(ours).all())
    )


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_rounds_no_operand_is_held_to_the_tolerances_of_float32(precision: str) -> None:
    assert is_reduced(precision) is not precision.startswith("float32")


@pytest.mark.parametrize("precision", DECODER_SNR)
def test_reduced_precision_is_held_to_its_signal_to_noise_ratio(precision: str) -> None:
    signal = np.sqrt(np.mean(REFERENCE**2))
    for beyond, passes in ((0.5, True), (-0.5, False)):
        noise = signal * 10 ** (-(DECODER_SNR[precision] + beyond) / 20)
        judged = judge_signal("c", "s", "audio", spoiled(noise, 1000), REFERENCE, precision)
        assert judged.passed is passes
        assert judged.note == f"{DECODER_SNR[precision] + beyond:.1f} dB of signal to noise"
    for wrong in (spoiled(float("nan"), 1), spoiled(0.0, 1).T, spoiled(2.1, 1)):
        assert not judge_signal("c", "s", "audio", wrong, REFERENCE, precision).passed


@pytest.mark.parametrize(
    ("ours", "passes", "said"),
    [
        ([3, 4, 1, 2], True, ""),
        ([3, 5, 1, 2], True, "token 1: 5 for 4, a tie"),
        ([3, 6, 1, 2], False, "token 1: 6 for 4"),
        ([4, 4, 1, 2], False, "token 0: 4 for 3"),
        ([3, 4, 1, 3], True, "token 3: 3 for 2, a tie"),
        ([3, 4, 0, 2], False, "token 2: 0 for 1"),
        ([3, 4, 1], False, "shape"),
    ],
)
def test_durations_may_differ_by_one_at_ties_only(ours: list[int], passes: bool, said: str) -> None:
    lengths = np.array([3.3, 4.49995, 0.2, 2.5])
    judged = judge_durations("case", "step", np.array(ours), lengths)
    assert judged.passed is passes
    assert said in judged.note and bool(judged.note) == bool(said)


def test_lengths_round_halves_to_even_and_to_one_at_least() -> None:
    assert round_lengths(np.array([0.0, 0.5, 1.5, 2.5, 3.5, 3.51])).tolist() == [1, 1, 2, 2, 4, 4]
