"""Audio formats by file suffix, and checking in advance whether a path can be written."""

from __future__ import annotations

import importlib
import io
import os
import stat
from pathlib import Path
from types import ModuleType

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

from .samples import check_samples
from .wav import write_file, write_wav

SOUNDFILE_FORMATS = {
    ".flac": ("FLAC", "PCM_16"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
    ".ogg": ("OGG", "VORBIS"),
    ".opus": ("OGG", "OPUS"),
}
"""File suffix to libsndfile's format and subtype."""


def check_writable(path: Path) -> None:
    """Check that audio can be written to a path, to be called before synthesis.

    The content of an existing file is preserved.

    Raises InputError if the path is a folder, its parent is missing or read-only, permission is
    denied, or its suffix is unknown, and EnvironmentFault if the format needs the `audio` extra,
    which is not installed.
    """
    _check_format(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        _probe_new(path)
        return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        if stat.S_ISREG(mode):
            with path.open("ab"):
                pass
        elif not os.access(path, os.W_OK):  # opening a pipe would block until it has a reader
            raise InputError(f"cannot write {path}: permission denied")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def write_audio(
    path: Path, samples: np.ndarray, sample_rate: int, *, floating: bool = False
) -> int:
    """Write mono `samples` (float32 [n]) in the format given by the path's suffix, by default WAV.

    `floating` writes float samples and is only supported for WAV. Returns the number of clipped
    samples. Raises InputError and EnvironmentFault like `check_writable` and `write_wav`.
    """
    _check_format(path)
    if path.suffix.lower() not in SOUNDFILE_FORMATS:
        return write_wav(path, samples, sample_rate, floating=floating)
    if floating:
        raise InputError(f"float samples are written to .wav files only, not to {path.suffix}")
    checked = check_samples(samples)
    content = _encode(path, np.clip(checked, -1.0, 1.0), sample_rate)
    write_file(path, content)
    return int(np.count_nonzero(np.abs(checked) > 1.0))


def _encode(path: Path, samples: np.ndarray, sample_rate: int) -> bytes:
    soundfile = _soundfile(path)
    kind, subtype = SOUNDFILE_FORMATS[path.suffix.lower()]
    content = io.BytesIO()
    try:
        soundfile.write(content, samples, sample_rate, format=kind, subtype=subtype)
    except soundfile.SoundFileError as error:
        raise EnvironmentFault(
            f"libsndfile cannot write {path}: {error}; use a .wav path"
        ) from error
    return content.getvalue()


def _check_format(path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix in SOUNDFILE_FORMATS:
        _soundfile(path)
    elif suffix not in (".wav", ".wave", ""):
        known = ", ".join([".wav", *SOUNDFILE_FORMATS])
        raise InputError(f"cannot write {path}: unknown format {suffix}; known are {known}")


def _soundfile(path: Path) -> ModuleType:
    try:
        return importlib.import_module("soundfile")
    except (
        ImportError,
        OSError,
    ) as error:  # OSError: the package is installed, but its library is missing
        raise EnvironmentFault(
            f"{path.suffix} needs soundfile ({error}): {install_command('audio')}, "
            "or write a .wav file"
        ) from error


def _probe_new(path: Path) -> None:
    try:
        real = path.resolve()  # so that a symbolic link is kept, even if its target does not exist
        with real.open("xb"):
            pass
        real.unlink()
    except OSError as error:
        where = path.parent if path.name else path
        raise InputError(
            f"cannot write {path}: {error.strerror}; is {where} a folder you can write to?"
        ) from error
