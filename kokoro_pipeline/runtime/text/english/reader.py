"""Load the components that read English: misaki's lexicon, a tagger, and eSpeak for unknown words.

Nothing is downloaded.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from ..espeak import espeak_reader
from ..put_off import put_off
from ..reading import Reader, Sentence
from ..tracked import Tracked
from .headlines import is_headline
from .letters import LETTER_A
from .normalize import PRONOUNCED, Markup, normalize
from .sentences import split_sentences
from .written import SpokenSentence, with_written_text

if TYPE_CHECKING:
    from .misaki_english import EnglishG2P

_lock = threading.Lock()


def load_reader(code: str) -> Reader:
    """The reader of "en-us" or "en-gb"; see `load_english`."""
    british = code == "en-gb"
    return EnglishReader(british, load_english(british))


class EnglishReader:
    """Reads segments of English text."""

    def __init__(self, british: bool, g2p: EnglishG2P) -> None:
        self._british = british
        self._g2p = g2p

    def with_words(self, words: Mapping[str, Mapping[str, str]]) -> EnglishReader:
        """The same reader with a user's words; see `EnglishG2P.with_words`."""
        return EnglishReader(self._british, self._g2p.with_words(words))

    def read(self, text: str) -> list[Sentence]:
        """The sentences of a segment; see `Reader`.

        Every character but white space is in exactly one entry of `words`. The text of a word with
        markup, `[text](/phonemes/)`, is `text`; what is around it, and whatever else is not spoken,
        is an entry without phonemes.
        """
        normalized = normalize(text, self._british)
        sentences = [
            _read_sentence(self._g2p, sentence, normalized.markup, text)
            for paragraph in normalized.paragraphs
            for sentence in split_sentences(paragraph)
        ]
        return with_written_text(sentences, text, normalized.unspoken)


def _read_sentence(
    g2p: EnglishG2P, sentence: Tracked, markup: Sequence[Markup], source: str
) -> SpokenSentence:
    def marked(start: int, end: int) -> Markup | None:
        begin, finish = sentence.span(start, end)
        found = bisect.bisect_right(markup, begin, key=lambda mark: mark.start) - 1
        return markup[found] if found >= 0 and finish <= markup[found].end else None

    spoken = SpokenSentence()
    start, end = sentence.span(0, len(sentence))
    shouted = is_headline(source[start:end])
    for word in g2p.read(sentence.text, marked, shouted):
        start, end = sentence.span(word.start, word.end)
        is_word = any(c.isalpha() or c in (PRONOUNCED, LETTER_A) for c in word.text)
        spoken.add(start, end, word.phonemes, word.space, is_word)
    return spoken


def load_english(british: bool) -> EnglishG2P:
    """The reader of American or British English, loaded once.

    Raises EnvironmentFault if the `text` extra is not installed.
    """
    with _lock:
        return _load(british)


@functools.cache
def _load(british: bool) -> EnglishG2P:
    try:
        with put_off("spacy"):  # by which misaki's own reader tags
            module = importlib.import_module(".misaki_english", __package__)
    except ImportError as error:
        raise EnvironmentFault(
            f"reading text needs packages that are not installed ({error}): "
            f"{install_command('text')}"
        ) from error
    entries = module.supplement(british)
    reader: EnglishG2P = module.EnglishG2P(british, espeak_reader(british), entries)
    return reader
