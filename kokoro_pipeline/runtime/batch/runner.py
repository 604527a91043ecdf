"""Speaks entries into a folder, in this process or in several, and goes on where it was.

Files are written beside and renamed, and a line of results follows them. So whenever it ends, a
line means whole files, and what has no line is made again, the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from kokoro_pipeline.artifact.disk import fault, writing
from kokoro_pipeline.artifact.locks import HeldError, hold_folder
from kokoro_pipeline.artifact.reader import file_sha256, read_artifact
from kokoro_pipeline.config import SAMPLE_RATE
from kokoro_pipeline.errors import EnvironmentFault, InputError, KokoroError
from kokoro_pipeline.version import __version__

from ..audio import AudioFile
from ..engine.threads import resolve_threads
from ..speech.request import SpeechRequest
from ..speech.result import Speech, UnspokenTextWarning, join_speech, outline
from ..speech.subtitles import write_subtitles
from ..speech.synthesizer import Synthesizer, load
from ..voices import load_voice
from .inputs import Entry
from .results import GROWING, Result, Written, append_result, key_of, read_results, write_results


@dataclass(frozen=True)
class BatchOptions:
    """What all entries have in common."""

    artifact: Path
    output: Path
    format: str = "wav"
    subtitles: str | None = None
    """The suffix without the point."""
    threads: int | None = None
    """Of each worker; by default the CPUs are divided among them."""
    device: str = "auto"
    workers: int = 1


class OutputFault(EnvironmentFault):
    """The folder takes no more files, which ends the batch."""


def run_batch(
    entries: list[Entry], options: BatchOptions, report: Callable[[Result, bool], None]
) -> list[Result]:
    """Speak the entries; their results in order, as `results.jsonl` holds them at the end.

    `report` is called with each result when it is known, and whether it was made just now. An
    entry that cannot be spoken has a result with an error, and is tried again by the next run.

    Raises EnvironmentFault if another batch writes into the folder, if it takes no more files (a
    full disk), or if a worker process died; ArtifactError for the artifact.
    """
    with _locked(options.output):
        with writing(options.output):
            for left in options.output.glob(f"{GROWING}*"):
                left.unlink()
        keys = _Keys(options)
        known = read_results(options.output)
        results: dict[int, Result] = {}
        pending: list[tuple[int, Entry, str]] = []
        for index, entry in enumerate(entries):
            try:
                key = keys.key(entry)
            except KokoroError as error:
                results[index] = Result(entry.id, entry.place, error=str(error))
                continue
            earlier = known.get(entry.id)
            if earlier is not None and earlier.key == key and earlier.holds(options.output):
                results[index] = replace(earlier, place=entry.place)
            else:
                pending.append((index, entry, key))
        write_results(options.output, (results[index] for index in sorted(results)))
        for result in results.values():
            report(result, False)
        with contextlib.closing(_spoken(pending, options)) as spoken:
            for index, result in spoken:
                append_result(options.output, result)
                results[index] = result
                report(result, True)
        ordered = [results[index] for index in range(len(entries))]
        write_results(options.output, ordered)
    return ordered


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = hold_folder(folder)
        except HeldError:
            raise EnvironmentFault(
                f"another batch is writing into {folder}: wait for its end, or give another -o"
            ) from None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


class _Keys:
    """Hashes of what the files of an entry depend on."""

    def __init__(self, options: BatchOptions) -> None:
        artifact = read_artifact(options.artifact)
        self._voices = artifact.voices
        self._packs: dict[str, str] = {}
        self._common = (
            artifact.manifest.sha256,
            __version__,
            options.format,
            options.subtitles,
            options.device,
        )
        self._subtitles = options.subtitles is not None

    def key(self, entry: Entry) -> str:
        """Raises InputError for an entry that cannot be spoken."""
        request = entry.request
        if request is None:
            raise InputError(entry.fault or "there is nothing to say")
        if self._subtitles and request.phonemes is not None:
            raise InputError("subtitles are of a text, and this has phonemes")
        return key_of(
            self._common,
            entry.id,
            request.text,
            request.phonemes,
            self._pack(request),
            request.voice,
            request.language if request.phonemes is None else None,
            request.speed,
            request.seed,
            request.splitting,
        )

    def _pack(self, request: SpeechRequest) -> str:
        name = str(request.voice)
        if name not in self._packs:
            pack = load_voice(request.voice, self._voices)
            self._packs[name] = hashlib.sha256(pack.tobytes()).hexdigest()
        return self._packs[name]


class _Speaker:
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
        folder, name = self._options.output, f"{entry.id}.{self._options.format}"
        growing = folder / f"{GROWING}{name}"
        with _output(folder / name):
            file = AudioFile(growing, SAMPLE_RATE, name=self._options.format)
        outlines: list[Speech] = []
        try:
            with warnings.catch_warnings():
                # What ends a text and has no phonemes; the rest is in the pieces.
                warnings.simplefilter("ignore", UnspokenTextWarning)
                for speech in self._synthesizer.render(request):
                    with _output(folder / name):
                        file.write(speech.audio)
                    outlines.append(outline(speech))
        except BaseException:
            file.discard()
            raise
        with _output(folder / name):
            file.finish()
        whole = join_speech(outlines, samples=False)
        subtitles = self._subtitles(entry, whole)
        audio = _rename(growing, folder / name)
        return Result(
            id=entry.id,
            place=entry.place,
            key=key,
            audio=audio,
            subtitles=subtitles,
            samples=len(whole.audio),
            seconds=whole.seconds,
            clipped=file.clipped,
            synthetic=whole.synthetic,
            unspoken=(*whole.unspoken, *map(str, whole.unknown)),
        )

    def _subtitles(self, entry: Entry, speech: Speech) -> Written | None:
        if self._options.subtitles is None:
            return None
        final = self._options.output / f"{entry.id}.{self._options.subtitles}"
        growing = final.with_name(f"{GROWING}{final.name}")
        with _output(final):
            write_subtitles(growing, speech)
        return _rename(growing, final)


def _rename(growing: Path, final: Path) -> Written:
    with _output(final):
        digest = file_sha256(growing)
        growing.replace(final)
    return Written(final.name, digest)


@contextlib.contextmanager
def _output(path: Path) -> Iterator[None]:
    """A file that cannot be written ends the batch: the next one could not be either."""
    try:
        yield
    except OSError as error:
        raise OutputFault(str(fault(path, error))) from error
    except EnvironmentFault as error:
        if isinstance(error.__cause__, OSError):
            raise OutputFault(str(fault(path, error.__cause__))) from error
        raise


def _spoken(
    pending: list[tuple[int, Entry, str]], options: BatchOptions
) -> Generator[tuple[int, Result], None, None]:
    """The results as they come."""
    if not pending:
        return
    if options.workers == 1:
        speaker = _Speaker(options)
        try:
            for index, entry, key in pending:
                yield index, speaker.speak(entry, key)
        finally:
            speaker.close()
        return
    threads = options.threads or max(1, resolve_threads(None) // options.workers)
    pool = ProcessPoolExecutor(
        min(options.workers, len(pending)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(replace(options, threads=threads),),
    )
    finished = False
    try:
        futures = {pool.submit(_work, entry, key): index for index, entry, key in pending}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
        finished = True
    except BrokenProcessPool as error:
        raise EnvironmentFault(
            "a worker process died, perhaps for want of memory: start the batch again, and it goes "
            "on where it was (fewer --workers take less memory)"
        ) from error
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for process in multiprocessing.active_children():
                process.kill()


_worker_options: BatchOptions
_worker_speaker: _Speaker | None = None


def _start_worker(options: BatchOptions) -> None:
    global _worker_options
    _worker_options = options
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the batch ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # it was killed: nobody reads the results


def _work(entry: Entry, key: str) -> Result:
    global _worker_speaker
    if _worker_speaker is None:
        _worker_speaker = _Speaker(_worker_options)
    return _worker_speaker.speak(entry, key)
