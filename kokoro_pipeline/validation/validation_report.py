"""The result of a validation: figures with their limits, the verdict, and ways to present them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..config import SAMPLE_RATE
from .gates import LONG_LIST, SHORT_WHOLE_RATIO, WHOLE_RATIO, Measurement

WHOLE_STEP = "whole audio"
_NOTED = ("durations", "audio")
"""Quantities whose notes are shown even if they pass."""


@dataclass(frozen=True)
class CaseResult:
    """A case, and the distance of its whole audio to that of float64.

    Distances are root mean squares over the samples of the case; `rms_ours` is None if the artifact
    lacks a function. `reference` is the origin of PyTorch's results: "computed", "cached" or
    "carried". Times are in seconds.
    """

    name: str
    phonemes: str
    voice: str
    speed: float
    tokens: int
    frames: int
    seconds: float
    rms_ours: float | None
    rms_float32: float
    reference: str
    reference_time: float
    compiled_time: float


@dataclass(frozen=True)
class WholeAudio:
    """The whole audio over the whole list, with the durations of the reference.

    Distances are root mean squares of the differences to float64 over the samples of all cases.
    `ratio` is our distance divided by that of float32, and is limited by `limit`. If our audio is
    unusable, `rms_ours` is NaN, which fails.
    """

    seconds: float
    rms_ours: float
    rms_float32: float
    limit: float

    @property
    def ratio(self) -> float:
        """Our distance relative to that of float32."""
        return self.rms_ours / self.rms_float32 if self.rms_float32 > 0 else math.inf

    @property
    def passed(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.ratio <= self.limit


@dataclass(frozen=True)
class ValidationReport:
    """All figures of a validation. `str()` gives the table.

    `artifact` names what was validated, `weights` the source and sha256 of the reference weights,
    `versions` are those of the packages that computed the reference, `skipped` are the functions
    that the artifact lacks, and `notes` is further information.
    """

    artifact: str
    weights: dict[str, Any]
    opt_level: int
    versions: dict[str, str]
    cases: tuple[CaseResult, ...]
    measurements: tuple[Measurement, ...]
    whole: WholeAudio | None
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Measurement, ...]:
        """The measurements that miss a tolerance."""
        return tuple(measured for measured in self.measurements if not measured.passed)

    @property
    def passed(self) -> bool:
        """Whether something was compared and all tolerances are met."""
        whole = self.whole is None or self.whole.passed
        return bool(self.measurements) and not self.failures and whole

    @property
    def seconds(self) -> float:
        """Total length of the audio of all cases in seconds."""
        return sum(case.seconds for case in self.cases)

    def worst(self) -> tuple[Measurement, ...]:
        """For every quantity of every step, the measurement that is worst relative to its limit."""
        worst: dict[tuple[str, str], Measurement] = {}
        for measured in self.measurements:
            key = measured.step, measured.quantity
            if key not in worst or _severity(measured) > _severity(worst[key]):
                worst[key] = measured
        return tuple(worst.values())

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values; figures that are not finite become null."""
        whole = None
        if self.whole is not None:
            whole = {**asdict(self.whole), "ratio": self.whole.ratio, "passed": self.whole.passed}
        return _finite(
            {
                "passed": self.passed,
                "artifact": self.artifact,
                "weights": self.weights,
                "opt_level": self.opt_level,
                "versions": self.versions,
                "audio_seconds": self.seconds,
                "whole_audio": whole,
                "cases": [asdict(case) for case in self.cases],
                "measurements": [asdict(measured) for measured in self.measurements],
                "skipped": list(self.skipped),
                "notes": list(self.notes),
            }
        )

    def summary(self) -> dict[str, Any]:
        """The figures for a manifest: the verdict, and the worst case of every quantity."""
        whole = None
        if self.whole is not None:
            whole = {
                "rms_ours": self.whole.rms_ours,
                "rms_float32": self.whole.rms_float32,
                "ratio": self.whole.ratio,
                "limit": self.whole.limit,
                "passed": self.whole.passed,
            }
        steps: dict[str, dict[str, Any]] = {}
        for measured in self.worst():
            steps.setdefault(measured.step, {})[measured.quantity] = {
                "case": measured.case,
                "max_error": measured.max_error,
                "max_limit": measured.max_limit,
                "rms_error": measured.rms_error,
                "rms_limit": measured.rms_limit,
                "passed": measured.passed,
            }
        return _finite(
            {
                "passed": self.passed,
                "cases": len(self.cases),
                "audio_seconds": self.seconds,
                "reference": self.versions,
                "steps": steps,
                "whole_audio": whole,
                "skipped": list(self.skipped),
            }
        )

    def table(self) -> str:
        """A compact text: a line per quantity with its worst case, the whole audio, the verdict."""
        head = ("step", "quantity", "max error", "limit", "rms", "limit", "worst case", "")
        rows = [head, *(_row(measured) for measured in self.worst())]
        lines = [*_columns(rows), ""]
        if self.whole is not None:
            lines.append(_whole_line(self.whole))
        lines += [
            f"{measured.case} {measured.step} {measured.quantity}: {measured.note}"
            for measured in self.measurements
            if measured.note and (not measured.passed or measured.quantity in _NOTED)
        ]
        lines += [f"not in this artifact: {name}" for name in self.skipped]
        lines += self.notes
        missed = len(self.failures) + (self.whole is not None and not self.whole.passed)
        verdict = "passed" if self.passed else f"FAILED: {missed} tolerances missed"
        lines.append(
            f"{len(self.cases)} cases, {self.seconds:.1f} s of audio, "
            f"{len(self.measurements)} measurements: {verdict}"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def judge_whole(ours: Iterable[float], float32: Iterable[float], seconds: float) -> WholeAudio:
    """Combine the summed squared distances of the cases to float64, over `seconds` of audio."""
    samples = round(seconds * SAMPLE_RATE)
    return WholeAudio(
        seconds=seconds,
        rms_ours=math.sqrt(sum(ours) / samples),
        rms_float32=math.sqrt(sum(float32) / samples),
        limit=WHOLE_RATIO if seconds >= LONG_LIST else SHORT_WHOLE_RATIO,
    )


def _severity(measured: Measurement) -> tuple[bool, float]:
    return not measured.passed, measured.strain


def _row(measured: Measurement) -> tuple[str, ...]:
    judged_rms = measured.rms_error is not None and measured.rms_limit is not None
    return (
        measured.step,
        measured.quantity,
        f"{measured.max_error:.2g}",
        f"{measured.max_limit:.2g}",
        f"{measured.rms_error:.2g}" if judged_rms else "",
        f"{measured.rms_limit:.2g}" if judged_rms else "",
        measured.case,
        "ok" if measured.passed else "FAILED",
    )


def _whole_line(whole: WholeAudio) -> str:
    verdict = "ok" if whole.passed else "FAILED"
    return (
        f"{WHOLE_STEP}, rms distance to float64 over {whole.seconds:.1f} s: "
        f"ours {whole.rms_ours:.2g}, PyTorch float32 {whole.rms_float32:.2g}, "
        f"ratio {whole.ratio:.2f} (limit {whole.limit}): {verdict}"
    )


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return [line.rstrip() for line in padded]


def _finite(value: Any) -> Any:
    """Replace every float that JSON cannot represent by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
