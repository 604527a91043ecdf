"""WAV with 16-bit PCM or 32-bit float samples."""

from __future__ import annotations

import struct

import numpy as np

from kokoro_pipeline.errors import InputError

from .encoding import Ending, Patch
from .rates import check_rate
from .samples import check_samples, to_pcm16

LARGEST = (1 << 32) - 1
"""The largest number of bytes that RIFF's 32-bit sizes can express; it also means "unknown"."""

_PCM, _IEEE_FLOAT = 1, 3


class WavEncoder:
    """See `Encoder`."""

    def __init__(
        self, sample_rate: int, *, floating: bool = False, rewritable: bool = False
    ) -> None:
        """See `make_encoder`. Raises InputError for an invalid rate."""
        self._sample_rate = check_rate("wav", sample_rate)
        self.clipped = 0
        self._floating = floating
        self._rewritable = rewritable
        self._width = 4 if floating else 2
        self._size = 0
        self._header = wav_header(self._sample_rate, floating, None)
        self._begun = False

    def encode(self, samples: np.ndarray) -> bytes:
        """See `Encoder`."""
        checked = check_samples(samples)
        if self._rewritable and self._size + checked.size * self._width > LARGEST - len(
            self._header
        ):
            raise InputError(
                "the samples do not fit a WAV file, which holds at most 4 GiB: split the audio, or "
                "write FLAC, Opus or MP3"
            )
        if self._floating:
            content = checked.astype("<f4", copy=False).tobytes()
        else:
            values, clipped = to_pcm16(checked)
            self.clipped += clipped
            content = values.astype("<i2", copy=False).tobytes()
        self._size += len(content)
        return self._start() + content

    def finish(self, samples: int | None = None) -> Ending:
        """See `Encoder`."""
        count = self._size // self._width if samples is None else samples
        header = wav_header(self._sample_rate, self._floating, count)
        begin = self._start()
        return Ending(begin, (Patch(0, header),))

    def _start(self) -> bytes:
        begun, self._begun = self._begun, True
        return b"" if begun else self._header


def wav_header(sample_rate: int, floating: bool, samples: int | None) -> bytes:
    """The header of a mono WAV file; None for `samples` says that their number is unknown."""
    width, tag = (4, _IEEE_FLOAT) if floating else (2, _PCM)
    layout = struct.pack("<HHIIHH", tag, 1, sample_rate, sample_rate * width, width, 8 * width)
    if floating:
        # Formats other than PCM have the size of their extension and the number of samples.
        count = LARGEST if samples is None else samples
        chunks = _chunk(b"fmt ", layout + struct.pack("<H", 0))
        chunks += _chunk(b"fact", struct.pack("<I", count))
    else:
        chunks = _chunk(b"fmt ", layout)
    size = LARGEST if samples is None else samples * width
    whole = LARGEST if samples is None else 4 + len(chunks) + 8 + size
    return b"".join(
        (b"RIFF", struct.pack("<I", whole), b"WAVE", chunks, b"data", struct.pack("<I", size))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content


def encode_wav(
    samples: np.ndarray, sample_rate: int, *, floating: bool = False
) -> tuple[bytes, int]:
    """The bytes of a WAV file of mono `samples` (float32 [n]) and the number of clipped ones.

    `sample_rate` is in samples per second. With `floating`, samples are kept as float32 and none is
    clipped. Raises InputError for invalid samples (rank, dtype, NaN, more than 4 GiB) and for a
    rate that is not a whole number from 1 to 2**30 - 1.
    """
    encoder = WavEncoder(sample_rate, floating=floating, rewritable=True)
    content = encoder.encode(samples)
    (header,) = encoder.finish().patches
    return header.content + content[len(header.content) :], encoder.clipped
