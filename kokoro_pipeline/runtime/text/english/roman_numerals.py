"""Read Roman numerals after names and counted words, of centuries and years, and of items."""

from __future__ import annotations

import re
import unicodedata

from ..tracked import Piece, Replacement, Tracked
from . import numbers
from .letters import letter_name
from .tables import word_sets
from .tagging.kinds import IRREGULAR_PAST, LISTS, VERBS

_ROMAN = r"(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXLCDM])"
_SMALL_ROMAN = r"[ivx]{1,6}"
_WITHOUT_STROKE = str.maketrans("Łł", "Ll")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

_COUNTED_WORDS = "|".join(sorted(word_sets("roman")["counted"]))
_REGNAL_NAMES = word_sets("roman")["regnal"]
# A word that may be one of them, as `_has_regnal_name` says: patterns of all of them take longer to
# compile than all others of the language together.
_NAME = r"(?P<name>[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_]+)?)"
_COUNTED = re.compile(
    rf"\b(?<!question )((?i:{_COUNTED_WORDS})s?)\s+"
    rf"({_ROMAN}(?=[ABCab]?\b)|{_SMALL_ROMAN}\b)([ABCab]?)(?!['’.]\w)"
    rf"(?:(\s?[-–]\s?)({_ROMAN}|{_SMALL_ROMAN})\b)?"
    rf"((?:(?:,|,?\s(?:and|or|to|through|&))\s(?![ICDLM]\b){_ROMAN}\b(?!['’.]\w)){{0,12}})"
)
_NUMERAL = re.compile(rf"\b{_ROMAN}\b")


_NEXT_WORD = re.compile(r"\s+([a-z]+)")
_THE_ONE = re.compile(
    r"\b(?:an?|the|this|that|any|every|each|only|first|last)\s+(?:\w+\s+)?$", re.I
)
# What follows a numeral; the pronoun has a verb behind it.
_AS_SUBJECT = (
    r"(?=\s+(?:of|was|is|became|died|reigned|ruled|had|and|or|in|to|at|by|on|for|from|with|who|whose"
    r"|as|after|before|until|during|against|over)\b|[,;.)]|['’]s\b"
    r"|\s\((?:(?:reigned|born|died|circa|ruled) )?\d)"
)
# "John D Rockefeller" and "John V Lindsay" have initials, whose points are gone.
_REGNAL = re.compile(
    rf"\b{_NAME}\s+(?![CDLM]\b|[VX]\s[A-Z])"
    rf"(?:({_ROMAN})(?<!\bI)|(I){_AS_SUBJECT})(?=\W|$)"
    rf"(?P<others>(?:(?:,|,?\s(?:and|or|to|&))\s(?![ICDLM]\b){_ROMAN}\b(?!['’.]\w|\s[A-Z])){{0,5}})"
)
# "Edward I fought" at the start of a sentence, but not "I saw Mary I think".
_FIRST = re.compile(
    rf"(?:^|(?<=^\s)|(?<=[.!?]\s)|(?<=\bof\s)|(?<=\bby\s)|(?<=[Uu]nder\s)"
    rf"|(?<=(?:st|nd|rd|th) and )){_NAME}\s(I)"
    r"(?=\s(?:(?:never|also|then|later|soon|finally|[a-z]{3,}ly)\s)?(?:[a-z]+ed|fled|met|ruled|fought|led|won|lost|took|gave|came|went|made|built|fell|held|left|saw|wrote)\b)"
)
_TITLES = (
    "(?:King|Queen|Pope|Emperor|Empress|Tsar|Czar|Sultan|Kaiser|Prince|Duke|Archduke|Shah|Pharaoh"
    "|Saint|Caliph|Margrave|Archbishop|Patriarch)"
)
_ONE_OR_TWO_NAMES = r"\s(?:[^\W\d_a-z][^\W\d_]+\s){1,2}"
_TITLED = re.compile(
    rf"\b(?:{_TITLES}{_ONE_OR_TWO_NAMES}({_ROMAN})"
    rf"|{_TITLES.lower()}{_ONE_OR_TWO_NAMES}({_ROMAN})(?<!\bI))(?=\W|$)"
)
# "Roderick III of Sicily", "Eystein II ruled", but not "World War II of".
_RULER = re.compile(
    r"\b(?!(?:War|Rocky|Type|Mark|Part|Class|Council|Vatican|Windows|Series)\b)[^\W\d_a-z][^\W\d_]{2,20}\s"
    r"((?:II|III|IV|VI{0,3}|IX|XI{0,3}|XI?[VX]|XVI{1,3})(?![\w'’-]))"
    r"(?=\sof\s(?:[A-Z]|the\s[A-Z])|,?\s(?:(?:who|then|had|later)\s)?(?:ruled|reigned|abdicated"
    r"|succeeded|ascended|was (?:crowned|deposed|born|exiled|murdered|assassinated|elected)"
    r"|(?:was|became) (?:king|queen|emperor|pope))\b)"
)
_CENTURY = re.compile(
    rf"\b(?!X Games)({_ROMAN})(?:th)?(?=(?:(?:,? (?:and|or|to) |, |[-–]){_ROMAN}(?:th)?){{0,3}}"
    r"[ -](?:[Cc]entur(?:y|ies)|(?:Winter |Summer )?(?:Olympi|Paralympi|Games)"
    r"|Congress|[Dd]ynast(?:y|ies)|[Ll]egions?|Corps|Air Force|Army|Brigade|editions?|anniversary))"
)
_CENTURIES = re.compile(rf"(?<=[IVX])[-–](?={_ROMAN}[ -](?:[Cc]entur|[Dd]ynast)(?:y|ies)\b)")
_ROMAN_YEAR = re.compile(rf"\b(?=M[CDXLIVM]{{3}}){_ROMAN}\b")
# After another name, numerals that are no common initialism.
_NAMED = re.compile(
    r"(?<=[^\W\d_A-Z]\s)(II|III|VI|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI|XVII|XVIII|XIX|XXI?)(?=\W|$)(?!-\w|['’](?!s\b)\w)"
    r"|(?<=[^\W\d_a-z][^\W\d_A-Z]{2}\s)(IV)(?=\W|$)|(?<=[^\W\d_A-Z]{4}\s)(IV)(?=\W|$)(?=[.,;:!?)]|\s[a-z]|$)"
    r"(?<!an\sIV)(?<!the\sIV)"
)


# The number of a heading: "LETTER XXIII.", "SONNET CXVI".
_HEADED = re.compile(rf"(?<=[A-Z]{{4}}\s)(?=[IVXLC]{{3,8}}(?:[.,:]|$)){_ROMAN}\b")
# "J.P. Morgan III", "George S. Patton IV", and "Robert Griffin III", who is named like kings.
_FAMILY_NAME = r"[A-Z][a-z]+\s(III?|IV)(?=\W|$)(?!['’-]\w)"
_HEIR_BY_INITIALS = re.compile(
    r"\b(?:(?:[A-Z]\.?\s?[A-Z]|[B-HJ-Z])\.?\s|[A-Z][a-z]+\s[B-HJ-Z]\.?\s)" + _FAMILY_NAME
)
_HEIR_BY_NAME = re.compile(rf"\b{_NAME}\s(?:[A-Z]\.?\s)?{_FAMILY_NAME}")
# "Henry the VIII".
_REGNAL_THE = re.compile(rf"\b{_NAME}\sthe\s(?P<numeral>{_ROMAN})(?=\W|$)")
# The number of an item, in parentheses or, where a line begins, with a comma for its point.
_LISTED = re.compile(
    r"(?<=\()(?:[ivx]{2,5}|(?<=^\()[iv]|i(?=\)[^\n]{1,400}\(ii\)))(?=\))"
    r"|^(?:[ivx]{2,5}|[IVX]{2,5})(?=,)"
    r"|(?:^|(?<=^ )|(?<=[.;:,!?] ))(?:[ivx]{2,5}|i(?=\)[^\n]{1,400}\bii\)))(?=\))"
)


def roman_value(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral.upper()]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )


def is_numeral(text: str) -> bool:
    return bool(re.fullmatch(_ROMAN, text.upper()))


_LINE_OF_PLAY = re.compile(
    r"(?<![\w.])([IVX]{1,5})\.([ivx]{1,5})\.(\d{1,4})(?:\s?[-–]\s?(\d{1,4}))?(?![\w-]|[.,]\d)"
)


def _line_of_play(match: re.Match[str]) -> Replacement:
    """Act, scene and line of a play: "III.i.56"."""
    if not (is_numeral(match[1]) and is_numeral(match[2])):
        return match[0]
    parts = [roman_value(match[1]), roman_value(match[2]), int(match[3])]
    last = f" to {numbers.cardinal(int(match[4]))}" if match[4] else ""
    return ", ".join(map(numbers.cardinal, parts)) + last


def expand_roman_numerals(text: Tracked) -> Tracked:
    """Expand "Chapter IV" to "Chapter four" and "Henry VIII" to "Henry the eighth"."""
    text = text.sub(_LINE_OF_PLAY, _line_of_play)
    text = (
        text.sub(_COUNTED, _counted).sub(_TITLED, _reign).sub(_REGNAL, _reign).sub(_FIRST, _reign)
    )
    text = text.sub(_REGNAL_THE, _named_ordinal).sub(_RULER, _reign)
    text = text.sub(_LISTED, _item_number)
    text = text.sub(_CENTURIES, " to ")
    text = text.sub(_CENTURY, lambda m: numbers.ordinal(roman_value(m[1])))
    text = text.sub(_ROMAN_YEAR, lambda m: numbers.year(roman_value(m[0])))
    text = text.sub(_HEADED, lambda m: numbers.cardinal(roman_value(m[0])))
    text = text.sub(_HEIR_BY_INITIALS, _reign).sub(_HEIR_BY_NAME, _reign)
    return text.sub(_NAMED, _of_name)


_OF_NUMERALS = re.compile(r"\b[Nn]umerals?\b[^.!?]{0,60}$")


def _of_name(match: re.Match[str]) -> str:
    """The number of "Rocky III"; "IV" behind a word in small letters is a drip.

    Where the sentence speaks of numerals, it shows their letters.
    """
    if _OF_NUMERALS.search(match.string, max(0, match.start() - 70), match.start()):
        return ".".join(match[0])
    if match[0] == "IV" and match.string[: match.start()].split()[-1].islower():
        return match[0]
    return numbers.cardinal(roman_value(match[0]))


def _item_number(match: re.Match[str]) -> str:
    numeral = match[0]
    return numbers.cardinal(roman_value(numeral)) if is_numeral(numeral) else numeral


def _counted(match: re.Match[str]) -> Replacement:
    numerals = [numeral for numeral in match.group(2, 5) if numeral]
    # "Section C" and "Part D" are letters: a hundred parts are too many.
    letters = {"C", "D", "M"}
    if match[1].lower() in ("generation", "series"):  # "Generation X", "Xbox Series X"
        letters.add("X")
    if not all(map(is_numeral, numerals)) or letters.intersection(numerals):
        return match[0]
    if match[2] == "I" and not match[5] and match[1].islower() and _has_verb(match):
        return match[0]
    pieces = [Piece(numbers.cardinal(roman_value(match[2])), *match.span(2))]
    if match[3]:  # "Division IA"
        pieces.append(Piece(f" {letter_name(match[3].upper())}", *match.span(3)))
    if match[5]:
        last = numbers.cardinal(roman_value(match[5]))
        pieces += [Piece(" to ", *match.span(4)), Piece(last, *match.span(5))]
    for other in _NUMERAL.finditer(match.string, *match.span(6)):
        pieces.append(Piece(numbers.cardinal(roman_value(other[0])), *other.span()))
    return pieces


def _has_verb(match: re.Match[str]) -> bool:
    """Whether "I" is the pronoun, by the verb behind it: "the book I read", "a type I saw"."""
    after = _NEXT_WORD.match(match.string, match.end())
    if after is None:
        return False
    if after[1] in ("was", "had"):  # "in phase I was"
        return bool(_THE_ONE.search(match.string, 0, match.start()))
    verbs = VERBS | IRREGULAR_PAST | LISTS["pronoun_verbs"]
    if after[1] in verbs:
        return after[1] not in LISTS["numbered_nouns"]
    # "The amendment I proposed", but "the phase I randomized trial".
    tested = match[1] in ("phase", "type", "class", "grade", "stage")
    return (
        after[1].endswith("ed")
        and not tested
        and bool(_THE_ONE.search(match.string, 0, match.start()))
    )


def _has_regnal_name(match: re.Match[str]) -> bool:
    """Whether the name of a match is one of kings and popes, with accents or without."""
    parts = unicodedata.normalize("NFD", match["name"].translate(_WITHOUT_STROKE))
    plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return plain in _REGNAL_NAMES or plain.partition("-")[2] in _REGNAL_NAMES


def _named_ordinal(match: re.Match[str]) -> Replacement:
    if not _has_regnal_name(match):
        return match[0]
    return [Piece(numbers.ordinal(roman_value(match["numeral"])), *match.span("numeral"))]


def _reign(match: re.Match[str]) -> Replacement:
    if match.groupdict().get("name") and not _has_regnal_name(match):
        return match[0]
    others = match.groupdict().get("others") and match.span("others")
    last = match.re.groups - ("others" in match.re.groupindex)
    group = next(g for g in range(last, 0, -1) if match[g])
    pieces = [Piece(f"the {numbers.ordinal(roman_value(match[group]))}", *match.span(group))]
    for other in _NUMERAL.finditer(match.string, *others) if others else ():
        pieces.append(Piece(numbers.ordinal(roman_value(other[0])), *other.span()))
    return pieces
