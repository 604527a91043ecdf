"""Expand abbreviations and initials into words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..tracked import Piece, Replacement, Tracked
from .letters import LETTER_A
from .tables import pairs, table, word_sets

# Words that start a sentence far more often than they follow an abbreviation inside one.
_STARTERS = (
    r"(?:The|This|That|These|Those|It|He|She|We|They|You|I|In|On|At|But|And|So|If|When|While|As|For"
    r"|A|An|All|There|Then|However|What|Who|Why|How|My|Our|His|Her|Their|Its|No|Yes|Not|After|Before)"
)
_ENDS_SENTENCE = re.compile(rf"[\s”\")]*(?:$|[\s”\")]\s*[“\"(]?{_STARTERS}\b)")
_CAPITAL_FOLLOWS = re.compile(r"[\s”\")]*(?:$|\s+[“\"(]?[A-Z])")


def _of_kind(*kinds: str) -> dict[str, str]:
    return {short: words for kind, short, words in table("abbreviations") if kind in kinds}


_TITLES = _of_kind("title")  # used before a name; their point never ends a sentence
_ROADS = _of_kind("road")
_NUMBERED = _of_kind("numbered", "bare numbered")
_STATES = _of_kind("state")
_WORDLIKE_STATES = _of_kind("wordlike state")  # words and names as well
_MONTHS = _of_kind("month")
_DAYS = _of_kind("day")
_JOURNALS = _of_kind("journal")  # words in the names of journals
_JOURNAL_ENDS = _of_kind("journal end")  # those that are read otherwise at the end of a name
# Used anywhere; their point may also end the sentence.
_WORDS = _of_kind("month", "day", "word", "short")


_LENGTHS = r"(?:f(?:oo|ee)t|inch(?:es)?|(?:yard|mile|(?:kilo|centi)?met(?:er|re))s?)"


def _squared(match: re.Match[str]) -> str:
    return "square " if match[1].lower() == "sq" else "cubic "


def _upper_number(match: re.Match[str]) -> str:
    """A number as the British write it: "Chanel No 5", "Nos 5 and 6"."""
    return f"number{match[2]}"


_KEYS = "Alt|Cmd|Command|Control|Ctrl|Fn|Option|Shift|Super|Win"


def _key(match: re.Match[str]) -> str:
    """A key that is held while another is pressed: "Ctrl+C"."""
    return f"{match[1]} {LETTER_A if match[2] else ''}"


def _known_as(match: re.Match[str]) -> str:
    """What comes before a name that somebody else has, had or was given: "f/k/a Acme"."""
    return {"a": "also", "f": "formerly", "n": "now"}[match[1].lower()] + " known as"


_DATES = "|".join(
    (
        r"\d",
        *(rf"{word}\b" for word in (*_MONTHS, *_MONTHS.values(), *_DAYS, *_DAYS.values(), "May")),
    )
)
_WEEKENDS = "the|this|next|last|every|each|all|long|per|a"
_PER_TIME = {"mo": "month", "yr": "year", "hr": "hour", "wk": "week"}


_BEFORE_YEAR = r"(?:\d{1,2}\s[A-Z][a-z]{2,8}\s|[A-Z][a-z]{2,8}\.?\s\d{1,2},\s)?"


def _folder(match: re.Match[str]) -> str:
    """The folder that is open, or the one around it, before a path: "./run.sh", "../../docs"."""
    return " ".join("slash" if sign == "/" else "dot" for sign in match[0]) + " "


def _every_hours(match: re.Match[str]) -> str:
    """How often a dose is taken: "q6h"."""
    return f"every {match[1]}{f' to {match[2]}' if match[2] else ''} hours"


def _ranks(match: re.Match[str]) -> str:
    """Ranks of two parts without a name behind them: "the Sgt. Maj."."""
    return f"{_TITLES[match[1]]} {_TITLES[match[2]]}"


def _weekdays(match: re.Match[str]) -> str:
    """Days by their letters, "M–F"."""
    return f"Monday to {'Friday' if match[1] == 'F' else 'Thursday'}"


def _letters(match: re.Match[str]) -> str:
    """The first of a range of letters: "Appendices A–C"."""
    letter = match[1] or match[2]
    return f"{LETTER_A if letter == 'A' else letter} to "


#: Nouns before which a slash is "per": "1/customer".
_PER_NOUNS = "|".join(
    symbol for symbol in pairs("per_units") if symbol.isalpha() and len(symbol) > 2
)
_TIMED = {kind: "|".join(sorted(words)) for kind, words in word_sets("timed").items()}

_COUNTIES = "|".join(sorted(word_sets("counties")["county"]))
_PHRASES = (
    (re.compile(r"\b[eE]\.\s?g\.(,?)"), r"for example\1"),
    (re.compile(r"\b[iI]\.\s?e\.(,?)"), r"that is\1"),
    (re.compile(r"\ba\.k\.a\."), "also known as"),
    (re.compile(r"\b[Pp]h\.\s?[Dd]\.?['’]?s\b"), "PHDs"),
    (re.compile(r"\b[Pp]h\.\s?[Dd]\b\.?"), "P.h.D."),
    (re.compile(r"\bPhD['’]?s\b"), "PHDs"),
    (re.compile(r"\bPhD\b"), "P.h.D"),
    (
        re.compile(r"(?:(?<=\b[Ii] )|(?<=\b[Ww]e ))(?:[❤♥]\ufe0f?|<3)(?=\s[A-Za-z])"),
        "love",
    ),
    (
        re.compile(
            r"(?<=\d )ac\.?(?=\s(?:lot|site|farm|parcel|property|tract|field|plot|ranch)\b)"
        ),
        "acre",
    ),
    (re.compile(r"(?<=\d )ac\b(?:\.(?=\s[a-z]|[,;)]))?"), "acres"),
    (re.compile(rf"(/(?:{_PER_NOUNS}))/(?=(?:{_PER_NOUNS})\b)"), r"\1 per "),
    (re.compile(r"(?<=[A-Za-z])-(?=[A-Z]\.(?:[A-Za-z]\.)+)"), " "),
    (re.compile(r"(?<=\d)([B-Z])s\b"), r" \1's"),
    (re.compile(r"\b[Rr]ef\. ?no\b"), "reference no"),
    (
        re.compile(
            r"(\b(?i:case|part|tel\.?|telephone|phone|acct\.?|account|order|invoice|serial|model|item|job"
            r"|flight|room|ticket|tracking|reference|the|your|this|my) )no\.(?=\s*[a-z(:]|[,;)])"
        ),
        r"\1number",
    ),
    (re.compile(r"\b([Nn])o\.(?=\s(?=[A-Z\d-]*\d)[A-Z]{1,5}-?\d)"), r"\1umber"),
    (re.compile(r"(?<=[A-Z]\.)/(?=[A-Z]\.)"), ", "),
    (re.compile(r"(?<=\d )city/(?=\d+ (?:hwy|highway)\b)"), "city, "),
    (re.compile(r"(?<=\d )(?:hwy|highway) mpg\b"), "highway miles per gallon"),
    (re.compile(r"(?<=\d )wkts?\b\.?(?!$)"), "wickets"),
    (re.compile(r"(?:(?<=\ba )|(?<=\bper )|(?<=/))bbl\b(?:\.(?!$|\s[A-Z]))?"), "barrel"),
    (re.compile(r"\b([Ww])k(?=\s\d)"), r"\1eek"),
    (
        re.compile(
            r"(?:^|(?<=^\s)|(?<=[;,(] )|(?<=\band )|(?<=\bbill ))S\.(?=\s\d{1,4}\b(?![.,]\d))"
        ),
        "S",
    ),
    (re.compile(r"(?<=\d )sts\b\.?(?=[.,;:)]|\s[a-z]|$)"), "stitches"),
    (re.compile(r"(?:(?<=\byrs\. )|(?<=\byears )|(?<=\byrs ))exp\b\.?(?=\s[a-z])"), "experience"),
    (re.compile(r"(?<=\b[Tt]he )pt\.(?=\s[a-z])"), "patient"),
    (re.compile(r"\b([Oo])rig\.(?=\s(?!\w+ed\b|in\b|from\b|an?\b|by\b)[a-z])"), r"\1riginal"),
    (re.compile(r"(?<=[A-Za-z] )(No)(s?)(?=\s\d)"), _upper_number),
    (re.compile(r"(?<=\b\d)m(?=\s\d{1,2}s\b)|(?<=\b\d\d)m(?=\s\d{1,2}s\b)"), " min"),
    (
        re.compile(
            rf"(\b(?i:{_TIMED['takes']}|time)(?: time)?:?\s(?:\d{{1,3}}\s?[-–]\s?)?\d{{1,3}})m\b"
        ),
        r"\1 min",
    ),
    (re.compile(rf"((?<![\w.,])\d{{1,3}})m(?=\s(?:{_TIMED['long']})\b)"), r"\1 min"),
    (re.compile(r"\b([BCDFGHJKLNPQSTVWXYZ]|R(?!s\.? ?\d))s\b(?!\.\s?[A-Z\d])"), r"\1's"),
    (
        re.compile(
            r"\b(all|and|your|two|three|four|five|six|seven|eight|nine|ten)\s([AEIOU])s"
            r"(?=[,.;:)!?]|\s(?:and|in|on|or)\b|$)"
        ),
        r"\1 \2's",
    ),
    (re.compile(r"(?<=\b[Ss]traight )As\b"), "A's"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )Cir\.(?!$)"), "Circuit"),
    (re.compile(r"(?<=[a-z], )Pa\.(?=[,;)]|\s[a-z(])"), "Pennsylvania"),
    (re.compile(r"(?<![\w~])~/(?=[\w.])"), "tilde slash "),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )ed\.(?=[\s,;)]+[a-z(\d]|[,;)])"), "edition"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )ed(?=\.(?:\s[A-Z]|$))"), "edition"),
    (re.compile(r"(?<=\b[Tt]he )[∑Σ](?=\sof\b)"), "sum"),
    (re.compile(r"[∑Σ](?=\sof\b)"), "the sum"),
    (re.compile(r"(?<=\b[Tt]he )√(?=\sof\b)"), "square root"),
    (re.compile(r"√(?=\sof\b)"), "the square root"),
    (re.compile(r"\bN\.B\."), "note well,"),
    (re.compile(r"(?<=[a-z] )v\.(?=\s(?:the\s)?[A-Z])"), "versus"),
    (re.compile(r"\bRt\.?\sHon\b\.?"), "Right Honorable"),
    (re.compile(r"(?<!\w)\(s\)he\b"), "she or he"),
    (re.compile(r"(?<![\w./])(?:\.\.?/)+(?:\.\.(?![\w.])|(?=[\w*.]))"), _folder),
    (re.compile(r"(?<=\bHEAD)~(?=\d)"), " tilde "),
    (re.compile(r"(?<=\w)\^(?=[\s.,;:)!?]|$)"), " caret"),
    (re.compile(r"(?<=\bSELECT )\*(?= FROM\b)|(?<=\bCOUNT\()\*(?=\))"), "star"),
    (re.compile(r"\bWWII\b|\bWW\s?2\b"), "World War two"),
    (re.compile(r"\bWWI\b|\bWW\s?1\b"), "World War one"),
    (re.compile(r"\bLL\.\s?([BDM])\b\.?"), r"L.L.\1"),
    (re.compile(r"\b([BDM])\.\s?(Sc|Ed|Eng|Phil|Div|Litt)\b\.(?=[\s,;)]+[a-z(,])"), r"\1 \2"),
    (
        re.compile(r"(?<=[\w.!?)] )<3(?=(?:\s?<3)*(?:[\s.!]*$|\s[xo]{2,}\b))|(?<=[!?] )<3(?=\s)"),
        "heart",
    ),
    (
        re.compile(
            r"\b(once|twice|[a-z]+s)/(?=(?:second|minute|hour|day|night|week|month|year|person|head"
            r"|game|page|user|visit|room)\b)"
        ),
        r"\1 per ",
    ),
    (
        re.compile(rf"(\b\d+(?: (?:\w+[a-z]|[a-z]))?)/(?=(?:{_PER_NOUNS})\b)"),
        r"\1 per ",
    ),
    (re.compile(r"(?<=\()c\.(?=\s?\d)"), "circa"),
    (re.compile(r"\bc\.(?=\s?(?:(?:AD|A\.D\.)\s)?\d{3,4}\b|\s?\d{1,2}\s?(?:BC|AD|CE)\b)"), "circa"),
    (
        re.compile(
            r"(?:^|(?<=, )|(?<=\b(?:in|of|to|at) )|(?<=\bfrom )|(?<=\bnear )|(?<=\bacross ))"
            rf"Co\.(?=\s(?:{_COUNTIES})\b)"
        ),
        "County",
    ),
    (re.compile(r"(?:(?<=\b1 )|(?<=/\d ))pts?\.?(?=\sof\s)"), "pint"),
    (re.compile(r"(?<=\d )pts?\.?(?=\sof\s)"), "pints"),
    (
        re.compile(r"(?<=\d )([mkrfwbp])\.([ps])\.([hmgsi])(?!\w)(?:\.(?!$|\s+[A-Z]))?"),
        r"\1\2\3",
    ),
    (re.compile(r"\b(f|HTTP)/(?=\d)"), r"\1 "),
    (re.compile(r"\b[Yy]oY\b|\by[/-]?o[/-]?y\b|\b[Yy]/[Yy]\b"), "year over year"),
    (re.compile(r"\bQoQ\b|\bq[/-]?o[/-]?q\b|\b[Qq]/[Qq]\b"), "quarter over quarter"),
    (re.compile(r"\bMoM\b|\bm[/-]o[/-]m\b|(?<=% )m/m\b"), "month over month"),
    (
        re.compile(
            r"(?<=\d(?:st|nd|rd|th)[ -])(?:[Cc](?:ent)?\.(?=\s(?:BC|AD|CE|B\.C|A\.D|[a-z(])|[,;)])"
            r"|C(?=\s(?:BC|AD|CE)\b|\s[a-z]|[,;)]))"
        ),
        "century",
    ),
    (re.compile(r"(?<=\d)[- ]?(?:y/o|yo|y\.o\.)(?!\w)"), " year old"),
    (re.compile(r"\bMk\.?(?=\s?[IVX\d])"), "Mark"),
    (re.compile(r"\bRev\.(?=\s(?:[A-Z]|\d+(?:\.\d+)?)(?![\w.:]))"), "Revision"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )[Ff]l\.?(?=[.,;)\s]|$)"), "floor"),
    (re.compile(rf"(?<=[\s(])b\.(?=\s{_BEFORE_YEAR}(?:c\.\s)?(?:1\d{{3}}|20\d\d)\b)"), "born"),
    (re.compile(r"(?:^|(?<=[\s(]))r\.(?=\s(?:c\.\s)?(?:1\d{3}|20\d\d)\b)"), "reigned"),
    (re.compile(r"(?<=[\s(])m\.(?=\s(?:c\.\s)?1[5-9]\d\d\b)"), "married"),
    (re.compile(rf"(?<=[\s(,])d\.(?=\s{_BEFORE_YEAR}(?:c\.\s)?(?:1\d{{3}}|20\d\d)\b)"), "died"),
    (re.compile(r"\bq(\d{1,2})(?:[-–](\d{1,2}))?\s?h(?:rs?)?\b"), _every_hours),
    (re.compile(r"\b([ijkmnpqx])-th\b"), r"\1th"),
    (re.compile(r"(?<![\w.])([BM])\.?\s?Sc\b(?:\.(?=[,;:)]|\s[a-z(]))?"), r"\1.S.C"),
    (
        re.compile(
            r"\b(Sgt|Lt|Maj|Brig)\.?\s(Maj|Col|Gen|Cmdr|Gov)(?:\.(?=[,;:)]|\s[a-z])|(?!\w|\.?\s[A-Z]))"
        ),
        _ranks,
    ),
    (re.compile(r"(?<=[A-Za-z]\.)\s?2d\b"), " second"),
    (re.compile(r"(?<=[A-Za-z]\.)\s?3d\b"), " third"),
    (
        re.compile(
            r"\bPO(?=\s(?:every|daily|once|twice|three|at bedtime|[bt]id|[BTQ]\.?I\.?D|q\d))"
        ),
        "P.O",
    ),
    (re.compile(r"(?<!\d )\bmm\.(?=\s\d)"), "measures"),
    (re.compile(r"\bPub\. L\.(?=\s(?:No\. )?\d)"), "Public Law"),
    (re.compile(r"\bEN(?=\s(?:ISO|IEC|\d))"), "E.N"),
    (re.compile(r"(?<=\d[ -]\d/\d )c\.(?=\s[a-z])"), "cups"),
    (re.compile(r"(?:(?<=\b1 )|(?<=/\d ))c\.(?=\s(?:[a-z]|AP\b)|\))"), "cup"),
    (re.compile(r"(?<=\d )c\.(?=\s(?:[a-z]|AP\b)|\))"), "cups"),
    (
        re.compile(
            r"(?<![\w/.,-])(?<!\d )1/2-(?=(?:life|lives|price|time|way|day|hour|marathon|dozen"
            r"|pint)\b)"
        ),
        "half-",
    ),
    (re.compile(r"§§\s?(?=\d)"), "sections "),
    (re.compile(r"§\s?(?=\d)"), "section "),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )Lt\.(?=\s[a-z])"), "Lieutenant"),
    (
        re.compile(
            r"\b([B-HJ-Z]|A(?!\. ?m\.))\.(?=\s(?:coli|pylori|aureus|elegans|sapiens|difficile|rex"
            r"|melanogaster|subtilis|cerevisiae|thaliana|botulinum|falciparum|erectus)\b)"
        ),
        r"\1",
    ),
    (re.compile(r"(?<=\()[Rr]et\.(?=\))"), "retired"),
    (re.compile(r"(?<!\w)w/o(?!\w)"), "without"),
    (re.compile(r"\b[Ww]/r/t\b"), "with respect to"),
    (re.compile(r"(?<![\w/])([AaFfNn])/[Kk]/[Aa](?![\w/])"), _known_as),
    (re.compile(r"(?<!\w)w/(?!(?:[vwec]|in|out)\b)(?=\s?[A-Za-z\d]|\s[$£€+#])"), "with "),
    (re.compile(r"\bIPv(?=[46]\b)"), "I.P.V "),
    (re.compile(r"(?<=[a-z]s )([A-Z])[-–](?=[A-Z](?![\w'’-]))|\b(A)[-–](?=Z\b)"), _letters),
    (re.compile(rf"\b([Ss]q|[Cc]u)\.?\s(?={_LENGTHS}\b)"), _squared),
    (re.compile(r"(?<=\d-)([SsCc][qu])\.?-(?=(?:[cmk]?m|ft|in|yd|mi)\b)"), r"\1. "),
    (re.compile(r"(?:(?<=\bAlt[+-])|(?<=\bCtrl[+-]))Del\b"), "Delete"),
    (re.compile(rf"\b({_KEYS})\s?\+\s?(?=[A-Z\d])(A\b)?"), _key),
    (re.compile(r"(?<=\d)\s?in\.?\sHg\b"), " inHg"),
    (re.compile(r"(?:(?<=\.\d)|(?<=\.\d\d))\s?pp\b"), " percentage points"),
    (re.compile(r"(\b(?:[Ll]at|[Ll]ong)\. \d{1,3}(?:\.\d+)?)\s?(?=[NSEW]\b)"), r"\1° "),
    (re.compile(r"\b[Ll]ong\.(?=\s?\d{1,3}(?:\.\d+)?\s?(?:°|[EW]\b))"), "longitude"),
    (re.compile(r"\bTL;\s?DR\b"), "T.L.D.R"),
    (
        re.compile(r"(?<=\d[kKM])/(?=(?:yr|mo|wk|hr|year|month|week|day|hour)\b)"),
        " per ",
    ),
    (re.compile(r"\bM&M['’]?s?\b"), "M and M's"),
    (
        re.compile(
            r"(?<![\w.,])3M(?=['’]s\b|\s(?:Co|Company|makes?|made|says?|said|sells?|sold|shares|stock|tape"
            r"|is|has|was|will|announced|reported|paid|settled|Post-it|respirators?|masks?)\b)"
            r"|(?:(?<=\bat )|(?<=\bby ))3M(?=[.,;:!?)]|$)"
        ),
        "three M",
    ),
    (re.compile(r"(?<=\d)[-\s]cyl\b(?:\.(?=\s[a-z]))?"), "-cylinder"),
    (re.compile(r"\b([Pp])op\.(?=\s(?:of|is|was|density|growth)\b|:?\s[\d~])"), r"\1opulation"),
    (
        re.compile(
            r"(?<!\bin )(?<!\bjust )\b([Uu]nder|[Oo]ver) (\d{1,2})s\b"
            r"(?=\s(?:free|half|go|get|pay|travel|eat|swim|are|can|may|must|only|squad|team|league|football)\b)"
        ),
        r"\1-\2s",
    ),
    (re.compile(r"(?<=\b[QH]\d)['’](?=\d\d\b)"), " "),
    (re.compile(rf"\b[Ww]/[Cc]\b(?=,?\s(?:{_DATES}))"), "week commencing"),
    (re.compile(rf"\b[Ww]/[Ee]\b(?=,?\s(?:{_DATES}))"), "week ending"),
    (re.compile(rf"(\b(?i:{_WEEKENDS}) )w/e(?![\w/])"), r"\1weekend"),
    (
        re.compile(
            r"(?<![\w/])[Bb]/[Ww](?=\s(?:photo(?:graph)?|picture|image|film|movie|print|scan|cop(?:y|ies)"
            r"|tv|TV|television|camera|drawing|version|mode)s?\b)|(?<=\bin )[Bb]/[Ww](?=[.,;!?]|$)"
        ),
        "black and white",
    ),
    (re.compile(r"\bM\s?[-–]\s?(F|Th)\b(?=,?\s\d|[.;,:]|$)"), _weekdays),
    (re.compile(r"\b(?:GMT|UTC)[-−–](?=\d)"), lambda m: f"{m[0][:3]} minus "),
    (re.compile(r"\b24/7/365\b"), "24/7 three sixty-five"),
    (re.compile(r"(?:(?<=/\d\d)|(?<=/\d\d\d))\s?mm\s?Hg\b"), " millimeters of mercury"),
    (re.compile(r"(?<=\d)\smm\sHg\b"), " mmHg"),
    (re.compile(r"(?<=\d)/[-–](?!\w)"), ""),
    (re.compile(r"(?<=\bper )(mo|yr|hr|wk)\b(?:\.(?!$))?"), lambda m: _PER_TIME[m[1]]),
    (re.compile(r"(?<=\d)\s?/\s?(?:each|ea)\b\.?"), " each"),
    (
        re.compile(
            r"(\b(?:[Pp]art|[Ii]tem|[Mm]odel|[Oo]rder|[Cc]ase|[Ii]nvoice|[Tt]icket|[Ll]ot|[Aa]ccount"
            r"|PO) )#\s?(?=[A-Z]{1,3}-?\d)"
        ),
        r"\1number ",
    ),
    (
        re.compile(r"\bT-(?=\d{1,3}\s(?:seconds?|minutes?|hours?|days?|hrs?|mins?)\b|\d{1,2}:\d)"),
        "T minus ",
    ),
    (re.compile(r"(?<![\w:])([b-zB-Z]):([b-zB-Z])(?![\w:])"), r"\1 to \2"),
    (re.compile(r"(?<![\w:])[aA]:([b-zB-Z])(?![\w:])"), rf"{LETTER_A} to \1"),
    (
        re.compile(
            r"\bAA(?=\s(?:(?:or|and) AAA\s)?(?:batter(?:y|ies)|cells?)\b)|(?<=\bAAA or )AA\b"
        ),
        f"double {LETTER_A}",
    ),
    (re.compile(r"\bAB\+(?!\w)"), "A.B positive"),
    (re.compile(r"\bAB-(?![\w-])"), "A.B negative"),
    (re.compile(r"\bO\+(?!\w)"), "O positive"),
    (re.compile(r"\bO-(?=\s(?:donor|blood|type)|[,.;])"), "O negative"),
)


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
    rf"\b({'|'.join(sorted(_TITLES, key=len, reverse=True))})\.(?=\s*[A-Z(“\"])"
    r"|\b(Mrs?|Ms|Prof)\.(?=\s)"
)
_BARE_ROAD = re.compile(r"(?<=[a-z\d] )(Ave|Blvd|Rd|Hwy|Pkwy)(?![\w.])")
_BARE_TITLE = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof)(?=\s+[A-Z][a-z])")
# "12 Oak Dr." and "Main St., Boston" are roads, "Dr. Oak" and "St. Louis" are not.
_ROAD = re.compile(
    rf"(\b\d+ (?!(?:North|South|East|West) Dr\.\s[A-Z])[A-Z][a-z]+ "
    rf"|\b[A-Z][a-z]+ (?=(?:Dr|St)\.(?:$|[,;:)]|\s+{_STARTERS}\b)))(Dr|St)\."
)
_LATE_ROAD = re.compile(r"(?<=[a-z] )(Dr|St)\.")
# "5th and B St.", which no saint's name follows.
_LETTER_ROAD = re.compile(rf"(?<=\b[A-Z] )St\.(?!\s(?!(?:[NS][EW]?|[EW]|{_STARTERS})\b)[A-Z])")
# "on Elm St. Park there", but not "on Mount St. Helens".
_ROAD_ON = re.compile(
    r"(\b(?:on|down|along|off)\s(?!(?:Mount|Old|New|East|West|North|South|Port|Fort|Lake|The)\b)"
    r"(?:[A-Z][a-z]+|\d+(?:st|nd|rd|th))\s)(St)\.(?=\s[A-Z])"
)
# "Boston, Mass.", and with the party before it: "Rep. Hill, R-Ky.".
_STATE = re.compile(
    rf"(?:(?<=[a-z],\s)({'|'.join(map(re.escape, _STATES))})"
    rf"|(?<=\b[DRI]-)({'|'.join(map(re.escape, {**_STATES, **_WORDLIKE_STATES}))}))\.(?!\w)"
)
# "born in St. Louis, Mo.", but not "I saw Ann, Louis, Mo."
_STATE_OF_TOWN = re.compile(
    r"(\b(?:in|from|near|outside|to|of) (?:(?:St|Ft)\. )?(?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+, )"
    rf"({'|'.join(_WORDLIKE_STATES)})\.(?!\w)"
)
_POSTAL_STATES = {short: name for kind, short, name in table("states") if kind != "province"}
_POSTAL = "|".join(_POSTAL_STATES)
_PLAIN_POSTAL = "|".join(short for kind, short, _ in table("states") if kind == "state")
_DEGREES = "(?:" + "|".join(short for kind, short, _ in table("states") if kind == "degree") + ")"
_AFTER_POSTAL = r"(?!\w|\.\w|-\d|['’](?!s\b)|\s[A-Z])"
# "Reno, NV" and "in Salem, OR", but neither "Sorry, OK" nor "Hello, PA".
_POSTAL_STATE = re.compile(
    rf"(\b(?:[Ii]n|[Nn]ear|[Oo]utside|(?:[Ff]rom|to|of|[Aa]t)(?!\s[^,]{{1,40}}, {_DEGREES}\b))"
    r" (?:(?:Ft|Mt|St)\. )?(?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+, )"
    rf"({_POSTAL}){_AFTER_POSTAL}"
    rf"|((?:[a-z]|\d),\s)({_POSTAL})(?=\s\d{{5}}(?!\d))"
    rf"|(\b[A-Z][a-z]+,\s)({_PLAIN_POSTAL}){_AFTER_POSTAL}"
)
_SAINT = re.compile(r"\bSt\.(?=\s?[A-Z])")
_BEFORE_NUMBER = re.compile(
    rf"\b({'|'.join(sorted({*_NUMBERED, *(w.lower() for w in _NUMBERED)}, key=len, reverse=True))})"
    r"\.(?=\s*\(?(?:\d|[IVXLC]+(?![A-Za-z])|[ivx]+\b))"
)
_BARE_NUMBERED = re.compile(rf"\b({'|'.join(_of_kind('bare numbered'))})(?=\s\d)")
_PRONOUN = re.compile(r"\s+I(?:['’]|\s+(?!(?:of|and|or|to|in|on|is|was)\b)[a-z])")
_BARE_MONTH = re.compile(
    rf"\b({'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?=\s+'?\d)"
    r"|(?:(?<=\b\d )|(?<=\b[12]\d )|(?<=\b3[01] )|(?<=\d(?:st|nd|rd|th) ))"
    rf"({'|'.join(_MONTHS)})(?![\w'’.])"
)
_MONTH_NAMES = "|".join(sorted({*_MONTHS, *_MONTHS.values(), "May"}, key=len, reverse=True))
_MONTH_FOLLOWS = re.compile(rf"\s+(?:{_MONTH_NAMES})\b")
_BARE_DAY = re.compile(
    rf"\b({'|'.join(sorted(_DAYS, key=len, reverse=True))})(?=,?\s+(?:(?:{_MONTH_NAMES})\b"
    rf"|\d{{1,2}}(?:[:/]\d|\s?[ap]\.?m\b|(?:st|nd|rd|th)\b|\s?[-–]\s?(?:\d|noon\b)"
    rf"|(?:st|nd|rd|th)?\s+(?:{_MONTH_NAMES})\b)))"
)

_WORD = re.compile(rf"\b({_alternatives(_WORDS)})\.(?!\w)")
_NUMBER_BEFORE = re.compile(r"\d[\s-]?$")
_WITH_APOSTROPHE = {s: words for s, words in pairs("short_forms").items() if "'" in s}
_SHORT_FORMS = {
    **{short.capitalize(): words.capitalize() for short, words in _WITH_APOSTROPHE.items()},
    **pairs("short_forms"),
    **_of_kind("short"),
    **{short.capitalize(): words.capitalize() for short, words in _of_kind("short").items()},
}
_SHORT_FORM = re.compile(rf"(?<![\w.'])({'|'.join(_SHORT_FORMS)})(?!\w|'(?!s\b))(?!\.(?!\s|$))")
#: Days that are no other word, and those that are a verb or a name elsewhere.
_LONE_DAY = re.compile(
    r"(?<![\w.'’-])(?:Thu(?:rs?)?|Tues?|Weds|Fri)(?![\w.-])"
    r"|(?<=[a-z,&] )(?:Mon|Wed|Sat)(?![\w.-]|\s[A-Z])"
    r"|(?:^|(?<=^\s)|(?<=[.;,!] ))(?:Mon|Wed|Sat|Sun)(?=:\s)"
)
_INITIALISMS = re.compile(r"(?<![\w.])((?:[A-Z]\.){2,6})['’]?s(?!\w)")
_GRADE = re.compile(r"(?<=\b[Aa]\s[A-D])-(?![\w-])|(?<=\ban\s[A-D])-(?![\w-])")
_INITIALISM = re.compile(r"(?<![\w.])((?:[A-Za-z]\.){2,10})(?![A-Za-z])")
_INITIAL = re.compile(
    rf"(?<!°)\b([A-HJ-Z])\.(?=\s+(?:(?!{_STARTERS}\b(?!\.))(?:[A-Z]\.|[A-Z][a-z]|Mc|O')|[a-z]))"
)
_NAMES_OF_TIMES = {**_MONTHS, "May": "May", **_DAYS}
_TIME_NAMES = "|".join(sorted({*_NAMES_OF_TIMES, *_NAMES_OF_TIMES.values()}, key=len, reverse=True))
_DAYS_JOINED = re.compile(
    rf"\b(?:{'|'.join(_DAYS)})(?:(?:, |,? (?:and|or|to|thru|through|&) )(?:{'|'.join(_DAYS)}))+\b"
    r"(?!\.|\s[A-Z])"
)
_DAY = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b")
_SLASHED_TIMES = re.compile(
    rf"\b(?:{_TIME_NAMES})(?:\.?/(?:{_TIME_NAMES}))+\b(?:\.(?=[,;)]|\s[a-z\d]))?"
)
_FROM_TO = re.compile(
    rf"\b({_TIME_NAMES})(\.?\s?[-–—]\s?)({_TIME_NAMES})\b(?!-)(\.(?=[,;:)]|\s[a-z\d]))?"
)


def _keep_point(match: re.Match[str], ends: re.Pattern[str] = _ENDS_SENTENCE) -> str:
    """Return the point if it also ends the sentence, else an empty string."""
    return "." if ends.match(match.string, match.end()) else ""


_ALSO_WORDS = ("max", "temp", "vocab")
_THE_STAR = re.compile(r"\b(?:[Tt]he|[Oo]ur|[Aa]|[a-z]+ing) $")


def _is_last_day(match: re.Match[str]) -> bool:
    """Whether it is a day, with no date behind it."""
    return match[1] in _DAYS and not _MONTH_FOLLOWS.match(match.string, match.end())


def _word(match: re.Match[str]) -> str:
    key = match[1]
    if match.string.endswith("/", 0, match.start()):
        return match[0]  # a unit: "2 L/min."
    if key in ("min", "max") and _NUMBER_BEFORE.search(
        match.string, max(0, match.start() - 2), match.start()
    ):
        return match[0]  # a unit
    if key.lower() in _ALSO_WORDS and _CAPITAL_FOLLOWS.match(match.string, match.end()):
        return match[0]
    if key == "Sun" and _THE_STAR.search(match.string, max(0, match.start() - 16), match.start()):
        return match[0]
    ends = _CAPITAL_FOLLOWS if key.lower() == "etc" or _is_last_day(match) else _ENDS_SENTENCE
    return _lookup(_WORDS, key) + _keep_point(match, ends)


def expand_abbreviations(text: Tracked) -> Tracked:
    """Expand abbreviations: "Dr. Smith vs. the U.S." becomes "Doctor Smith versus the U.S".

    Points that end a sentence are kept. An initialism keeps the points between its letters but not
    the last one ("U.S", "p.m"), which marks it for spelling.
    """
    text = text.sub(_JOURNAL, _journal)
    for pattern, words in _PHRASES:
        text = text.sub(pattern, words)
    text = text.sub(_BARE_ROAD, lambda m: _WORDS[m[1]])
    text = text.sub(_INITIALISMS, lambda m: f"{m[1].replace('.', '')}s").sub(_GRADE, " minus")
    text = text.sub(_ROAD, _road).sub(_ROAD_ON, _road_on)
    text = text.sub(_STATE, _state)
    text = text.sub(_POSTAL_STATE, _postal_state)
    text = text.sub(_STATE_OF_TOWN, lambda m: _expand_second(m, _WORDLIKE_STATES))
    text = text.sub(_BEFORE_NUMBER, _numbered).sub(_BARE_NUMBERED, lambda m: _NUMBERED[m[1]])
    text = text.sub(_TITLE, lambda m: _TITLES[m[1] or m[2]])
    text = text.sub(_BARE_TITLE, lambda m: _TITLES[m[1]])
    text = text.sub(_LETTER_ROAD, lambda m: f"Street{_keep_point(m)}").sub(_SAINT, "Saint")
    text = text.sub(_LATE_ROAD, lambda m: _ROADS[m[1]] + _keep_point(m))
    text = text.sub(_SLASHED_TIMES, _times_in_turn).sub(_DAYS_JOINED, _days_joined)
    text = text.sub(_FROM_TO, _from_to).sub(_WORD, _word).sub(_BARE_MONTH, lambda m: _MONTHS[m[0]])
    text = text.sub(_BARE_DAY, lambda m: _DAYS[m[1]]).sub(_LONE_DAY, lambda m: _DAYS[m[0]])
    text = text.sub(_SHORT_FORM, lambda m: _SHORT_FORMS[m[1]])
    text = text.sub(_INITIALISM, lambda m: m[1][:-1] + _keep_point(m))
    return text.sub(_INITIAL, lambda m: LETTER_A if m[1] == "A" else m[1])


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


def _state(match: re.Match[str]) -> str:
    name = _STATES[match[1]] if match[1] else {**_STATES, **_WORDLIKE_STATES}[match[2]]
    return name + _keep_point(match)


def _postal_state(match: re.Match[str]) -> list[Piece]:
    group = next(group for group in (2, 4, 6) if match[group])
    return [Piece(_POSTAL_STATES[match[group]], *match.span(group))]


def _times_in_turn(match: re.Match[str]) -> str:
    """Days or months with slashes: "Tue/Thu"."""
    names = (name.rstrip(".") for name in match[0].split("/"))
    return " ".join(_NAMES_OF_TIMES.get(name, name) for name in names)


def _days_joined(match: re.Match[str]) -> list[Piece]:
    """Days by their abbreviations: "Sat & Sun", "Mon, Wed and Fri"."""
    days = _DAY.finditer(match.string, match.start(), match.end())
    return [Piece(_DAYS[day[0]], *day.span()) for day in days]


def _from_to(match: re.Match[str]) -> list[Piece]:
    """A range of months or days: "Mon-Fri"."""
    first, last = (_NAMES_OF_TIMES.get(match[group], match[group]) for group in (1, 3))
    return [
        Piece(first, *match.span(1)),
        Piece(" to ", *match.span(2)),
        Piece(last, *match.span(3)),
        *([Piece("", *match.span(4))] if match[4] else []),
    ]


def _road_on(match: re.Match[str]) -> list[Piece]:
    """A street whose point ends the sentence."""
    start = match.start(2)
    return [
        Piece(match[1], match.start(), start),
        Piece("Street.", start, match.end()),
    ]


def _road(match: re.Match[str]) -> list[Piece]:
    return _expand_second(match, _ROADS)


def _expand_second(match: re.Match[str], words: Mapping[str, str]) -> list[Piece]:
    """What the first group matched, and the words of the second, with a point that ends."""
    start = match.start(2)
    return [
        Piece(match[1], match.start(), start),
        Piece(words[match[2]] + _keep_point(match), start, match.end()),
    ]
