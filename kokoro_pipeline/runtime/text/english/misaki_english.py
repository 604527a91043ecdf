"""misaki's English lexicon and morphology, with our own tokens, tags and fallback.

This module imports misaki, and thereby spaCy: import it through `english.load_english`.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from misaki import en

from ..espeak import WordReader
from .homographs import sense_of
from .normalize import PRONOUNCED, Pronunciation
from .tagger import RuleTagger

Model = Callable[[str], Any]
"""A spaCy pipeline with a tagger."""

_TOKEN = re.compile(
    rf"{PRONOUNCED}|(?:[A-Za-z]\.)+[A-Za-z](?![A-Za-z])"
    r"|'?[^\W\d_]+(?:['-][^\W\d_]+)*'?|[^\w\s]"
)
# Words whose adjective is pronounced differently, although the lexicon only marks the noun.
_UNMARKED_ADJECTIVES = {"close", "content", "invalid", "upset"}
# (American, British) pronunciations of words that the lexicon lacks and eSpeak gets wrong.
_SUPPLEMENT = {
    "Kokoro": ("kˈOkəɹO", "kˈQkəɹQ"),
    "kokoro": ("kˈOkəɹO", "kˈQkəɹQ"),
    "JSON": ("ʤˈAsᵊn", "ʤˈAsᵊn"),
    "YAML": ("jˈæmᵊl", "jˈamᵊl"),
    "CUDA": ("kˈudə", "kˈuːdə"),
    "github": ("ɡˈɪthˌʌb", "ɡˈɪthʌb"),
    "GitHub": ("ɡˈɪthˌʌb", "ɡˈɪthʌb"),
    "PyTorch": ("pˈItˌɔɹʧ", "pˈItɔːʧ"),
    "GIF": ("ɡˈɪf", "ɡˈɪf"),
    "well-read": ("wˌɛlɹˈɛd", "wˌɛlɹˈɛd"),
    "Nguyen": ("nwˈɪn", "nwˈɪn"),
    "Xi": ("ʃˈi", "ʃˈiː"),
    "Chopin": ("ʃˈOpˌæn", "ʃˈQpan"),
    "Goethe": ("ɡˈɜɹtə", "ɡˈɜːtə"),
}
_ACCENTS = re.compile("[\u0300-\u036f]")


class Token(NamedTuple):
    """A word or punctuation mark with the space after it."""

    text: str
    space: str


class ReadWord(NamedTuple):
    """A word or punctuation mark, its phonemes, and the space after it."""

    text: str
    phonemes: str
    space: str


def tokenize(sentence: str) -> list[Token]:
    """Split into words, with their hyphens and apostrophes, and single marks, dropping spaces."""
    return [
        Token(match[0], " " if sentence[match.end() : match.end() + 1] == " " else "")
        for match in _TOKEN.finditer(sentence)
    ]


class EnglishG2P(en.G2P):
    """Reads normalised sentences. It has no state between calls, so threads can share it."""

    def __init__(self, british: bool, reader: WordReader, model: Model | None) -> None:
        """Load the lexicon, without network access. `model` tags words; if it is None, rules do.

        misaki's own constructor is not called, since it downloads a spaCy model.
        """
        self.version = None
        self.british = british
        self.lexicon = en.Lexicon(british)
        self.lexicon.golds.update(
            (word, phonemes[british]) for word, phonemes in _SUPPLEMENT.items()
        )
        self.fallback = self._read_unknown
        self.unk = ""
        self.nlp = model
        self._reader = reader
        self._given: Iterator[Pronunciation] = iter(())
        split = {
            word: set(tags) & {"NOUN", "VERB", "ADJ", "VBD", "VBN"}
            for word, tags in self.lexicon.golds.items()
            if isinstance(tags, dict)
        }
        self._tagger = RuleTagger(
            heteronyms=frozenset(word for word, tags in split.items() if tags),
            adjectival=frozenset(word for word, tags in split.items() if "ADJ" in tags)
            | _UNMARKED_ADJECTIVES,
            known=self._is_ordinary,
        )

    def _is_ordinary(self, word: str) -> bool:
        lexicon = self.lexicon
        return word in lexicon.golds or any(
            stem(word, None, None, None)[0] is not None
            for stem in (lexicon.stem_s, lexicon.stem_ed, lexicon.stem_ing)
            if len(word) > 3
        )

    def _read_unknown(self, token: Any) -> tuple[str, int]:
        if token.text.endswith("ied"):  # the only ending that misaki does not handle
            stem = token.text.removesuffix("ied") + "y"
            if self._is_ordinary(stem):
                phonemes, rating = self.lexicon.lookup(stem, token.tag, None, None)
                return phonemes + "d", rating
        return self._reader(token.text), 2

    def read(self, sentence: str, given: Iterator[Pronunciation]) -> list[ReadWord]:
        """Read the words and marks of one normalised sentence, in order.

        Each placeholder takes its phonemes from `given`. A word that cannot be read has no
        phonemes.
        """
        reader = copy.copy(self)  # misaki hands nothing but the text to `tokenize`
        reader._given = given
        _, tokens = reader(sentence, preprocess=False)
        return [ReadWord(tk.text, tk.phonemes or "", tk.whitespace) for tk in tokens]

    def tokenize(self, text: str, tokens: Any, features: Any) -> list[Any]:
        """Overrides misaki's method: the tagged tokens of a sentence."""
        words, tags = self._tagged(text)
        lower = [word.text.lower() for word in words]
        result = []
        for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
            spelling, phonemes = word.text, None
            if spelling == PRONOUNCED:
                pronunciation = next(self._given)
                spelling, phonemes, tag = pronunciation.text, pronunciation.phonemes, "NNP"
            elif sense := sense_of(lower, tags, i):
                phonemes = sense[self.british]
            token = en.MToken(
                text=spelling,
                tag=tag,
                whitespace=word.space,
                phonemes=phonemes,
                _=en.MToken.Underscore(is_head=True, num_flags="", prespace=False),
            )
            result.append(token)
        return result

    def _tagged(self, sentence: str) -> tuple[list[Token], list[str]]:
        if self.nlp is None:
            shouted = sentence.isupper() and len(sentence.split()) > 1
            tokens = [self._spelled(token, shouted) for token in tokenize(sentence)]
            return tokens, self._tagger([token.text for token in tokens])
        tokens, tags = [], []
        for token in self.nlp(sentence):
            parts = re.split(f"({PRONOUNCED})", token.text)
            pieces = [part for part in parts if part]
            for last, piece in zip((*[False] * (len(pieces) - 1), True), pieces, strict=True):
                space = token.whitespace_ if last else ""
                tokens.append(self._spelled(Token(piece, space), False))
                tags.append(token.tag_)
        return tokens, tags

    def _spelled(self, token: Token, shouted: bool) -> Token:
        """The spelling used in the lexicon: without accents, and without capitals for emphasis."""
        text = token.text
        if not text.isascii() and text not in self.lexicon.golds:
            plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
            if self._is_ordinary(plain.lower()):
                text = plain
        if shouted and len(text) > 1 and self._is_ordinary(text.lower()):
            text = text.lower()
        return token._replace(text=text)
