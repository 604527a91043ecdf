"""One audiobook from the files of a batch: AAC in MPEG-4, with a chapter for each entry (.m4b)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from kokoro_pipeline.artifact.disk import beside, writing
from kokoro_pipeline.config import SAMPLE_RATE
from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

from ..audio.files import check_place

SUFFIX = ".m4b"
LOSSLESS = ("wav", "flac")
"""Formats of a batch that a book is made from: another would be compressed twice."""

_BIT_RATE = 64_000
_BLOCK = 1 << 16
"""Samples that are read and encoded at once."""


@dataclass(frozen=True)
class Chapter:
    """A file of the batch, and what it is called in the book."""

    audio: Path
    samples: int
    title: str


@dataclass(frozen=True)
class Book:
    """What a player shows of a book."""

    title: str
    author: str | None = None
    comment: str | None = None


def check_book(path: Path, audio_format: str) -> None:
    """Check that a book can be written to a path, to be called before synthesis.

    Raises InputError for a path that no book can be written to and for a format of the batch that
    is not lossless, EnvironmentFault without the extra `batch`.
    """
    if path.suffix.lower() != SUFFIX:
        raise InputError(f"a book is an {SUFFIX} file, and {path} is none: name it {path.stem}.m4b")
    if audio_format not in LOSSLESS:
        raise InputError(
            f"a book is made from {' or '.join(LOSSLESS)} files, and the format is "
            f"{audio_format}: leave --format out"
        )
    check_place(path)
    _modules()


def write_book(
    path: Path,
    chapters: Sequence[Chapter],
    book: Book,
    report: Callable[[int], None] = lambda number: None,
) -> None:
    """Write the chapters, one behind the other, beside the path and rename the whole.

    `report` is called with the number of each chapter, from 1, before it is encoded.

    Raises EnvironmentFault if a file cannot be read or written.
    """
    av, soundfile = _modules()
    growing = beside(path)
    try:
        with writing(path):
            with av.open(str(growing), "w", format="ipod", options=_OPTIONS) as container:
                _encode(container, av, soundfile, chapters, book, report)
            growing.replace(path)
    except soundfile.SoundFileError as error:
        raise EnvironmentFault(f"a chapter of {path} cannot be read: {error}") from error
    finally:
        growing.unlink(missing_ok=True)


# The same chapters give the same bytes, and a player need not read the end of the file first.
_OPTIONS = {"brand": "M4B ", "movflags": "+faststart", "fflags": "+bitexact"}


def _encode(
    container: Any,
    av: Any,
    soundfile: Any,
    chapters: Sequence[Chapter],
    book: Book,
    report: Callable[[int], None],
) -> None:
    stream = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
    stream.bit_rate = _BIT_RATE
    container.set_chapters(list(_marks(chapters)))
    shown = {"title": book.title, "album": book.title, "genre": "Audiobook"}
    if book.author is not None:
        shown |= {"artist": book.author, "album_artist": book.author}
    if book.comment is not None:
        shown["comment"] = book.comment
    container.metadata.update(shown)
    position = 0
    for number, chapter in enumerate(chapters, 1):
        report(number)
        for block in soundfile.blocks(str(chapter.audio), blocksize=_BLOCK, dtype="float32"):
            plane = np.ascontiguousarray(np.clip(block, -1.0, 1.0)[None])
            frame = av.AudioFrame.from_ndarray(plane, format="fltp", layout="mono")
            frame.sample_rate, frame.pts = SAMPLE_RATE, position
            position += len(block)
            container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _marks(chapters: Sequence[Chapter]) -> Iterator[dict[str, Any]]:
    start = 0
    for number, chapter in enumerate(chapters):
        end = start + chapter.samples
        yield {
            "id": number,
            "start": start,
            "end": end,
            "time_base": Fraction(1, SAMPLE_RATE),
            "metadata": {"title": chapter.title},
        }
        start = end


def _modules() -> tuple[ModuleType, ModuleType]:
    try:
        av, soundfile = importlib.import_module("av"), importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: installed, but its library is missing
        raise EnvironmentFault(
            f"a book needs packages that are not installed ({error}): {install_command('batch')}"
        ) from error
    if not hasattr(av.container.OutputContainer, "set_chapters"):
        raise EnvironmentFault(
            f"PyAV {av.__version__} writes no chapters: {install_command('batch')}"
        )
    return av, soundfile
