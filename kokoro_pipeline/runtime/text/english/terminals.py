"""Lines of programs: "$ npm test && git push", "404 Not Found"."""

from __future__ import annotations

import re

from .numbers import digits, in_pairs
from .rules import Phrase


def _port(number: str) -> str:
    """The number of a port: "8080", "443"."""
    return in_pairs(number) if len(number) < 5 else digits(number)


TERMINALS: tuple[Phrase, ...] = (
    (re.compile(r"(?:^|(?<=^\s))\$ (?=(?:sudo |\./)?[a-z][a-z\d-]{1,20}(?:\s|$))"), ""),
    (re.compile(r"(?<=\s)&&(?=\s)"), "and"),
    (re.compile(r"(?<=\s)\|\|(?=\s[!\w])"), "or"),
    (re.compile(r"(?<=[(\s])!(?=[a-z][\w.]*[)\s;])"), "not "),
    (
        re.compile(
            r"(?<![\w.,$-])([1-5]\d\d)(?=\s(?:OK\b|Created|Accepted|No Content|Moved|Found\b"
            r"|Not Modified|Bad (?:Request|Gateway)|Unauthorized|Forbidden|Not Found|Method Not"
            r"|Request Timeout|Conflict\b|Gone\b|Too Many|Internal Server"
            r"|Not Implemented|Service Unavail|Gateway Time))"
        ),
        lambda m: in_pairs(m[1]),
    ),
    (re.compile(r"(?<![\w*.])\*(?=\.[a-z]{1,5}\b)"), "star "),
    (re.compile(r"(?<![\w.])([12])>&([12])(?!\w)"), r"\1 greater than ampersand \2"),
    (
        re.compile(
            r"(?:(?<=-p )|(?<=--publish )|(?<=\bport )|(?<=\bports ))(\d{2,5}):(\d{2,5})(?![\w.:])"
        ),
        lambda m: f"{_port(m[1])} to {_port(m[2])}",
    ),
)
"""Phrases, each with what it is replaced by, before any other is expanded."""
