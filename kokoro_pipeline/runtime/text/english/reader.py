"""Load the components that read English: misaki's lexicon, a tagger, and eSpeak for unknown words.

Nothing is downloaded. Words are tagged by spaCy's `en_core_web_sm` if it is installed, else by
rules.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from ..espeak import espeak_reader
from ..reading import Reader, Sentence, TaggerChoice
from .mathematics import LETTER_A
from .normalize import PRONOUNCED, Markup, normalize
from .sentences import split_sentences
from .traced import Traced
from .written import SpokenSentence, with_written_text

if TYPE_CHECKING:
    from .misaki_english import EnglishG2P

MODEL = "en_core_web_sm"
_lock = threading.Lock()


def load_reader(code: str, tagger: TaggerChoice = "auto") -> Reader:
    """The reader of "en-us" or "en-gb"; see `load_english`."""
    british = code == "en-gb"
    return EnglishReader(british, load_english(british, tagger))


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
            _read_sentence(self._g2p, sentence, normalized.markup)
            for paragraph in normalized.paragraphs
            for sentence in split_sentences(paragraph)
        ]
        return with_written_text(sentences, text, normalized.unspoken)


def _read_sentence(g2p: EnglishG2P, sentence: Traced, markup: Sequence[Markup]) -> SpokenSentence:
    def marked(start: int, end: int) -> Markup | None:
        begin, finish = sentence.span(start, end)
        found = bisect.bisect_right(markup, begin, key=lambda mark: mark.start) - 1
        return markup[found] if found >= 0 and finish <= markup[found].end else None

    spoken = SpokenSentence()
    for word in g2p.read(sentence.text, marked):
        start, end = sentence.span(word.start, word.end)
        is_word = any(c.isalpha() or c in (PRONOUNCED, LETTER_A) for c in word.text)
        spoken.add(start, end, word.phonemes, word.space, is_word)
    return spoken


def load_english(british: bool, tagger: TaggerChoice = "auto") -> EnglishG2P:
    """The reader of American or British English, loaded once for each `tagger`.

    "auto" uses `en_core_web_sm` if it is installed, "rules" never does. spaCy is only loaded with
    it.

    Raises EnvironmentFault if the `text` extra is not installed.
    """
    with _lock:
        return _load(british, tagger)


@functools.cache
def _load(british: bool, tagger: TaggerChoice) -> EnglishG2P:
    with_model = tagger == "auto" and model_installed()
    try:
        with contextlib.ExitStack() as stack:
            if with_model:
                stack.enter_context(_torch_left_alone(needed=_spacy_plugin_needs_torch()))
            else:
                stack.enter_context(_spacy_put_off())
            module = importlib.import_module(".misaki_english", __package__)
            model = _load_model() if with_model else None
    except ImportError as error:
        raise EnvironmentFault(
            f"reading text needs packages that are not installed ({error}): "
            f"{install_command('text')}"
        ) from error
    entries = module.supplement(british)
    reader: EnglishG2P = module.EnglishG2P(british, espeak_reader(british), model, entries)
    return reader


def model_installed() -> bool:
    """Whether spaCy's small English model is installed, as spaCy itself finds it."""
    try:
        importlib.metadata.distribution(MODEL)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _load_model() -> Any:
    spacy = importlib.import_module("spacy")
    try:
        return spacy.load(MODEL, enable=["tok2vec", "tagger"])
    except (OSError, ValueError) as error:
        raise EnvironmentFault(
            f"spaCy's model {MODEL} is installed but does not load ({error}): reinstall or "
            f"uninstall it (pip uninstall {MODEL})"
        ) from error


def _spacy_plugin_needs_torch() -> bool:
    # Before a model, spaCy loads all installed plugins, and this one imports torch.
    return importlib.util.find_spec("spacy_curated_transformers") is not None


@contextmanager
def _spacy_put_off() -> Iterator[None]:
    """Let misaki import a spaCy that is loaded at its first use, which rules never make.

    misaki's module imports spaCy, three quarters of the time that reading a short text takes. What
    it gets forwards every attribute to spaCy itself; other imports of spaCy are not affected.

    Raises ImportError if spaCy is not installed, as misaki's own import would.
    """
    if "spacy" in sys.modules:
        yield
        return
    if importlib.util.find_spec("spacy") is None:
        raise ImportError("No module named 'spacy'", name="spacy")
    stand_in = ModuleType("spacy")

    def forward(name: str) -> Any:
        return getattr(importlib.import_module("spacy"), name)

    vars(stand_in)["__getattr__"] = forward  # PEP 562
    sys.modules["spacy"] = stand_in
    try:
        yield
    finally:
        if sys.modules.get("spacy") is stand_in:
            del sys.modules["spacy"]


@contextmanager
def _torch_left_alone(needed: bool) -> Iterator[None]:
    """Keep spaCy from importing torch, which it does whenever torch is installed.

    If torch is already imported, nothing changes. Otherwise torch can be imported afterwards, but
    spaCy's torch layers, which are not used here, stay disabled in this process. While this context
    is active, about half a second, other threads cannot import torch either.
    """
    if needed or "torch" in sys.modules or "thinc" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment] # how Python marks a module as absent
    try:
        yield
    finally:
        if "torch" in sys.modules and sys.modules["torch"] is None:
            del sys.modules["torch"]
