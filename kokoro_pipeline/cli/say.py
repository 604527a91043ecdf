"""`kokoro-pipeline say`: text or phonemes in, a WAV file out."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, seconds
from .phonemize import phonemize_aloud
from .source_text import STDIN, add_source, read_source

if TYPE_CHECKING:
    from ..runtime import Speech

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
        help="a name, a blend as af_heart:0.6,af_bella:0.4, or a voice file (default: af_heart)",
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
        help="how fast; 2 is twice as fast (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=arguments.seed,
        default=0,
        metavar="N",
        help="seed of the breath noise; the same seed gives the same bits (default: 0)",
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
    """Speak. Everything that can be refused is refused before anything slow."""
    to_stdout = args.output == STDIN
    if to_stdout and args.json:
        raise UsageError("-o - and --json both want standard output: name a file with -o FILE")
    text = read_source(args)
    if not text.strip():
        raise InputError("the text is empty: there is nothing to say")
    if not math.isfinite(args.speed) or args.speed <= 0:
        raise InputError(f"the speed is {args.speed}: it must be a finite number above 0")
    write = _to_stdout(args, console) if to_stdout else _to_file(args)
    phonemes, unspoken = _phonemes(args, text, console)
    spoken = _speak(args, phonemes, args.artifact or _artifact_from_cache(args, console), console)
    speech = spoken.speech
    clipped = write(speech)
    if clipped:
        console.warn(f"{clipped} samples were louder than full scale and are clipped")
    if speech.synthetic:
        console.warn(NOT_SPEECH)
    if args.json:
        console.json({**_report(args, spoken), "unspoken": unspoken, "clipped": clipped})
    else:
        console.progress(
            f"wrote {args.output}: {seconds(speech.seconds)} of audio in "
            f"{seconds(spoken.synthesis)}"
        )
    return exit_codes.OK


def _to_file(args: argparse.Namespace) -> Callable[[Speech], int]:
    """What writes speech to the output file; a path that cannot be written is refused now."""
    from ..runtime.audio import check_writable, write_audio

    path = Path(args.output)
    check_writable(path)
    if args.floating and path.suffix.lower() not in ("", ".wav", ".wave"):
        raise InputError(f"--float is for WAV files, not for {path.suffix}")
    return lambda speech: write_audio(
        path, speech.audio, speech.sample_rate, floating=args.floating
    )


def _to_stdout(args: argparse.Namespace, console: Console) -> Callable[[Speech], int]:
    """What writes speech to standard output as WAV; a terminal is refused now."""
    from ..runtime.audio import write_wav

    stream = console.binary_output()
    return lambda speech: write_wav(
        stream, speech.audio, speech.sample_rate, floating=args.floating
    )


@dataclass(frozen=True)
class _Spoken:
    """A result with its circumstances; times in seconds."""

    speech: Speech
    artifact: Path
    loading: float
    synthesis: float


def _phonemes(args: argparse.Namespace, text: str, console: Console) -> tuple[str, tuple[str, ...]]:
    """What to speak, in phonemes, given as such or read from the text; and what has none."""
    if args.phonemes:
        # A file's line ends are not phonemes; every other character is the caller's word.
        return " ".join(text.splitlines()), ()
    read = phonemize_aloud(text, args.lang, console)
    return read.phonemes, read.unspoken


def _artifact_from_cache(args: argparse.Namespace, console: Console) -> Path:
    from .cached_artifact import cached_artifact

    return cached_artifact(args.weights, console)


def _speak(args: argparse.Namespace, phonemes: str, artifact: Path, console: Console) -> _Spoken:
    from ..runtime import load

    started = time.perf_counter()
    with load(artifact, threads=args.threads, device=args.device) as tts:
        loaded = time.perf_counter()
        console.progress(f"loaded {artifact} in {seconds(loaded - started)}")
        speech = tts.synthesize(phonemes, voice=args.voice, speed=args.speed, seed=args.seed)
        ended = time.perf_counter()
    return _Spoken(speech, artifact, loading=loaded - started, synthesis=ended - loaded)


def _report(args: argparse.Namespace, spoken: _Spoken) -> dict[str, Any]:
    """What `--json` prints; the samples themselves are in the file."""
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
Phonemes need nothing but an artifact; text needs the extra `text`. Without --artifact the weights
are downloaded once and built into the cache once, which needs the extra `build`.
""",
)
