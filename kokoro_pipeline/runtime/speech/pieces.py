"""Group sentences into the pieces that are synthesized at once.

The model speaks 100 to 200 phonemes best; under 20 it is weak, beyond 400 it rushes (kokoro's
VOICES.md). Grouping is greedy, so that a piece is known as soon as its last sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..text.reading import Sentence, Word
from ..text.runs import Mark, Pause, PlacedMark, Said

Split = Literal["auto", "sentence", "paragraph"]
First = Literal["sentence", "clause"]

LONGEST = 200
"""Phonemes up to which sentences are grouped."""

LONGEST_SECOND = 100
"""The same for the second piece, which is made while the first is played."""

LONGEST_WITH_SHORT = 300
"""The same, if one of the parts is shorter than SHORT."""

SHORT = 20
"""A part of fewer phonemes is joined to its neighbour if it can be."""

_CLOSERS = r"[\"”)]*"
_CLAUSE = re.compile(rf"(?:[.!?…,;:—]+{_CLOSERS}|(?<=\S)[\"”)]+(?=\s))\s*(?=\S)")
_SENTENCE = re.compile(rf"[.!?…]+{_CLOSERS}\s+(?=\S)")


@dataclass(frozen=True)
class Splitting:
    """How a text is cut into pieces, and the silence between them."""

    split: Split = "auto"
    first: First = "sentence"
    pause_sentence: float = 0.0
    """Milliseconds of silence between sentences. Above 0, every sentence is a piece."""
    pause_paragraph: float = 0.0
    """Milliseconds of silence between paragraphs, in place of `pause_sentence`."""


@dataclass(frozen=True)
class Piece:
    """What is synthesized at once and returned as one `Speech`."""

    phonemes: str
    words: tuple[Word, ...] = ()
    unspoken: tuple[str, ...] = ()
    silence: float = 0.0
    """Seconds of silence before it."""
    voice: str | None = None
    """The name of a voice; None is the one of the request."""
    speed: float = 1.0
    """A factor on the speed of the request."""
    marks: tuple[PlacedMark, ...] = ()
    """Named places in `phonemes`."""

    def followed_by(self, told: _Told) -> Piece:
        """The piece with a sentence behind it."""
        sentence = told.sentence
        if not sentence.phonemes:
            return replace(self, unspoken=self.unspoken + sentence.unspoken)
        start = len(self.phonemes) + 1
        return replace(
            self,
            phonemes=f"{self.phonemes} {sentence.phonemes}",
            words=self.words + tuple(word.moved(0, start) for word in sentence.words),
            unspoken=self.unspoken + sentence.unspoken,
            marks=self.marks + tuple(PlacedMark(m.name, m.offset + start) for m in told.marks),
        )


@dataclass(frozen=True)
class _Told:
    """A sentence and how it is spoken."""

    sentence: Sentence
    voice: str | None = None
    speed: float = 1.0
    marks: tuple[PlacedMark, ...] = ()


def sentences_of_phonemes(phonemes: str) -> Iterator[Sentence]:
    """The sentences of a phoneme string, cut after their final marks."""
    start = 0
    for match in _SENTENCE.finditer(phonemes):
        yield Sentence(phonemes[start : match.end()].strip(), ())
        start = match.end()
    if rest := phonemes[start:].strip():
        yield Sentence(rest, ())


Item = Sentence | Said | Pause | Mark
"""What a text is read as: plain sentences, or those of a markup, and what stands between them."""


def group_sentences(items: Iterable[Item], splitting: Splitting) -> Iterator[Piece]:
    """The pieces of a text, each as soon as the text shows that it is complete.

    The first piece is the first sentence, or its first clause, so that speech starts early. The end
    of a paragraph, a pause and another voice or speed end a piece. What was left unspoken goes with
    the piece before, or else the next. A last piece without phonemes holds a pause or marks at the
    end of the text.
    """
    grouping = _Grouping(splitting)
    for item in _with_first_clause(items, splitting):
        yield from grouping.add(item)
    yield from grouping.end()


class _Grouping:
    """The piece that is not complete, and what goes before the next one."""

    def __init__(self, splitting: Splitting) -> None:
        self._splitting = splitting
        self._pending: Piece | None = None
        self._silence = 0.0
        self._unspoken: tuple[str, ...] = ()
        self._marks: tuple[PlacedMark, ...] = ()
        self._number = 0
        self._asked = False
        """Whether the silence was asked for in the text, and thus stands at its end as well."""

    def add(self, item: _Told | Pause | Mark) -> Iterator[Piece]:
        if isinstance(item, Pause):
            yield from self._flush(0.0)
            self._silence += item.seconds
            self._asked = True
        elif isinstance(item, Mark):
            if self._pending is None:
                self._marks += (PlacedMark(item.name, 0),)
            else:
                mark = PlacedMark(item.name, len(self._pending.phonemes))
                self._pending = replace(self._pending, marks=(*self._pending.marks, mark))
        elif not item.sentence.phonemes:
            if self._pending is None:
                self._unspoken += item.sentence.unspoken
            else:
                self._pending = self._pending.followed_by(item)
            yield from self._end_of(item.sentence)
        else:
            yield from self._sentence(item)

    def _sentence(self, told: _Told) -> Iterator[Piece]:
        pending, splitting = self._pending, self._splitting
        if pending is not None and not _joins(pending, told, splitting, self._number):
            yield from self._flush(splitting.pause_sentence)
        if self._pending is None:
            sentence = told.sentence
            self._pending = Piece(
                sentence.phonemes,
                sentence.words,
                self._unspoken + sentence.unspoken,
                self._silence,
                told.voice,
                told.speed,
                self._marks + told.marks,
            )
            self._unspoken, self._marks, self._silence, self._asked = (), (), 0.0, False
        else:
            self._pending = self._pending.followed_by(told)
        yield from self._end_of(told.sentence)

    def _end_of(self, sentence: Sentence) -> Iterator[Piece]:
        pending, splitting = self._pending, self._splitting
        if pending is None:
            return
        if sentence.ends_paragraph:
            yield from self._flush(splitting.pause_paragraph or splitting.pause_sentence)
        elif _complete(pending, splitting, self._number):
            yield from self._flush(splitting.pause_sentence)

    def _flush(self, pause: float) -> Iterator[Piece]:
        if self._pending is not None:
            yield self._pending
            self._pending = None
            self._number += 1
            self._silence = pause / 1000

    def end(self) -> Iterator[Piece]:
        yield from self._flush(0.0)
        if self._number and (self._asked or self._marks):
            yield Piece("", unspoken=self._unspoken, silence=self._silence, marks=self._marks)


def _joins(piece: Piece, told: _Told, splitting: Splitting, number: int) -> bool:
    """Whether a sentence joins the piece before it, which is piece `number` of the text."""
    sentence = told.sentence
    if (piece.voice, piece.speed) != (told.voice, told.speed):
        return False
    if splitting.split == "sentence" or splitting.pause_sentence > 0:
        return False
    if splitting.split == "paragraph" and number > 0:
        return True
    shorter = min(len(piece.phonemes), len(sentence.phonemes))
    if number == 0 and (splitting.first == "clause" or len(piece.phonemes) >= SHORT):
        return False
    limit = LONGEST_SECOND if number == 1 else LONGEST
    if shorter < SHORT:
        limit = LONGEST_WITH_SHORT
    return len(piece.phonemes) + 1 + len(sentence.phonemes) <= limit


def _complete(piece: Piece, splitting: Splitting, number: int) -> bool:
    """Whether no sentence can join piece `number` of the text, whatever comes next."""
    if splitting.split == "sentence" or splitting.pause_sentence > 0:
        return True
    if number == 0 and (splitting.first == "clause" or len(piece.phonemes) >= SHORT):
        return True
    return splitting.split != "paragraph" and len(piece.phonemes) >= LONGEST_WITH_SHORT


def _with_first_clause(
    items: Iterable[Item], splitting: Splitting
) -> Iterator[_Told | Pause | Mark]:
    """The items, of which the first sentence is cut after its first clause if that is asked for."""
    cut = splitting.first == "clause"
    for item in items:
        if isinstance(item, Pause | Mark):
            yield item
            continue
        if isinstance(item, Said):
            told = _Told(item.sentence, item.manner.voice, item.manner.speed, item.marks)
        else:
            told = _Told(item)
        phonemes = told.sentence.phonemes
        match = _CLAUSE.search(phonemes) if cut and phonemes else None
        cut = cut and not phonemes
        if match is None:
            yield told
        else:
            yield from _cut(told, match.end())


def _cut(told: _Told, position: int) -> tuple[_Told, _Told]:
    sentence = told.sentence
    before = tuple(word for word in sentence.words if word.offset < position)
    after = tuple(word for word in sentence.words if word.offset >= position)
    if before and before[-1].offset + len(before[-1].phonemes) > position:
        # A word that is spoken as several, such as a date, is not torn: it goes with the first.
        position = before[-1].offset + len(before[-1].phonemes)
    rest = sentence.phonemes[position:]
    skipped = position + len(rest) - len(rest.lstrip())
    first = Sentence(sentence.phonemes[:position].rstrip(), before, sentence.unspoken)
    second = replace(
        sentence,
        phonemes=rest.strip(),
        words=tuple(word.moved(0, -skipped) for word in after),
        unspoken=(),
    )
    marks = [mark for mark in told.marks if mark.offset >= skipped]
    return (
        replace(told, sentence=first, marks=told.marks[: len(told.marks) - len(marks)]),
        replace(
            told,
            sentence=second,
            marks=tuple(PlacedMark(mark.name, mark.offset - skipped) for mark in marks),
        ),
    )
