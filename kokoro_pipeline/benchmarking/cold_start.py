"""Time from the start of a fresh process to its first sample, and the memory used."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EnvironmentFault
from .machine import ProcessMemory

_PROGRAM = f"""\
import sys
sys.path[0] = {str(Path(__file__).resolve().parents[2])!r}
from kokoro_pipeline.benchmarking.fresh_child import main
main()
"""


@dataclass(frozen=True)
class ColdStart:
    """Median results over fresh processes."""

    seconds: float
    """Time from the start of the process to the first sample."""
    outside: float
    """The part of it outside of compiled code."""
    laps: Mapping[str, float]
    """Seconds by activity, in order."""
    audio_seconds: float
    memory: ProcessMemory
    """After that one utterance."""
    values: tuple[float, ...]
    """The values of `seconds` of all runs."""


def run_fresh(
    artifact: Path, phonemes: str, voice: str, threads: int, device: str = "auto"
) -> dict[str, Any]:
    """Run a fresh process and return its answer; see `fresh_child`.

    Raises EnvironmentFault if it fails.
    """
    words = [str(time.monotonic()), str(artifact), str(threads), voice, phonemes, device]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
        raise EnvironmentFault(
            f"a fresh process that loads {artifact} and speaks ended with status "
            f"{done.returncode}: {' '.join(last) or 'no word'}"
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def summarize_fresh(answers: Sequence[Mapping[str, Any]]) -> ColdStart:
    """The medians of the answers of several fresh processes."""
    laps = [answer["laps"] for answer in answers]
    seconds = tuple(sum(lap.values()) for lap in laps)
    outside = [sum(lap.values()) - lap["compiled calls"] for lap in laps]

    def now(name: str) -> int | None:
        values = [answer["memory"][name] for answer in answers]
        return None if None in values else int(statistics.median(values))

    peak = int(statistics.median(answer["memory"]["peak"] for answer in answers))
    return ColdStart(
        seconds=statistics.median(seconds),
        outside=statistics.median(outside),
        laps={name: statistics.median(lap[name] for lap in laps) for name in laps[0]},
        audio_seconds=float(answers[0]["audio_seconds"]),
        memory=ProcessMemory(peak, now("anonymous"), now("files")),
        values=seconds,
    )
