"""Read e-mail and web addresses, handles and file names aloud."""

from __future__ import annotations

import re

from ..tracked import Tracked
from . import numbers
from .letters import LETTER_A
from .tables import pairs

_SITE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
_EMAIL = re.compile(
    rf"\b[A-Za-z0-9._%+-]{{1,64}}@{_SITE}\b(?::[\w-]{{1,64}}(?:/[\w-]{{1,64}}){{1,8}}(?:\.\w{{1,8}})?\b)?"
)
_HANDLE = re.compile(r"(?<![\w.@])@[A-Za-z]\w{1,38}\b")
_URL = re.compile(
    rf"\b(?:https?|ftp)://[^\s<>\"“”]+|\bwww\.{_SITE}(?::\d+)?(?:[/?#][^\s<>\"“”]*)?"
    r"|\b(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:com|org|net|edu|gov|dev|app|info)\b(?::\d+)?"
    r"(?:[/?#](?=\w)[^\s<>\"“”]*)?"
    r"|\blocalhost:\d{2,5}\b(?:[/?#](?=\w)[^\s<>\"“”]*)?"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,8}(?:io|ai|co|uk|de|fr|me|tv|eu|us|ca|au)\b(?::\d+)?"
    r"(?:[/?#](?=\w)[^\s<>\"“”]*)?"
)
_FILE = re.compile(
    r"(?<![\w.])(?!\d{1,2}[ap]\.m\b)([A-Za-z0-9_-]{1,64})\.([a-z][a-z0-9]{0,4})(?![\w.]*\w)"
)
_ADDRESS_SIGNS = pairs("address_signs")
_ADDRESS_WORDS = pairs("address_words")
_WORDS_AND_COUNTRIES = frozenset({"us"})
_ADDRESS_PART = re.compile(r"[A-Za-z]+|\d+|.")


def _read_address(address: str) -> str:
    words = []
    parts = _ADDRESS_PART.findall(address)
    for before, part in zip(["", *parts], parts, strict=False):
        if part.isdecimal():
            words.append(numbers.cardinal(int(part)) if len(part) < 3 else numbers.digits(part))
        elif part in ("a", "A"):
            words.append(LETTER_A)
        elif part.lower() in _WORDS_AND_COUNTRIES and before != ".":
            words.append(part)  # "contact-us"
        else:
            words.append(_ADDRESS_SIGNS.get(part) or _ADDRESS_WORDS.get(part.lower(), part))
    return " ".join(words)


def _read_url(match: re.Match[str]) -> str:
    address = re.sub(r"^[a-z]+://", "", match[0])
    stripped = address.rstrip(".,;:!?)/'’]")
    return _read_address(stripped) + address[len(stripped) :].lstrip("/")


def expand_addresses(text: Tracked) -> Tracked:
    """Expand web and mail addresses and file names: "a.com/b" becomes "a dot com slash b"."""
    text = text.sub(_EMAIL, lambda m: _read_address(m[0])).sub(_URL, _read_url)
    text = text.sub(_HANDLE, lambda m: _read_address(m[0]))
    return text.sub(
        _FILE, lambda m: m[0] if len(m[1]) == 1 and len(m[2]) == 1 else _read_file(m[1], m[2])
    )


def _read_file(name: str, ending: str) -> str:
    return f"{name} dot {_ADDRESS_WORDS.get(ending, ending)}"
