"""WAV files with 16-bit PCM or 32-bit float samples.

The header is complete before the first sample, so the output can be a pipe.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault, InputError

from .samples import check_samples, to_pcm16

_PCM, _IEEE_FLOAT = 1, 3
_LARGEST = (1 << 32) - 1
"""The largest number of bytes that RIFF's 32-bit sizes can express."""


def write_wav(
    target: str | os.PathLike[str] | BinaryIO,
    samples: np.ndarray,
    sample_rate: int,
    *,
    floating: bool = False,
) -> int:
    """Write mono `samples` (float32 [n], in [-1, 1]) to a path or an open binary file.

    `sample_rate` is in samples per second. Returns the number of samples outside [-1, 1], which are
    clipped; with `floating`, samples are written unchanged as float32 and the result is 0. The file
    does not have to be seekable.

    Raises InputError for invalid samples (rank, dtype, NaN, more than 4 GiB), EnvironmentFault if
    the file cannot be written; an existing file then stays as it was.
    """
    content, clipped = encode_wav(samples, sample_rate, floating=floating)
    if isinstance(target, str | os.PathLike):
        write_file(Path(target), content)
    else:
        _write_stream(target, content)
    return clipped


def encode_wav(
    samples: np.ndarray, sample_rate: int, *, floating: bool = False
) -> tuple[bytes, int]:
    """The bytes of a WAV file and the number of clipped samples; see `write_wav`."""
    if not 0 < sample_rate <= _LARGEST // 4:
        raise InputError(f"the sample rate {sample_rate} is not a positive number of samples")
    checked = check_samples(samples)
    if checked.nbytes > _LARGEST - 64:
        raise InputError(f"{checked.size} samples do not fit a WAV file: split the audio")
    if floating:
        data, clipped, tag, width = checked.astype("<f4", copy=False), 0, _IEEE_FLOAT, 4
    else:
        pcm, clipped = to_pcm16(checked)
        data, tag, width = pcm.astype("<i2", copy=False), _PCM, 2
    layout = struct.pack("<HHIIHH", tag, 1, sample_rate, sample_rate * width, width, 8 * width)
    if floating:
        # Formats other than PCM have the size of their extension and the number of samples.
        chunks = _chunk(b"fmt ", layout + struct.pack("<H", 0))
        chunks += _chunk(b"fact", struct.pack("<I", checked.size))
    else:
        chunks = _chunk(b"fmt ", layout)
    chunks += _chunk(b"data", data.tobytes())
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks, clipped


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely, or leave what was there and raise EnvironmentFault.

    The content is written beside the file and renamed over it, which keeps the permissions of an
    existing one. What is not a regular file (a pipe, a terminal) is written directly, and so is an
    existing file in a folder that takes no new ones.
    """
    try:
        if path.exists() and not path.is_file():
            _write_to(path, content)
        else:
            _replace(path.resolve(), content)  # resolved: a symbolic link stays one
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error


def _write_to(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        file = beside.open("xb")
    except PermissionError:
        if not path.exists():
            raise
        _write_to(path, content)
        return
    try:
        with file:
            file.write(content)
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to report
            beside.unlink()
        raise


def _write_stream(stream: BinaryIO, content: bytes) -> None:
    rest = memoryview(content)
    try:
        while rest:  # an unbuffered stream may write only a part at a time
            rest = rest[stream.write(rest) :]
        stream.flush()
    except OSError as error:
        raise EnvironmentFault(f"cannot write the audio: {error.strerror}") from error


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content
