"""`kokoro-pipeline say`: synthesize text or phonemes to a WAV file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, seconds
from .source_text import STDIN, add_source, read_source

if TYPE_CHECKING:
    from ..runtime import Speech
    from ..runtime.speech.request import SpeechRequest

NOT_SPEECH = (
    "the artifact holds SYNTHETIC weights: what was written is NOT SPEECH. For speech: "
    f"kokoro-pipeline build --weights {arguments.HUB_WEIGHTS} -o DIR"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_source(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the WAV file to write; - is standard output",
    )
    parser.add_argument(
        "--phonemes",
        action="store_true",
        help="the text is phonemes already, as `phonemize` prints",
    )
    parser.add_argument(
        "--voice",
        default="af_heart",
        metavar="VOICE",
        help="a name, a blend such as af_heart:0.6,af_bella:0.4, or a voice file "
        "(default: af_heart)",
    )
    parser.add_argument(
        "--lang",
        default="en-us",
        metavar="CODE",
        help="language of the text: en-us (default) or en-gb",
    )
    parser.add_argument(
        "--speed",
        type=arguments.number,
        default=1.0,
        metavar="X",
        help="speaking rate; 2 is twice as fast (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=arguments.seed,
        default=0,
        metavar="N",
        help="seed of the noise; the same seed gives bit-identical audio (default: 0)",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--artifact",
        type=Path,
        metavar="DIR",
        help="the artifact to speak with (default: one in the cache, built when first needed)",
    )
    source.add_argument(
        "--weights",
        default=arguments.HUB_WEIGHTS,
        metavar="SPEC",
        help=f"without --artifact: the weights to speak with: {arguments.HUB_WEIGHTS} (default), "
        "a folder, or synthetic",
    )
    parser.add_argument(
        "--float", dest="floating", action="store_true", help="32-bit float samples, not 16-bit"
    )
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
    to_stdout = args.output == STDIN
    if to_stdout and args.json:
        raise UsageError("-o - and --json both want standard output: name a file with -o FILE")
    text = read_source(args)
    if not text.strip():
        raise InputError("the text is empty: there is nothing to say")
    write = _to_stdout(args, console) if to_stdout else _to_file(args)
    request = _request(args, text)
    spoken = _speak(args, request, args.artifact or _artifact_from_cache(args, console), console)
    speech = spoken.speech
    clipped = write(speech)
    if clipped:
        console.warn(f"{clipped} samples were louder than full scale and are clipped")
    if speech.synthetic:
        console.warn(NOT_SPEECH)
    if args.json:
        console.json({**_report(args, spoken), "unspoken": request.unspoken, "clipped": clipped})
    else:
        console.progress(
            f"wrote {args.output}: {seconds(speech.seconds)} of audio in "
            f"{seconds(spoken.synthesis)}"
        )
    return exit_codes.OK


def _to_file(args: argparse.Namespace) -> Callable[[Speech], int]:
    """A function that writes speech to the output file, after checking that it can be written."""
    from ..runtime.audio import check_writable, write_audio

    path = Path(args.output)
    check_writable(path)
    if args.floating and path.suffix.lower() not in ("", ".wav", ".wave"):
        raise InputError(f"--float is for WAV files, not for {path.suffix}")
    return lambda speech: write_audio(
        path, speech.audio, speech.sample_rate, floating=args.floating
    )


def _to_stdout(args: argparse.Namespace, console: Console) -> Callable[[Speech], int]:
    """A function that writes speech to standard output as WAV, unless it is a terminal."""
    from ..runtime.audio import write_wav

    stream = console.binary_output()
    return lambda speech: write_wav(
        stream, speech.audio, speech.sample_rate, floating=args.floating
    )


@dataclass(frozen=True)
class _Spoken:
    """A result with the artifact used and the times in seconds."""

    speech: Speech
    artifact: Path
    loading: float
    synthesis: float


def _request(args: argparse.Namespace, text: str) -> SpeechRequest:
    """What to speak, checked as far as it can be without an artifact."""
    from ..runtime.speech.request import SpeechRequest, request_of_text

    if args.phonemes:
        # Line ends of a file are not phonemes; all other characters are kept.
        return SpeechRequest(" ".join(text.splitlines()), args.voice, args.speed, args.seed)
    return request_of_text(text, args.voice, args.lang, args.speed, args.seed)


def _artifact_from_cache(args: argparse.Namespace, console: Console) -> Path:
    from .cached_artifact import cached_artifact

    return cached_artifact(args.weights, console)


def _speak(
    args: argparse.Namespace, request: SpeechRequest, artifact: Path, console: Console
) -> _Spoken:
    from ..runtime import load

    started = time.perf_counter()
    with load(artifact, threads=args.threads, device=args.device) as tts:
        loaded = time.perf_counter()
        console.progress(f"loaded {artifact} in {seconds(loaded - started)}")
        speech = tts.synthesize(
            request.phonemes, voice=request.voice, speed=request.speed, seed=request.seed
        )
        ended = time.perf_counter()
    return _Spoken(speech, artifact, loading=loaded - started, synthesis=ended - loaded)


def _report(args: argparse.Namespace, spoken: _Spoken) -> dict[str, Any]:
    """The output of `--json`; the samples are in the audio file."""
    speech = spoken.speech
    return {
        "output": args.output,
        "artifact": spoken.artifact,
        "synthetic": speech.synthetic,
        "voice": speech.voice,
        "speed": speech.speed,
        "seed": speech.seed,
        "sample_rate": speech.sample_rate,
        "samples": len(speech.audio),
        "seconds": speech.seconds,
        "phonemes": speech.phonemes,
        "durations": speech.durations,
        "chunks": speech.chunks,
        "unknown": speech.unknown,
        "loading_seconds": spoken.loading,
        "synthesis_seconds": spoken.synthesis,
    }


COMMAND = Command(
    name="say",
    summary="speak a text or phonemes into a WAV file",
    configure=configure,
    run=run,
    epilog="""\
Phonemes only need an artifact; text needs the extra `text`. Without --artifact, the weights are
downloaded and an artifact is built into the cache once, which needs the extra `build`.
""",
)
