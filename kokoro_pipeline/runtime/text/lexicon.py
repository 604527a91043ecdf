"""A user's lexicon: words with their phonemes, which win over what a reader would say.

Files are tables (`.tsv`: word, phonemes, and optionally a part of speech, separated by tabs), JSON
(`.json`: an object from words to phonemes, or to an object from parts of speech to phonemes) or
W3C PLS (`.pls`, `.xml`). Phonemes are Kokoro's, but for IPA in PLS, which is converted.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import InputError

from .ipa import from_ipa
from .tracked import Tracked
from .vocabulary import Vocabulary, has_sound
from .xml_tree import Element, XmlError, parse

PARTS = ("ADJ", "ADV", "NOUN", "VERB")
"""The parts of speech that an entry can be for, in English."""

_LONGEST = 200
_SHOWN = 5
_DEFAULT = "DEFAULT"


@dataclass(frozen=True)
class Entry:
    """A word and its phonemes."""

    word: str
    phonemes: str
    part: str | None
    """One of `PARTS`, or None for a word that is pronounced the same as every part of speech."""
    source: str
    line: int


@dataclass(frozen=True)
class Problem:
    """What is wrong in a line of a lexicon file."""

    source: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.message}"


class Lexicon:
    """Entries of one or several files, of which the last of a word counts. It does not change."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """A lexicon of entries that are right; `read_lexicon` checks them."""
        self.entries = tuple(entries)
        parts: dict[str, dict[str, str]] = {}
        for entry in self.entries:
            if entry.part is not None:
                parts.setdefault(entry.word, {})[entry.part] = entry.phonemes
        self._same = {entry.word: entry.phonemes for entry in self.entries if entry.part is None}
        self._first = {word: next(iter(each.values())) for word, each in parts.items()} | self._same
        for word in parts.keys() & self._same.keys():
            parts[word][_DEFAULT] = self._same.pop(word)
        self.parts: Mapping[str, Mapping[str, str]] = parts
        self.longest = max(map(len, self._first), default=0)
        self._folded_same = _folded(self._same)
        self._folded_first = _folded(self._first)

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of the words and their phonemes, from whatever files they come."""
        rows = [(entry.word, entry.phonemes, entry.part) for entry in self.entries]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def find(self, written: str, by_part: bool = False) -> str | None:
        """The phonemes of a word as it is written; None if the lexicon does not have it.

        As in misaki, a word in lower case or with one capital at its beginning is found in lower
        case, with a capital and in capitals, other words as they are only. With `by_part`, words
        that differ by part of speech (`parts`) are not found; otherwise the entry for all parts
        counts, or else the first.
        """
        words, folded = (
            (self._same, self._folded_same) if by_part else (self._first, self._folded_first)
        )
        if (found := words.get(written)) is not None:
            return found
        return folded.get(written.lower()) if written.isupper() or _folds(written) else None


def _folded(words: Mapping[str, str]) -> dict[str, str]:
    return {word.lower(): phonemes for word, phonemes in words.items() if _folds(word)}


def _folds(word: str) -> bool:
    return word in (word.lower(), word.lower().capitalize())


def read_lexicon(*files: Path | str, vocabulary: Vocabulary | None = None) -> Lexicon:
    """The lexicon of these files, all of whose lines are right.

    `vocabulary` is what phonemes are checked against; None stands for Kokoro-82M's.

    Raises InputError with file and line of the first mistakes, and for a file that cannot be read
    or has another ending; EnvironmentFault if PLS needs a package that is not installed.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    for file in files:
        found, wrong = check_lexicon(file, vocabulary)
        entries += found
        problems += wrong
    if problems:
        lines = [str(problem) for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            lines.append(
                f"and {len(problems) - _SHOWN} more; `kokoro-pipeline lexicon check` lists them"
            )
        raise InputError("; ".join(lines))
    return Lexicon(entries)


def lexicon_of(words: Mapping[str, str], vocabulary: Vocabulary | None = None) -> Lexicon:
    """The lexicon of words and their phonemes, such as `{"Kyiv": "kˈijɪv"}`.

    `vocabulary` is what phonemes are checked against; None stands for Kokoro-82M's.

    Raises InputError for the first that is wrong.
    """
    known = _vocabulary() if vocabulary is None else vocabulary
    entries: list[Entry] = []
    for word, phonemes in words.items():
        if not (isinstance(word, str) and isinstance(phonemes, str)):
            raise InputError(f"lexicon: {word!r} and {phonemes!r} are not two strings")
        entry = Entry(word.strip(), phonemes.strip(), None, "lexicon", 1)
        entries.append(entry)
        if (mistake := _mistake(entry, known)) is not None:
            raise InputError(f"lexicon: {mistake}")
    return Lexicon(entries)


def check_lexicon(
    file: Path | str, vocabulary: Vocabulary | None = None
) -> tuple[list[Entry], list[Problem]]:
    """The entries of a file that are right, and what is wrong with the others, in order.

    An entry that gives a word other phonemes than an earlier one, as the same part of speech, is
    wrong.

    Raises InputError for a file that cannot be read, is not UTF-8 or has another ending.
    """
    path = Path(file)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} is not a lexicon: expected one of {', '.join(_READERS)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: it is not UTF-8 ({error.reason})") from error
    known = vocabulary or _vocabulary()
    entries: list[Entry] = []
    problems: list[Problem] = []
    first: dict[tuple[str, str | None], Entry] = {}
    for row in reader(text, str(path)):
        if isinstance(row, Problem):
            problems.append(row)
        elif message := _mistake(row, known) or _contradiction(row, first):
            problems.append(Problem(row.source, row.line, message))
        else:
            entries.append(row)
    return entries, problems


@functools.cache
def _vocabulary() -> Vocabulary:
    return Vocabulary(default_config().vocab)


def _mistake(entry: Entry, vocabulary: Vocabulary) -> str | None:
    if not entry.word:
        return "the word is missing"
    if not entry.phonemes:
        return f"{entry.word!r} has no phonemes"
    for what, text in (("word", entry.word), ("pronunciation", entry.phonemes)):
        if len(text) > _LONGEST:
            return f"the {what} has {len(text)} characters, more than {_LONGEST}"
        if not text.isprintable():
            return f"the {what} {text!r} has a line break or a control character"
    if set(entry.word) & set("[]"):
        return f"{entry.word!r} has a bracket, which no word can have"
    if set(entry.phonemes) & set("()"):
        return f"{entry.phonemes!r} has a parenthesis, which no pronunciation can have"
    if unknown := vocabulary.encode(entry.phonemes).unknown:
        symbols = ", ".join(str(symbol) for symbol in unknown[:3])
        return f"{entry.phonemes!r} has symbols that the model does not know: {symbols}"
    if not has_sound(entry.phonemes):
        return f"{entry.phonemes!r} has no sound"
    if entry.part is not None and entry.part not in PARTS:
        return f"{entry.part!r} is not a part of speech: {', '.join(PARTS)}"
    return None


def _contradiction(entry: Entry, first: dict[tuple[str, str | None], Entry]) -> str | None:
    """What is wrong with an entry beside the first of its word and part, which is kept."""
    earlier = first.setdefault((entry.word, entry.part), entry)
    if earlier.phonemes == entry.phonemes:
        return None
    what = repr(entry.word) if entry.part is None else f"{entry.word!r} as {entry.part}"
    return f"{what} is {entry.phonemes!r}, and {earlier.phonemes!r} in line {earlier.line}"


def _part(text: str) -> str | None:
    return text.strip().upper() or None


def _read_table(text: str, source: str) -> Iterator[Entry | Problem]:
    for line, row in enumerate(text.split("\n"), 1):
        if not row.strip() or row.startswith("#"):
            continue
        cells = [cell.strip() for cell in row.split("\t")]
        if len(cells) not in (2, 3):
            expected = "word, phonemes and perhaps a part of speech, separated by tabs"
            yield Problem(source, line, f"{len(cells)} columns, expected {expected}")
            continue
        yield Entry(cells[0], cells[1], _part(cells[2]) if cells[2:] else None, source, line)


class _Object(list[Any]):
    """The pairs of an object, in order."""


def _read_json(text: str, source: str) -> Iterator[Entry | Problem]:
    try:
        words = json.loads(text, object_pairs_hook=_Object)
    except (json.JSONDecodeError, RecursionError) as error:
        yield Problem(source, getattr(error, "lineno", 1), f"it is not JSON: {error}")
        return
    if not _is_object(words):
        yield Problem(source, 1, "expected an object from words to phonemes")
        return
    at = 0
    for word, value in words:
        line, at = _line_of_key(text, word, at)
        rows = value if _is_object(value) else [(_DEFAULT, value)]
        if not rows:
            yield Problem(source, line, f"{word!r} has no phonemes")
        for part, phonemes in rows:
            if not isinstance(phonemes, str):
                yield Problem(source, line, f"{word!r}: expected phonemes as a string")
                continue
            name = None if part == _DEFAULT else _part(part)
            yield Entry(word.strip(), phonemes.strip(), name, source, line)


def _is_object(value: Any) -> bool:
    """Whether a value was an object, and no array, in JSON."""
    return isinstance(value, _Object)


def _line_of_key(text: str, word: str, at: int) -> tuple[int, int]:
    """The line of a key behind `at`, and the position behind it. Keys come in order."""
    spellings = (json.dumps(word, ensure_ascii=False), json.dumps(word))
    key = re.compile(rf"(?:{'|'.join(map(re.escape, spellings))})\s*:")
    found = key.search(text, at)
    position = found.start() if found else at
    return text.count("\n", 0, position) + 1, position + 1


def _read_pls(text: str, source: str) -> Iterator[Entry | Problem]:
    try:
        root = parse(text)
    except XmlError as error:
        yield Problem(source, error.line, error.message)
        return
    if root.name != "lexicon":
        yield Problem(source, root.line, f"<{root.name}> is not the <lexicon> of a PLS file")
        return
    lang = root.attributes.get("xml:lang", "en-US")
    for lexeme in root.elements:
        if lexeme.name == "lexeme":
            yield from _read_lexeme(lexeme, root.attributes.get("alphabet", "ipa"), lang, source)
        elif lexeme.name not in ("meta", "metadata"):
            yield Problem(source, lexeme.line, f"<{lexeme.name}> is no element of a lexicon")


def _read_lexeme(
    lexeme: Element, alphabet: str, lang: str, source: str
) -> Iterator[Entry | Problem]:
    words = []
    spoken = []
    for child in lexeme.elements:
        name = child.name
        if name == "grapheme":
            words.append(child.text.strip())
        elif name == "phoneme":
            used = child.attributes.get("alphabet", alphabet)
            if used not in ("ipa", "x-kokoro"):
                yield Problem(
                    source, child.line, f"the alphabet {used!r} is neither ipa nor x-kokoro"
                )
                return
            text = child.text.strip()
            spoken.append((child, from_ipa(text, lang) if used == "ipa" else text))
        elif name == "alias":
            yield Problem(source, child.line, "<alias> is not supported: write a <phoneme>")
            return
        elif name != "example":
            yield Problem(source, child.line, f"<{name}> is no element of a lexeme")
            return
    if not words or not spoken:
        missing = "grapheme" if not words else "phoneme"
        yield Problem(source, lexeme.line, f"the lexeme has no <{missing}>")
        return
    child, phonemes = next(
        (one for one in spoken if one[0].attributes.get("prefer") == "true"), spoken[0]
    )
    role = _part(lexeme.attributes.get("role", "").split(":")[-1])
    for word in words:
        yield Entry(word, phonemes, role, source, child.line)


_READERS = {
    ".tsv": _read_table,
    ".json": _read_json,
    ".pls": _read_pls,
    ".xml": _read_pls,
}


_ATOM = re.compile(r"[^\W_]+|\S")
_GIVEN = re.compile(r"!?\[[^\[\]\n]{1,500}\]\([^()\n]{1,1000}\)")
_MOST_ATOMS = 12
_SCRIPTS_WITHOUT_SPACES = ("ja", "zh")


def with_pronunciations(text: str, lexicon: Lexicon, code: str) -> Tracked:
    """A text with the words of a lexicon as `[word](/phonemes/)`.

    Words are whole words, but in Japanese and Chinese; of several, the longest counts. In English
    (`code` is "en-us" or "en-gb") the possessive and the plural of a word are found too. What has
    markup already stays as it is.
    """
    marked = [match.span() for match in _GIVEN.finditer(text)]
    find = _find_anywhere if code in _SCRIPTS_WITHOUT_SPACES else _find_words
    edits = [
        (start, end, f"[{text[start:end]}](/{phonemes}/)")
        for start, end, phonemes in find(text, lexicon, code)
        if not any(first < end and start < last for first, last in marked)
        and not set(text[start:end]) & set("[]\n")
    ]
    return Tracked.of(text).edit(edits)


def _find_anywhere(text: str, lexicon: Lexicon, code: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(text):
        for end in range(min(len(text), at + lexicon.longest), at, -1):
            inside_latin = _between_latin(text, at) or _between_latin(text, end)
            if not inside_latin and (phonemes := lexicon.find(text[at:end])) is not None:
                yield at, end, phonemes
                at = end
                break
        else:
            at += 1


def _between_latin(text: str, at: int) -> bool:
    around = text[max(0, at - 1) : at + 1]
    return len(around) == 2 and at > 0 and around.isascii() and around.isalnum()


def _find_words(text: str, lexicon: Lexicon, code: str) -> Iterator[tuple[int, int, str]]:
    atoms = [match.span() for match in _ATOM.finditer(text)]
    position = 0
    while position < len(atoms):
        for count in range(min(_MOST_ATOMS, len(atoms) - position), 0, -1):
            start, end = atoms[position][0], atoms[position + count - 1][1]
            if end - start > lexicon.longest + 3 or _is_contracted(text, start, end, code):
                continue
            phonemes = _inflected(" ".join(text[start:end].split()), lexicon, code)
            if phonemes is not None:
                yield start, end, phonemes
                position += count - 1
                break
        position += 1


def _is_contracted(text: str, start: int, end: int, code: str) -> bool:
    """Whether a part of an English text is only a part of a word with an apostrophe ("don't")."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return code.startswith("en") and any(
        len(pair) == 2 and mark in "'’" and letter.isalpha()
        for pair, mark, letter in ((before, before[-1:], before[:1]), (after, after[:1], after[1:]))
    )


def _inflected(written: str, lexicon: Lexicon, code: str) -> str | None:
    """The phonemes of a word, or in English of its possessive or plural."""
    english = code.startswith("en")
    if (found := lexicon.find(written, english)) is not None or not english:
        return found
    plain = written.replace("’", "'")
    stems = []
    if plain.lower().endswith("'s"):
        stems = [plain[:-2]]
    elif plain.lower().endswith("s'"):
        return _inflected(plain[:-1], lexicon, code)
    elif len(plain) > 2 and plain.lower().endswith("s") and not plain.lower().endswith("ss"):
        stems = [plain[:-1]]
        if len(plain) > 4 and plain.lower().endswith("ies"):
            stems += [f"{plain[:-3]}{'Y' if plain.isupper() else 'y'}"]
        elif len(plain) > 4 and plain.lower().endswith("es"):
            stems += [plain[:-2]]
    for stem in stems:
        if (found := lexicon.find(stem, english)) is not None:
            return with_s(found, british=code == "en-gb")
    return None


def with_s(phonemes: str, british: bool) -> str:
    """A possessive or plural in English, as misaki makes it."""
    if phonemes[-1] in "ptkfθ":
        return phonemes + "s"
    if phonemes[-1] in "szʃʒʧʤ":
        return f"{phonemes}{'ɪ' if british else 'ᵻ'}z"
    return phonemes + "z"
