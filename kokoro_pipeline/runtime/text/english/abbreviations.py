"""Expand abbreviations and initials into words."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement, Tracked
from .abbreviated_phrases import ABBREVIATED_PHRASES
from .abbreviated_places import expand_saints, expand_streets_and_states
from .abbreviated_times import expand_bare_times, expand_joined_times, is_last_day
from .abbreviation_points import (
    CAPITAL_FOLLOWS,
    ENDS_SENTENCE,
    STARTERS,
    TITLES,
    keep_point,
    of_kind,
)
from .letters import LETTER_A
from .tables import pairs

_NUMBERED = of_kind("numbered", "bare numbered")
_JOURNALS = of_kind("journal")  # words in the names of journals
_JOURNAL_ENDS = of_kind("journal end")  # those that are read otherwise at the end of a name
# Used anywhere; their point may also end the sentence.
_WORDS = of_kind("month", "day", "word", "short")


def _alternatives(words: dict[str, str]) -> str:
    """A pattern that matches any of the words, as listed or capitalized."""
    spellings = {*words, *(word.capitalize() for word in words)}
    return "|".join(sorted(spellings, key=len, reverse=True))


def _lookup(words: dict[str, str], key: str) -> str:
    return words[key] if key in words else words[key.lower()].capitalize()


_JOURNAL_NAMES = "|".join(sorted(_JOURNALS, key=len, reverse=True))
_JOURNAL_WORD = re.compile(rf"\b({_JOURNAL_NAMES})\.")
_JOURNAL = re.compile(rf"\b(?:{_JOURNAL_NAMES})\.(?: (?:{_JOURNAL_NAMES})\.)+")
_TITLE = re.compile(
    rf"\b({'|'.join(sorted(TITLES, key=len, reverse=True))})\.(?=\s*[A-Z(“\"])"
    r"|\b(Mrs?|Ms|Prof|Mme|Mlle)\.(?=\s)"
)
_BARE_TITLE = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof)(?=\s+[A-Z][a-z])")
_BEFORE_NUMBER = re.compile(
    rf"\b({'|'.join(sorted({*_NUMBERED, *(w.lower() for w in _NUMBERED)}, key=len, reverse=True))})"
    r"\.(?=\s*\(?(?:\d|[IVXLC]+(?![A-Za-z])|[ivx]+\b))"
)
_BARE_NUMBERED = re.compile(rf"\b({'|'.join(of_kind('bare numbered'))})(?=\s\d)")
_PRONOUN = re.compile(r"\s+I(?:['’]|\s+(?!(?:of|and|or|to|in|on|is|was)\b)[a-z])")
_WORD = re.compile(rf"\b({_alternatives(_WORDS)})\.(?!\w)")
_NUMBER_BEFORE = re.compile(r"\d[\s-]?$")
_WITH_APOSTROPHE = {s: words for s, words in pairs("short_forms").items() if "'" in s}
_SHORT_FORMS = {
    **{short.capitalize(): words.capitalize() for short, words in _WITH_APOSTROPHE.items()},
    **pairs("short_forms"),
    **of_kind("short"),
    **{short.capitalize(): words.capitalize() for short, words in of_kind("short").items()},
}
_SHORT_FORM = re.compile(rf"(?<![\w.'])({'|'.join(_SHORT_FORMS)})(?!\w|'(?!s\b))(?!\.(?!\s|$))")
_INITIALISMS = re.compile(r"(?<![\w.])((?:[A-Z]\.){2,6})['’]?s(?!\w)")
_GRADE = re.compile(
    r"(?:(?<=\b[Aa]\s[A-D])|(?<=\ban\s[A-D]))-(?![\w-])|(?<=[\s(\"“][A-D])-(?=[.;!?)\"”](?!\w)|$)"
)
_CREDIT_GRADE = re.compile(
    r"(?<![\w+-])(AAA?|BBB?|CCC?|[ABC])-(?=[\s.,;:)]|$)(?!\s(?:and|or|to)\s[\w+]{1,20}-[a-z])(?!\s?\d)"
)
_CREDIT = re.compile(
    r"\b(?:rat(?:ed|ings?)|Fitch|S&P|Standard & Poor['’]s|Moody['’]s|(?:up|down)grade[sd]?"
    r"|affirm(?:s|ed)?|junk|outlook|issuer)\b"
)
_INITIALISM = re.compile(r"(?<![\w.])((?:[A-Za-z]\.){2,10})(?![A-Za-z])")
_INITIAL = re.compile(
    rf"(?<!°)\b([A-HJ-Z])\.(?=\s+(?:(?!{STARTERS}\b(?!\.))(?:[A-Z]\.|[A-Z][a-z]|Mc|O')|[a-z]))"
)
_ALSO_WORDS = ("max", "temp", "vocab")
_THE_STAR = re.compile(r"\b(?:[Tt]he|[Oo]ur|[Aa]|[a-z]+ing) $")


def _word(match: re.Match[str]) -> str:
    key = match[1]
    if match.string.endswith("/", 0, match.start()):
        return match[0]  # a unit: "2 L/min."
    if key in ("min", "max") and _NUMBER_BEFORE.search(
        match.string, max(0, match.start() - 2), match.start()
    ):
        return match[0]  # a unit
    if key.lower() in _ALSO_WORDS and CAPITAL_FOLLOWS.match(match.string, match.end()):
        return match[0]
    if key == "Sun" and _THE_STAR.search(match.string, max(0, match.start() - 16), match.start()):
        return match[0]
    ends = CAPITAL_FOLLOWS if key.lower() == "etc" or is_last_day(match) else ENDS_SENTENCE
    return _lookup(_WORDS, key) + keep_point(match, ends)


def expand_abbreviations(text: Tracked) -> Tracked:
    """Expand abbreviations: "Dr. Smith vs. the U.S." becomes "Doctor Smith versus the U.S".

    Points that end a sentence are kept. An initialism keeps the points between its letters but not
    the last one ("U.S", "p.m"), which marks it for spelling.
    """
    text = text.sub(_JOURNAL, _journal)
    for pattern, words in ABBREVIATED_PHRASES:
        text = text.sub(pattern, words)
    text = text.sub(_INITIALISMS, lambda m: f"{m[1].replace('.', '')}s").sub(_GRADE, " minus")
    text = text.sub(_CREDIT_GRADE, _credit_grade)
    text = expand_streets_and_states(text)
    text = text.sub(_BEFORE_NUMBER, _numbered).sub(_BARE_NUMBERED, lambda m: _NUMBERED[m[1]])
    text = text.sub(_TITLE, lambda m: TITLES[m[1] or m[2]])
    text = text.sub(_BARE_TITLE, lambda m: TITLES[m[1]])
    text = expand_joined_times(expand_saints(text)).sub(_WORD, _word)
    text = expand_bare_times(text)
    text = text.sub(_SHORT_FORM, lambda m: _SHORT_FORMS[m[1]])
    text = text.sub(_INITIALISM, lambda m: m[1][:-1] + keep_point(m))
    return text.sub(_INITIAL, lambda m: LETTER_A if m[1] == "A" else m[1])


def _credit_grade(match: re.Match[str]) -> str:
    """A grade of a borrower: "cut to BBB-"."""
    near = match.string[max(0, match.start() - 100) : match.end() + 60]
    if len(match[1]) == 1 and not _CREDIT.search(near):
        return match[0]
    return f"{LETTER_A if match[1] == 'A' else match[1]} minus"


def _journal(match: re.Match[str]) -> Replacement:
    """The name of a journal, "Phys. Rev. Lett.", of which not all but one are initials."""
    names = list(_JOURNAL_WORD.finditer(match.string, *match.span()))
    if sum(len(name[1]) > 1 for name in names) < 2 and match[0] != "L. Rev.":
        return match[0]
    words = [_JOURNALS[name[1]] for name in names]
    words[-1] = _JOURNAL_ENDS.get(names[-1][1], words[-1])
    return [Piece(word, *name.span()) for word, name in zip(words, names, strict=True)]


def _numbered(match: re.Match[str]) -> str:
    """The word of "Fig. 2" or "Vol. I", but not that of "just a sec. I know" or "art. I like"."""
    wordlike = match[1].islower() or match[1] in ("Art", "Ed", "No", "Reg")
    if wordlike and _PRONOUN.match(match.string, match.end()):
        return match[0]
    return _NUMBERED.get(match[1]) or _NUMBERED[match[1].capitalize()]
