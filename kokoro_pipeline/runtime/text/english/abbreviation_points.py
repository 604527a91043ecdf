"""What the rules of abbreviations share: words, and whether a point also ends the sentence."""

from __future__ import annotations

import re

from .tables import table

# Words that start a sentence far more often than they follow an abbreviation inside one.
STARTERS = (
    r"(?:The|This|That|These|Those|It|He|She|We|They|You|I|In|On|At|But|And|So|If|When|While|As|For"
    r"|A|An|All|There|Then|However|What|Who|Why|How|My|Our|His|Her|Their|Its|No|Yes|Not|After|Before|Of|Although"
    r"|Though|Because|Since|With|From)"
)
ENDS_SENTENCE = re.compile(rf"[\s”\")]*(?:$|[\s”\")]\s*[“\"(]?{STARTERS}\b)")
CAPITAL_FOLLOWS = re.compile(r"[\s”\")]*(?:$|\s+[“\"(]?[A-Z])")


def of_kind(*kinds: str) -> dict[str, str]:
    """The abbreviations of some kinds, without their points, and the words of each."""
    return {short: words for kind, short, words in table("abbreviations") if kind in kinds}


TITLES = of_kind("title")  # used before a name; their point never ends a sentence
MONTHS = of_kind("month")
DAYS = of_kind("day")


def keep_point(match: re.Match[str], ends: re.Pattern[str] = ENDS_SENTENCE) -> str:
    """Return the point if it also ends the sentence, else an empty string."""
    return "." if ends.match(match.string, match.end()) else ""
