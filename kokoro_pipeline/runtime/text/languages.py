"""The languages that text is read in, and where their readers are."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field

from kokoro_pipeline.errors import InputError

from .chinese.sentence_ends import CHINESE
from .english.sentence_ends import ENGLISH
from .espeak_voices.sentence_ends import FRENCH, HINDI, ITALIAN, PORTUGUESE, SPANISH
from .japanese.sentence_ends import JAPANESE
from .reading import Reader
from .segments import SentenceEnds


@dataclass(frozen=True)
class Language:
    """A language of the model."""

    code: str
    """As BCP 47 has it, in lower case."""
    name: str
    letter: str
    """kokoro's name of the language, which also begins the names of its voices."""
    folder: str
    """The package beside this module whose module `reader` has `load_reader`."""
    ends: SentenceEnds = field(repr=False)
    aliases: tuple[str, ...] = ()

    def reader(self) -> Reader:
        """Load the reader, once a process.

        Raises EnvironmentFault if the packages that it needs are not installed.
        """
        module = importlib.import_module(f".{self.folder}.reader", __package__)
        reader: Reader = module.load_reader(self.code)
        return reader


LANGUAGES = {
    language.code: language
    for language in (
        Language("en-us", "American English", "a", "english", ENGLISH, ("en",)),
        Language("en-gb", "British English", "b", "english", ENGLISH),
        Language("es", "Spanish", "e", "espeak_voices", SPANISH, ("es-es",)),
        Language("fr", "French", "f", "espeak_voices", FRENCH, ("fr-fr",)),
        Language("hi", "Hindi", "h", "espeak_voices", HINDI, ("hi-in",)),
        Language("it", "Italian", "i", "espeak_voices", ITALIAN, ("it-it",)),
        Language("pt-br", "Brazilian Portuguese", "p", "espeak_voices", PORTUGUESE, ("pt",)),
        Language("ja", "Japanese", "j", "japanese", JAPANESE, ("ja-jp",)),
        Language("zh", "Mandarin Chinese", "z", "chinese", CHINESE, ("zh-cn", "cmn")),
    )
}
"""By code."""

_NAMES = {
    name: language
    for language in LANGUAGES.values()
    for name in (language.code, language.letter, *language.aliases)
}


_LETTERS = {language.letter: language for language in LANGUAGES.values()}
_VOICE_NAME = re.compile(r"([a-z])[fm]_\w")


def language_of_voice(voice: str) -> Language | None:
    """The language that a voice speaks by its name: `ff_siwis` is French.

    None if the name does not say so (it is a file's path, or not named as kokoro's voices are), and
    if the voices of a blend ("ff_siwis:0.6,if_sara:0.4") do not share a language.
    """
    names = [part.partition(":")[0].strip() for part in voice.split(",")]
    found = {match[1] if (match := _VOICE_NAME.match(name)) else "" for name in names}
    return _LETTERS.get(found.pop()) if len(found) == 1 else None


def find_language(lang: str) -> Language:
    """The language of a code, an alias or one of kokoro's letters.

    Raises InputError, which lists the known ones.
    """
    if not isinstance(lang, str):
        raise InputError(f"lang is {type(lang).__name__}, expected a string such as 'en-us'")
    if language := _NAMES.get(lang.strip().lower().replace("_", "-")):
        return language
    known = ", ".join(f"{language.code} ({language.name})" for language in LANGUAGES.values())
    raise InputError(
        f"language {lang!r} is not supported; known are {known}. "
        "Phonemes of any language can be spoken in place of a text"
    )
