"""Streets, saints and states by their abbreviations: "12 Oak Dr.", "St. Louis, Mo.", "Reno, NV"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..tracked import Piece, Tracked
from .abbreviation_points import STARTERS, keep_point, of_kind
from .tables import table

_ROADS = of_kind("road")
_BARE_ROADS = of_kind("word")
_STATES = of_kind("state")
_WORDLIKE_STATES = of_kind("wordlike state")  # words and names as well
_ANY_STATE = {**_STATES, **_WORDLIKE_STATES}
_BARE_ROAD = re.compile(r"(?<=[a-z\d] )(Ave|Blvd|Rd|Hwy|Pkwy)(?![\w.])")
# "12 Oak Dr." and "Main St., Boston" are roads, "Dr. Oak" and "St. Louis" are not.
_ROAD = re.compile(
    rf"(\b\d+ (?!(?:North|South|East|West) Dr\.\s[A-Z])[A-Z][a-z]+ "
    rf"|\b[A-Z][a-z]+ (?=(?:Dr|St)\.(?:$|[,;:)]|\s+{STARTERS}\b)))(Dr|St)\."
)
_LATE_ROAD = re.compile(r"(?<=[a-z] )(Dr|St)\.")
# "5th and B St.", which no saint's name follows.
_LETTER_ROAD = re.compile(rf"(?<=\b[A-Z] )St\.(?!\s(?!(?:[NS][EW]?|[EW]|{STARTERS})\b)[A-Z])")
# "on Elm St. Park there", but not "on Mount St. Helens".
_ROAD_ON = re.compile(
    r"(\b(?:on|down|along|off)\s(?!(?:Mount|Old|New|East|West|North|South|Port|Fort|Lake|The)\b)"
    r"(?:[A-Z][a-z]+|\d+(?:st|nd|rd|th))\s)(St)\.(?=\s[A-Z])"
)
# "Boston, Mass.", and with the party before it: "Rep. Hill, R-Ky.".
_STATE = re.compile(
    rf"(?:(?<=[a-z],\s)({'|'.join(map(re.escape, _STATES))})"
    rf"|(?<=\b[DRI]-)({'|'.join(map(re.escape, _ANY_STATE))}))\.(?!\w)"
)
# Where a report comes from: "WEST LAFAYETTE, Ind. --", "Columbia, Mo. (AP)".
_STATE_OF_DATELINE = re.compile(
    rf"(?<=[A-Za-z]{{2}},\s)({'|'.join(map(re.escape, _ANY_STATE))})\.(?=\s?(?:[-–—]|\([A-Z]))"
)
# "DuQuoin (Ill.)", and what may also be an independent or a Miss only where a place shows it: "in
# Columbia (Mo.)", "the Jackson (Miss.) Clarion".
_CERTAIN_STATE = "|".join(re.escape(short) for short in _STATES if short != "Ind")
_DOUBTFUL_STATE = "|".join(["Ind", *_WORDLIKE_STATES])
_STATE_IN_PARENTHESES = re.compile(
    rf"\b[A-Z][A-Za-z]+\s\(({_CERTAIN_STATE})\.\)"
    rf"|\b(?:in|from|near|of|at)\s(?:[A-Z][a-z]+\s){{0,2}}[A-Z][A-Za-z]+\s\(({_DOUBTFUL_STATE})\.\)"
    rf"|\b[A-Z][A-Za-z]+\s\(({_DOUBTFUL_STATE})\.\)(?=\s[A-Z])"
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
# "Reno, NV" and "in Salem, OR", but neither "Sorry, OK" nor "Hello, PA"; "Oxford, MS, is", but not
# "Paris, LA, and Rome" or "Name, ID, age".
_POSTAL_STATE = re.compile(
    rf"(\b(?:[Ii]n|[Nn]ear|[Oo]utside|(?:[Ff]rom|to|of|[Aa]t)(?!\s[^,]{{1,40}}, {_DEGREES}\b))"
    r" (?:(?:Ft|Mt|St)\. )?(?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+, )"
    rf"({_POSTAL}){_AFTER_POSTAL}"
    rf"|((?:[a-z]|\d),\s)({_POSTAL})(?=\s\d{{5}}(?!\d))"
    rf"|(\b[A-Z][a-z]+,\s)({_PLAIN_POSTAL}){_AFTER_POSTAL}"
    r"|(\b[A-Z][a-z]+,\s)(AL|DE|MS|OH)(?=,\s[a-z])"
)
# "Columbus, OH and Gary, IN": each shows the other, unless both are degrees: "Ann, MD or Bo, PA".
_TWO_STATES = re.compile(
    rf"(\b[A-Z][a-z]+,\s)({_POSTAL})"
    r"((?:,?\s(?:and|or|to|but not)\s|\s?/\s?)"
    r"(?:(?:Ft|Mt|St)\.\s)?(?:[A-Z][a-z]+\s){0,2}[A-Z][a-z]+,\s)"
    rf"({_POSTAL}){_AFTER_POSTAL}"
)
# "Bo Lee (TX), Di Kay (OK) and Al Ng (ME)": people and where they are from, unless it is one degree
# of all.
_PERSON = r"(?:[A-Z][\w.'’-]{0,30}\s){1,4}"
_STATES_OF_PEOPLE = re.compile(
    rf"\b{_PERSON}\((?:{_POSTAL})\)(?:(?:[,;]|,?\sand|,?\sor)\s(?:and\s)?{_PERSON}\((?:{_POSTAL})\))+"
)
_STATE_OF_PERSON = re.compile(rf"(?<=\()(?:{_POSTAL})(?=\))")
_SAINT = re.compile(r"\bSt\.(?=\s?[A-Z])")


def expand_streets_and_states(text: Tracked) -> Tracked:
    """Expand streets that a number or the end of a sentence shows, and states behind a town."""
    text = text.sub(_BARE_ROAD, lambda m: _BARE_ROADS[m[1]])
    text = text.sub(_ROAD, _road).sub(_ROAD_ON, _road_on)
    text = text.sub(_STATE, _state).sub(_TWO_STATES, _two_states)
    text = text.sub(_STATE_OF_DATELINE, lambda m: _ANY_STATE[m[1]])
    text = text.sub(_STATE_IN_PARENTHESES, _state_in_parentheses)
    text = text.sub(_POSTAL_STATE, _postal_state).sub(_STATES_OF_PEOPLE, _states_of_people)
    return text.sub(_STATE_OF_TOWN, lambda m: _expand_second(m, _WORDLIKE_STATES))


def expand_saints(text: Tracked) -> Tracked:
    """Expand saints, and the streets and drives that are left when titles have been expanded."""
    text = text.sub(_LETTER_ROAD, lambda m: f"Street{keep_point(m)}").sub(_SAINT, "Saint")
    return text.sub(_LATE_ROAD, lambda m: _ROADS[m[1]] + keep_point(m))


def _state(match: re.Match[str]) -> str:
    return _ANY_STATE[match[1] or match[2]] + keep_point(match)


def _state_in_parentheses(match: re.Match[str]) -> list[Piece]:
    group = match.lastindex or 1
    return [Piece(_ANY_STATE[match[group]], match.start(group), match.end() - 1)]


def _postal_state(match: re.Match[str]) -> list[Piece]:
    group = next(group for group in (2, 4, 6, 8) if match[group])
    return [Piece(_POSTAL_STATES[match[group]], *match.span(group))]


def _two_states(match: re.Match[str]) -> list[Piece]:
    if re.fullmatch(_DEGREES, match[2]) and re.fullmatch(_DEGREES, match[4]):
        return []
    return [Piece(_POSTAL_STATES[match[group]], *match.span(group)) for group in (2, 4)]


def _states_of_people(match: re.Match[str]) -> list[Piece]:
    """The states of several people, of which two must be no words or degrees."""
    states = list(_STATE_OF_PERSON.finditer(match.string, *match.span()))
    several = {state[0] for state in states}
    if len(several) < 2 or (len(several) < 3 and not several <= set(_PLAIN_POSTAL.split("|"))):
        return []
    return [Piece(_POSTAL_STATES[state[0]], *state.span()) for state in states]


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
        Piece(words[match[2]] + keep_point(match), start, match.end()),
    ]
