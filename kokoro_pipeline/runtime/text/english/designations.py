"""Read the numbers that name things: models, vehicles, laws, versions and addresses of servers."""

from __future__ import annotations

import re

from ..tracked import Piece
from .letters import LETTER_A, letter_piece
from .numbers import cardinal, digits, in_pairs, plural
from .rules import Rule
from .tables import word_sets

_DESIGNATED = "|".join(
    re.escape(word) for words in word_sets("designations").values() for word in sorted(words)
)


def designation(match: re.Match[str], british: bool) -> list[Piece]:
    """The number of a name, apart from letters behind it: "5950X"."""
    apart = " " * match.string[match.end(2) : match.end(2) + 1].isalpha()
    return [Piece(in_pairs(match[2], british) + apart, *match.span(2))]


def _jet(match: re.Match[str], british: bool) -> list[Piece]:
    group = 2 if match[2] else 4
    return [Piece(in_pairs(match[group], british), *match.span(group))]


def _status(match: re.Match[str], british: bool) -> str:
    """The status of an answer from a server: "a 404"."""
    return in_pairs(match[0], british)


def _model(match: re.Match[str], british: bool) -> list[Piece]:
    """Letters and three digits: "C-130", "A320neo", "US-101"."""
    letters = match[1].removesuffix("-")
    if len(letters) < 3:
        letters = LETTER_A if letters == "A" else ".".join(letters)
    return [
        Piece(f"{letters} ", *match.span(1)),
        Piece(in_pairs(match[2], british) + " " * bool(match[3]), *match.span(2)),
    ]


def _video_lines(match: re.Match[str], british: bool) -> str:
    return f"{in_pairs(match[1], british)} p "


def _plural_of_model(match: re.Match[str], british: bool) -> str:
    """The number of "MP3s" and "PS5s"."""
    return f" {plural(in_pairs(match[1], british))}"


def _plural_of_lettered(match: re.Match[str], british: bool) -> list[Piece]:
    """A letter and hundreds, of which there are several: "eight A100s"."""
    number = f" {plural(in_pairs(match[2], british))}"
    return [letter_piece(match, 1), Piece(number, match.end(1), match.end())]


def _type(match: re.Match[str], british: bool) -> list[Piece]:
    """The type of an aircraft and the like: "Boeing 747-400", "A330-900neo", "Room 10-250"."""
    letter, first, last = (1, 2, 3) if match[2] else (4, 5, 6)
    pieces = [Piece(f"{LETTER_A} ", *match.span(letter))] if match[letter] else []
    number = in_pairs(match[last], british) if len(match[last]) < 5 else digits(match[last])
    if match[last].endswith("000"):
        number = cardinal(int(match[last]), british)
    return [
        *pieces,
        Piece(f"{in_pairs(match[first], british)} ", match.start(first), match.start(last)),
        Piece(number + " " * bool(match[7]), *match.span(last)),
    ]


def _type_with_letters(match: re.Match[str], british: bool) -> list[Piece]:
    """A type with letters or of which there are several: "777-300ER", "737-800s"."""
    letter, first, last, suffix, several = match.groups()
    number = f"{in_pairs(first, british)} {in_pairs(last, british)}"
    if several and not suffix:
        number = plural(number)
    pieces = [Piece(f"{LETTER_A} ", *match.span(1))] if letter else []
    end = match.end(3) if suffix else match.end()
    return [*pieces, Piece(number + " " * bool(suffix), match.start(2), end)]


def _server(match: re.Match[str], british: bool) -> str:
    """A port behind an address of four numbers."""
    return f" colon {digits(match[1])}"


def _dotted(match: re.Match[str], british: bool) -> str:
    parts = match[0].split(".")
    address = len(parts) == 4
    words = (digits(p) if len(p) > (2 if address else 3) else cardinal(int(p)) for p in parts)
    return (" dot " if address else " point ").join(words)


def _version(match: re.Match[str], british: bool) -> str:
    joined = " point ".join(cardinal(int(part)) for part in match[2].split("."))
    return f"{match[1] or 'version'} {joined}"


def _release(match: re.Match[str], british: bool) -> list[Piece]:
    """A version behind the name of a program: "Python 3.10"."""
    words = f"{cardinal(int(match[1]))} point {cardinal(int(match[2]))}"
    return [Piece(words, match.start(1), match.end())]


def _network(match: re.Match[str], british: bool) -> str:
    """A standard of networks: "802.11ac"."""
    letters = LETTER_A if match[2] == "a" else ".".join(match[2].upper())
    return f"eight oh two point {cardinal(int(match[1]))} {letters}"


def _tire(match: re.Match[str], british: bool) -> str:
    """The width, profile and rim of a tire: "205/55R16"."""
    use, width, profile, kind, rim = match.groups()
    sizes = (in_pairs(width, british), cardinal(int(profile)), *kind, cardinal(int(rim)))
    return " ".join((*(use or ""), *sizes))


def _lineage(match: re.Match[str], british: bool) -> str:
    """Letters and several numbers, as variants of viruses are named: "XBB.1.5"."""
    letters = " ".join(LETTER_A if letter == "A" else letter for letter in match[1])
    return " point ".join((letters, *(cardinal(int(n)) for n in match[2].split("."))))


def _processor(match: re.Match[str], british: bool) -> str:
    """The number of a processor: "i7-13700K"."""
    number = match[1]
    end = number[2:] if len(number) == 5 else ""
    words = in_pairs(number[:2] if end else number, british)
    if end:
        words += f" {cardinal(int(end)) if end.endswith('00') else in_pairs(end, british)}"
    return f" {words} {'.'.join(match[2])}"


def _standard(match: re.Match[str], british: bool) -> str:
    """A letter, a point and a number, as codecs and certificates are named: "H.264", "M.2"."""
    return f"{match[1]} dot {in_pairs(match[2], british)}"


_JETS = r"(A(?=3|220)|)(3[0-9][0189](?<=A3\d\d)|220(?<=A220)|7[0-8]7)-([89]|10|1000|[1-9]00)"

MODELS: tuple[Rule, ...] = (
    (
        re.compile(rf"(?<![\w.,-]){_JETS}(?=[A-Z]|s\b)([A-Z]{{0,3}})(s?)(?![\w-])"),
        _type_with_letters,
    ),
    (
        re.compile(
            r"(?:\bATR\s|\bDash\s)()(\d{1,2})-([1-9]00)(?=[A-Z]|s\b)([A-Z]{0,3})(s?)(?![\w-])"
        ),
        _type_with_letters,
    ),
    (
        re.compile(
            r"(?<![\w.])(?:(?=H\.26\d|X\.(?:509|500|25)|G\.7[12]\d|M\.2 (?:slots?|NVMe|SATA|SSDs?"
            r"|drives?|port|connector|socket|2\d{3})\b))([A-Z])\.(\d{1,3})(?![\w]|\.\d)"
        ),
        _standard,
    ),
    (re.compile(r"(?<=\bi[3579])-(\d{4,5})([A-Z]{0,2})(?!\w)"), _processor),
    (re.compile(r"(?<![\w.])([A-Z]{1,3})\.(\d{1,2}(?:\.\d{1,2})+)(?!\w|\.\w)"), _lineage),
    (re.compile(r"(?<![\w/.])(P|LT)?(\d{3})/(\d{2})\s?(Z?R)(\d{2})(?=s?\b)"), _tire),
    (re.compile(r"(?<![\w.-])([A-Z])([1-9]\d{2})s\b"), _plural_of_lettered),
    (re.compile(r"(?<=[A-Z])(\d{1,3})s\b"), _plural_of_model),
    (
        re.compile(
            r"(?<![\w.])(?<!\w-)((?:[A-Z]{3}-)?[A-Z]{1,4}-?)([1-9]\d{2,3})(?![\w.,-]*\d)"
            r"(?=([A-Z]{1,3}|neo|[a-rt-z])?(?!\w))"
        ),
        _model,
    ),
)


_CALLED = re.compile(
    r"\b(?:911|988|[Cc]all(?:ed|ing|s)?|[Tt]ext(?:ed|ing|s)?|[Dd]ial(?:l?ed|l?ing|s)?"
    r"|[Rr](?:ing|ang|inging|ings))\b[^.;!?]*\s$|\b(?:999|112) or\s$"
)
_CALLED_AFTER = re.compile(
    r"\sor\s(?:999|112|911)\b|\s(?:call|caller|dispatcher|emergency|hotline|operator|service)\b"
)


def _service(match: re.Match[str], british: bool) -> str:
    """A short number that is called: "call 911, not 311", "a 999 call"."""
    called = match[0] == "911" or _CALLED_AFTER.match(match.string, match.end())
    called = called or _CALLED.search(match.string, max(0, match.start() - 40), match.start())
    return digits(match[0]) if called else match[0]


DESIGNATIONS: tuple[Rule, ...] = (
    (
        re.compile(
            r"\b(?:Boeing|Airbus|ATR|Dash|Embraer|Bombardier|Fokker|Room|Suite|Law|number|[Cc]ase)\s(A?)(\d{1,3})-(\d{1,5})"
            r"(?![\w-]|[.,]\d)"
            rf"|(?<![\w.,-]){_JETS}"
            r"(neo)?(?![\d-]|[.,]\d)"
        ),
        _type,
    ),
    (re.compile(r"(?<![\w.,$£€])()([1-9]\d{2,3})(?=\([a-z]{1,2}\))"), designation),
    # "a 404", "a 502 or 503 error"
    (
        re.compile(
            r"(?<![\w.,$£€-])[1-5]\d\d(?=(?:(?:,|,? or|,? and|/|\sto)\s?[1-5]\d\d){0,3}"
            r"\s(?:error|status|response|redirect|(?<=[45]0\d\s)(?:error|response)s|(?:Bad|Not|Internal|Service|Gateway)\s[A-Z])\b)"
            r"|(?<=\ba )[45]0\d(?=\s(?:page|from|when|if|for|on|came)\b|[.,;)]|$)"
        ),
        _status,
    ),
    # "a 747 jet", "the 737 MAX"
    (
        re.compile(
            r"(?<![\w.,$£€-])()(7[0-8]7)(?=\s(?:MAX|Max|Dreamliners?|[Jj]ets?|[Jj]etliners?|airliner"
            r"|airplane|pilot|freighter|landed|took off|crashed)\b)"
            r"|(?<=\b[Tt]he )()(7[0-8]7)(?=[.,;:!?)](?!\d)|\s(?:was|is|has|and)\b|$)"
        ),
        _jet,
    ),
    (
        re.compile(r"(?<![\w.,$])()([1-9]\d\d)(?=\s(?:U\.S|F)\.?\s(?:second|third|[\d§]))"),
        designation,
    ),
    (
        re.compile(
            r"(?:(?<=\bISO )(?=\d{1,2}00(?!\d))|(?<=\bUS )|(?<=\bU\.S )|(?<=\bU\.S\. ))"
            r"()([1-9]\d{2,3})(?![\w,.:–-]*\d|%)(?!\s(?:[a-z]{3,}s|hundred|[mbt]r?illion)\b)"
        ),
        designation,
    ),
    (re.compile(r"(?<=[A-Za-z]\d-)(?<!Q\d-)()([1-9]\d{3})(?!\w)"), designation),
    (re.compile(r"(?<=[A-Za-z]\d-)(?<!Q\d-)()([1-9]\d{3})(?=[A-Z]{1,2}(?!\w))"), designation),
    (
        re.compile(r"(?<![\w.,-])()([1-9]\d{3})(?=(?:XT?|X3D|KF|KS|HX|HS|[GUH])(?!\w))"),
        designation,
    ),
    (
        re.compile(
            rf"\b((?:{_DESIGNATED}|Air [A-Z][a-z]+|[Ff]light [A-Z]{{2}})\s?)"
            r"([1-9]\d{2,3})(?![\w.,-]*\d|%)"
        ),
        designation,
    ),
    (re.compile(r"(?<![\w.])(\d{3,4})p(?=(?:\d\d|120)?\b)"), _video_lines),
    (
        re.compile(
            r"(?<![\w.,$£€-])(?:911|(?:[1-8]11|101|112|988|999)(?!\s[a-z]+s\b))(?![\w%-]|[.,]\d)"
            r"|(?<=\b[dD]ial )\d{3}\b|(?<=911 or )\d{3}\b"
        ),
        _service,
    ),
)

_SOFTWARE = "|".join(map(re.escape, sorted(word_sets("software")["name"])))

VERSIONS: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?:(?<!\w)(?:{_SOFTWARE}|\w+\sdot\sJ\.S)\s(?:is\sgreater\sthan\sor\sequal\sto\s|>=\s?)?)"
            r"(\d{1,2})\.([1-9]\d)(?![\w%]|\.\d)"
        ),
        _release,
    ),
    (re.compile(r"(?<=\d\.\d)(?<=\d\.\d\.\d\.\d):(\d{2,5})(?!\w)"), _server),
    (re.compile(r"\b(?:([Vv]ersion) )?[vV](\d{1,3}(?:\.\d{1,3}){1,3})\b"), _version),
    (re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,4}){2,}(?![\w])"), _dotted),
    (re.compile(r"(?<![\w.,])802\.(\d{1,2})([a-z]{0,2})(?!\w|\.\w)"), _network),
)
