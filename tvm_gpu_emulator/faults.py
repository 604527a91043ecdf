"""The faults that the emulator finds in a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import EmulatorError, InputError

KINDS = (
    "race",
    "out-of-bounds",
    "uninitialized",
    "misaligned",
    "divergent-barrier",
    "divergent-shuffle",
    "deadlock",
    "launch",
    "syntax",
)
"""The values of `Report.kind`.

Divergence, deadlocks and launches are found without `check=True` too; "syntax" is only used by
`msl_check`.
"""


@dataclass(frozen=True)
class Report:
    """A fault of a kernel, which may occur several times in a launch.

    `kind` is one of `KINDS`. `line` is the line of the generated text (`Executable.source`) at
    fault, counted from 1, or None for a fault without a line (a launch). `other_line` is that of
    the other access of a race. `detail` describes the accesses and the element, followed by the
    text of the lines. `count` is the number of occurrences.
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


class EmulationFault(EmulatorError):
    """A kernel broke a rule of the device; `reports` has the details."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.reports = tuple(reports)
        super().__init__("\n".join(map(str, self.reports)))


class UnsupportedKernel(InputError):
    """The generated text uses an unsupported construct; the message says which, and the line."""
