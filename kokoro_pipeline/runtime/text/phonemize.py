"""Text to phonemes: the entry point for all languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kokoro_pipeline.errors import InputError

from .english.normalize import PRONOUNCED, normalize
from .english.reader import TaggerChoice, load_english
from .english.sentences import split_sentences

LANGUAGES = {"en-us": "American English", "en-gb": "British English"}
"""Supported language codes (BCP 47, in lower case) with their names."""

ALIASES = {"en": "en-us", "a": "en-us", "b": "en-gb"}
"""Other names of the languages: without a region, and kokoro's letters."""

_EXCERPT = 60


class Word(NamedTuple):
    """A word or punctuation mark of the normalised text with its phonemes."""

    text: str
    phonemes: str


@dataclass(frozen=True)
class Phonemized:
    """The phonemes of a text.

    `phonemes` is the input of `synthesize`. `words` are the words and marks that it was made from,
    in order, with numbers and abbreviations spelled out. `unspoken` lists the parts that have no
    English reading (emoji, other scripts) and were left out.
    """

    phonemes: str
    words: tuple[Word, ...]
    unspoken: tuple[str, ...] = ()


def check_language(lang: str) -> str:
    """The canonical code of a language. Raises InputError, which lists the supported ones."""
    if not isinstance(lang, str):
        raise InputError(f"lang is {type(lang).__name__}, expected a string such as 'en-us'")
    code = lang.strip().lower().replace("_", "-")
    code = ALIASES.get(code, code)
    if code in LANGUAGES:
        return code
    known = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
    raise InputError(
        f"language {lang!r} is not supported: other languages come later; known are {known}. "
        "Phonemes of any language can be given as they are (--phonemes)"
    )


def phonemize(text: str, lang: str = "en-us", *, tagger: TaggerChoice = "auto") -> Phonemized:
    """Convert `text` in language `lang`, "en-us" or "en-gb", to phonemes, without network access.

    Numbers, money, dates, times, units, abbreviations and addresses are spelled out. A word written
    as `[text](/phonemes/)` is pronounced as given. All symbols of the result are in Kokoro's
    vocabulary, except for those in given phonemes. With `tagger` "rules", an installed spaCy model
    is not used. The running time is linear in the length of the text, and the function is
    thread-safe.

    Raises InputError for an unknown language and for text with nothing to speak, EnvironmentFault
    if the `text` extra is not installed.
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
