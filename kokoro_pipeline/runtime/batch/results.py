"""`results.jsonl`: a line for every entry, by which a batch knows what it has done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_pipeline.artifact.disk import writing
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.json_values import plain

NAME = "results.jsonl"

GROWING = ".kokoro-batch."
"""How the names of files begin that are not complete yet."""


@dataclass(frozen=True)
class Written:
    """A file of the batch."""

    file: str
    sha256: str


@dataclass(frozen=True)
class Result:
    """What became of an entry. Nothing in it depends on when or where it was made."""

    id: str
    place: str
    key: str | None = None
    """The hash of everything that the files depend on."""
    audio: Written | None = None
    subtitles: Written | None = None
    samples: int = 0
    seconds: float = 0.0
    """Of audio."""
    clipped: int = 0
    synthetic: bool | None = None
    unspoken: tuple[str, ...] = ()
    """Parts of the text and symbols that were left out."""
    error: str | None = None

    @property
    def files(self) -> tuple[Written, ...]:
        """The files of the entry."""
        return tuple(file for file in (self.audio, self.subtitles) if file is not None)

    def holds(self, folder: Path) -> bool:
        """Whether the files are there, bit for bit."""
        files = self.files
        return all(_is(folder / file.file, file.sha256) for file in files) and bool(files)

    def line(self) -> bytes:
        """The line of the file."""
        text = json.dumps(plain(self), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "backslashreplace") + b"\n"


def key_of(*parts: Any) -> str:
    """The hash of values that JSON knows."""
    return hashlib.sha256(json.dumps(plain(parts)).encode()).hexdigest()


def read_results(folder: Path) -> dict[str, Result]:
    """What an earlier run has finished, by id. Lines that are torn or of another kind are none."""
    found: dict[str, Result] = {}
    try:
        content = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return found
    for line in content.splitlines():
        result = _parse(line)
        if result is not None and result.error is None:
            found[result.id] = result
    return found


def write_results(folder: Path, results: Iterable[Result]) -> None:
    """Replace the file by one of these lines. Raises EnvironmentFault."""
    beside = folder / f"{GROWING}{NAME}"
    with writing(folder / NAME):
        beside.write_bytes(b"".join(result.line() for result in results))
        beside.replace(folder / NAME)


def append_result(folder: Path, result: Result) -> None:
    """Add a line. Raises EnvironmentFault."""
    with writing(folder / NAME), (folder / NAME).open("ab") as file:
        file.write(result.line())


def _parse(line: bytes) -> Result | None:
    try:
        data = json.loads(line)
        for name in ("audio", "subtitles"):
            data[name] = None if data[name] is None else Written(**data[name])
        return Result(**{**data, "unspoken": tuple(data["unspoken"])})
    except (ValueError, TypeError, KeyError):
        return None


def _is(path: Path, sha256: str) -> bool:
    try:
        return file_sha256(path) == sha256
    except OSError:
        return False
