"""Text to phonemes: the one entry for every language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kokoro_pipeline.errors import InputError

from .english.normalize import PRONOUNCED, normalize
from .english.reader import TaggerChoice, load_english
from .english.sentences import split_sentences

LANGUAGES = {"en-us": "American English", "en-gb": "British English"}
"""Codes that `phonemize` takes, with their names."""

_EXCERPT = 60


class Word(NamedTuple):
    """A word or punctuation mark of the normalised text, and its phonemes."""

    text: str
    phonemes: str


@dataclass(frozen=True)
class Phonemized:
    """The phonemes of a text.

    `phonemes` is what `synthesize` takes; `words` are the words and marks it came from, in order,
    numbers and abbreviations spelled out; `unspoken` lists what has no English reading (emoji,
    other scripts) and was left out.
    """

    phonemes: str
    words: tuple[Word, ...]
    unspoken: tuple[str, ...] = ()


def check_language(lang: str) -> str:
    """The canonical code of a known language. Raises InputError for another, listing the known."""
    code = lang.strip().lower().replace("_", "-")
    if code in LANGUAGES:
        return code
    known = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
    raise InputError(
        f"language {lang!r} is not supported: other languages come later; known are {known}. "
        "Phonemes of any language can be given as they are (--phonemes)"
    )


def phonemize(text: str, lang: str = "en-us", *, tagger: TaggerChoice = "auto") -> Phonemized:
    """Read `text` in the language `lang`, "en-us" or "en-gb", without any network.

    Numbers, money, dates, times, units, abbreviations and addresses are spelled out. A word written
    `[text](/phonemes/)` is pronounced as given. Every symbol of the result is in Kokoro's
    vocabulary, but for those in given phonemes. `tagger` "rules" leaves an installed spaCy model
    unused. Takes time linear in the text's length; several threads may call it.

    Raises InputError for an unknown language and for text with nothing to speak, EnvironmentFault
    where the extra `text` is not installed.
    """
    british = check_language(lang) == "en-gb"
    normalized = normalize(text, british)
    if not any(_speakable(p) for p in normalized.paragraphs):
        raise InputError(f"the text has nothing to speak: {_excerpt(text)}")
    reader = load_english(british, tagger)
    given = iter(normalized.pronunciations)
    words: list[Word] = []
    unspoken = list(normalized.unspoken)
    sentences: list[str] = []
    for paragraph in normalized.paragraphs:
        for sentence in split_sentences(paragraph):
            read = reader.read(sentence, given)
            words.extend(Word(word.text, word.phonemes) for word in read)
            unspoken.extend(w.text for w in read if _speakable(w.text) and not w.phonemes)
            sentences.append(" ".join("".join(w.phonemes + w.space for w in read).split()))
    phonemes = " ".join(filter(None, sentences))
    if not phonemes:
        raise InputError(f"the text has nothing to speak: {_excerpt(text)}")
    return Phonemized(phonemes, tuple(words), tuple(unspoken))


def _speakable(text: str) -> bool:
    return any(character.isalpha() or character == PRONOUNCED for character in text)


def _excerpt(text: str) -> str:
    shown = " ".join(text.split())
    if not shown:
        return "it is empty" if not text else "it is only white space"
    return repr(shown if len(shown) <= _EXCERPT else shown[:_EXCERPT] + "…")
