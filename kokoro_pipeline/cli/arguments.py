"""Options that several commands share, and the types that refuse nonsense before any work."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError

HUB_WEIGHTS = "hexgrad/Kokoro-82M"
"""The checkpoint that speaks."""


def number(text: str) -> float:
    """An argparse type: a number. What range makes sense is the command's to say."""
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
    """An argparse type: a whole number that seeds a generator, 0 or above."""
    value = _integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or above")
    return value


def device(text: str) -> str:
    """An argparse type: a device's name. Whether it is there, loading the artifact sees."""
    from ..runtime.engine.device import parse_device

    try:
        parse_device(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def names(text: str) -> tuple[str, ...]:
    """An argparse type: NAME,NAME,… without blanks or empty names."""
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
    """`--debug` after a command too; absent there, it must not undo `kokoro-pipeline --debug …`."""
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


def add_artifact_folder(parser: argparse.ArgumentParser) -> None:
    """The positional DIR of the commands that read an artifact."""
    parser.add_argument("artifact", metavar="DIR", type=Path, help="an artifact folder")


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device`: where an artifact runs."""
    parser.add_argument(
        "--device",
        type=device,
        default="auto",
        metavar="DEVICE",
        help="where the artifact runs: auto (what it was built for, default), cpu, cuda, cuda:N, "
        "metal; nothing runs elsewhere than asked",
    )


def add_synthetic_seed(parser: argparse.ArgumentParser) -> None:
    """`--seed`: which synthetic weights."""
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
