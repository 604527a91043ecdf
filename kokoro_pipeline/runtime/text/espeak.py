"""A safe interface to eSpeak NG, for English words that are not in the lexicon and for languages
that it reads alone.

The C library terminates the process if its data folder is missing or its path is too long, and
mixes up words if several threads call it at once. Therefore the folder is checked first, a folder
whose path is too long is copied, and a lock is held during every call. phonemizer and eSpeak NG are
licensed under the GPL: they are only installed with the `text` extra, and only imported when a text
needs them.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import logging
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from .put_off import put_off

MAX_DATA_PATH = 159
"""The longest path to its data, in bytes, that the C library handles."""

_REINSTALL = "pip install --force-reinstall espeakng-loader"
# Every voice needs these: words that a voice takes for English are read by the English rules.
_DATA = ("phontab", "phonindex", "phondata", "intonations", "en_dict", "lang/gmw")
_DATA_OF = {
    "es": ("es_dict", "lang/roa/es"),
    "fr-fr": ("fr_dict", "lang/roa/fr"),
    "hi": ("hi_dict", "lang/inc/hi"),
    "it": ("it_dict", "lang/roa/it"),
    "pt-br": ("pt_dict", "lang/roa/pt-BR"),
}
_WORDS_KEPT = 4096

# The library is one set of global variables.
_lock = threading.Lock()

# phonemizer warns about every word that eSpeak takes for another language.
_silent = logging.Logger("kokoro_pipeline.espeak", logging.CRITICAL)


class WordReader(Protocol):
    """Returns the phonemes of a word in misaki's alphabet."""

    def __call__(self, word: str) -> str: ...


class ClauseReader(Protocol):
    """Returns the phonemes of words between two marks, in misaki's alphabet."""

    def __call__(self, clause: str) -> str: ...


def check_data(folder: Path, voice: str = "en-us") -> None:
    """Raise EnvironmentFault if a part of the data that a voice needs is missing."""
    needed = (*_DATA, *_DATA_OF.get(voice, ()))
    missing = [name for name in needed if not (folder / name).exists()]
    if missing:
        raise EnvironmentFault(
            f"eSpeak's data in {folder} is incomplete ({', '.join(missing)} missing), and loading "
            f"it would end the process; reinstall it: {_REINSTALL}"
        )


def short_data_folder(folder: Path) -> Path:
    """Return `folder`, or a temporary copy of it if its path is too long.

    A symbolic link would not do, since phonemizer resolves links. The copy is removed when the
    process ends. Raises EnvironmentFault if the path of the temporary directory is too long as
    well.
    """
    if _fits(folder.resolve()):
        return folder
    copy = Path(tempfile.mkdtemp(prefix="espeak-")).resolve()
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    if not _fits(copy):
        raise EnvironmentFault(
            f"eSpeak cannot open data under a path of {MAX_DATA_PATH + 1} bytes or more: "
            f"{folder.resolve()} is too long, and so is the temporary directory {copy.parent}; "
            "set TMPDIR to a short path"
        )
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    return copy


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= MAX_DATA_PATH


class _Backend:
    """phonemizer's backend, with corrections for misaki's table of replacements."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def phonemize(self, words: list[str]) -> list[str]:
        # The table would turn the e of "hair" into the diphthong of "day", and it adds an r after
        # the vowel of "butter" by itself.
        return [
            phonemes.replace("e^ə", "ɛː").replace("ɚɹ", "ɚ")
            for phonemes in self._backend.phonemize(words)
        ]


@functools.cache
def _started() -> Path:
    """Point phonemizer at the library and at its data, which are checked; returns the data.

    Raises ImportError if a package is missing, EnvironmentFault for damaged data.
    """
    loader = importlib.import_module("espeakng_loader")
    folder = Path(loader.get_library_path()).parent / "espeak-ng-data"
    check_data(folder)
    with put_off("segments"):  # another backend of phonemizer, larger than all the rest
        importlib.import_module("misaki.espeak")  # sets library and data paths
    wrapper = importlib.import_module("phonemizer.backend.espeak.wrapper").EspeakWrapper
    wrapper.set_data_path(str(short_data_folder(folder)))
    return folder


def _backend(voice: str) -> Any:
    check_data(_started(), voice)
    backend = importlib.import_module("phonemizer.backend")
    return backend.EspeakBackend(
        language=voice,
        preserve_punctuation=True,
        with_stress=True,
        tie="^",
        # misaki's English would keep the "(fr)…(en)" flags of words that eSpeak considers foreign.
        language_switch="remove-flags",
        logger=_silent,
    )


@functools.cache
def _fallback(british: bool) -> Any:
    """misaki's converter of eSpeak's English phonemes, for a library whose data was checked."""
    try:
        backend = _Backend(_backend("en-gb" if british else "en-us"))
        fallback = importlib.import_module("misaki.espeak").EspeakFallback(british)
        fallback.backend = backend
    except (RuntimeError, OSError) as error:
        raise _does_not_start(error) from error
    return fallback


@functools.cache
def _converter(voice: str) -> Any:
    """misaki's converter of the phonemes of an eSpeak voice that reads its language alone."""
    try:
        backend = _backend(voice)
        converter = importlib.import_module("misaki.espeak").EspeakG2P(voice)
        converter.backend = backend
    except (RuntimeError, OSError) as error:
        raise _does_not_start(error) from error
    return converter


def _does_not_start(error: Exception) -> EnvironmentFault:
    return EnvironmentFault(f"eSpeak does not start: {error}; {_REINSTALL}")


def espeak_reader(british: bool) -> WordReader:
    """A reader of words with an English voice; the library is loaded for the first word.

    The reader raises EnvironmentFault if eSpeak is not installed, damaged or fails to start.
    """

    def read(word: str) -> str:
        token = importlib.import_module("misaki.token").MToken(text=word, tag="", whitespace="")
        with _lock:
            try:
                phonemes, _ = _fallback(british)(token)
            except ImportError as error:
                raise EnvironmentFault(
                    f"{word!r} is in no lexicon and eSpeak, which would spell it, is not "
                    f"installed ({error}): {install_command('text')}"
                ) from error
        return phonemes or ""

    return read


@functools.cache
def clause_reader(voice: str) -> ClauseReader:
    """A reader with one of eSpeak's voices, such as "fr-fr"; it keeps what it read last.

    Raises EnvironmentFault if eSpeak is not installed, damaged or fails to start.
    """
    with _lock:
        try:
            converter = _converter(voice)
        except ImportError as error:
            raise EnvironmentFault(
                f"reading text needs packages that are not installed ({error}): "
                f"{install_command('text')}"
            ) from error

    @functools.lru_cache(_WORDS_KEPT)
    def read(clause: str) -> str:
        with _lock:
            phonemes: str = converter(clause)[0]
        return phonemes

    return read
