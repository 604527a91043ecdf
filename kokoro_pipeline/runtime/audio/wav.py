"""WAV files: 16-bit PCM, or 32-bit IEEE float. The header is complete before the first sample, so
that a pipe can take them."""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault, InputError

from .samples import check_samples, to_pcm16

_PCM, _IEEE_FLOAT = 1, 3
_LARGEST = (1 << 32) - 1
"""Bytes that RIFF's 32-bit sizes can name."""


def write_wav(
    target: str | os.PathLike[str] | BinaryIO,
    samples: np.ndarray,
    sample_rate: int,
    *,
    floating: bool = False,
) -> int:
    """Write mono `samples` (float32 [n], in [-1, 1]) to a path or an open binary file.

    `sample_rate` is in samples a second. Returns how many samples lay outside [-1, 1] and were
    clipped; with `floating` all are written as they are and it is 0. The file need not be seekable.

    Raises InputError for samples that are no audio (rank, dtype, NaN, over 4 GiB), EnvironmentFault
    where the file cannot be written; then a regular file that was begun is removed.
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
        # Formats other than PCM carry the size of their extension, and a count of samples.
        chunks = _chunk(b"fmt ", layout + struct.pack("<H", 0))
        chunks += _chunk(b"fact", struct.pack("<I", checked.size))
    else:
        chunks = _chunk(b"fmt ", layout)
    chunks += _chunk(b"data", data.tobytes())
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks, clipped


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file, or remove it. Raises EnvironmentFault."""
    try:
        file = path.open("wb")
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error
    try:
        with file:
            file.write(content)
    except OSError as error:
        if path.is_file():
            with contextlib.suppress(OSError):  # the fault below is the one to tell
                path.unlink()
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error


def _write_stream(stream: BinaryIO, content: bytes) -> None:
    rest = memoryview(content)
    try:
        while rest:  # an unbuffered stream takes a part at a time
            rest = rest[stream.write(rest) :]
        stream.flush()
    except OSError as error:
        raise EnvironmentFault(f"cannot write the audio: {error.strerror}") from error


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content
