"""Speaks entries into a folder, in this process or in several, and goes on where it was.

Files are written beside and renamed, and a line of results follows them. So whenever it ends, a
line means whole files, and what has no line is made again, the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from kokoro_pipeline.artifact.disk import writing
from kokoro_pipeline.artifact.locks import HeldError, hold_folder
from kokoro_pipeline.artifact.reader import read_artifact
from kokoro_pipeline.errors import EnvironmentFault, InputError, KokoroError
from kokoro_pipeline.version import __version__

from ..speech.request import SpeechRequest
from ..voices import load_voice
from .inputs import Entry
from .local_engine import speak_locally
from .ray_engine import speak_by_ray
from .results import GROWING, Result, append_result, key_of, read_results, write_results
from .speaking import BatchOptions

_ENGINES = {"local": speak_locally, "ray": speak_by_ray}


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
        with contextlib.closing(_ENGINES[options.engine](pending, options)) as spoken:
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
            *([request.lexicon.sha256] if request.lexicon is not None else []),
        )

    def _pack(self, request: SpeechRequest) -> str:
        name = str(request.voice)
        if name not in self._packs:
            pack = load_voice(request.voice, self._voices)
            self._packs[name] = hashlib.sha256(pack.tobytes()).hexdigest()
        return self._packs[name]
