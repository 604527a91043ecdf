"""Interleaved repeats and their statistics: medians, spreads, and ratios per round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """One repeat. Times are in seconds."""

    seconds: float
    """Wall-clock time."""
    cpu_seconds: float
    """CPU time of all threads of the process."""
    steps: Mapping[str, float]
    """Time of each step; the rest of `seconds` is spent between them."""


@dataclass(frozen=True)
class Summary:
    """Statistics of the repeats of one quantity, in the same unit."""

    median: float
    best: float
    worst: float
    values: tuple[float, ...]


def summarize(values: Sequence[float]) -> Summary:
    """Summarize values. Raises statistics.StatisticsError if there are none."""
    return Summary(statistics.median(values), min(values), max(values), tuple(values))


def interleave(
    calls: Mapping[str, Callable[[], T]], rounds: int, *, warm_up: int = 1, pause: float = 0.0
) -> dict[str, list[T]]:
    """Call each function once per round, in an order that is rotated every round.

    Returns the results by name, without those of the first `warm_up` rounds. A `pause` in seconds
    before each call lets idle threads of the previous call stop spinning.
    """
    results: dict[str, list[T]] = {name: [] for name in calls}
    names = list(calls)
    for number in range(warm_up + rounds):
        start = number % len(names) if names else 0
        for name in (*names[start:], *names[:start]):
            time.sleep(pause)
            value = calls[name]()
            if number >= warm_up:
                results[name].append(value)
    return results
