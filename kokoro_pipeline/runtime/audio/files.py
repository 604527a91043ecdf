"""Audio files that grow while speech is made, and are valid whenever they end."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from io import RawIOBase
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from kokoro_pipeline.artifact.disk import beside
from kokoro_pipeline.errors import EnvironmentFault, InputError

from .encoders import FORMATS, check_format, make_encoder
from .wav import encode_wav

_SUFFIXES = {".wave": "wav", ".raw": "pcm", ".oga": "ogg"}


def format_of(path: str | os.PathLike[str], name: str | None = None) -> str:
    """The format to write to a path: `name`, or what the suffix says, or WAV without a suffix.

    Raises InputError for an unknown suffix, and for one that says another format than `name`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    said = _SUFFIXES.get(suffix, suffix[1:] if suffix[1:] in FORMATS else None)
    if name is None:
        if suffix and said is None:
            known = ", ".join(f".{each}" for each in FORMATS)
            raise InputError(f"cannot write {path}: unknown format {suffix}; known are {known}")
        return said or "wav"
    if said is not None and said != name:
        raise InputError(
            f"the name {path} says {said}, and the format is {name}: name it {path.stem}.{name}, "
            f"or leave --format {name} out"
        )
    return name


def check_writable(path: str | os.PathLike[str], name: str | None = None) -> None:
    """Check that audio can be written to a path, to be called before synthesis.

    The content of an existing file is preserved.

    Raises InputError if the path is a folder, its parent is missing or read-only, permission is
    denied, or its suffix is unknown, and EnvironmentFault if the format needs the `audio` extra,
    which is not installed.
    """
    check_format(format_of(path, name))
    check_place(Path(path))


def check_place(path: Path) -> None:
    """Check that a file can be written at a path, whose content is preserved if there is one.

    Raises InputError if the path is a folder, its parent is missing or read-only, or permission is
    denied.
    """
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


def _probe_new(path: Path) -> None:
    try:
        real = Path(os.path.realpath(path))  # a symbolic link is kept, even of nothing
        with real.open("xb"):
            pass
        real.unlink()
    except OSError as error:
        where = path.parent if path.name else path
        raise InputError(
            f"cannot write {path}: {error.strerror}; is {where} a folder you can write to?"
        ) from error


class AudioStream:
    """Writes audio, piece by piece, to an open binary file that need not be seekable."""

    def __init__(
        self, file: BinaryIO, name: str, sample_rate: int, *, floating: bool = False
    ) -> None:
        """`name` is the format. Raises InputError and EnvironmentFault like `make_encoder`."""
        self._file = file
        self._encoder = make_encoder(name, sample_rate, floating=floating)

    @property
    def clipped(self) -> int:
        """Samples outside [-1, 1], which were clipped."""
        return self._encoder.clipped

    def write(self, samples: np.ndarray) -> None:
        """Write samples, float32 [n]. Raises OSError, BrokenPipeError among others."""
        _write_all(self._file, self._encoder.encode(samples))
        self._file.flush()

    def finish(self) -> None:
        """Write what completes the file, which stays open."""
        _write_all(self._file, self._encoder.finish().content)
        self._file.flush()


def partial(path: Path) -> Path:
    """Where the beginning of a file is kept while the file itself stays."""
    return path.with_name(f"{path.stem}.partial{path.suffix}")


class AudioFile:
    """A file that audio is written to piece by piece.

    A new file grows under its own name. In place of an existing one, a file beside it grows, and
    takes its place and permissions when it is complete. What is not a regular file is written
    directly. A `with` block ends with `finish`, or by an exception with `interrupt`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        sample_rate: int,
        *,
        name: str | None = None,
        floating: bool = False,
    ) -> None:
        """`sample_rate` is in samples per second, `name` the format, by default the suffix's.

        Raises InputError and EnvironmentFault like `check_writable` and `make_encoder`.
        """
        self.path = path = Path(path)
        """The file to write."""
        self.samples = 0
        """Samples written so far."""
        self._bytes = 0
        self._ended = False
        self._kept: Path | None = None
        self._target = Path(os.path.realpath(path))  # a symbolic link stays one
        regular = not path.exists() or path.is_file()
        self._replaces = regular and path.exists()
        self._rewritable = regular
        self._encoder = make_encoder(
            format_of(path, name), sample_rate, floating=floating, rewritable=regular
        )
        try:
            self._file = self._open()
        except OSError as error:
            raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error

    def _open(self) -> RawIOBase:
        self._growing = self._target
        if not self._rewritable:
            return self.path.open("wb", buffering=0)
        if not self._replaces:
            return self._target.open("xb", buffering=0)
        self._growing = beside(self._target)
        try:
            return self._growing.open("xb", buffering=0)
        except PermissionError:  # a folder that takes no new files
            self._growing, self._replaces = self._target, False
            return self._target.open("wb", buffering=0)

    @property
    def clipped(self) -> int:
        """Samples outside [-1, 1], which were clipped."""
        return self._encoder.clipped

    def write(self, samples: np.ndarray) -> None:
        """Write samples, float32 [n].

        Raises InputError for invalid samples, for more than the format holds and for a file that
        ended, EnvironmentFault if they cannot be written, for instance on a full disk.
        """
        if self._ended:
            raise InputError(f"cannot write more to {self.path}: it is complete")
        content = self._encoder.encode(samples)
        try:
            _write_all(self._file, content)
        except OSError as error:
            raise EnvironmentFault(f"cannot write {self.path}: {error.strerror}") from error
        self.samples += len(samples)
        self._bytes += len(content)

    def finish(self) -> None:
        """Complete the file, which replaces the existing one. It does nothing for one that ended.

        Raises EnvironmentFault if it cannot; the existing file then stays.
        """
        if self._ended:
            return
        self._ended = True
        try:
            with self._file:
                self._complete()
            if self._replaces:
                shutil.copymode(self._target, self._growing)
                self._growing.replace(self._target)
        except OSError as error:
            self._remove()
            raise EnvironmentFault(f"cannot write {self.path}: {error.strerror}") from error
        self._kept = self.path

    def interrupt(self) -> Path | None:
        """Make what was written so far a valid file; returns its path, or None if it is empty.

        An existing file stays, and what was written is kept beside it, with ".partial" in its name.
        For a file that ended already, it only returns the path.
        """
        if not self._ended:
            self._ended = True
            self._kept = self._keep()
        return self._kept

    def _keep(self) -> Path | None:
        if not self.samples:
            self._remove()
            return None
        try:
            if self._rewritable:
                # The last write may have failed halfway.
                self._file.truncate(self._bytes)
                self._file.seek(self._bytes)
            with contextlib.suppress(OSError):  # on a full disk, the header can be mended still
                self._complete()
            self._file.close()
            if not self._replaces:
                return self.path
            kept = partial(self.path)
            self._growing.replace(kept)
        except OSError:
            self._remove()
            return None
        return kept

    def discard(self) -> None:
        """Leave what was there before. It does nothing for a file that ended."""
        if not self._ended:
            self._ended = True
            self._remove()

    def __enter__(self) -> AudioFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.interrupt()

    def _complete(self) -> None:
        ending = self._encoder.finish(self.samples)
        if self._rewritable:
            position = self._file.tell()
            for patch in ending.patches:
                self._file.seek(patch.position)
                _write_all(self._file, patch.content)
            self._file.seek(position)
        _write_all(self._file, ending.content)

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._rewritable:
            with contextlib.suppress(OSError):  # the first error is the one to report
                self._growing.unlink()


def write_audio(
    path: str | os.PathLike[str],
    samples: np.ndarray,
    sample_rate: int,
    *,
    name: str | None = None,
    floating: bool = False,
) -> int:
    """Write mono `samples` (float32 [n]) in the format given by the path's suffix, by default WAV.

    `sample_rate` is in samples per second. `name` is another format. `floating` writes float
    samples and is only supported for WAV. Returns the number of clipped samples. An existing
    file stays as it was if anything fails.

    Raises InputError and EnvironmentFault like `check_writable` and `AudioFile`.
    """
    file = AudioFile(path, sample_rate, name=name, floating=floating)
    try:
        file.write(samples)
    except BaseException:
        file.discard()
        raise
    file.finish()
    return file.clipped


def write_wav(
    target: str | os.PathLike[str] | BinaryIO,
    samples: np.ndarray,
    sample_rate: int,
    *,
    floating: bool = False,
) -> int:
    """Write mono `samples` (float32 [n], in [-1, 1]) as WAV to a path or an open binary file.

    `sample_rate` is in samples per second. Returns the number of samples outside [-1, 1], which are
    clipped; with `floating`, samples are written unchanged as float32 and the result is 0. The file
    does not have to be seekable.

    Raises InputError for invalid samples (rank, dtype, NaN, more than 4 GiB), EnvironmentFault if
    the file cannot be written; an existing file then stays as it was.
    """
    if isinstance(target, str | os.PathLike):
        return write_audio(target, samples, sample_rate, name="wav", floating=floating)
    content, clipped = encode_wav(samples, sample_rate, floating=floating)
    try:
        _write_all(target, content)
        target.flush()
    except OSError as error:
        raise EnvironmentFault(f"cannot write the audio: {error.strerror}") from error
    return clipped


def _write_all(file: BinaryIO | RawIOBase, content: bytes) -> None:
    rest = memoryview(content)
    while rest:  # an unbuffered stream may write only a part at a time
        rest = rest[file.write(rest) or 0 :]
