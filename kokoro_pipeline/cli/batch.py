"""`kokoro-pipeline batch`: many texts into a folder of audio files."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, seconds
from .say import NOT_SPEECH
from .signals import signals_raised
from .speech_output import FORMATS

if TYPE_CHECKING:
    from ..runtime.batch.inputs import Entry
    from ..runtime.batch.results import Result

_SUBTITLES = ("srt", "vtt", "json", "TextGrid", "lab")
_BAR = "{percentage:3.0f}%|{bar:20}| {n_fmt} of {total_fmt}, {desc}, {remaining} left"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help="a .jsonl or .csv file with id, text or phonemes, voice, lang, speed, seed, title; a "
        "folder of .txt files; or an .epub (extra `batch`)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="the folder to write into: one audio file for each entry, and results.jsonl",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="wav",
        help="format of the audio (default: wav); all but wav and pcm need the extra `audio`",
    )
    parser.add_argument(
        "--subtitles", choices=_SUBTITLES, help="write the times of the words of each text as well"
    )
    parser.add_argument(
        "--book",
        metavar="FILE",
        type=Path,
        help="join all entries into one audiobook (.m4b) with a chapter for each (extra `batch`)",
    )
    arguments.add_speech(parser, one_text=False)
    arguments.add_artifact_or_weights(parser)
    arguments.add_workers(
        parser, workers="1, or all CPUs of the Ray cluster", threads="the CPUs divided; with Ray 1"
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="what speaks: processes of this machine (default), or a Ray cluster (extra `ray`)",
    )
    parser.add_argument(
        "--address",
        metavar="A",
        help="of the Ray cluster (default: $RAY_ADDRESS, else one on this machine)",
    )
    arguments.add_device(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Speak every entry that is not yet there."""
    from ..runtime.audio import make_encoder
    from ..runtime.batch.book import check_book
    from ..runtime.batch.inputs import Defaults, read_entries
    from ..runtime.batch.runner import run_batch
    from ..runtime.batch.speaking import BatchOptions
    from ..runtime.speech.request import SpeechRequest, splitting_of

    if args.address is not None and args.engine != "ray":
        raise UsageError("--address is that of a Ray cluster: give --engine ray as well")
    if args.output.exists() and not args.output.is_dir():
        raise InputError(
            f"cannot write into {args.output}: it is a file, and a batch needs a folder"
        )
    make_encoder(args.format, 24_000)  # raises if its extra is missing
    if args.book is not None:
        check_book(args.book, args.format)
    splitting = splitting_of(args.split, args.first, args.pause_sentence, args.pause_paragraph)
    lexicon = arguments.given_lexicon(args)
    defaults = Defaults(args.voice, args.lang, args.speed, args.seed, splitting, lexicon)
    SpeechRequest(None, "a", *(args.voice, args.lang, args.speed, args.seed))  # checks them once
    entries = read_entries(args.input, defaults)
    artifact = args.artifact
    if artifact is None:
        from .cached_artifact import cached_artifact

        artifact = cached_artifact(args.weights, console)
    options = BatchOptions(
        artifact=artifact,
        output=args.output,
        format=args.format,
        subtitles=args.subtitles,
        threads=args.threads,
        device=args.device,
        workers=args.workers,
        engine=args.engine,
        address=args.address,
    )
    with signals_raised(), _Progress(len(entries), console) as progress:
        results = run_batch(entries, options, progress.add)
        if args.book is not None and all(result.error is None for result in results):
            console.say(f"writing {args.book}, chapters: {len(results)}")
            _write_book(args, entries, results, progress)
    return _report(args, results, progress, console)


def _write_book(
    args: argparse.Namespace, entries: list[Entry], results: list[Result], progress: _Progress
) -> None:
    from ..runtime.batch.book import Book, Chapter, write_book
    from ..runtime.batch.epub import title_and_author

    title, author = None, None
    if args.input.suffix.lower() == ".epub":
        title, author = title_and_author(args.input)
    synthetic = any(result.synthetic for result in results)
    chapters = [
        Chapter(args.output / result.audio.file, result.samples, entry.title or entry.id)
        for entry, result in zip(entries, results, strict=True)
        if result.audio is not None
    ]
    book = Book(title or args.input.stem, author, NOT_SPEECH if synthetic else None)
    write_book(args.book, chapters, book, progress.join)


def _report(
    args: argparse.Namespace, results: list[Result], progress: _Progress, console: Console
) -> int:
    failed = [result for result in results if result.error is not None]
    clipped = sum(result.clipped for result in results)
    if clipped:
        console.warn(f"{clipped} samples were louder than full scale and are clipped")
    if any(result.synthetic for result in results):
        console.warn(NOT_SPEECH)
    if args.json:
        console.json(
            {
                "output": args.output,
                "entries": len(results),
                "spoken": progress.spoken,
                "kept": len(results) - len(failed) - progress.spoken,
                "seconds": sum(result.seconds for result in results),
                "book": args.book if not failed else None,
                "failed": [
                    {"id": each.id, "place": each.place, "error": each.error} for each in failed
                ],
            }
        )
    else:
        kept = len(results) - len(failed) - progress.spoken
        console.data(
            f"{args.output}: {progress.spoken} spoken, {kept} were there, {len(failed)} failed; "
            f"{seconds(sum(result.seconds for result in results))} of audio"
        )
    if failed and args.book is not None:
        console.error(f"{args.book} is not written, because a chapter would be missing")
    for each in failed:
        console.error(f"{each.place} ({each.id}): {each.error}")
    return exit_codes.FAILED_CHECK if failed else exit_codes.OK


class _Progress:
    """A bar of the entries, with the speed and the time left, if somebody watches."""

    def __init__(self, total: int, console: Console) -> None:
        self.spoken = 0
        self._audio = 0.0
        self._begun = time.perf_counter()
        self._bar: Any = None
        if console.watched:
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, file=console.stderr, leave=False, bar_format=_BAR, desc="loading"
            )

    def add(self, result: Result, fresh: bool) -> None:
        """Count a result."""
        if fresh and result.error is None:
            self.spoken += 1
            self._audio += result.seconds
        if self._bar is None:
            return
        if not fresh:
            self._bar.initial += 1  # of no weight for the time left
        speed = self._audio / max(time.perf_counter() - self._begun, 1e-9)
        self._bar.set_description_str(
            f"{self._audio:.1f} s of audio, {speed:.1f} times real time", refresh=False
        )
        self._bar.update()

    def join(self, number: int) -> None:
        """Show which chapter of a book is written."""
        if self._bar is not None:
            self._bar.set_description_str(f"chapter {number} into the book")

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


COMMAND = Command(
    name="batch",
    summary="speak many texts into a folder of audio files",
    configure=configure,
    run=run,
    epilog="""\
Ended at any moment and started again, it goes on where it was. An entry that cannot be spoken does
not stop the rest: the exit code is 1, and the next run tries it again.
""",
)
