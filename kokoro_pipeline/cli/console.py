"""The output of commands: data to stdout, warnings to stderr, progress to a terminal on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TextIO

from ..errors import InputError
from ..json_values import plain


@contextlib.contextmanager
def naming_stdout() -> Iterator[None]:
    """Let an error of standard output say that it is one; a closed pipe stays BrokenPipeError."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, "cannot write to standard output") from error


class Console:
    """The output channels of a command.

    `data` and `json` write the result to stdout. `progress` writes to stderr, but only if it is a
    terminal. `warn` always writes to stderr.
    """

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        *,
        debug: bool = False,
    ) -> None:
        self.stdout = sys.stdout if stdout is None else stdout
        self.stderr = sys.stderr if stderr is None else stderr
        self.debug = debug

    @property
    def watched(self) -> bool:
        """Whether stderr is a terminal, so that progress is worth printing."""
        return self.stderr.isatty()

    def data(self, text: str) -> None:
        """Print one line, or several, of the result."""
        with naming_stdout():
            print(text, file=self.stdout)

    def flush(self) -> None:
        """Write what is held back of the result."""
        with naming_stdout():
            self.stdout.flush()

    def json(self, value: Any) -> None:
        """Print `value` as one JSON document; see `plain` for what it may contain."""
        self.data(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))

    def progress(self, text: str) -> None:
        """Report the current activity, if stderr is a terminal."""
        if self.watched:
            self.say(text)

    def say(self, text: str) -> None:
        """Tell on stderr what the user has to know, terminal or not.

        A stderr that takes nothing, as on a full disk, changes no result.
        """
        with contextlib.suppress(OSError):
            print(text, file=self.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.say(f"kokoro-pipeline: warning: {text}")

    def error(self, text: str) -> None:
        """Print the reason why the command failed."""
        self.say(f"kokoro-pipeline: error: {text}")

    def binary_output(self) -> BinaryIO:
        """The binary stream of stdout, for `-o -`.

        Raises InputError if stdout is a terminal.
        """
        if self.stdout.isatty():
            raise InputError(
                "standard output is a terminal: pipe it (`… -o - | aplay`), or use -o FILE"
            )
        self.stdout.flush()
        return self.stdout.buffer


def table(rows: Iterable[Sequence[str]], *, indent: str = "") -> str:
    """Format rows as columns that are as wide as their widest cell, without trailing blanks."""
    rows = [tuple(row) for row in rows]
    columns = max((len(row) for row in rows), default=0)
    widths = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    lines = (
        indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def seconds(value: float) -> str:
    """Format a duration in seconds: 0.012 s, 1.23 s, 1 min 05 s."""
    if value < 1:
        return f"{value:.3f} s"
    if value < 60:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def size(n_bytes: int) -> str:
    """Format a number of bytes in binary units: 512 B, 1.5 KiB, 312.0 MiB."""
    amount = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
