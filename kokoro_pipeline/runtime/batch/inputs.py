"""What a batch speaks: the entries of a JSONL or CSV file, a folder of texts, or an EPUB.

An entry that cannot be spoken is an entry with a fault; a whole input that cannot be read is an
InputError.
"""

from __future__ import annotations

import csv
import json
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kokoro_pipeline.errors import InputError, KokoroError

from ..speech.pieces import Splitting
from ..speech.request import SpeechRequest, Voice
from ..text.lexicon import Lexicon
from ..text.surrogates import check_surrogates

FIELDS = ("id", "text", "phonemes", "voice", "lang", "speed", "seed", "title")
_LONGEST_ID = 200
"""Bytes of UTF-8: suffixes and marks fit into the 255 of a file name."""
_FORBIDDEN = frozenset('/\\:*?"<>|')
"""Characters that some file system does not take in a name."""
_LARGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class Entry:
    """One text to speak into one file, or why it cannot be spoken."""

    id: str
    """The name of its files without the suffix."""
    place: str
    """Where it stands in the input, for messages."""
    request: SpeechRequest | None
    fault: str | None = None
    title: str | None = None
    """What its chapter is called in a book."""


@dataclass(frozen=True)
class Row:
    """The fields of one text in the input. `fault` says why it cannot be used, if it cannot."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


Rows = Iterator[tuple[str, Row]]
"""The place of each row, and the row."""


@dataclass(frozen=True)
class Defaults:
    """The voice, language, speed, seed and splitting of entries that do not give their own."""

    voice: Voice = "af_heart"
    lang: str | None = None
    speed: float = 1.0
    seed: int = 0
    splitting: Splitting = field(default_factory=Splitting)
    lexicon: Lexicon | None = None
    """Of all texts; no entry has one of its own."""

    def entry(self, place: str, number: int, row: Row) -> Entry:
        """The entry of a row, of which a field that is None was left out."""
        given = {name: value for name, value in row.fields.items() if value is not None}
        name = given.pop("id", f"{number:06d}")
        try:
            identifier = _check_id(name)
        except InputError as error:
            return Entry(f"{number:06d}", place, None, row.fault or str(error))
        if row.fault is not None:
            return Entry(identifier, place, None, row.fault)
        try:
            title = _title(given.pop("title", None))
            return Entry(identifier, place, self._request(given), title=title)
        except KokoroError as error:
            return Entry(identifier, place, None, str(error))

    def _request(self, given: dict[str, Any]) -> SpeechRequest:
        if unknown := sorted(given.keys() - set(FIELDS)):
            raise InputError(f"unknown {', '.join(unknown)}; known are {', '.join(FIELDS)}")
        for name in ("text", "phonemes", "voice", "lang"):
            if name in given and not isinstance(given[name], str):
                raise InputError(f"{name} is {type(given[name]).__name__}, expected a string")
        text = given.get("text")
        if text is not None:
            if not text.strip():
                raise InputError("the text is empty: there is nothing to say")
            check_surrogates(text)
        return SpeechRequest(
            text=text,
            phonemes=given.get("phonemes"),
            voice=given.get("voice", self.voice),
            lang=given.get("lang", self.lang),
            speed=given.get("speed", self.speed),
            seed=given.get("seed", self.seed),
            splitting=self.splitting,
            lexicon=None if "phonemes" in given else self.lexicon,
        )


def read_entries(path: Path, defaults: Defaults) -> list[Entry]:
    """The entries of an input, in order. Of entries with the same id, the first one is spoken.

    Raises InputError if the input cannot be read or holds no entry, EnvironmentFault for an EPUB
    without the extra `batch`.
    """
    if path.is_dir():
        rows = _folder(path)
    else:
        readers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".csv": _csv, ".epub": _epub}
        reader = readers.get(path.suffix.lower())
        if reader is None and not path.exists():
            raise InputError(f"cannot read {path}: it does not exist")
        if reader is None:
            raise InputError(
                f"cannot tell what {path} is: a batch reads .jsonl, .csv and .epub files and "
                "folders of .txt files"
            )
        rows = reader(path)
    try:
        entries = [
            defaults.entry(place, number, row) for number, (place, row) in enumerate(rows, 1)
        ]
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror}") from error
    if not entries:
        raise InputError(f"{path} holds nothing to speak")
    return list(_distinct(entries))


def _distinct(entries: Iterable[Entry]) -> Iterator[Entry]:
    first: dict[str, str] = {}
    for entry in entries:
        if entry.fault is not None:  # its id may be one that nobody gave it
            yield entry
            continue
        # Some file systems hold names equal that differ in case or in the form of accents.
        name = unicodedata.normalize("NFC", entry.id).casefold()
        taken = first.setdefault(name, entry.place)
        if taken == entry.place:
            yield entry
        else:
            yield replace(entry, request=None, fault=f"the id {entry.id!r} is that of {taken}")


def _title(title: Any) -> str | None:
    if title is not None and not isinstance(title, str):
        raise InputError(f"title is {type(title).__name__}, expected a string")
    check_surrogates(title or "")
    return "".join(filter(_is_printable, " ".join((title or "").split()))) or None


def _check_id(name: Any) -> str:
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str):
        raise InputError(f"id is {type(name).__name__}, expected a string")
    bad = sorted({char for char in name if char in _FORBIDDEN or not _is_printable(char)})
    if not name or bad or name[0] in ".- " or name[-1] in ". ":
        said = f": it has {', '.join(map(repr, bad))}" if bad else ""
        raise InputError(f"the id {name!r} is no name for a file{said}")
    if len(name.encode()) > _LONGEST_ID:
        raise InputError(f"an id has up to {_LONGEST_ID} bytes, this has {len(name.encode())}")
    return name


def _is_printable(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")


def _jsonl(path: Path) -> Rows:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            place = f"line {number}"
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if not line:
                    continue
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield place, Row(fault=f"not a line of JSON in UTF-8: {error}")
                continue
            if isinstance(row, dict):
                yield place, Row(row)
            else:
                fault = f"a line is one JSON object, this is {type(row).__name__}"
                yield place, Row(fault=fault)


def _csv(path: Path) -> Rows:
    csv.field_size_limit(_LARGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            if not names:
                what = "begins with an empty line" if path.stat().st_size else "is empty"
                raise InputError(f"{path} {what}: its first row names the columns")
            unknown = sorted(set(names) - set(FIELDS))
            if unknown or len(set(names)) < len(names) or not {"text", "phonemes"} & set(names):
                raise InputError(
                    f"{path}: the first row names the columns, of which one is text or phonemes, "
                    f"each once; it has {', '.join(names)}, and known are {', '.join(FIELDS)}"
                )
            for row in reader:
                place = f"line {reader.line_num}"
                yield place, _cells(row)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error}") from error
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.reader.line_num}: {error}") from error


def _cells(row: dict[Any, Any]) -> Row:
    more = row.pop(None, ())
    values: dict[str, Any] = {name: cell or None for name, cell in row.items()}
    if more:
        return Row(values, f"it has {len(more)} cells more than the first row")
    for name, kind in (("speed", float), ("seed", int)):
        if values.get(name) is not None:
            try:
                values[name] = kind(values[name])
            except ValueError:
                return Row(values, f"{name} is {values[name]!r}, expected a number")
    return Row(values)


def _folder(path: Path) -> Rows:
    for file in sorted(path.iterdir()):
        if file.suffix.lower() == ".txt" and not file.name.startswith("."):
            yield from _text_file(file)


def _text_file(file: Path) -> Rows:
    """The row of a text, with a fault for a link to nothing; none for a folder or a device."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        yield file.name, Row({"id": file.stem}, f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        yield file.name, Row({"id": file.stem}, f"not UTF-8: {error}")
    else:
        yield file.name, Row({"id": file.stem, "text": text})


def _epub(path: Path) -> Rows:
    from .epub import chapters

    for chapter in chapters(path):
        yield chapter.file, Row({"id": chapter.id, "text": chapter.text, "title": chapter.title})
