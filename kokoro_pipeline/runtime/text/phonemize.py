"""Text to phonemes: the entry point for all languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kokoro_pipeline.errors import InputError

from .languages import Language, find_language
from .reading import Sentence, TaggerChoice, Word
from .segments import split_segments

_EXCERPT = 60
_FINAL_MARKS = ".!?…:;,—"
_CLOSERS = '”")'


@dataclass(frozen=True)
class Phonemized:
    """The phonemes of a text.

    `phonemes` is the input of `synthesize`. `words` are the words and marks that it was made from,
    in order, as they are written. `unspoken` lists the parts that have no reading (emoji, other
    scripts) and were left out.
    """

    phonemes: str
    words: tuple[Word, ...]
    unspoken: tuple[str, ...] = ()


def phonemize(text: str, lang: str = "en-us", *, tagger: TaggerChoice = "auto") -> Phonemized:
    """Convert `text` in language `lang` to phonemes, without network access.

    Numbers, money, dates, times, units, abbreviations and addresses are spelled out. A word written
    as `[text](/phonemes/)` is pronounced as given. All symbols of the result are in Kokoro's
    vocabulary, except for those in given phonemes. With `tagger` "rules", an installed spaCy model
    is not used. The running time is linear in the length of the text, and the function is
    thread-safe.

    Raises InputError for an unknown language and for text with nothing to speak, EnvironmentFault
    if the extra of the language is not installed.
    """
    parts: list[str] = []
    words: list[Word] = []
    unspoken: list[str] = []
    length = 0
    for sentence in read_sentences(text, lang, tagger=tagger):
        words.extend(word.moved(0, length) for word in sentence.words)
        unspoken.extend(sentence.unspoken)
        if sentence.phonemes:
            parts.append(sentence.phonemes)
            length += len(sentence.phonemes) + 1
    return Phonemized(" ".join(parts), tuple(words), tuple(unspoken))


def read_sentences(
    text: str | Iterable[str], lang: str = "en-us", *, tagger: TaggerChoice = "auto"
) -> Iterator[Sentence]:
    """The sentences of a text in order, each read when it is asked for; see `phonemize`.

    The text can be given in parts, of which no more are consumed than the next sentence needs. The
    sentences do not depend on the parts. Positions of words count from the beginning of the text.
    A paragraph that another one follows ends with a mark.

    The language is checked at the call. Raises InputError after the last sentence if none had
    anything to speak.
    """
    language = find_language(lang)
    return _sentences(text, language, tagger)


def _sentences(
    text: str | Iterable[str], language: Language, tagger: TaggerChoice
) -> Iterator[Sentence]:
    spoken = False
    beginning = ""
    for segment in split_segments(text, language.ends):
        read = [_spoken(each) for each in language.reader(tagger).read(segment.text)]
        beginning = beginning or segment.text[: _EXCERPT + 1]
        spoken = spoken or any(c.isalpha() for sentence in read for c in sentence.phonemes)
        for position, sentence in enumerate(read):
            last = position == len(read) - 1
            moved = tuple(word.moved(segment.start, 0) for word in sentence.words)
            whole = replace(sentence, words=moved, ends_paragraph=last and segment.ends_paragraph)
            yield _finished(whole) if whole.ends_paragraph else whole
    if not spoken:
        raise InputError(f"the text has nothing to speak: {_excerpt(beginning)}")


def _spoken(sentence: Sentence) -> Sentence:
    """The sentence, without phonemes if they are marks only."""
    if any(symbol.isalnum() for symbol in sentence.phonemes):
        return sentence
    return replace(sentence, phonemes="", words=())


def _finished(sentence: Sentence) -> Sentence:
    """The sentence with a point, if it has no mark at its end."""
    if not sentence.phonemes or sentence.phonemes.rstrip(_CLOSERS)[-1:] in _FINAL_MARKS:
        return sentence
    length = len(sentence.phonemes)
    end = sentence.words[-1].end if sentence.words else 0
    return replace(
        sentence,
        phonemes=sentence.phonemes + ".",
        words=(*sentence.words, Word("", ".", end, end, length)),
    )


def _excerpt(text: str) -> str:
    shown = " ".join(text.split())
    if not shown:
        return "it is empty or only white space"
    return repr(shown if len(shown) <= _EXCERPT else shown[:_EXCERPT] + "…")
