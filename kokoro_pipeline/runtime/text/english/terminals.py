"""Lines of programs: "$ npm test && git push", "404 Not Found"."""

from __future__ import annotations

import re

from .schedules import Phrase

TERMINALS: tuple[Phrase, ...] = (
    (re.compile(r"(?:^|(?<=^\s))\$ (?=(?:sudo |\./)?[a-z][a-z\d-]{1,20}(?:\s|$))"), ""),
    (re.compile(r"(?<=\s)&&(?=\s)"), "and"),
    (re.compile(r"(?<=\s)\|\|(?=\s[!\w])"), "or"),
    (re.compile(r"(?<=[(\s])!(?=[a-z][\w.]*[)\s;])"), "not "),
    (re.compile(r"\b404(?=\s(?:Not\sFound|not\sfound)\b)"), "four oh four"),
)
"""Phrases, each with what it is replaced by, before any other is expanded."""
