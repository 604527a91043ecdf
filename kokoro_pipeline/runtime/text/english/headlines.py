"""Sentences in capitals: which words are letters, and which abbreviations and units they hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..tracked import Tracked
from .tables import table, word_sets
from .tagging.kinds import CLOSED, LISTS

_WRITTEN_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’][^\W\d_]+)*(?![^\W_])")

# Abbreviations that in capitals, with a point, are no other word: neither "SAT." nor "EST.".
_TITLES = (
    r"MR|MRS|(?<![a-z], )MS(?=\. ?[A-Z])|DR|PROF|REV|HON|GEN|COL|MAJ|CAPT|CMDR|LT|SGT|CPL|GOV|SEN"
    r"|REP|PRES|MT|(?<!\d )FT|ST(?=\. ?[A-Z])|INC|LTD|CORP|CO|BROS|JR|SR|ESQ|AVE|BLVD|RD|LN"
    r"|JAN|FEB|(?<!% )(?<!\b[Tt]he )(?<!\b[Aa]n )APR"
    r"|JUN|JUL|AUG|SEPT?|OCT|NOV|DEC|TUES?|THU(?:RS)?|NO(?=\. ?\d)"
    r"|(?:VOL|CHAP|BK|FIG|PT|SEC|ART)(?=\. ?(?:\d|[IVXLC]+\b))"
)
_MONTHS = "|".join(
    name.upper() for kind, *names in table("abbreviations") if kind == "month" for name in names
)
_KINGS = "|".join(sorted(name.upper() for name in word_sets("roman")["regnal"]))
_CAPITALIZED = re.compile(
    rf"(?<![\w.])(?:{_TITLES})(?=\.(?!\w))"
    rf"|\b(?!APR\s\d{{1,2}}(?:\.\d+)?\s?%)(?:{_MONTHS}|MAY)(?=\.?\s\d)"
    rf"|(?<=\d )(?:{_MONTHS}|MAY)(?=\.?(?:,? \d|[.,;:!?)]|$))"
    rf"|\b(?:{_KINGS})(?=\s(?:I[IVX]+|VI{{1,3}}|X[IVX]+)\b)"
)
_LOWERED = re.compile(
    r"(?<![\w.])(?:VS|APPROX|GOVT|DEPT|PP(?=\. ?\d))(?=\.(?!\w))"
    r"|(?<=1)ST\b|(?<=2)ND\b|(?<=3)RD\b|(?<=\d)TH\b"
    r"|(?<=\d[ -])(?:[Tt]housand|THOUSAND|[MBT]r?illion|[MBT]R?ILLION)\b|(?<=\d)[BMT]N\b"
    r"|(?:(?<=\d)|(?<=\d ))(?:KM/H|K[MG]|CM|ML|LBS?|OZ|FT|HRS?|MINS?|SECS?|YRS?|WKS?)\b"
    r"|(?<=[\dKMB]/)(?:MO|YR|HR|WK|MIN|SEC|LB|OZ|GAL|EA|HOUR|DAY|NIGHT|WEEK|MONTH|YEAR|PERSON)\b"
)
_LATE_STREET = re.compile(r"(?<=[A-Z] )ST\.(?! ?[A-Z\d])")


def is_headline(written: str) -> bool:
    """Whether all words of a sentence, of which there are several, are written in capitals.

    What touches digits is no word: "10am".
    """
    words = _WRITTEN_WORD.findall(written)
    return len(words) > 1 and all(word.isupper() for word in words)


def lower_capitals(text: Tracked) -> Tracked:
    """Write abbreviations, months, units and the like in capitals as they are written elsewhere:
    "SEN. HILL" becomes "Sen. HILL", and "$3 BILLION" becomes "$3 billion"."""
    text = text.sub(_LATE_STREET, _late_street).sub(_CAPITALIZED, lambda m: m[0].capitalize())
    return text.sub(_LOWERED, lambda m: m[0].lower())


def _late_street(match: re.Match[str]) -> str:
    """The street of "5 MAIN ST.", whose point may end the sentence."""
    return "street" + "." * (match.end() == len(match.string))


def letters_in_headline(words: Sequence[str]) -> set[int]:
    """Indices of US, IT and WHO where they are no pronouns, "EU AND US AGREE", "IT SECTOR", and of
    time zones."""
    lower = ["", *(word.lower() for word in words), "", ""]
    found = set()
    for i, word in enumerate(words):
        before, after, beyond = lower[i], lower[i + 2], lower[i + 3]
        if word == "US" and not _is_pronoun(before, beyond if after == "and" else after):
            found.add(i)
        if word == "IT" and after in LISTS["acronym_it"]:
            found.add(i)
        if word in ("EST", "PST") and before in ("a.m", "p.m"):
            found.add(i)
        if word == "WHO" and (before == "the" or after in LISTS["acronym_who"]):
            found.add(i)
    return found


def _is_pronoun(before: str, after: str) -> bool:
    """Whether US is who something is done to, or stands at the end of a phrase."""
    ends = not after.isalpha() or after in CLOSED
    return before in LISTS["takes_us"] or (before in LISTS["before_us"] and ends)
