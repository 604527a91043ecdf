"""Numbers with units."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .number_forms import (
    DASH,
    NUMBER,
    START,
    is_attributive,
    is_one,
    is_one_of_a_kind,
    plain,
)
from .numbers import plural
from .rules import Phrase, Rule, kept_point
from .tables import pairs, table, word_sets
from .tagging.kinds import CLOSED, IRREGULAR_PAST, VERBS

_UNITS = {symbol: unit for symbol, unit, *_ in table("units")}
_PLURALS = {unit: plurals[0] for _, unit, *plurals in table("units") if plurals}
_PER = {**{s: u for s, u in _UNITS.items() if s[0].isalpha()}, **pairs("per_units")}
UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
PER_UNIT = "|".join(re.escape(unit) for unit in sorted(_PER, key=len, reverse=True))
# Abbreviations whose point belongs to them: "5 min. left". It may also end the sentence.
_POINTED = word_sets("pointed_units")["unit"]
_SENTENCE_FOLLOWS = re.compile(r"\s*(?:$|\s[“\"(]?[A-Z])")
_MEASURED = {kind: "|".join(sorted(words)) for kind, words in word_sets("measured").items()}
_OF_A_LENGTH = re.compile(
    rf"\s(?:{_MEASURED['noun']}|f \d|[VIWH]-?\d\d?)\b|\)\s(?:{_MEASURED['container']})s?\b"
)
_AT_SEA = re.compile(
    r"\s(?:offshore|off|out to sea|from|north|south|east|west|upwind|downwind|astern)\b"
)
# Knots, and where something heavy or a bomb is named the symbol of kilotons.
_OF_TONS = re.compile(
    r"-?\s(?:(?:nuclear|atomic|atom|thermonuclear)\s)?(?:bombs?|warheads?|weapons?|devices?|yield|blast|explosion"
    r"|detonation|test)\b|\s(?:of\s)?(?:TNT|CO2|CO₂|carbon|ore|concentrate|coal|steel|copper|uranium|lithium"
    r"|methane|emissions)\b|\sper\s(?:year|annum)\b"
)
# Base pairs, where the sentence speaks of genes, and else the symbol of basis points.
_OF_GENES = re.compile(
    r"\b(?:fragments?|genes?|[rmct]?[DR]NA|reads?|primers?|inserts?|amplicons?|sequences?|genomes?"
    r"|genomic|exons?|introns?|nucleotides?|PCR|plasmids?|alleles?|deletions?|insertions?|upstream"
    r"|downstream|promoters?|probes?|ladder|bands?|repeats?|paired-end|librar(?:y|ies)|chromosomes?"
    r"|transcripts?|loc(?:us|i)|motifs?|vectors?|codons?|telomeres?|bp in length)\b"
)
_POWERS = {"²": "square", "2": "square", "³": "cubic", "3": "cubic"}


def unit_name(symbol: str, many: bool) -> str:
    """The name of a unit, "tablespoons" for "tbsp"; "in" is the inch."""
    name = _UNITS.get(symbol, "inch")
    return _plural(name) if many else name


#: What stands between a number of inches and its equal.
_EQUAL = re.compile(r"\s?[=≈]\s?\d")


# The object of a preposition, "A = 5 in total", unless it is another side or says of what.
_IN_PLACE = re.compile(
    r"\s(?!(?:and|or|by|x|per|of|wide|tall|long|high|deep|thick|is|are)\b)[A-Za-z]"
)


# "The 3 oz sample", but neither "the 3 oz left" nor "the 5 GB available".
_DETERMINER = re.compile(
    r"\b(?:(?:[Tt]he|[Tt]his|[Tt]hat|[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Ii]ts|[Oo]ur|[Aa]n?)\s"
    r"(?:new|old|heavy|long|short|big|large|small|huge|massive|giant|tiny|single|standard|typical"
    r"|planned|proposed|fresh|frozen|whole|famous|original|fast|scenic|grueling|steep|narrow)"
    r"|[Tt]he|[Tt]his|[Tt]hat|[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Ii]ts|[Oo]ur)\s$"
)
_NOUN = re.compile(
    r"\s(?!(?:ago|ahead|apart|across|away|back|deep|early|east|extra|farther|free|further|here|high"
    r"|inland|late|later|left|less|long|more|north|now|only|short|south|still|tall|there|thick|total"
    r"|west|wide|offshore|downstream|upstream|\w{1,20}(?:ed|ly|able|ible|ier|er|al|ful|ing))\b)"
    r"([a-z]{3,20})\b"
)


def _is_determined(match: re.Match[str]) -> bool:
    """Whether the match stands between "the" or "my" and a noun that it describes."""
    if not _DETERMINER.search(match.string, max(0, match.start() - 16), match.start()):
        return False
    noun = _NOUN.match(match.string, match.end())
    if noun is None or noun[1] in CLOSED or noun[1] in IRREGULAR_PAST:
        return False
    return not (noun[1].endswith("s") and noun[1][:-1] in VERBS)  # "the 20 mg helps"


_TERM_FOLLOWS = re.compile(r"\s?[-+−=^²³<>≤≥·*/]\s?[\d(a-z]")
_CLAUSE_ENDS = re.compile(r"\s*(?:$|[,;:)])")


_PARENTHESIS_OPEN = re.compile(r"\([^()]*$")


def _is_choice(match: re.Match[str]) -> bool:
    """Whether a parenthesis that none opens follows: the letter is that of an answer."""
    closes = match.string.startswith(")", match.end())
    start = max(0, match.start() - 100)
    return closes and not _PARENTHESIS_OPEN.search(match.string, start, match.start())


def _measure(match: re.Match[str], british: bool) -> Replacement:
    minus, low, high, joint, unit, power, per, per_power, again, point = match.groups()
    of_sides = match.string.endswith((" by ", " x ", " × "), 0, match.start())
    ends = not point or _SENTENCE_FOLLOWS.match(match.string, match.end())
    equal = _EQUAL.match(match.string, match.end()) or match.string.endswith(
        ("= ", "≈ ", "=", "≈"), 0, match.start()
    )
    if equal and _IN_PLACE.match(match.string, match.end()):
        equal = False
    sized = bool(point) and (of_sides or "." in low)
    sized = sized or (of_sides and bool(_CLAUSE_ENDS.match(match.string, match.end())))
    if unit == "in" and joint and ends and not equal and not sized:
        return match[0]  # the preposition
    if len(unit) == 1 and joint == " " and _is_choice(match):
        return match[0]  # "A) 10 B) 12"
    if unit == "L" and match.string.endswith(("f ", "f/"), 0, match.start()):
        return match[0]  # the lens of a camera: "f/2.8L"
    if (unit in ("x", "×") and (joint or power)) or (unit == "B" and joint == "-"):
        return match[0]
    if unit == "x" and not (high or per) and _TERM_FOLLOWS.match(match.string, match.end()):
        return f"{plain(low, british)} x"  # "3x − 7"
    name = _UNITS.get(unit, "inch")
    if unit == "nm" and _AT_SEA.match(match.string, match.end()):
        name = "nautical mile"
    if unit == "kt" and _OF_TONS.match(match.string, match.end()):
        name = "kiloton"
    if unit == "bp" and (
        match.string.startswith((" long", "-long"), match.end())
        or _OF_GENES.search(match.string, max(0, match.start() - 60), match.end() + 30)
    ):
        name = "base pair"
    if power:
        name = f"{_POWERS[power]} {name}"
    singular = (is_one(low) and not high) or joint == "-" or is_one_of_a_kind(match)
    if name == "time" and is_attributive(match):
        name = "X"  # "a 10x zoom"
    elif (
        not singular
        and not is_attributive(match, of_sides)
        and not _OF_A_LENGTH.match(match.string, match.end())
        and not _is_determined(match)
    ):
        name = _plural(name)
    if per:
        name += f" per {unit_per(per, per_power)}" + (f" per {_PER[again]}" if again else "")
    joined = joint == "-" and match.string[match.end() :].strip()  # "a 240-lb. QB" goes on
    if (
        point
        and not joined
        and (unit.split()[-1] not in _POINTED or _SENTENCE_FOLLOWS.match(match.string, match.end()))
    ):
        name += "."
    end = match.end(3) if high else match.end(2)
    words = plain(low, british) + (f" to {plain(high, british)}" if high else "")
    return [
        Piece(f"{'minus ' if minus else ''}{words}", match.start(), end),
        Piece(" ", end, match.start(5)),
        Piece(name, match.start(5), match.end()),
    ]


def _at_least(match: re.Match[str], british: bool) -> list[Piece]:
    """A measure with a sign that it may be more: "2+ GB"."""
    return [
        Piece(f"{plain(match[1], british)} plus ", match.start(), match.start(2)),
        Piece(
            _UNITS[match[2]] if is_attributive(match) else _plural(_UNITS[match[2]]),
            match.start(2),
            match.end(),
        ),
    ]


def unit_per(unit: str, power: str | None) -> str:
    """The name of a unit behind "per" or a slash, "second squared"."""
    if not power:
        return _PER.get(unit, unit)
    if _PER.get(unit) in ("second", "minute", "hour"):
        return f"{_PER[unit]} {'squared' if power in '²2' else 'cubed'}"
    return f"{_POWERS[power]} {_PER.get(unit, unit)}"


def _plural(name: str) -> str:
    base = name.removeprefix("square ").removeprefix("cubic ")
    return name[: len(name) - len(base)] + (_PLURALS.get(base) or plural(base))


def _karats(match: re.Match[str], british: bool) -> str:
    """The fineness of gold, whose symbols thousands and knots have elsewhere: "18k gold"."""
    return f"{plain(match[1] or match[2], british)} karat"


_PITCHED = re.compile(r"\b(?:IP|ER|BB|ERA|RBIs?|innings?)\b")


def _kelvin(match: re.Match[str], british: bool) -> str:
    """The unit behind a space, and neither thousands nor a race nor a strikeout: "273 K"."""
    pitched = _PITCHED.search(match.string, max(0, match.start() - 40), match.end() + 30)
    return match[0] if pitched else " kelvin"


def _unit_alone(match: re.Match[str], british: bool) -> Replacement:
    """A unit without a number: "in km/h"."""
    words = f"{_plural(_UNITS[match['many']])} per {unit_per(match['per'], match['power'])}"
    return [Piece(words, match.start("many"), match.end())]


def _dotted_alone(match: re.Match[str], british: bool) -> str:
    """A product of units without a number: "in N·s"."""
    per = f" per {unit_per(match[2], match[3])}" if match[2] else ""
    return _plural(_UNITS[match[1]]) + per


def _unit_of_many(match: re.Match[str], british: bool) -> list[Piece]:
    """The unit of "93 million mi."."""
    name = _plural(_UNITS[match[1]])
    if match[2]:
        name = f"{_POWERS[match[2]]} {name}"
    return [Piece(name, match.start(1), match.end())]


def _unit_of_power(match: re.Match[str], british: bool) -> Replacement:
    """The unit of "10⁻⁶ m" and "10⁶ m³/s"."""
    name = _plural(_AFTER_POWER.get(match[2]) or _UNITS[match[2]])
    if match[3]:
        name = f"{_POWERS[match[3]]} {name}"
    if match[4]:
        name += f" per {unit_per(match[4], match[5])}"
    return [Piece(name, match.start(2), match.end())]


def _per_units(match: re.Match[str], british: bool) -> list[Piece]:
    """What is counted in a unit: "10⁹/L", "18 units/kg/h"."""
    pieces = [Piece(f" per {_PER[match[1]]}", match.start(1) - 1, match.end(1))]
    if match[2]:
        pieces.append(Piece(f" per {_PER[match[2]]}", match.end(1), match.end()))
    return pieces


# Symbols of units that behind other numbers would more often be something else.
_AFTER_POWER = {"C": "coulomb", "T": "tesla", "F": "farad", "H": "henry", "A": "amp", "K": "kelvin"}


_ELECTRIC = re.compile(
    r"\b(?:V|volts?|voltage|currents?|fuses?|circuits?|draws?|rated)\b|\d[mk]?V\b"
)
_ELECTRIC_AFTER = re.compile(
    r"[\s-](?:fuses?|breakers?|circuits?|currents?|chargers?|suppl(?:y|ies)|sockets?|plugs?|loads?|motors?"
    r"|outlets?|wiring|of current)\b"
)


def _amps(match: re.Match[str], british: bool) -> Replacement:
    """Amperes, where the sentence speaks of electricity: "12V at 3A", but not "exit 3A"."""
    after = _ELECTRIC_AFTER.match(match.string, match.end())
    if not (after or _ELECTRIC.search(match.string, max(0, match.start() - 40), match.start())):
        return match[0]
    singular = is_one(match[1]) or bool(after and not after[0].endswith("of current"))
    return f"{plain(match[1], british)} {'amp' if singular else 'amps'}"


_DOTTED = "|".join(re.escape(u) for u in sorted(_UNITS, key=len, reverse=True) if "·" in u)

_WRITTEN_BEHIND_PER = re.compile(
    r"(?:(?:sq|cu|fl)\.? )?[a-z]{2,}|[A-Za-z]{3,}|[kMGT]?W|[kMGTP]B|L|l|h"
)
_BEHIND_PER = {
    **{symbol: name for symbol, name in _UNITS.items() if _WRITTEN_BEHIND_PER.fullmatch(symbol)},
    **{"in": "inch", "pt": "pint", "°C": "degree Celsius", "°F": "degree Fahrenheit"},
}
_SYMBOL_BEHIND_PER = "|".join(re.escape(u) for u in sorted(_BEHIND_PER, key=len, reverse=True))


def _behind_per(match: re.Match[str]) -> str:
    return _BEHIND_PER[match[1]] + kept_point(match)


BEHIND_PER: Phrase = (
    re.compile(rf"(?<=\bper\s)({_SYMBOL_BEHIND_PER})(?!\w)\.?"),
    _behind_per,
)
"""A unit behind "per", with the point of its abbreviation: "$5 per lb., paid at once"."""


UNIT_AFTER_FRACTION = (
    rf"(?!x|×)(?:{UNIT})(?!\w)(?:\.(?!\w))?|in\.(?!\w)|\"(?=\s[A-Za-z\d(]|-[a-z]|[.,;)]|$)"
)
"""A unit, with the point of its abbreviation."""


def without_point(match: re.Match[str], unit: str) -> tuple[str, str]:
    """A unit without the point of its abbreviation, and the point if it ends the sentence."""
    if not unit.endswith("."):
        return unit, ""
    ends = unit.split()[-1][:-1] not in _POINTED or _SENTENCE_FOLLOWS.match(
        match.string, match.end()
    )
    return unit[:-1], "." if ends else ""


UNITS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w.,])([89]|1\d|2[0-4])[\s-]?(?:[kK]|[kK]t|KT|ct)"
            r"(?=[\s-](?:(?:solid|white|yellow|rose|pink|red)[\s-])?gold\b)"
            r"|(?<![\w.,])([89]|1\d|2[0-4])[\s-]?kt(?=\s(?:ring|necklace|chain|bracelet|pendant|earrings)s?\b)"
        ),
        _karats,
    ),
    (
        re.compile(
            r"(?<=\d)(?<!\b[Aa] \d)(?<!\b[Aa] \d\d)\sK"
            r"(?=[.,;:!?)]|$|\s(?:and|or|to|is|are|in|at|for))"
        ),
        _kelvin,
    ),
    (
        re.compile(
            rf"(?<=10)([⁻⁺]?[⁰¹²³⁴-⁹]{{1,3}})\s({UNIT}|[CTFHAK])([²³])?"
            rf"(?:/({PER_UNIT})([²³])?)?(?![\w'’/²³])"
        ),
        _unit_of_power,
    ),
    (
        re.compile(
            rf"(?:(?<=10)[⁻⁺]?[⁰¹²³⁴-⁹]{{1,3}}|(?<=10\^\d)|(?<=10\^\d\d)|(?<=[\dkKM⁰¹²³⁴-⁹]\s)[a-z]+s"
            rf"|(?<=CO2)e?)"
            rf"/({PER_UNIT})(?:/({PER_UNIT}))?(?![\w/])"
        ),
        _per_units,
    ),
    (
        re.compile(
            r"(?<=\d)\s?(?:thousand|million|billion|trillion|bn|M|[kK])\s"
            r"(km|mi|kg|lbs?|ft|kWh|MWh|GWh|TWh|MW|GW|L|gal|bpd|b/d|boe/d|ha|cu\.? m"
            r"|sq\.? (?:km|mi|ft|m))([²³])?"
            r"(?![\w/])(?:\.(?=\s[a-z]|[,;:)]))?"
        ),
        _unit_of_many,
    ),
    (re.compile(rf"{START}({NUMBER})[\s-]?A(?![\w'’])"), _amps),
    (re.compile(rf"{START}({NUMBER})\+\s?(?!x|×)({UNIT})(?![\w/'’])(?:\.(?=\s[a-z]))?"), _at_least),
    (
        re.compile(
            rf"(?<![\w.,])(?<![A-Za-z]-)(?!802\.1)([-−])?({NUMBER})(?:{DASH}({NUMBER}))?(\s?|-)"
            rf"({UNIT}|in)(?<!\dB)([²³]|(?<=m)[23](?!\w))?"
            rf"(?:/({PER_UNIT})([²³]|(?<=[ms])[23](?!\w))?(?:/({PER_UNIT}))?)?"
            r"(?![\w²³]|['’][a-z]|(?<=x)-|(?<=V)-(?:[468]|1[02])(?![\dV]|\.\d|\sV)|(?<=W)-\d\d(?![\dW]|\.\d|\sW))(\.(?!\w))?"
        ),
        _measure,
    ),
    (
        re.compile(
            rf"(?<![\w/.·])({_DOTTED})(?:/({PER_UNIT})([²³])?)?(?![\w·²³])",
        ),
        _dotted_alone,
    ),
    (
        re.compile(
            r"(?<![\w/.])(?P<many>km|mi|m|kg|g|mg|cm|ft|mL|ml|L|MB|GB|kB|Mb|W)"
            r"/(?P<per>h|hr|s|sec|min|m|L|dL|l|kg|ml)(?P<power>[²³]|(?<=[ms])[23])?(?!\w)"
        ),
        _unit_alone,
    ),
)
