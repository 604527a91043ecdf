"""`kokoro-pipeline say`: speak a text or phonemes, into a file or through the loudspeaker."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, seconds
from .signals import signals_raised
from .source_text import STDIN, add_source, read_source, stream_source
from .speech_output import Outputs, add_outputs, check_outputs
from .speech_progress import SpeechProgress

if TYPE_CHECKING:
    from ..runtime import Speech
    from ..runtime.speech.pieces import Piece
    from ..runtime.speech.request import SpeechRequest
    from ..runtime.text import UnknownSymbol

NOT_SPEECH = (
    "the artifact holds SYNTHETIC weights: what was written is NOT SPEECH. For speech: "
    f"kokoro-pipeline build --weights {arguments.HUB_WEIGHTS} -o DIR"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_source(parser)
    add_outputs(parser)
    arguments.add_speech(parser)
    arguments.add_artifact_or_weights(parser)
    parser.add_argument(
        "--threads",
        type=arguments.positive_int,
        metavar="N",
        help="threads to compute with (default: $TVM_NUM_THREADS, else every core)",
    )
    arguments.add_device(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Synthesize the speech. Invalid arguments are rejected before any slow operation."""
    if args.output is None and not args.play:
        raise UsageError("where should the speech go? give -o FILE, -o - or --play")
    if args.output == STDIN and args.json:
        raise UsageError("-o - and --json both want standard output: name a file with -o FILE")
    if args.subtitles is not None and args.phonemes:
        raise UsageError("--subtitles are of a text, and --phonemes has none")
    check_outputs(args)
    from ..runtime.speech.request import excerpt

    request = _request(args)
    pieces = request.pieces()
    begun = itertools.chain([next(pieces)], pieces)  # raises for a text with nothing to say
    if request.ignored:
        console.warn(f"ignored, for it changes nothing: {excerpt(request.ignored)}")
    artifact = args.artifact or _artifact_from_cache(args, console)
    spoken = _speak(args, request, begun, artifact, console)
    if spoken.clipped:
        console.warn(f"{spoken.clipped} samples were louder than full scale and are clipped")
    if spoken.synthetic:
        console.warn(NOT_SPEECH)
    if args.json:
        console.json(_report(args, request, spoken))
    else:
        console.progress(
            f"{args.output or 'played'}: {seconds(spoken.seconds)} of audio in "
            f"{seconds(spoken.synthesis)}"
        )
    return exit_codes.OK


def _request(args: argparse.Namespace) -> SpeechRequest:
    """What to speak, checked as far as it can be without an artifact."""
    from ..runtime.speech.request import SpeechRequest, splitting_of

    if args.phonemes and (args.ssml or args.lexicon):
        raise UsageError("--ssml and --lexicon are for a text, and --phonemes has none")
    splitting = splitting_of(args.split, args.first, args.pause_sentence, args.pause_paragraph)
    text: str | Iterator[str] | None = None
    phonemes = None
    if args.phonemes:
        # Line ends of a file are not phonemes; all other characters are kept.
        phonemes = " ".join(read_source(args).splitlines())
    elif args.ssml:
        text = read_source(args)
    else:
        text = stream_source(args)
        if isinstance(text, str) and not text.strip():
            raise InputError("the text is empty: there is nothing to say")
    return SpeechRequest(
        text,
        phonemes,
        args.voice,
        args.lang,
        args.speed,
        args.seed,
        splitting,
        arguments.given_lexicon(args),
        args.ssml,
    )


@dataclass
class _Spoken:
    """What was said so far, without the samples."""

    artifact: Path
    synthetic: bool
    loading: float
    """Seconds."""
    keeps: bool
    """Whether `pieces` is wanted, which grows with the text."""
    synthesis: float = 0.0
    """Seconds."""
    clipped: int = 0
    samples: int = 0
    sample_rate: int = 24_000
    unknown: list[UnknownSymbol] = field(default_factory=list)
    unspoken: list[str] = field(default_factory=list)
    pieces: list[Speech] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.samples / self.sample_rate

    def add(self, speech: Speech) -> None:
        from ..runtime.speech.result import outline

        self.samples += len(speech.audio)
        self.sample_rate = speech.sample_rate
        self.unspoken += speech.unspoken
        self.unknown += speech.unknown
        if self.keeps:
            self.pieces.append(outline(speech))

    def whole(self) -> Speech:
        from ..runtime.speech.result import join_speech

        return join_speech(self.pieces, samples=False)


def _artifact_from_cache(args: argparse.Namespace, console: Console) -> Path:
    from .cached_artifact import cached_artifact

    return cached_artifact(args.weights, console)


def _speak(
    args: argparse.Namespace,
    request: SpeechRequest,
    pieces: Iterator[Piece],
    artifact: Path,
    console: Console,
) -> _Spoken:
    from ..runtime import load

    started = time.perf_counter()
    with load(artifact, threads=args.threads, device=args.device) as tts:
        loaded = time.perf_counter()
        console.progress(f"loaded {artifact} in {seconds(loaded - started)}")
        keeps = args.json or args.subtitles is not None
        spoken = _Spoken(artifact, tts.synthetic, loaded - started, keeps)
        with tts.open_stream(request, pieces) as stream:
            spoken.clipped = _write(args, request, stream, spoken, console)
        spoken.synthesis = time.perf_counter() - loaded
    _warn(spoken, console)
    return spoken


def _write(
    args: argparse.Namespace,
    request: SpeechRequest,
    stream: Iterable[Speech],
    spoken: _Spoken,
    console: Console,
) -> int:
    """Write the pieces as they come; returns the number of clipped samples.

    If it cannot go on, what was said so far is left as a valid file.
    """
    from ..runtime.audio.files import partial
    from ..runtime.speech.subtitles import write_subtitles

    outputs = Outputs(args, console)
    try:
        with signals_raised():
            with SpeechProgress(request, console) as progress:
                for speech in stream:
                    outputs.write(speech.audio)
                    spoken.add(speech)
                    progress.add(speech)
            outputs.finish()
    except BaseException:
        beside = False
        for kept in outputs.interrupt():
            beside = not kept.samefile(args.output)
            console.warn(f"{kept} holds the first {seconds(spoken.seconds)} of audio")
        if args.subtitles is not None and spoken.pieces:
            # Where an older file stays, its subtitles do.
            write_subtitles(partial(args.subtitles) if beside else args.subtitles, spoken.whole())
        raise
    if args.subtitles is not None:
        write_subtitles(args.subtitles, spoken.whole())
    return outputs.clipped


def _warn(spoken: _Spoken, console: Console) -> None:
    """Say once what was not spoken, however many pieces there are."""
    from ..runtime.speech.request import excerpt

    if spoken.unspoken:
        console.warn(f"left unspoken, for it has no phonemes: {excerpt(spoken.unspoken)}")
    if spoken.unknown:
        console.warn(f"left unspoken, not in the model's vocabulary: {excerpt(spoken.unknown)}")


def _report(args: argparse.Namespace, request: SpeechRequest, spoken: _Spoken) -> dict[str, Any]:
    """The output of `--json`; the samples are in the audio file."""
    speech = spoken.whole()
    return {
        "output": args.output,
        "artifact": spoken.artifact,
        "synthetic": speech.synthetic,
        "voice": speech.voice,
        "lang": None if args.phonemes else request.language,
        "speed": speech.speed,
        "seed": speech.seed,
        "sample_rate": speech.sample_rate,
        "samples": spoken.samples,
        "seconds": spoken.seconds,
        "phonemes": speech.phonemes,
        "durations": speech.durations,
        "chunks": speech.chunks,
        "words": speech.words,
        "marks": speech.marks,
        "unknown": speech.unknown,
        "unspoken": speech.unspoken,
        "clipped": spoken.clipped,
        "loading_seconds": spoken.loading,
        "synthesis_seconds": spoken.synthesis,
    }


COMMAND = Command(
    name="say",
    summary="speak a text or phonemes into an audio file",
    configure=configure,
    run=run,
    epilog="""\
Phonemes only need an artifact; text needs the extra `text`. Without --artifact, the weights are
downloaded and an artifact is built into the cache once, which needs the extra `build`.
""",
)
