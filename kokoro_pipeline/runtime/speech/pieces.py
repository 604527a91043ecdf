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

Split = Literal["auto", "sentence", "paragraph"]
First = Literal["sentence", "clause"]

LONGEST = 200
"""Phonemes up to which sentences are grouped."""

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

    def followed_by(self, sentence: Sentence) -> Piece:
        """The piece with a sentence behind it."""
        if not sentence.phonemes:
            return replace(self, unspoken=self.unspoken + sentence.unspoken)
        start = len(self.phonemes) + 1
        return Piece(
            f"{self.phonemes} {sentence.phonemes}",
            self.words + tuple(word.moved(0, start) for word in sentence.words),
            self.unspoken + sentence.unspoken,
            self.silence,
        )


def sentences_of_phonemes(phonemes: str) -> Iterator[Sentence]:
    """The sentences of a phoneme string, cut after their final marks."""
    start = 0
    for match in _SENTENCE.finditer(phonemes):
        yield Sentence(phonemes[start : match.end()].strip(), ())
        start = match.end()
    if rest := phonemes[start:].strip():
        yield Sentence(rest, ())


def group_sentences(sentences: Iterable[Sentence], splitting: Splitting) -> Iterator[Piece]:
    """The pieces of a text, each as soon as the text shows that it is complete.

    The first piece is the first sentence, or its first clause, so that speech starts early. The end
    of a paragraph ends a piece. What was left unspoken goes with the piece before, or else the
    next.
    """
    pending: Piece | None = None
    silence = 0.0
    unspoken: tuple[str, ...] = ()
    first = True
    for sentence in _with_first_clause(sentences, splitting):
        if not sentence.phonemes:
            if pending is None:
                unspoken += sentence.unspoken
            else:
                pending = pending.followed_by(sentence)
        else:
            if pending is not None and not _joins(pending, sentence, splitting, first):
                yield pending
                pending, first = None, False
                silence = splitting.pause_sentence / 1000
            if pending is None:
                pending = Piece(
                    sentence.phonemes, sentence.words, unspoken + sentence.unspoken, silence
                )
                unspoken = ()
            else:
                pending = pending.followed_by(sentence)
        if pending is not None and (sentence.ends_paragraph or _complete(pending, splitting)):
            yield pending
            pending, first = None, False
            pause = splitting.pause_paragraph if sentence.ends_paragraph else 0.0
            silence = (pause or splitting.pause_sentence) / 1000
    if pending is not None:
        yield pending


def _joins(piece: Piece, sentence: Sentence, splitting: Splitting, first: bool) -> bool:
    if splitting.split == "sentence" or splitting.pause_sentence > 0:
        return False
    if splitting.split == "paragraph" and not first:
        return True
    shorter = min(len(piece.phonemes), len(sentence.phonemes))
    if first and splitting.first == "clause":
        return False
    if first and len(piece.phonemes) >= SHORT:
        return False
    limit = LONGEST_WITH_SHORT if shorter < SHORT else LONGEST
    return len(piece.phonemes) + 1 + len(sentence.phonemes) <= limit


def _complete(piece: Piece, splitting: Splitting) -> bool:
    """Whether no sentence can join the piece, whatever comes next."""
    if splitting.split == "paragraph":
        return False
    return splitting.split == "sentence" or len(piece.phonemes) >= LONGEST_WITH_SHORT


def _with_first_clause(sentences: Iterable[Sentence], splitting: Splitting) -> Iterator[Sentence]:
    """The sentences, of which the first is cut after its first clause if that is asked for."""
    cut = splitting.first == "clause"
    for sentence in sentences:
        match = _CLAUSE.search(sentence.phonemes) if cut and sentence.phonemes else None
        cut = cut and not sentence.phonemes
        if match is None:
            yield sentence
        else:
            yield from _cut(sentence, match.end())


def _cut(sentence: Sentence, position: int) -> tuple[Sentence, Sentence]:
    before = tuple(word for word in sentence.words if word.offset < position)
    after = tuple(word for word in sentence.words if word.offset >= position)
    if before and before[-1].offset + len(before[-1].phonemes) > position:
        # A word that is spoken as several, such as a date, is not torn: it goes with the first.
        position = before[-1].offset + len(before[-1].phonemes)
    rest = sentence.phonemes[position:]
    skipped = position + len(rest) - len(rest.lstrip())
    return (
        Sentence(sentence.phonemes[:position].rstrip(), before, sentence.unspoken),
        replace(
            sentence,
            phonemes=rest.strip(),
            words=tuple(word.moved(0, -skipped) for word in after),
            unspoken=(),
        ),
    )
