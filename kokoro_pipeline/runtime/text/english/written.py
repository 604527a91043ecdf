"""From what is spoken to the words as they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..reading import Sentence, Word

_NOT_SPELLING = re.compile(r"[\s*~`´#<>|\[\](){}]|(?<![^\W_])_|_(?![^\W_])")
_RUN = re.compile(r"\S+")


@dataclass
class _Entry:
    """What becomes a `Word`: a span of the source and one of the sentence's phonemes."""

    start: int
    end: int
    offset: int
    stop: int
    is_word: bool


@dataclass
class SpokenSentence:
    """The phonemes of a sentence, and the spans of the source that they come from."""

    phonemes: str = ""
    entries: list[_Entry] = field(default_factory=list)
    silent: list[tuple[int, int]] = field(default_factory=list)
    """Words that have no phonemes."""

    def add(self, start: int, end: int, phonemes: str, space: str, is_word: bool) -> None:
        """Append a spoken word or mark, read from the source between `start` and `end`.

        What was read from overlapping parts of the source is one entry. A word that was inserted
        belongs to the one before it.
        """
        offset = len(self.phonemes)
        self.phonemes += phonemes
        if space and self.phonemes and not self.phonemes.endswith(" "):
            self.phonemes += space
        if is_word and not phonemes:
            self.silent.append((start, end))
        last = self.entries[-1] if self.entries else None
        if last and (start < last.end or (is_word and start == end)):
            last.end = max(last.end, end)
            last.is_word = last.is_word or is_word
            last.stop = offset + len(phonemes) if phonemes else last.stop
        else:
            self.entries.append(_Entry(start, end, offset, offset + len(phonemes), is_word))


def with_written_text(
    sentences: Sequence[SpokenSentence], source: str, unspoken: Sequence[tuple[int, int]]
) -> list[Sentence]:
    """The sentences with their words as the source has them.

    `unspoken` are the spans of the source that were left out. What is written without white space
    is one word, unless a mark, markup or something unspoken stands between. All of the source but
    white space becomes part of a word.
    """
    if not sentences:
        sentences = (SpokenSentence(),)
    # What was left out has no part in a word.
    masked = source
    for start, end in unspoken:
        masked = f"{masked[:start]}{'|' * (end - start)}{masked[end:]}"
    left_out = sorted([*unspoken, *(span for s in sentences for span in s.silent)])
    position = reported = 0
    result = []
    for sentence in sentences:
        last = sentence is sentences[-1]
        entries: list[_Entry] = []
        for entry in _joined(sentence.entries, masked, position):
            entries += _gap(masked, position, entry.start, entry.offset, entries)
            entries.append(entry)
            position = entry.end
        # What follows a mark or word directly belongs to this sentence, the rest to the next.
        end = len(source) if last else _run_end(source, position)
        entries += _gap(masked, position, end, len(sentence.phonemes), entries)
        position = max(end, entries[-1].end if entries else 0)
        first = reported
        while reported < len(left_out) and (last or left_out[reported][0] < position):
            reported += 1
        words = tuple(
            Word(
                source[e.start : e.end],
                sentence.phonemes[e.offset : e.stop],
                e.start,
                e.end,
                e.offset,
            )
            for e in entries
        )
        silent = tuple(source[start:end] for start, end in left_out[first:reported])
        result.append(Sentence(sentence.phonemes.rstrip(), words, silent))
    return [sentence for sentence in result if sentence.words]


def _joined(entries: Sequence[_Entry], source: str, position: int) -> list[_Entry]:
    """The entries after `position` without white space at their ends, joined where no space is."""
    joined: list[_Entry] = []
    for entry in entries:
        before = joined[-1].end if joined else position
        entry.start = max(entry.start, before)
        entry.end = max(entry.end, entry.start)
        text = source[entry.start : entry.end]
        entry.start += len(text) - len(text.lstrip()) if text.strip() else 0
        entry.end = entry.start + len(text.strip())
        last = joined[-1] if joined else None
        if last and last.is_word and entry.is_word and _is_spelling(source, last.end, entry.start):
            last.end, last.stop = entry.end, max(last.stop, entry.stop)
        else:
            joined.append(entry)
    return joined


def _is_spelling(source: str, start: int, end: int) -> bool:
    other = _NOT_SPELLING.search(source, start)
    return other is None or other.start() >= end


def _run_end(source: str, position: int) -> int:
    run = _RUN.match(source, position)
    return run.end() if run else position


def _gap(source: str, start: int, end: int, offset: int, before: list[_Entry]) -> list[_Entry]:
    """Entries without phonemes for what stands between two entries.

    The points and other signs of spelling that follow a word directly become a part of it.
    """
    if before and before[-1].end == start:
        while start < end and not _NOT_SPELLING.match(source, start):
            start += 1
        before[-1].end = start
    return [
        _Entry(run.start(), run.end(), offset, offset, False)
        for run in _RUN.finditer(source, start, end)
    ]
