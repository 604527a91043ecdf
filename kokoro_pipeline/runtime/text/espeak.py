"""eSpeak NG for the words that no lexicon knows, made safe.

The C library ends the whole process when its data folder is missing or its path is too long, and
mixes up the words of threads that call it together. So the folder is checked first, a path that is
too long is replaced by a copy, and every call holds one lock. phonemizer and eSpeak NG are GPL:
both come with the extra `text` only and are imported when a word first needs them.
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

MAX_DATA_PATH = 159
"""Bytes of the longest path to its data that the C library survives."""

_REINSTALL = "pip install --force-reinstall espeakng-loader"
_ENGLISH_DATA = ("phontab", "phonindex", "phondata", "intonations", "en_dict", "lang/gmw")

# The library is one set of global variables.
_lock = threading.Lock()


class WordReader(Protocol):
    """Gives the phonemes of one word, in misaki's alphabet."""

    def __call__(self, word: str) -> str: ...


def check_data(folder: Path) -> None:
    """Raises EnvironmentFault where a part of the data that English needs is not there."""
    missing = [name for name in _ENGLISH_DATA if not (folder / name).exists()]
    if missing:
        raise EnvironmentFault(
            f"eSpeak's data in {folder} is incomplete ({', '.join(missing)} missing), and loading "
            f"it would end the process; reinstall it: {_REINSTALL}"
        )


def short_data_folder(folder: Path) -> Path:
    """`folder`, or a temporary copy of its English part where its path is too long for the library.

    A copy, because phonemizer resolves links. It is removed when the process ends. Raises
    EnvironmentFault where the temporary directory's path is too long as well.
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
    """phonemizer's backend; mends what misaki's table of replacements gets wrong."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def phonemize(self, words: list[str]) -> list[str]:
        # The table turns every other e into the diphthong of "day", this one of "hair" too; and it
        # writes an r of its own behind the vowel of "butter".
        return [
            phonemes.replace("e^ə", "ɛː").replace("ɚɹ", "ɚ")
            for phonemes in self._backend.phonemize(words)
        ]


@functools.cache
def _fallback(british: bool) -> Any:
    """misaki's converter from eSpeak's phonemes, over a library that opened its checked data."""
    loader = importlib.import_module("espeakng_loader")
    folder = Path(loader.get_library_path()).parent / "espeak-ng-data"
    check_data(folder)
    misaki_espeak = importlib.import_module("misaki.espeak")  # names loader's library and data
    backend = importlib.import_module("phonemizer.backend")
    wrapper = importlib.import_module("phonemizer.backend.espeak.wrapper").EspeakWrapper
    wrapper.set_data_path(str(short_data_folder(folder)))
    try:
        fallback = misaki_espeak.EspeakFallback(british)
        # misaki keeps the "(fr)…(en)" flags of words that eSpeak takes for foreign ones.
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
    """A reader of words by the English voice; the library is loaded with the first word.

    The reader raises EnvironmentFault where eSpeak is not installed, damaged or cannot be started.
    """

    def read(word: str) -> str:
        token = importlib.import_module("misaki.token").MToken(text=word, tag="", whitespace="")
        with _lock:
            try:
                phonemes, _ = _fallback(british)(token)
            except ImportError as error:
                raise EnvironmentFault(
                    f"{word!r} is in no lexicon and eSpeak, which would spell it, is not "
                    f"installed ({error}): pip install 'tvm-kokoro[text]'"
                ) from error
        return phonemes or ""

    return read
