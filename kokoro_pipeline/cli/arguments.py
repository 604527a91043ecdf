"""Options shared by several commands, and argument types that reject invalid values early."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..runtime.text import Lexicon

HUB_WEIGHTS = "hexgrad/Kokoro-82M"
"""The checkpoint with the real weights."""


def number(text: str) -> float:
    """An argparse type: a number. The valid range is checked by the command."""
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from error


def positive_int(text: str) -> int:
    """An argparse type: a whole number above 0."""
    value = _integer(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def seed(text: str) -> int:
    """An argparse type: the seed of a generator, an integer of 0 or above."""
    value = _integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or above")
    return value


def device(text: str) -> str:
    """An argparse type: the name of a device. Its presence is checked when loading the artifact."""
    from ..runtime.engine.device import parse_device

    try:
        parse_device(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def names(text: str) -> tuple[str, ...]:
    """An argparse type: a list NAME,NAME,… without empty names; blanks are removed."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list NAME,NAME,…")
    return found


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`: the result as one JSON document on stdout."""
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON on standard output"
    )


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Allow `--debug` after a command; its absence must not undo `kokoro-pipeline --debug …`."""
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


def add_artifact_folder(parser: argparse.ArgumentParser) -> None:
    """The positional DIR of the commands that read an artifact."""
    parser.add_argument("artifact", metavar="DIR", type=Path, help="an artifact folder")


def add_artifact_or_weights(parser: argparse.ArgumentParser) -> None:
    """`--artifact` and `--weights`: what to speak with."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--artifact",
        type=Path,
        metavar="DIR",
        help="the artifact to speak with (default: one in the cache, built when first needed)",
    )
    source.add_argument(
        "--weights",
        default=HUB_WEIGHTS,
        metavar="SPEC",
        help=f"without --artifact: the weights to speak with: {HUB_WEIGHTS} (default), "
        "a folder, or synthetic",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device`: the device that an artifact runs on."""
    parser.add_argument(
        "--device",
        type=device,
        default="auto",
        metavar="DEVICE",
        help="where the artifact runs: auto (what it was built for, default), cpu, cuda, cuda:N, "
        "metal; there is no fallback to another device",
    )


def add_workers(
    parser: argparse.ArgumentParser, *, workers: str = "1", threads: str = "the CPUs divided"
) -> None:
    """`--workers` and `--threads`: processes that speak, with what their defaults are called."""
    parser.add_argument(
        "--workers",
        type=positive_int,
        metavar="N",
        help=f"processes that speak at the same time (default: {workers})",
    )
    parser.add_argument(
        "--threads",
        type=positive_int,
        metavar="N",
        help=f"threads of each worker (default: {threads})",
    )


def add_speech(parser: argparse.ArgumentParser, *, one_text: bool = True) -> None:
    """The options that say how a text is spoken.

    Without `one_text`, there are many, and what they are (phonemes, SSML) is no option.
    """
    speech = parser.add_argument_group("speech")
    if one_text:
        speech.add_argument(
            "--phonemes",
            action="store_true",
            help="the text is phonemes already, as `phonemize` prints",
        )
    speech.add_argument(
        "--voice",
        default="af_heart",
        metavar="VOICE",
        help="a name, a blend such as af_heart:0.6,af_bella:0.4, or a voice file "
        "(default: af_heart)",
    )
    add_language(speech)
    speech.add_argument(
        "--speed",
        type=number,
        default=1.0,
        metavar="X",
        help="speaking rate; 2 is twice as fast (default: 1)",
    )
    speech.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of the noise; the same seed gives bit-identical audio (default: 0)",
    )
    speech.add_argument(
        "--split",
        choices=("auto", "sentence", "paragraph"),
        default="auto",
        help="what is spoken at once: sentences grouped to about 200 phonemes (auto, default), a "
        "sentence, or a paragraph",
    )
    speech.add_argument(
        "--first",
        choices=("sentence", "clause"),
        default="sentence",
        help="what is spoken first: the first sentence (default) or, sooner, its first clause",
    )
    for where in ("sentence", "paragraph"):
        speech.add_argument(
            f"--pause-{where}",
            type=number,
            default=0.0,
            metavar="MS",
            help=f"milliseconds of silence after a {where} (default: 0)",
        )

    add_lexicon(speech)
    if one_text:
        speech.add_argument("--ssml", action="store_true", help="the text is an SSML document")


def add_language(parser: argparse._ActionsContainer) -> None:
    """`--lang`: the language of a text."""
    parser.add_argument(
        "--lang",
        metavar="CODE",
        help="language of the text, such as en-gb (default: the voice's own)",
    )


def add_lexicon(parser: argparse._ActionsContainer) -> None:
    """`--lexicon`: pronunciations of the user's own; see `given_lexicon`."""
    parser.add_argument(
        "--lexicon",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="pronunciations of your own (.tsv, .pls or .json); several may be given",
    )


def given_lexicon(args: argparse.Namespace) -> Lexicon | None:
    """The lexicon of the files of `--lexicon`. Raises InputError for what is wrong in them."""
    from ..runtime.text import read_lexicon

    return read_lexicon(*args.lexicon) if args.lexicon else None


def add_synthetic_seed(parser: argparse.ArgumentParser) -> None:
    """`--seed`: the seed of the synthetic weights."""
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of the synthetic weights, where they are used (default: 0)",
    )


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from error
