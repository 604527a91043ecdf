"""Text to phonemes: the entry point for all languages."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kokoro_pipeline.errors import InputError

from .arguments import check_lexicon_argument, check_text, checked_strings
from .languages import Language, find_language
from .lexicon import Lexicon, with_pronunciations
from .pauses import PAUSE, seconds
from .reading import Reader, Sentence, Word
from .restored import restored
from .runs import Mark, Pause, PlacedMark, Run, Said, TextRun
from .segments import split_segments
from .tracked import Tracked
from .vocabulary import has_sound

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


def phonemize(
    text: str,
    lang: str = "en-us",
    *,
    lexicon: Lexicon | None = None,
) -> Phonemized:
    """Convert `text` in language `lang` to phonemes, without network access.

    In English, numbers, money, dates, times, units, abbreviations and addresses are spelled out. A
    word written as `[text](/phonemes/)` is pronounced as given, and the words of `lexicon` as it
    says. `[pause 500ms]` is left out. All symbols of the result are in Kokoro's vocabulary or in
    `SILENT_MARKS`, except for those in given phonemes. The running time is linear in the length of
    the text, and the function is thread-safe.

    Raises InputError for an argument of another type, an unknown language, text with nothing to
    speak and a pause that cannot be, EnvironmentFault if the extra of the language is missing.
    """
    return join_sentences(read_sentences(text, lang, lexicon=lexicon))


def join_sentences(sentences: Iterable[Sentence]) -> Phonemized:
    """The phonemes of a text that was read by `read_sentences`."""
    parts: list[str] = []
    words: list[Word] = []
    unspoken: list[str] = []
    length = 0
    for sentence in sentences:
        words.extend(word.moved(0, length) for word in sentence.words)
        unspoken.extend(sentence.unspoken)
        if sentence.phonemes:
            parts.append(sentence.phonemes)
            length += len(sentence.phonemes) + 1
    return Phonemized(" ".join(parts), tuple(words), tuple(unspoken))


def read_sentences(
    text: str | Iterable[str],
    lang: str = "en-us",
    *,
    lexicon: Lexicon | None = None,
) -> Iterator[Sentence]:
    """The sentences of a text in order, each read when it is asked for; see `phonemize`.

    The text can be given in parts, of which no more are consumed than the next sentence needs. The
    sentences do not depend on the parts. Positions of words count from the beginning of the text.
    A paragraph that another one follows ends with a mark.

    The arguments are checked at the call. Raises InputError after the last sentence if none had
    anything to speak.
    """
    items = read_text(text, lang, lexicon=lexicon)
    return (item for item in items if isinstance(item, Sentence))


def read_text(
    text: str | Iterable[str],
    lang: str = "en-us",
    *,
    lexicon: Lexicon | None = None,
) -> Iterator[Sentence | Pause]:
    """The sentences of a text in order, and between them the pauses written as `[pause 500ms]`.

    Each is read when it is asked for. Raises InputError for an unknown language, a pause that
    cannot be read, or a text with nothing to speak, and EnvironmentFault if the extra of the
    language is missing.
    """
    check_text(text)
    voice = _Voice(find_language(lang), lexicon)
    return _items(checked_strings(text), voice)


def read_runs(
    runs: Iterable[Run],
    source: str,
    *,
    lexicon: Lexicon | None = None,
) -> Iterator[Said | Pause | Mark]:
    """The sentences, pauses and marks of a marked-up text, each read when it is asked for.

    `source` is what the positions in `runs` count in. A mark inside a sentence comes with it, other
    marks by themselves. Raises InputError after the last one if there was nothing to speak.
    """
    spoken = False
    for run in runs:
        if not isinstance(run, TextRun):
            yield run
            continue
        voice = _Voice(find_language(run.manner.lang), lexicon)
        for item in _read_run(run, source, voice):
            spoken = spoken or (isinstance(item, Said) and has_sound(item.sentence.phonemes))
            yield item
    if not spoken:
        raise InputError(f"the text has nothing to speak: {_excerpt(source)}")


@dataclass(frozen=True)
class _Voice:
    """What reads a text."""

    language: Language
    lexicon: Lexicon | None

    def __post_init__(self) -> None:
        """Raises InputError for a lexicon of another type."""
        check_lexicon_argument(self.lexicon)

    def read(self, text: Tracked, source: str) -> list[Sentence]:
        """The sentences of a part of `source`, with their words there."""
        if self.lexicon is not None:
            marked = with_pronunciations(text.text, self.lexicon, self.language.code)
            text = marked.within(text)
        read = self._reader().read(text.text)
        return restored([_spoken(sentence) for sentence in read], text, source)

    def read_segment(self, text: str) -> list[Sentence]:
        """The sentences of a segment of plain text."""
        if self.lexicon is not None:
            return self.read(Tracked.of(text), text)
        return [_spoken(each) for each in self._reader().read(text)]

    def _reader(self) -> Reader:
        if self.lexicon is None:
            return self.language.reader()
        return _reader_with(self.language, self.lexicon)


@functools.lru_cache(8)
def _reader_with(language: Language, lexicon: Lexicon) -> Reader:
    """The reader of a language; in English it knows the words that differ by part of speech."""
    reader = language.reader()
    with_words = getattr(reader, "with_words", None)
    if not lexicon.parts or with_words is None:
        return reader
    changed: Reader = with_words(lexicon.parts)
    return changed


def _items(text: str | Iterable[str], voice: _Voice) -> Iterator[Sentence | Pause]:
    spoken = False
    beginning = ""
    for segment in split_segments(text, voice.language.ends):
        read = list(_read_segment(segment.text, voice))
        beginning = beginning or segment.text[: _EXCERPT + 1]
        last = max((i for i, item in enumerate(read) if isinstance(item, Sentence)), default=-1)
        for position, item in enumerate(read):
            if isinstance(item, Pause):
                yield replace(item, start=item.start + segment.start, end=item.end + segment.start)
                continue
            spoken = spoken or has_sound(item.phonemes)
            ends = position == last and segment.ends_paragraph
            moved = tuple(word.moved(segment.start, 0) for word in item.words)
            whole = replace(item, words=moved, ends_paragraph=ends)
            yield _finished(whole) if ends else whole
    if not spoken:
        raise InputError(f"the text has nothing to speak: {_excerpt(beginning)}")


def _read_segment(text: str, voice: _Voice) -> Iterator[Sentence | Pause]:
    """The sentences and pauses of a segment, with positions in it."""
    at = 0
    for match in PAUSE.finditer(text):
        yield from _read_between(text, at, match.start(), voice)
        yield Pause(seconds(match[1]), *match.span())
        at = match.end()
    yield from _read_between(text, at, len(text), voice)


def _read_between(text: str, start: int, end: int, voice: _Voice) -> Iterator[Sentence]:
    if text[start:end].strip():
        for sentence in voice.read_segment(text[start:end]):
            yield replace(sentence, words=tuple(word.moved(start, 0) for word in sentence.words))


def _read_run(run: TextRun, source: str, voice: _Voice) -> Iterator[Said | Mark]:
    marks = list(run.marks)
    waiting: Sentence | None = None
    for segment in split_segments(run.text.text, voice.language.ends):
        part = run.text[segment.start : segment.start + len(segment.text)]
        for sentence in voice.read(part, source):
            if waiting is not None:
                yield _said(waiting, run, marks)
            waiting = sentence
    if waiting is not None:
        ends = run.ends == "paragraph"
        whole = replace(waiting, ends_paragraph=ends)
        yield _said(whole if run.ends == "nothing" else _finished(whole), run, marks)
    yield from marks


def _said(sentence: Sentence, run: TextRun, marks: list[Mark]) -> Said:
    """A sentence with those of the marks, in order, that stand before its end; they are taken."""
    end = max((word.end for word in sentence.words), default=0)
    placed = []
    while marks and marks[0].at < end:
        mark = marks.pop(0)
        behind = (w.offset for w in sentence.words if w.start >= mark.at and w.phonemes)
        placed.append(PlacedMark(mark.name, next(behind, len(sentence.phonemes))))
    return Said(sentence, run.manner, tuple(placed))


def _spoken(sentence: Sentence) -> Sentence:
    """The sentence, without phonemes if the model knows no sound among them.

    Words whose given phonemes it does not know are left unspoken; marks alone are nothing to say.
    """
    if has_sound(sentence.phonemes):
        return sentence
    unknown = tuple(w.text for w in sentence.words if any(map(str.isalnum, w.phonemes)))
    return replace(sentence, phonemes="", words=(), unspoken=sentence.unspoken + unknown)


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
