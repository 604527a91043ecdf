"""Interleaved repeats, and what is said of them: medians, spreads, ratios round by round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """One repeat. Times in seconds."""

    seconds: float
    """By the clock."""
    cpu_seconds: float
    """Of all the process's threads."""
    steps: Mapping[str, float]
    """Seconds of each step; what is left to `seconds` lies between them."""


@dataclass(frozen=True)
class Summary:
    """Repeats of one quantity, in order; the same unit throughout."""

    median: float
    best: float
    worst: float
    values: tuple[float, ...]


def summarize(values: Sequence[float]) -> Summary:
    """Raises statistics.StatisticsError without values."""
    return Summary(statistics.median(values), min(values), max(values), tuple(values))


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of ours / theirs, each round against itself.

    Two values of one round were measured within seconds, so what the machine did to one it did to
    the other; a ratio of medians would mix rounds.
    """
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def interleave(
    calls: Mapping[str, Callable[[], T]], rounds: int, *, warm_up: int = 1, pause: float = 0.0
) -> dict[str, list[T]]:
    """Call each once a round, in an order that starts one further every round; results by name.

    The first `warm_up` rounds are not kept. A `pause` before each call, in seconds, lets the last
    one's idle threads stop spinning.
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
