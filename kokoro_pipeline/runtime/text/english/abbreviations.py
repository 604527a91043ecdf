"""Expand abbreviations, initials, Roman numerals and web addresses into words."""

from __future__ import annotations

import re

from . import numbers
from .traced import Piece, Traced

# Words that start a sentence far more often than they follow an abbreviation inside one.
_STARTERS = (
    r"(?:The|This|That|These|Those|It|He|She|We|They|You|I|In|On|At|But|And|So|If|When|While|As|For"
    r"|A|An|There|Then|However|What|Who|Why|How|My|Our|His|Her|Their|Its|No|Yes|Not|After|Before)"
)
_ENDS_SENTENCE = re.compile(rf"[\s”\")]*(?:$|[\s”\")]\s*[“\"(]?{_STARTERS}\b)")
_CAPITAL_FOLLOWS = re.compile(r"[\s”\")]*(?:$|\s+[“\"(]?[A-Z])")

# Used before a name or a number; their point never ends a sentence.
_TITLES = {
    "Mr": "Mister",
    "Mrs": "Mrs",
    "Ms": "Miz",
    "Dr": "Doctor",
    "Prof": "Professor",
    "Rev": "Reverend",
    "Hon": "Honorable",
    "Gen": "General",
    "Col": "Colonel",
    "Maj": "Major",
    "Capt": "Captain",
    "Cmdr": "Commander",
    "Lt": "Lieutenant",
    "Sgt": "Sergeant",
    "Cpl": "Corporal",
    "Gov": "Governor",
    "Sen": "Senator",
    "Rep": "Representative",
    "Pres": "President",
    "Messrs": "Messers",
    "Mt": "Mount",
    "Ft": "Fort",
}
_ROADS = {"Dr": "Drive", "St": "Street"}
_NUMBERED = {
    "No": "number",
    "Nos": "numbers",
    "Fig": "figure",
    "Figs": "figures",
    "Vol": "volume",
    "Ch": "chapter",
    "Sec": "section",
    "Art": "article",
    "Eq": "equation",
    "p": "page",
    "pp": "pages",
    "Ext": "extension",
    "Apt": "apartment",
}
_MONTHS = {
    "Jan": "January",
    "Feb": "February",
    "Mar": "March",
    "Apr": "April",
    "Jun": "June",
    "Jul": "July",
    "Aug": "August",
    "Sep": "September",
    "Sept": "September",
    "Oct": "October",
    "Nov": "November",
    "Dec": "December",
}
_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
# Used anywhere; their point may also end the sentence.
_WORDS = {
    **_MONTHS,
    **_DAYS,
    "etc": "etc",
    "vs": "versus",
    "approx": "approximately",
    "dept": "department",
    "est": "established",
    "govt": "government",
    "Inc": "Incorporated",
    "Ltd": "Limited",
    "Co": "Company",
    "Corp": "Corporation",
    "Bros": "Brothers",
    "Jr": "Junior",
    "Sr": "Senior",
    "Esq": "Esquire",
    "Ave": "Avenue",
    "Blvd": "Boulevard",
    "Rd": "Road",
    "Ln": "Lane",
    "misc": "miscellaneous",
    "max": "maximum",
    "min": "minimum",
    "avg": "average",
    "tel": "telephone",
    "cf": "compare",
    "ca": "circa",
    "al": "al",
}
_PHRASES = (
    (re.compile(r"\b[eE]\.\s?g\.(,?)"), r"for example\1"),
    (re.compile(r"\b[iI]\.\s?e\.(,?)"), r"that is\1"),
    (re.compile(r"\ba\.k\.a\."), "also known as"),
    (re.compile(r"\b[Pp]h\.\s?[Dd]\b\.?"), "P.h.D."),
    (re.compile(r"\bN\.B\."), "note well,"),
    (re.compile(r"(?<!\w)w/o(?!\w)"), "without"),
    (re.compile(r"(?<!\w)w/(?=\s?[A-Za-z])"), "with "),
)


def _alternatives(words: dict[str, str]) -> str:
    """A pattern that matches any of the words, as listed or capitalized."""
    spellings = {*words, *(word.capitalize() for word in words)}
    return "|".join(sorted(spellings, key=len, reverse=True))


def _lookup(words: dict[str, str], key: str) -> str:
    return words[key] if key in words else words[key.lower()]


_TITLE = re.compile(
    rf"\b({'|'.join(sorted(_TITLES, key=len, reverse=True))})\.(?=\s*[A-Z(“\"])"
    r"|\b(Mrs?|Ms|Prof)\.(?=\s)"
)
_BARE_TITLE = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof)(?=\s+[A-Z][a-z])")
# "12 Oak Dr." and "Main St., Boston" are roads, "Dr. Oak" and "St. Louis" are not.
_ROAD = re.compile(
    rf"(\b\d+ [A-Z][a-z]+ |\b[A-Z][a-z]+ (?=(?:Dr|St)\.(?:$|[,;:)]|\s+{_STARTERS}\b)))(Dr|St)\."
)
_LATE_ROAD = re.compile(r"(?<=[a-z] )(Dr|St)\.")
_SAINT = re.compile(r"\bSt\.(?=\s?[A-Z])")
_BEFORE_NUMBER = re.compile(
    rf"\b({'|'.join(sorted({*_NUMBERED, *(w.lower() for w in _NUMBERED)}, key=len, reverse=True))})"
    r"\.(?=\s*[\dIVXLC])"
)
_BARE_MONTH = re.compile(rf"\b({'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?=\s+\d)")
_WORD = re.compile(rf"\b({_alternatives(_WORDS)})\.(?!\w)")
_BARE_WORD = re.compile(r"\b(vs)\b(?!\.)")
_INITIALISM = re.compile(r"(?<![\w.])((?:[A-Za-z]\.){2,10})(?![A-Za-z])")
_INITIAL = re.compile(rf"\b([A-HJ-Z])\.(?=\s+(?!{_STARTERS}\b)(?:[A-Z]\.|[A-Z][a-z]))")


def _keep_point(match: re.Match[str], ends: re.Pattern[str] = _ENDS_SENTENCE) -> str:
    """Return the point if it also ends the sentence, else an empty string."""
    return "." if ends.match(match.string, match.end()) else ""


def _word(match: re.Match[str]) -> str:
    key = match[1]
    ends = _CAPITAL_FOLLOWS if key.lower() == "etc" else _ENDS_SENTENCE
    return _lookup(_WORDS, key) + _keep_point(match, ends)


def expand_abbreviations(text: Traced) -> Traced:
    """Expand abbreviations: "Dr. Smith vs. the U.S." becomes "Doctor Smith versus the U.S".

    Points that end a sentence are kept. An initialism keeps the points between its letters but not
    the last one ("U.S", "p.m"), which marks it for spelling.
    """
    for pattern, words in _PHRASES:
        text = text.sub(pattern, words)
    text = text.sub(_ROAD, _road)
    text = text.sub(_TITLE, lambda m: _TITLES[m[1] or m[2]])
    text = text.sub(_BARE_TITLE, lambda m: _TITLES[m[1]])
    text = text.sub(_SAINT, "Saint")
    text = text.sub(_LATE_ROAD, lambda m: _ROADS[m[1]] + _keep_point(m))
    text = text.sub(_BEFORE_NUMBER, lambda m: _NUMBERED.get(m[1]) or _NUMBERED[m[1].capitalize()])
    text = text.sub(_WORD, _word).sub(_BARE_MONTH, lambda m: _MONTHS[m[1]])
    text = text.sub(_BARE_WORD, "versus")
    text = text.sub(_INITIALISM, lambda m: m[1][:-1] + _keep_point(m))
    return text.sub(_INITIAL, r"\1")


def _road(match: re.Match[str]) -> list[Piece]:
    start = match.start(2)
    return [
        Piece(match[1], match.start(), start),
        Piece(_ROADS[match[2]] + _keep_point(match), start, match.end()),
    ]


_ROMAN = r"(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXLC])"
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_COUNTED = re.compile(
    r"\b((?i:chapter|part|section|book|volume|act|scene|phase|type|title|article|appendix|figure"
    r"|table|level|stage|class|war|episode|season|bowl|mark|rocky|apollo|number|page))\s+"
    rf"({_ROMAN}|[ivx]{{2,5}})\b(?!['’.]\w)"
)
_REGNAL = re.compile(
    r"\b(Alexander|Alfonso|Benedict|Catherine|Charles|Christian|Constantine|Darius|Edward|Elizabeth"
    r"|Ferdinand|Francis|Frederick|George|Gregory|Gustav|Harald|Henry|Ivan|James|John|Joseph|Julius"
    r"|Leo|Leopold|Louis|Margaret|Mary|Napoleon|Nicholas|Otto|Paul|Peter|Philip|Pius|Ptolemy"
    r"|Rameses|Ramses|Richard|Rudolf|Tarquin|Thutmose|Urban|Victor|Wilhelm|William|Xerxes)\s+"
    rf"(?:({_ROMAN})(?<!\bI)|(I)(?=\s+(?:of|was|is|became|died|reigned|ruled|had)\b|[,;.)]))(?=\W|$)"
)


def _roman_value(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral.upper()]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )


def expand_roman_numerals(text: Traced) -> Traced:
    """Expand "Chapter IV" to "Chapter four" and "Henry VIII" to "Henry the eighth"."""
    text = text.sub(_COUNTED, lambda m: [Piece(numbers.cardinal(_roman_value(m[2])), *m.span(2))])
    return text.sub(_REGNAL, _reign)


def _reign(match: re.Match[str]) -> list[Piece]:
    group = 2 if match[2] else 3
    return [Piece(f"the {numbers.ordinal(_roman_value(match[group]))}", *match.span(group))]


_SITE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
_EMAIL = re.compile(rf"\b[A-Za-z0-9._%+-]{{1,64}}@{_SITE}\b")
_URL = re.compile(
    rf"\b(?:https?|ftp)://[^\s<>\"“”]+|\bwww\.{_SITE}(?:/[^\s<>\"“”]*)?"
    r"|\b(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:com|org|net|edu|gov|dev|app|info)\b(?:/[^\s<>\"“”]*)?"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,8}(?:io|ai|co|uk|de|fr|me|tv|eu|us)\b(?:/[^\s<>\"“”]*)?"
)
_FILE = re.compile(r"(?<![\w.])([A-Za-z0-9_-]{1,64})\.([a-z][a-z0-9]{0,4})(?![\w.]*\w)")
_ADDRESS_SIGNS = {
    ".": "dot",
    "/": "slash",
    "@": "at",
    "-": "dash",
    "_": "underscore",
    ":": "colon",
    "?": "question mark",
    "=": "equals",
    "&": "and",
    "#": "hash",
    "%": "percent",
    "+": "plus",
    "~": "tilde",
}
_ADDRESS_PART = re.compile(r"[A-Za-z]+|\d+|.")


def _read_address(address: str) -> str:
    words = []
    for part in _ADDRESS_PART.findall(address):
        if part.isdecimal():
            words.append(numbers.cardinal(int(part)) if len(part) < 3 else numbers.digits(part))
        elif part.lower() == "www":
            words.append("w.w.w")
        else:
            words.append(_ADDRESS_SIGNS.get(part, "A" if part == "a" else part))
    return " ".join(words)


def _read_url(match: re.Match[str]) -> str:
    address = re.sub(r"^[a-z]+://", "", match[0])
    stripped = address.rstrip(".,;:!?)/'’]")
    return _read_address(stripped) + address[len(stripped) :].lstrip("/")


def expand_addresses(text: Traced) -> Traced:
    """Expand web and mail addresses and file names: "a.com/b" becomes "a dot com slash b"."""
    text = text.sub(_EMAIL, lambda m: _read_address(m[0])).sub(_URL, _read_url)
    return text.sub(
        _FILE, lambda m: f"{m[1]} dot {m[2]}" if not (len(m[1]) == 1 and len(m[2]) == 1) else m[0]
    )
