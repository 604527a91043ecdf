"""What the emulator finds in a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kokoro_pipeline.errors import CheckFailed, InputError

KINDS = (
    "race",
    "out-of-bounds",
    "uninitialized",
    "misaligned",
    "divergent-barrier",
    "divergent-shuffle",
    "launch",
    "syntax",
)
"""Every `Report.kind`. Divergence and launches are found without `check=True` too; "syntax" is of
`msl_check` alone."""


@dataclass(frozen=True)
class Report:
    """One fault of a kernel, however often it happened in a launch.

    `kind`: one of `KINDS`. `line`: the line of the generated text (`Executable.source`) that is
    at fault, counted from 1, None where the fault has none (a launch). `other_line`: the other
    access of a race. `detail`: who did what to which element, then the text of the lines.
    `count`: how often it was seen.
    """

    kind: str
    kernel: str
    line: int | None
    detail: str
    other_line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        where = "" if self.line is None else f", line {self.line}"
        times = "" if self.count == 1 else f" ({self.count} times)"
        return f"{self.kind} in {self.kernel}{where}: {self.detail}{times}"


class EmulationFault(CheckFailed):
    """A kernel broke a rule of the device; `reports` says which, where and how."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.reports = tuple(reports)
        super().__init__("\n".join(map(str, self.reports)))


class UnsupportedKernel(InputError):
    """The generated text uses what the emulator does not have: which, and in which line."""
