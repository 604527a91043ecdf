"""Marks of Markdown and of subtitles that are not spoken: tables, rules, notes, escapes, cues."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement, Tracked
from .tables import table, word_sets

# A table of at least a row of names and the row of dashes below it.
_TABLE = re.compile(
    r"^(?P<names>[^|\n]{0,500}\|[^\n]{0,2000})\n"
    r"(?P<rule>[ \t]*\|?[ \t]*:?-{2,60}:?(?:[ \t]*\|[ \t]*:?-{1,60}:?){0,40}[ \t]*\|?[ \t]*)"
    r"(?P<rows>(?:\n[^|\n]{0,500}\|[^\n]{0,2000}){0,1000})(?=\n|$(?!\n))",
    re.MULTILINE,
)
_BARS_OR_END = re.compile(r"\n|[ \t]*(?:\|[ \t]*)+")
# The line below a heading, and a line that only separates.
_RULE = re.compile(r"^[ \t]{0,3}(?:={3,}|-{3,}|\*{3,}|_{3,}|~{3,})[ \t]*$", re.MULTILINE)
_CUE = re.compile(
    r"^(?:\d{1,5}[ \t]*\n)?[ \t]*(?:\d\d:)?\d\d:\d\d[.,]\d{3}[ \t]*-->[ \t]*"
    r"(?:\d\d:)?\d\d:\d\d[.,]\d{3}(?![\d.,])(?:[ \t]+[A-Za-z\d]{1,10}:\S{1,40}){0,8}[ \t]*",
    re.MULTILINE,
)
_NOTE = re.compile(r"\[\^[\w-]{1,30}\](?::(?=\s))?")
_ESCAPED = re.compile(r"(?<![\\¯])\\(?=[$%*_#&~`+!|{}()\[\]-])|(?<=\d)\\(?=\.\s)")
_NOTE_NUMBER = re.compile(
    r"(?<![^\W\d_])([A-Za-z]{3,40})([.,;:!?]?[\"”’']?)"
    r"([⁰¹²³⁴-⁹]{1,3}(?:,[⁰¹²³⁴-⁹]{1,3}){0,4})(?![\w⁻⁺⁄])"
)
_MEASURED = frozenset(
    word.lower()
    for _, *names in table("units")
    for name in names
    for word in name.split()
    if word.isalpha()
) | frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "log", "chi", "sigma"]
)
"""What is squared: units and functions."""
_SYMBOLS = frozenset(symbol for symbol, *_ in table("units"))
# A word that is divided at the end of a line, but for parts that are joined by a hyphen anyway.
_DIVIDED = re.compile(r"(?<![\w-])([a-z]{2,20})(-\n[ \t]*)([a-z]{2,20})(?!\w)")
_JOINED = word_sets("hyphenated")["first"]


def without_markdown(text: Tracked) -> Tracked:
    """The text without the marks that only lay it out; rows of tables become paragraphs."""
    string = text.text
    if "|" in string:
        text = text.sub(_TABLE, _table)
    if "-->" in string:
        text = text.sub(_CUE, "")
    text = text.sub(_DIVIDED, _undivided).sub(_RULE, "\n\n").sub(_NOTE, "")
    return text.sub(_NOTE_NUMBER, _note).sub(_ESCAPED, "")


def _table(match: re.Match[str]) -> list[Piece]:
    """Rows of a table: its cells with commas between them."""
    string = match.string
    pieces = []
    for group in ("names", "rows"):
        start, end = match.span(group)
        for sign in _BARS_OR_END.finditer(string, start, end):
            if sign[0] == "\n":
                pieces.append(Piece("\n\n", *sign.span()))
                continue
            outer = sign.start() in (0, start) or string[sign.start() - 1] == "\n"
            outer = outer or sign.end() == end or string[sign.end()] == "\n"
            pieces.append(Piece("" if outer else ", ", *sign.span()))
        if group == "names":
            pieces.append(Piece("", *match.span("rule")))
    return pieces


def _note(match: re.Match[str]) -> Replacement:
    """The number of a note, behind a word that is no unit: "disputed²"."""
    word = match[1].lower()
    if not match[2] and (word in _MEASURED or word.removesuffix("s") in _MEASURED):
        return match[0]
    if match[1] in _SYMBOLS or not (match[1].islower() or match[1].istitle() or match[1].isupper()):
        return match[0]
    return [Piece("", *match.span(3))]


def _undivided(match: re.Match[str]) -> list[Piece]:
    joined = match[1] in _JOINED or match.string.startswith("-", match.end())
    return [Piece("-" if joined else "", *match.span(2))]
