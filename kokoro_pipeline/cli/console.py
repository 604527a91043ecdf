"""Where a command's words go: data to stdout; progress to stderr if somebody watches; warnings."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO, TextIO

from ..errors import InputError


class Console:
    """The three voices of a command.

    `data` and `json` are what was asked for (stdout). `progress` is for a person who waits: it is
    written to stderr and only to a terminal. `warn` is what nobody may miss: always on stderr.
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
        print(text, file=self.stdout)

    def json(self, value: Any) -> None:
        """Print `value` as one JSON document; see `plain` for what it may contain."""
        print(
            json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False),
            file=self.stdout,
        )

    def progress(self, text: str) -> None:
        """Tell a watching person what is being done."""
        if self.watched:
            print(text, file=self.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Say what must not be missed."""
        print(f"kokoro-pipeline: warning: {text}", file=self.stderr, flush=True)

    def error(self, text: str) -> None:
        """Say why the command ends without its result."""
        print(f"kokoro-pipeline: error: {text}", file=self.stderr, flush=True)

    def binary_output(self) -> BinaryIO:
        """The bytes behind stdout, for `-o -`.

        Raises InputError on a terminal, where audio would be noise on the screen.
        """
        if self.stdout.isatty():
            raise InputError(
                "standard output is a terminal: pipe it (`… -o - | aplay`), or use -o FILE"
            )
        self.stdout.flush()
        return self.stdout.buffer


def plain(value: Any) -> Any:
    """`value` in what JSON knows.

    Dataclasses, named tuples and mappings become objects, paths strings, numpy scalars and arrays
    numbers and lists, sets sorted lists; a number that is not finite becomes null.

    Raises TypeError for anything else, rather than inventing a form for it.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def table(rows: Iterable[Sequence[str]], *, indent: str = "") -> str:
    """Rows of text in columns as wide as their widest cell, without trailing blanks."""
    rows = [tuple(row) for row in rows]
    columns = max((len(row) for row in rows), default=0)
    widths = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    lines = (
        indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def seconds(value: float) -> str:
    """A duration in seconds for a person: 0.012 s, 1.23 s, 1 min 05 s."""
    if value < 1:
        return f"{value:.3f} s"
    if value < 60:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def size(n_bytes: int) -> str:
    """A number of bytes for a person, in binary units: 512 B, 1.5 KiB, 312.0 MiB."""
    amount = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
