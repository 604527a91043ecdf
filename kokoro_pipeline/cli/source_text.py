"""The input text of a command: an argument, a file, or standard input."""

from __future__ import annotations

import argparse
import codecs
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from .command import UsageError

STDIN = "-"
_BLOCK = 65_536


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


def stream_source(args: argparse.Namespace) -> str | Iterator[str]:
    """The text that the command line specifies; that of standard input as it arrives.

    Raises like `read_source`; what concerns standard input is raised while it is read.
    """
    if STDIN in (args.text, args.file) and None in (args.text, args.file):
        return _decode_stream(_stdin())
    return read_source(args)


def _decode_stream(stream: BinaryIO) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    position = 0
    while True:
        data = stream.read1(_BLOCK) if hasattr(stream, "read1") else stream.read(_BLOCK)
        try:
            yield decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise _not_utf8("standard input", error, position) from error
        if not data:
            return
        position += len(data)


def _stdin() -> BinaryIO:
    if sys.stdin is None:  # closed by the shell: <&-
        raise InputError("standard input is closed: give TEXT or -f FILE")
    return sys.stdin.buffer


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
        return _decode(_stdin().read(), "standard input")
    # The bytes of the command line, which Python decoded as the locale says.
    return _decode(os.fsencode(args.text), "TEXT")


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the text {path}: {error.strerror or error}") from error


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(where, error) from error


def _not_utf8(where: str, error: UnicodeDecodeError, before: int = 0) -> InputError:
    return InputError(
        f"{where} is not UTF-8: byte {before + error.start} is 0x{error.object[error.start]:02x}; "
        "convert it first (iconv -t UTF-8)"
    )
