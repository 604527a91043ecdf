"""A safe interface to eSpeak NG, for words that are not in the lexicon.

The C library terminates the process if its data folder is missing or its path is too long, and
mixes up words if several threads call it at once. Therefore the folder is checked first, a folder
whose path is too long is copied, and a lock is held during every call. phonemizer and eSpeak NG are
licensed under the GPL: they are only installed with the `text` extra, and only imported when a word
needs them.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

MAX_DATA_PATH = 159
"""The longest path to its data, in bytes, that the C library handles."""

_REINSTALL = "pip install --force-reinstall espeakng-loader"
_ENGLISH_DATA = ("phontab", "phonindex", "phondata", "intonations", "en_dict", "lang/gmw")

# The library is one set of global variables.
_lock = threading.Lock()


class WordReader(Protocol):
    """Returns the phonemes of a word in misaki's alphabet."""

    def __call__(self, word: str) -> str: ...


def check_data(folder: Path) -> None:
    """Raise EnvironmentFault if a part of the data that English needs is missing."""
    missing = [name for name in _ENGLISH_DATA if not (folder / name).exists()]
    if missing:
        raise EnvironmentFault(
            f"eSpeak's data in {folder} is incomplete ({', '.join(missing)} missing), and loading "
            f"it would end the process; reinstall it: {_REINSTALL}"
        )


def short_data_folder(folder: Path) -> Path:
    """Return `folder`, or a temporary copy of its English part if its path is too long.

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
    for name in _ENGLISH_DATA:
        source, target = folder / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
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
def _fallback(british: bool) -> Any:
    """misaki's converter of eSpeak's phonemes, for a library whose data was checked."""
    loader = importlib.import_module("espeakng_loader")
    folder = Path(loader.get_library_path()).parent / "espeak-ng-data"
    check_data(folder)
    misaki_espeak = importlib.import_module("misaki.espeak")  # sets library and data paths
    backend = importlib.import_module("phonemizer.backend")
    wrapper = importlib.import_module("phonemizer.backend.espeak.wrapper").EspeakWrapper
    wrapper.set_data_path(str(short_data_folder(folder)))
    try:
        fallback = misaki_espeak.EspeakFallback(british)
        # misaki would keep the "(fr)…(en)" flags of words that eSpeak considers foreign.
        fallback.backend = _Backend(
            backend.EspeakBackend(
                language="en-gb" if british else "en-us",
                preserve_punctuation=True,
                with_stress=True,
                tie="^",
                language_switch="remove-flags",
            )
        )
    except (RuntimeError, OSError) as error:
        raise EnvironmentFault(f"eSpeak does not start: {error}; {_REINSTALL}") from error
    return fallback


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
