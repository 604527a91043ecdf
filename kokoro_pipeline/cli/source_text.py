"""The input text of a command: an argument, a file, or standard input."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import InputError
from .command import UsageError

STDIN = "-"


def add_source(parser: argparse.ArgumentParser) -> None:
    """Declare `TEXT`, `-f FILE` and `-`; `read_source` requires exactly one of them."""
    parser.add_argument(
        "text",
        nargs="?",
        metavar="TEXT",
        help="the text, or - for standard input (put -- before a text that begins with a dash)",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="read the text from FILE (UTF-8; - is standard input)"
    )


def read_source(args: argparse.Namespace) -> str:
    """Read the text that the command line specifies.

    Raises UsageError unless there is exactly one source, InputError if a file cannot be read or
    the bytes are not UTF-8.
    """
    if args.text is not None and args.file is not None:
        raise UsageError("TEXT and -f FILE are two texts: give one")
    if args.text is None and args.file is None:
        raise UsageError("what is the text? give TEXT, -f FILE, or - to read standard input")
    if args.file is not None and args.file != STDIN:
        return _decode(_read_file(Path(args.file)), args.file)
    if args.file == STDIN or args.text == STDIN:
        return _decode(sys.stdin.buffer.read(), "standard input")
    text: str = args.text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        # Python represents undecodable bytes of the command line as lone surrogates.
        raise InputError("TEXT is not valid UTF-8: check the terminal's encoding") from error
    return text


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the text {path}: {error.strerror or error}") from error


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}; "
            "convert it first (iconv -t UTF-8)"
        ) from error
