"""The input text of a command: an argument, a file, or standard input."""

from __future__ import annotations

import argparse
import codecs
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from .command import UsageError

STDIN = "-"
_BLOCK = 65_536
_AS_TEXT = "pandoc -t plain FILE | kokoro-pipeline say -"
_DOCUMENTS = {
    rb"%PDF-": ("a PDF document", "pdftotext FILE - | kokoro-pipeline say -"),
    rb"PK\x03\x04": (
        "a zip archive, as .epub, .docx and .odt are",
        f"kokoro-pipeline batch FILE.epub -o DIR, or {_AS_TEXT}",
    ),
    rb"\xd0\xcf\x11\xe0": ("a document of Microsoft Office", "save it as UTF-8 text"),
    rb"\{\\rtf": ("an RTF document", _AS_TEXT),
    rb"\x1f\x8b": ("compressed by gzip", "zcat FILE | kokoro-pipeline say -"),
    rb"\xff\xfe|\xfe\xff": ("UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | kokoro-pipeline say -"),
    rb"(?i:<!doctype\s+html|<html)\b": (
        "an HTML document",
        "pandoc -f html -t plain FILE | kokoro-pipeline say -",
    ),
}
"""How files begin that are no text or whose marks would be spoken, what they are, and a remedy."""
_SSML = rb"<speak\b(?s:.*)</speak\s*>\s*\Z"


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
        if not position:
            _refuse_documents(data, "standard input")
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

    Raises UsageError unless there is exactly one source, InputError if a file cannot be read, or
    the bytes are not UTF-8 or a document of another kind than text.
    """
    if args.text is not None and args.file is not None:
        raise UsageError("TEXT and -f FILE are two texts: give one")
    if args.text is None and args.file is None:
        raise UsageError("what is the text? give TEXT, -f FILE, or - to read standard input")
    if args.file is not None and args.file != STDIN:
        data, where = _read_file(Path(args.file)), args.file
    elif STDIN in (args.file, args.text):
        data, where = _stdin().read(), "standard input"
    else:
        # The bytes of the command line, which Python decoded as the locale says.
        data, where = os.fsencode(args.text), "TEXT"
    if not getattr(args, "ssml", False):
        _refuse_documents(data, where)
    return _decode(data, where)


def _refuse_documents(data: bytes, where: str) -> None:
    """Raise InputError for what begins as a document of another kind than text."""
    for begins, (what, remedy) in _DOCUMENTS.items():
        if where != "TEXT" and _begins(begins, data):
            raise InputError(f"{where} is {what}, not text: {remedy}")
    if _begins(_SSML, data):
        raise InputError(f"{where} is an SSML document, not text: kokoro-pipeline say --ssml")


def _begins(pattern: bytes, data: bytes) -> bool:
    return re.match(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*\?>\s*)?(%s)" % pattern, data) is not None


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
