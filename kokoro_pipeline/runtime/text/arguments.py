"""Checks of the arguments that every function which reads a text has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kokoro_pipeline.errors import InputError

from .lexicon import Lexicon


def check_text(text: Any) -> None:
    """Raises InputError unless it is a string or an iterable, which may be one of strings."""
    if isinstance(text, bytes | bytearray) or not isinstance(text, Iterable):
        raise InputError(f"text is {type(text).__name__}, expected a string or strings in order")


def checked_strings(text: str | Iterable[str]) -> str | Iterator[str]:
    """The text, whose parts raise InputError when they are taken and are no strings."""
    return text if isinstance(text, str) else map(_string, text)


def _string(part: Any) -> str:
    if not isinstance(part, str):
        raise InputError(f"a part of the text is {type(part).__name__}, expected a string")
    return part


def check_lexicon_argument(lexicon: Any) -> None:
    """Raises InputError unless it is a Lexicon or None."""
    if lexicon is not None and not isinstance(lexicon, Lexicon):
        raise InputError(
            f"lexicon is {type(lexicon).__name__}, expected a Lexicon: read_lexicon(FILE), or "
            "lexicon_of({word: phonemes})"
        )
