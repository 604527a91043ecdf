"""Loads what reads English: misaki's lexicon, a tagger, and eSpeak for unknown words.

Nothing is ever downloaded. spaCy's `en_core_web_sm` tags the words where it is installed; else
rules do.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from kokoro_pipeline.errors import EnvironmentFault

from ..espeak import espeak_reader

if TYPE_CHECKING:
    from .misaki_english import EnglishG2P

TaggerChoice = Literal["auto", "rules"]

MODEL = "en_core_web_sm"
_INSTALL = "pip install 'tvm-kokoro[text]'"
_lock = threading.Lock()


def load_english(british: bool, tagger: TaggerChoice = "auto") -> EnglishG2P:
    """The reader of American or British English, loaded once for each `tagger`.

    "auto" uses `en_core_web_sm` where it is installed, "rules" never does. Raises EnvironmentFault
    where the extra `text` is not installed. Takes about a second for the first, most of it spaCy.
    """
    with _lock:
        return _load(british, tagger)


@functools.cache
def _load(british: bool, tagger: TaggerChoice) -> EnglishG2P:
    with_model = tagger == "auto" and model_installed()
    try:
        with _torch_left_alone(needed=with_model and _spacy_plugin_needs_torch()):
            module = importlib.import_module(".misaki_english", __package__)
            model = _load_model() if with_model else None
    except ImportError as error:
        raise EnvironmentFault(
            f"reading text needs packages that are not installed ({error}): {_INSTALL}"
        ) from error
    reader: EnglishG2P = module.EnglishG2P(british, espeak_reader(british), model)
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
    # spaCy loads every installed plugin before a model, and this one imports torch.
    return importlib.util.find_spec("spacy_curated_transformers") is not None


@contextmanager
def _torch_left_alone(needed: bool) -> Iterator[None]:
    """Keep spaCy from importing torch, which it does wherever torch is installed.

    A torch already imported stays, and torch can be imported afterwards; only spaCy's torch layers,
    which nothing here uses, stay off in this process. For the half second that this takes, other
    threads cannot import torch either.
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
