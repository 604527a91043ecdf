"""The verdict of the report, and its representations."""

from __future__ import annotations

import json
import math

import pytest

from kokoro_pipeline.validation.gates import LONG_LIST, Measurement
from kokoro_pipeline.validation.validation_report import (
    CaseResult,
    ValidationReport,
    WholeAudio,
    judge_whole,
)

CASE = CaseResult("p002", "mI", "af_heart", 1.0, 4, 12, 0.3, 0.01, 0.03, "cached", 0.1, 0.2)
NAN = float("nan")


def measured(
    error: float, passed: bool, case: str = "p002", quantity: str = "F0", note: str = ""
) -> Measurement:
    return Measurement(
        case, "f0n_forward", quantity, error, 1e-4, error / 20, 1e-5, 1.0, passed, note
    )


def report(*measurements: Measurement, whole: WholeAudio | None = None) -> ValidationReport:
    return ValidationReport(
        artifact="kokoro",
        weights={"source": "synthetic", "sha256": "0" * 64},
        opt_level=1,
        versions={"torch": "2.13.0"},
        cases=(CASE,),
        measurements=measurements,
        whole=whole,
    )


GOOD, BAD = measured(1e-6, True), measured(3e-4, False, "p005")


@pytest.mark.parametrize(
    ("ours", "float32", "seconds", "passes"),
    [
        (0.5, 1.0, 60.0, True),
        (0.51, 1.0, 60.0, False),
        (0.51, 1.0, LONG_LIST, False),
        (0.9, 1.0, LONG_LIST - 1, True),
        (1.1, 1.0, LONG_LIST - 1, False),
        (NAN, 1.0, 60.0, False),
        (NAN, 1.0, 1.0, False),
        (0.1, 0.0, 60.0, False),
    ],
)
def test_the_whole_audio_is_held_to_half_of_float32s_distance_on_a_long_list(
    ours: float, float32: float, seconds: float, passes: bool
) -> None:
    samples = seconds * 24_000
    squares = [ours**2 * samples / 2] * 2, [float32**2 * samples / 2] * 2
    whole = judge_whole(*squares, seconds)
    assert whole.passed is passes
    assert whole.rms_float32 == pytest.approx(float32)
    assert report(GOOD, whole=whole).passed is passes


def test_one_miss_fails_the_report_and_nothing_compared_does_too() -> None:
    assert report(GOOD).passed
    assert not report(GOOD, BAD).passed
    assert report(GOOD, BAD).failures == (BAD,)
    assert not report().passed


def test_a_failed_case_is_the_worst_of_its_quantity() -> None:
    unusable = measured(NAN, False, "p013", note="float64 [1, 2], expected float32 [1, 2]")
    near = measured(9e-5, True, "p008")
    assert report(near, GOOD).worst() == (near,)
    assert report(near, BAD, GOOD).worst() == (BAD,)
    assert report(BAD, unusable, near).worst() == (unusable,)
    other = measured(1e-9, True, quantity="N")
    assert report(GOOD, other).worst() == (GOOD, other)


def test_json_and_summary_hold_no_number_that_json_does_not_know() -> None:
    whole = judge_whole([math.nan], [1.0], 60.0)
    broken = report(measured(NAN, False), BAD, whole=whole)
    for form in (broken.to_json(), broken.summary()):
        assert json.loads(json.dumps(form, allow_nan=False)) == form
        assert form["passed"] is False
    assert broken.to_json()["measurements"][0]["max_error"] is None
    assert broken.to_json()["cases"][0]["phonemes"] == "mI"
    assert broken.summary()["steps"]["f0n_forward"]["F0"]["passed"] is False
    assert broken.summary()["whole_audio"]["ratio"] is None


def test_the_table_names_what_failed_and_the_verdict() -> None:
    whole = judge_whole([0.09 * 24_000], [24_000.0], 1.0)
    text = str(report(GOOD, BAD, whole=whole))
    assert "f0n_forward" in text and "p005" in text and "FAILED: 1 tolerances missed" in text
    assert "ratio 0.30 (limit 1.0): ok" in text
    assert str(report(GOOD)).endswith("1 cases, 0.3 s of audio, 1 measurements: passed")
    tie = measured(0.0, True, quantity="durations", note="token 3: 2 for 3, a tie (2.500000)")
    assert "p002 f0n_forward durations: token 3: 2 for 3, a tie" in str(report(tie))
    assert "seen" not in str(report(measured(1e-6, True, note="seen")))
    assert "seen" in str(report(measured(1e-6, False, note="seen")))
