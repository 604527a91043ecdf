"""Sections, courts and notes as lawyers and scholars cite them: "§ 77l(a)", "s. 2(1)", "158ff."."""

from __future__ import annotations

import re

from ..tracked import Piece
from .letters import letter_name
from .numbers import cardinal
from .rules import Phrase, kept_point


def _letter_of_section(match: re.Match[str]) -> list[Piece]:
    """A section whose letter would be a unit: "§ 77l(a)", "§ 78m"."""
    words = f"{cardinal(int(match[1]))} {letter_name(match[2].upper())}"
    return [Piece(words, match.start(1), match.end())]


def _to_page(match: re.Match[str]) -> list[Piece]:
    """The later page by its last figure: "1977: 23–4"."""
    return [Piece(match[1] * (match[3] > match[2]) + match[3], *match.span(3))]


PLEADINGS: tuple[Phrase, ...] = (
    (re.compile(r"§§?\s?(\d{1,3})([a-z])(?=[\s(,;.)]|$)"), _letter_of_section),
    (
        re.compile(
            r"(?:^|(?<=^\s)|(?<=[;.(,:] )|(?<=\band )"
            r"|(?<=\bor )|(?<=\bby )|(?<=\bof )|(?<=\bin )|(?<=\bsee )|(?<=\())"
            r"(ss?)\.?\s(?=\d+[A-Z]?\(\w{1,4}\))"
        ),
        lambda m: [Piece(f"section{'s' * (m[1] == 'ss')} ", m.start(1), m.end())],
    ),
    (re.compile(r"(?<=[a-z]\)) v\.? (?=(?:the )?[A-Z][a-z])"), " versus "),
    (re.compile(r"\bBd\.(?=\sof\b)"), "Board"),
    (
        re.compile(r"(?<=\bof )Educ\b\.?|(?<=\bBoard of )Ed\b\.?"),
        lambda m: f"Education{kept_point(m)}",
    ),
    (re.compile(r"\b\d{4}[a-z]?: (\d)(\d)[–-](\d)(?![\w-]|[.,]\d)"), _to_page),
    (
        re.compile(r"((?:\b\d{4}[a-z]?[:,]|[a-z]\), |\bat) \d{1,4})\s?ff\b\.?"),
        lambda m: f"{m[1]} and following{kept_point(m)}",
    ),
    (re.compile(r"(?<=\d)n\.(?=[,;)]|$|\s[a-z])"), lambda m: f" note{kept_point(m)}"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
