"""Words that were read in a rewritten text, back at their places in the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .reading import Sentence, Word
from .tracked import Tracked


def restored(sentences: Sequence[Sentence], text: Tracked, original: str) -> list[Sentence]:
    """Sentences of `text` with words as they are written in `original`.

    Words that stand for the same part of the original become one, with the phonemes of all.
    """
    return [replace(sentence, words=_words(sentence, text, original)) for sentence in sentences]


def _words(sentence: Sentence, text: Tracked, original: str) -> tuple[Word, ...]:
    found: list[Word] = []
    for word in sentence.words:
        if word.start == word.end:  # a mark that was added
            at = text.span(word.start - 1, word.start)[1] if 0 < word.start <= len(text.text) else 0
            found.append(word._replace(start=at, end=at))
            continue
        start, end = text.span(word.start, word.end)
        last = found[-1] if found else None
        if last is None or start >= last.end:
            found.append(Word(original[start:end], word.phonemes, start, end, word.offset))
            continue
        spoken = [each for each in (last, word) if each.phonemes]
        offset = spoken[0].offset if spoken else last.offset
        until = spoken[-1].offset + len(spoken[-1].phonemes) if spoken else offset
        start, end = last.start, max(last.end, end)
        found[-1] = Word(original[start:end], sentence.phonemes[offset:until], start, end, offset)
    return tuple(found)
