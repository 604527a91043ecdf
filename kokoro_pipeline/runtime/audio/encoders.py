"""Audio as bytes, piece by piece: WAV and PCM here, other formats by libsndfile.

An encoder never needs to see the whole, so that speech can be written while it is made. Formats
whose header states the length get it at the end, as patches for a file that can be rewritten; on a
pipe the header says that the length is unknown.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

from .encoding import Encoder, Ending, Patch
from .ogg import with_fixed_serial
from .rates import check_rate
from .samples import check_samples, to_pcm16
from .wav import WavEncoder

_COMPRESSED = {
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
}
"""libsndfile's format and subtype."""

_STREAMED = {"mp3": {"bitrate_mode": "CONSTANT", "compression_level": 0.5}}
"""What libsndfile is told besides, for an output that cannot be rewritten.

The first frame of MP3 of a variable bit rate states the length. It is written at the end, and until
then a reader of the file takes a length from it that is too short. The mode has no effect without
the level.
"""

FORMATS = ("wav", "pcm", *_COMPRESSED, "aac")
"""Names of the formats. "pcm" is 16-bit little-endian samples without a header."""

MEDIA_TYPES = {
    "wav": "audio/wav",
    "pcm": "audio/pcm",
    "flac": "audio/flac",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
}


def make_encoder(
    name: str, sample_rate: int, *, floating: bool = False, rewritable: bool = False
) -> Encoder:
    """An encoder of one of the FORMATS, at `sample_rate` samples per second.

    `floating` keeps samples as float32 and is for WAV only. `rewritable` says that the patches of
    the end will be applied: a WAV file then has to stay below 4 GiB, and MP3 has a variable bit
    rate.

    Raises InputError for an unknown format and for a rate that it does not take,
    EnvironmentFault if the format needs the extra `audio`, which is not installed.
    """
    if floating and name != "wav":
        raise InputError(f"float samples are written to .wav files only, not as {name}")
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}; known are {', '.join(FORMATS)}")
    rate = check_rate(name, sample_rate)
    if name == "wav":
        return WavEncoder(rate, floating=floating, rewritable=rewritable)
    if name == "pcm":
        return _Pcm()
    if name == "aac":
        return _Aac(rate)
    return _Compressed(name, rate, {} if rewritable else _STREAMED.get(name, {}))


def check_format(name: str) -> None:
    """Raises InputError for an unknown format, EnvironmentFault if its extra is not installed."""
    if name in _COMPRESSED:
        _soundfile(name)
    elif name == "aac":
        _av()
    elif name not in FORMATS:
        raise InputError(f"unknown format {name!r}; known are {', '.join(FORMATS)}")


class _Pcm:
    def __init__(self) -> None:
        self.clipped = 0

    def encode(self, samples: np.ndarray) -> bytes:
        values, clipped = to_pcm16(check_samples(samples))
        self.clipped += clipped
        return values.astype("<i2", copy=False).tobytes()

    def finish(self, samples: int | None = None) -> Ending:
        return Ending()


class _Compressed:
    def __init__(self, name: str, sample_rate: int, options: Mapping[str, Any]) -> None:
        self.clipped = 0
        self._name = name
        self._soundfile = _soundfile(name)
        self._memory = _Memory()
        kind, subtype = _COMPRESSED[name]
        self._file = self._call(
            self._soundfile.SoundFile,
            self._memory,
            "w",
            samplerate=sample_rate,
            channels=1,
            format=kind,
            subtype=subtype,
            **options,
        )

    def encode(self, samples: np.ndarray) -> bytes:
        checked = check_samples(samples)
        self.clipped += int(np.count_nonzero(np.abs(checked) > 1.0))
        self._call(self._file.write, np.clip(checked, -1.0, 1.0))
        return self._drain()

    def finish(self, samples: int | None = None) -> Ending:
        self._call(self._file.close)
        return Ending(self._drain(), tuple(self._memory.patches))

    def _drain(self) -> bytes:
        content = self._memory.drain()
        return with_fixed_serial(content) if _COMPRESSED[self._name][0] == "OGG" else content

    def _call(self, function: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except self._soundfile.SoundFileError as error:
            raise EnvironmentFault(
                f"libsndfile cannot write {self._name}: {error}; use the format wav"
            ) from error


class _Aac:
    """AAC in ADTS frames, by FFmpeg's encoder."""

    def __init__(self, sample_rate: int) -> None:
        self.clipped = 0
        self._av = _av()
        self._memory = _Memory()
        self._container = self._av.open(self._memory, "w", format="adts")
        self._stream = self._container.add_stream("aac", rate=sample_rate, layout="mono")
        self._rate = sample_rate
        self._position = 0

    def encode(self, samples: np.ndarray) -> bytes:
        checked = check_samples(samples)
        self.clipped += int(np.count_nonzero(np.abs(checked) > 1.0))
        if checked.size:
            plane = np.ascontiguousarray(np.clip(checked, -1.0, 1.0)[None])
            frame = self._av.AudioFrame.from_ndarray(plane, format="fltp", layout="mono")
            frame.sample_rate = self._rate
            frame.pts = self._position
            self._position += checked.size
            for packet in self._stream.encode(frame):
                self._container.mux(packet)
        return self._memory.drain()

    def finish(self, samples: int | None = None) -> Ending:
        for packet in self._stream.encode(None):
            self._container.mux(packet)
        self._container.close()
        return Ending(self._memory.drain())


class _Memory:
    """A file for libsndfile that keeps only what was not drained; earlier bytes become patches."""

    def __init__(self) -> None:
        self.patches: list[Patch] = []
        self._tail = bytearray()
        self._drained = 0
        self._position = 0

    def drain(self) -> bytes:
        content = bytes(self._tail)
        self._drained += len(content)
        self._tail.clear()
        return content

    def write(self, content: bytes) -> int:
        data = bytes(content)
        before = max(0, min(len(data), self._drained - self._position))
        if before:
            self.patches.append(Patch(self._position, data[:before]))
        start = self._position + before - self._drained
        self._tail[start : start + len(data) - before] = data[before:]
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._position, self._drained + len(self._tail))[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        return b""


def _av() -> ModuleType:
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise EnvironmentFault(
            f"the format aac needs PyAV ({error}): {install_command('serve')}, or use opus"
        ) from error


def _soundfile(name: str) -> ModuleType:
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: installed, but its library is missing
        raise EnvironmentFault(
            f"the format {name} needs soundfile ({error}): {install_command('audio')}, "
            "or use the format wav"
        ) from error
