"""Speaks an entry into its files, with a loaded artifact.

Files are written beside and renamed, so that a file of the final name is whole.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kokoro_pipeline.artifact.disk import fault
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.config import SAMPLE_RATE
from kokoro_pipeline.errors import EnvironmentFault, KokoroError

from ..audio import AudioFile
from ..speech.request import SpeechRequest
from ..speech.result import Speech, UnspokenTextWarning, join_speech, outline
from ..speech.subtitles import write_subtitles
from ..speech.synthesizer import Synthesizer, load
from .inputs import Entry
from .results import GROWING, Result, Written

Engine = Literal["local", "ray"]


@dataclass(frozen=True)
class BatchOptions:
    """What all entries have in common."""

    artifact: Path
    output: Path
    format: str = "wav"
    subtitles: str | None = None
    """The suffix without the point."""
    threads: int | None = None
    """Of each worker; by default the CPUs are divided among them, and with Ray it is 1."""
    device: str = "auto"
    workers: int | None = None
    """Processes; by default 1, or with Ray as many as its CPUs have room for."""
    engine: Engine = "local"
    address: str | None = None
    """Of the Ray cluster; by default the one of $RAY_ADDRESS, else one of this machine."""


class OutputFault(EnvironmentFault):
    """The folder takes no more files, which ends the batch."""


class EntrySpeaker:
    """A loaded artifact that speaks entries into files."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options
        self._synthesizer: Synthesizer = load(
            options.artifact, threads=options.threads, device=options.device
        )

    def speak(self, entry: Entry, key: str) -> Result:
        """The result, with an error if it cannot be spoken. Raises OutputFault."""
        assert entry.request is not None
        try:
            return self._speak(entry, entry.request, key)
        except OutputFault:
            raise
        except KokoroError as error:
            return Result(entry.id, entry.place, error=str(error))
        except Exception as error:  # noqa: BLE001 - the other entries are spoken nevertheless
            said = f"{type(error).__name__}: {error} (a defect of this program: please report it)"
            return Result(entry.id, entry.place, error=said)

    def close(self) -> None:
        """End the threads."""
        self._synthesizer.close()

    def _speak(self, entry: Entry, request: SpeechRequest, key: str) -> Result:
        final = self._options.output / f"{entry.id}.{self._options.format}"
        growing = final.with_name(f"{GROWING}{final.name}")
        whole, clipped = self._audio(request, growing, final)
        try:
            subtitles = self._subtitles(entry, whole)
            audio = _rename(growing, final)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                growing.unlink(missing_ok=True)
            raise
        return Result(
            id=entry.id,
            place=entry.place,
            key=key,
            audio=audio,
            subtitles=subtitles,
            samples=len(whole.audio),
            seconds=whole.seconds,
            clipped=clipped,
            synthetic=whole.synthetic,
            unspoken=(*whole.unspoken, *map(str, whole.unknown)),
        )

    def _audio(self, request: SpeechRequest, growing: Path, final: Path) -> tuple[Speech, int]:
        """Write the audio, whose outline is returned with the number of clipped samples."""
        with output(final):
            file = AudioFile(growing, SAMPLE_RATE, name=self._options.format)
        outlines: list[Speech] = []
        try:
            with warnings.catch_warnings():
                # What ends a text and has no phonemes; the rest is in the pieces.
                warnings.simplefilter("ignore", UnspokenTextWarning)
                for speech in self._synthesizer.render(request):
                    with output(final):
                        file.write(speech.audio)
                    outlines.append(outline(speech))
            whole = join_speech(outlines, samples=False)
        except BaseException:
            file.discard()
            raise
        with output(final):
            file.finish()
        return whole, file.clipped

    def _subtitles(self, entry: Entry, speech: Speech) -> Written | None:
        if self._options.subtitles is None:
            return None
        final = self._options.output / f"{entry.id}.{self._options.subtitles}"
        growing = final.with_name(f"{GROWING}{final.name}")
        with output(final):
            write_subtitles(growing, speech)
        return _rename(growing, final)


def _rename(growing: Path, final: Path) -> Written:
    with output(final):
        digest = file_sha256(growing)
        growing.replace(final)
    return Written(final.name, digest)


@contextlib.contextmanager
def output(path: Path) -> Iterator[None]:
    """A file that cannot be written ends the batch: the next one could not be either."""
    try:
        yield
    except OSError as error:
        raise OutputFault(str(fault(path, error))) from error
    except EnvironmentFault as error:
        if isinstance(error.__cause__, OSError):
            raise OutputFault(str(fault(path, error.__cause__))) from error
        raise
