"""Normalize written English to words and plain punctuation for grapheme-to-phoneme conversion.

The output consists of letters of the Latin script, apostrophes and hyphens inside words, points
inside initialisms ("U.S"), single spaces, and the marks `. , ; : ! ? — … “ ” ( )`. Two private
characters stand for a word with given phonemes and for the letter A.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from ..tracked import Piece, Replacement, Tracked
from .abbreviations import expand_abbreviations
from .addresses import expand_addresses
from .clipped import expand_clipped
from .early_phrases import expand_early
from .elisions import ELISION
from .headlines import lower_capitals
from .html_remains import without_html
from .latex import expand_formulas
from .latex_prose import expand_prose
from .letter_forms import plain_letters
from .letters import LETTER_A
from .markdown import without_markdown
from .numerals import expand_numerals
from .roman_numerals import expand_roman_numerals
from .tables import pairs
from .tagging.kinds import CLOSED

MAX_WORD = 48
"""The maximum number of letters of a word; longer words are cut.

Words of more than six parts joined by hyphens, apostrophes or points are cut as well, since the
lexicon tries every run of parts.
"""

PRONOUNCED = "\ue000"
"""Placeholder in the normalised text for a word whose phonemes are given in the input."""


@dataclass(frozen=True)
class Markup:
    """What is said in the input about the pronunciation of a part of it.

    `[text](/phonemes/)` gives the phonemes, `[text](+1)` raises the stress of the text by a level,
    as misaki has it.
    """

    start: int
    """Where the text begins, in code points of the source."""
    end: int
    phonemes: str | None = None
    stress: float | None = None


@dataclass(frozen=True)
class Normalized:
    """Normalised paragraphs, and what the markup says, each in order.

    A text whose phonemes are given is the single character `PRONOUNCED`. `unspoken` are the spans
    of the source that have no reading.
    """

    paragraphs: tuple[Tracked, ...]
    markup: tuple[Markup, ...]
    unspoken: tuple[tuple[int, int], ...]


_CHARACTERS = {
    **dict.fromkeys("‘’‛ʼ′＇", "'"),
    **dict.fromkeys("″＂", '"'),
    **dict.fromkeys("„‟«❝", "“"),
    **dict.fromkeys("»❞", "”"),
    **dict.fromkeys("[{⟨【「", "("),
    **dict.fromkeys("]}⟩】」", ")"),
    **dict.fromkeys("‐‑‒−﹣", "-"),
    **dict.fromkeys("―⸺⸻", "—"),
    **dict.fromkeys("、，", ","),
    **dict.fromkeys("。．", "."),
    "º": "°",
    "‽": "?!",
    "¿": "",
    "¡": "",
    "！": "!",
    "？": "?",
    "：": ":",
    "；": ";",
    "μ": "µ",
    "∛": "³√",
    "∜": "⁴√",
    "⁄": "/",
    "∕": "/",
    "№": "No. ",
    "™": " trademark ",
    "℃": "°C",
    "℉": "°F",
    "•": "\n\n",
    "‣": "\n\n",
    "◦": "\n\n",
    "\u2028": "\n",
    "\u2029": "\n\n",
    **{chr(ord("₀") + digit): str(digit) for digit in range(10)},
    **{low: f" {letter}" for low, letter in zip("ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼ", "aeoxhklmnpstij", strict=True)},
}
_CHARACTER = re.compile(f"[{re.escape(''.join(_CHARACTERS))}]")
# A minus sign with spaces, between two terms of which one at least is no plain number. Elsewhere
# writers use the sign as a hyphen or as a dash, and the rules for numbers know the hyphen.
_LETTER_TERM = r"(?!a\s[a-z]{2})\d{0,3}[A-Za-zα-ω]\d?(?![\w'’-])"
_AFTER_TERM = (
    r"(?<=[²³⁴-⁹ⁿ!] )|(?<=(?<![\w'’.])[A-Za-zα-ω] )|(?<=[a-z]\d )|(?<=(?<!\w)\w\) )|(?<=[α-ω] )"
)
_DIFFERENCE = re.compile(
    rf"(?:(?<=\d )|{_AFTER_TERM})− \(?(?:{_LETTER_TERM}|√|(?:sin|cos|tan|ln|log|exp)\b)"
    rf"|(?:{_AFTER_TERM})− \(?\d"
)
_UNUSUAL = re.compile(r"[^ -~\n\t]+")
_PLACEHOLDER = re.compile(f"[{PRONOUNCED}{LETTER_A}]")
_START = re.compile(r"\A")
_LINE_END = re.compile(r"\r\n?")
_LOW_QUOTES = re.compile(r"„([^“”„\n]{1,300})“")
_BACKTICK_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[`´](?=[^\W\d_])")
_MARKED_SYMBOL = re.compile(r"(?<!\w)([A-Za-zα-ω])([\u0304\u0305\u0302])(?!\w)")
_MARKS = {"\u0304": "bar", "\u0305": "bar", "\u0302": "hat"}
_NUMBER_SIGN = re.compile(r"(?<!\w)N[°º˚ᵒ]\s?(?=\d)")
_LOW_BEFORE_DIGIT = re.compile(r"(?<=[a-z])[₀-₉]+(?=\d)")
_SMALL_FRACTION = re.compile(r"([⁰¹²³⁴-⁹]{1,3})[⁄/]([₀-₉]{1,3})")
_VULGAR_FRACTION = re.compile(r"(\d?)([¼-¾⅐-⅞])")

_GIVEN = re.compile(r"\[([^\[\]\n]{1,200})\]\(/([^()\n]{1,200})/\)")
_STRESSED = re.compile(r"\[([^\[\]\n]{1,200})\]\(([+-]?(?:\d|0?\.5))\)")
_LINK = re.compile(
    r"!\[([^\[\]\n]{0,500})\]\([^()\s]{1,1000}(?:\s\"[^\"\n]{0,200}\")?\)"
    r"|\[([^\[\]\n]{1,500})\]\((?:https?://|/|#|\.|[\w-]{1,100}[./#])[^()\s]{0,1000}"
    r"(?:\s\"[^\"\n]{0,200}\")?\)"
)
# A pronunciation between slashes or brackets, by a letter or a mark that only the IPA has.
_SLASHED_SOUNDS = r"/(?=[^/\n]{0,60}[ɐ-ʯˈˌːᵻᵿ])[^/\n]{1,61}/(?![\w/])"
_PRONUNCIATION = re.compile(
    rf"(?<=\(){_SLASHED_SOUNDS}[,;]?|(?<![\w/]){_SLASHED_SOUNDS}"
    r"|\[(?=[^\[\]\n]{0,60}[ɐ-ʯˈˌːᵻᵿŋʷʲʰ])[^\[\]\n]{1,61}\](?!\()"
)
_STARS = re.compile(r"(?<=[a-z\d)])\*\*(?=\d{1,3}\b)")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+|^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_BULLET = re.compile(r"\n[ \t]*[-*+][ \t]+(?:[\[(][ xX][\])][ \t]+)?(?=\S)")
_ITEM = re.compile(r"\n[ \t]*(\d{1,3}|[ivx]{2,5}|[IVX]{2,5})([.)])[ \t]+(?=[^\W\d_]|[\"“‘'(\[*_])")
_PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_RULED_LINE = re.compile(r"(?<!\S)[=~+]{4,}(?!\S)")
_MARKUP = re.compile(r"(?<!\w)[*_~`´]+(?=[^\W\d]|[“\"'(])|(?<=[\w.,;:!?”\"')])[*_~`´†‡]+(?!\w)")

# Signs that are read as words, after those that belong to numbers have been replaced.
_SIGN_WORDS = pairs("signs")
_IS_BEFORE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|for (?:kids|children|ages|anyone|those|dogs|pets|orders)"
    r"|kids|children|those|(?:anyone|people|patients|adults|women|men) (?:aged|age))\s?$"
)
_COMPARISONS = ("<", ">")  # signs between words only
_SIGN = re.compile("|".join(re.escape(s) for s in _SIGN_WORDS if s not in _COMPARISONS))
_COMPARISON = re.compile(r"(?<=\w)\s([<>])\s(?=\w)")
# Options of programs, but neither "-ing" nor "I" or "a": a dash may stand before those.
_LONG_OPTION = re.compile(r"(?<![^\s(`])--(?=[a-z]{2})")
_OPTION = re.compile(
    r"(?:(?<=\bls )|(?<=\bps )|(?<=\brm )|(?<=\bcp )|(?<=\bdu )|(?<=\btar )|(?<=\bgrep )"
    r"|(?<=\bcommit ))"
    r"-([A-Za-z]{1,5})\b"
    r"|(?<![^\s(`])-([B-HJ-Zb-z]|[b-df-hj-np-tv-xz]{2,4}"
    r"|[Aa](?=\s(?:and|or|to|for|with|in|as|is|flag|option|switch)\b|[.,;:)`]|$))(?![\w'’-])"
)
_VARIABLE = re.compile(r"(?<![\w$])\$(?=[A-Za-z_])(?!(?:US|AU|CA|NZ|HK|SG|[AC])\b)")
_BAR = re.compile(r"(?<=[\w)\]%.!?])\s?\|(?=\s[\w(\[$])")
_HASHTAG = re.compile(r"(?<!\w)#(?=\w)(?!\d+-?[A-Z]\b)")
_SHARP = re.compile(r"(?<=\b[A-G])[#♯](?!\w)")
_NOTE_A = re.compile(r"\bA(?=[♭♯])")
_INITIALS_AND = re.compile(r"\b([A-Z]{1,3})&([A-Z]{1,3})(s?)\b")
_LEADING_POINT = re.compile(r"(?<![\w.])\.(?=[A-Za-z])")
_SLASHED = re.compile(r"(?<![\w/])([A-Za-z]{1,8}(?:/[A-Za-z]{1,8}){1,2})(?![\w/])")
_SLASHED_WORDS = pairs("slashes")
_SHORT_SLASHES = pairs("short_slashes")
_LETTERS_SLASHED = re.compile(r"(?<![\w/])[A-Z]{1,4}(?:/[A-Z]{1,4})+(?![\w/])")
_END_OF_VERSE = re.compile(r"([.,;:!?—”]|(?<=[ ’'a-z][a-z])[a-z])\s/\s(?=[“‘'(]{0,2}[A-Z])")
_LONE_SLASH = re.compile(r"/+")
_EMOTICON = re.compile(
    r"(?<!\S)(?:[:;]['’]?-?[)(DPpOo/\\|*]+|=[)(D]|8-[)(D]|[xX]D|\^[_.-]?\^|T_T|¯\\_\(.\)_/¯)(?![^\s.,!?)])"
)
_ARROWS = {"->": "→", "=>": "⇒"}
_ARROW = re.compile(r"(?<=\s)[-=]>(?=\s)|(?<=\b[A-Z]{3})->(?=[A-Z]{3}\b)")
_GREEK = re.compile(
    r"(?<!\w)[\u0391-\u03a1\u03a3-\u03f5µ](?!\w)|(?<!\w)[\u0391-\u03a1\u03a3-\u03f5](?=[A-Za-z]{1,4}\b)"
    r"|(?<!\w)µ(?=(?:max|min)\b)"
    r"|(?<=[A-Z])[α-ω](?![α-ω])"
)
# Two letters or more beside words of English, "αβ cells", but not words of Greek.
_SEVERAL_GREEK = re.compile(r"(?<![\w'’])(?<![α-ω] )[α-ω]{2,4}(?=[\s-][A-Za-z]|\))")
_GREEK_NAME = re.compile(r"GREEK (?:SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")

_STRAIGHT_OPEN = re.compile(r"(?:(?<=^)|(?<=[\s(—“]))\"(?=\S)")
# Quotation marks, but not the apostrophe of an elision or of a possessive plural.
_SINGLE_QUOTED = re.compile(
    rf"(?<![\w'])'(?=[\w“]){ELISION}((?:[^'\n]|'(?=\w)){{1,300}}?)'(?!\w)", re.IGNORECASE
)
_STRAIGHT = re.compile('"')
_SINGLE_QUOTES = re.compile(
    rf"(?<![\w'])'(?=\w){ELISION}"
    r"|(?<=[.,!?;:…—”])'(?!\w)|(?<!\w)'(?!\w)",
    re.IGNORECASE,
)
# The dash of names that are one: "Diffie–Hellman", "New York–based".
_JOINED_NAMES = re.compile(
    r"(\b[A-Z][^\W\d_]+)–(?=[A-Z][^\W\d_]|(?:based|style|born|bound|led|owned|backed|trained|area|era)\b)"
)
_WORDS_WITH_EN_DASH = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,40})–([^\W\d_]{2,40})")
_CLAUSE_MARKS = re.compile(r"[.,;:!?()—“”]")
_DASHES = re.compile(r"\s*(?:—+|-{2,}|(?<=\s)[-–]+(?=\s)|(?<=\w)–(?=\w)|–+)\s*")
_ELLIPSIS = re.compile(r"\.(?:\s?\.){2,}|…+")
_STRAY_HYPHENS = re.compile(r"(?<!')(?<![^\W_])-+|-+(?![^\W_])")
_REPEATED = re.compile(r"([,;:—…])(?:\s*\1)+")
_MANY = re.compile(r"([!?]{3})[!?]+")
_BEFORE_MARK = re.compile(r"\s+([.,;:!?…)”])")
_AFTER_OPEN = re.compile(r"([(“])\s+")
_EMPTY_PAIR = re.compile(r"\(\s*[.,;:!?]*\)|“\s*[.,;:!?]*”")
_MISSING_SPACE = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])|(?<=[a-z][,;:!?])(?=[A-Za-z])")
# The end of a line without a mark, before a line that begins with what it tells of: "Name: Bo".
_LABELLED_LINE = re.compile(
    r"(?<=[^\s.,;:!?…—])[ \t]*\n[ \t]*(?=[A-Z][A-Za-z .'/#()-]{0,24}:[ \t]+\S)"
)
# All white space but a single space, which is what it becomes.
_SPACES = re.compile(r" \s+|[^\S ]\s*")
_FINISHED = re.compile(r"[.!?…:;,—][”\")]*$")
_LONG_WORD = re.compile(rf"([^\W\d_]{{{MAX_WORD}}})(?=[^\W\d_])")
_LONG_CHAIN = re.compile(r"((?:[^\W\d_]+['.-]){5}[^\W\d_]+)['.-](?=[^\W\d_])")
_UNUSUAL_SIGNS = re.compile(rf"[^A-Za-z.,;:!?—…“”()'\- {PRONOUNCED}{LETTER_A}]+")


def _fraction(match: re.Match[str]) -> Replacement:
    halves = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
    return f"{match[1]} {halves}" if match[1] else halves


def _clean_characters(text: Tracked) -> Tracked:
    """Unify quotes, dashes, spaces and digits, and remove invisible characters."""
    text = text.sub(_LINE_END, "\n").composed().sub(_VULGAR_FRACTION, _fraction)
    text = text.sub(_LOW_QUOTES, _quoted).sub(_BACKTICK_APOSTROPHE, "'")
    text = text.sub(_SMALL_FRACTION, lambda m: unicodedata.normalize("NFKC", f"{m[1]}/{m[2]}"))
    text = text.sub(_MARKED_SYMBOL, lambda m: f"{m[1]} {_MARKS[m[2]]}")
    text = text.sub(_NUMBER_SIGN, "No. ").sub(_LOW_BEFORE_DIGIT, _low_digits)
    text = plain_letters(text.sub(_CHARACTER, _unified))
    text = text.sub(_ARROW, lambda m: _ARROWS[m[0]]).sub(_STARS, "^")
    return text.sub(_UNUSUAL, _clean_run)


def _low_digits(match: re.Match[str]) -> list[Piece]:
    """Low digits, apart from the digit after them: "log₂8"."""
    return [Piece(f"{unicodedata.normalize('NFKC', match[0])} ", *match.span())]


def _unified(match: re.Match[str]) -> str:
    return match[0] if _DIFFERENCE.match(match.string, match.start()) else _CHARACTERS[match[0]]


def _quoted(match: re.Match[str]) -> list[Piece]:
    start, end = match.span()
    return [Piece("“", start, start + 1), Piece("”", end - 1, end)]


def _clean_run(match: re.Match[str]) -> list[Piece]:
    return [
        Piece(_clean_character(character), position, position + 1)
        for position, character in enumerate(match[0], match.start())
    ]


def _clean_character(character: str) -> str:
    if character in "\n\t":
        return character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category.startswith("Z"):
        return " "
    if category == "Cf":
        return ""
    return " " if category == "Cc" else character


def _read_signs(text: Tracked) -> Tracked:
    text = text.sub(_COMPARISON, _sign)
    text = text.sub(_INITIALS_AND, _initials_and)
    text = text.sub(_LONG_OPTION, "dash dash ")
    text = text.sub(_OPTION, lambda m: f"dash {_spelled((m[1] or m[2]).upper())}")
    text = (
        text.sub(_HASHTAG, "hashtag ")
        .sub(_NOTE_A, LETTER_A)
        .sub(_SHARP, " sharp")
        .sub(_LEADING_POINT, "dot ")
    )
    text = text.sub(_VARIABLE, "dollar ").sub(_SIGN, _sign)
    text = text.sub(_SEVERAL_GREEK, lambda m: " ".join(m[0])).sub(
        _GREEK, lambda m: f" {_greek_name(m[0])} "
    )
    text = text.sub(_END_OF_VERSE, _end_of_verse).sub(_SLASHED, _slashed)
    text = text.sub(_LETTERS_SLASHED, lambda m: m[0].replace("/", " "))
    return text.sub(_LONE_SLASH, " slash ")


def _initials_and(match: re.Match[str]) -> str:
    """Initials with "and" between them: "R&D", "Q&As"."""
    last = f"{match[2]}'s" if match[3] else _spelled(match[2])
    return f"{_spelled(match[1])} and {last}"


def _end_of_verse(match: re.Match[str]) -> Replacement:
    """The slash between two lines of verse, of three words or more: "summer's day? / Thou art"."""
    before = match.string[max(0, match.start() - 200) : match.end(1)]
    after = match.string[match.end() : match.end() + 200]
    words = min(len(before.split(" / ")[-1].split()), len(after.split(" / ")[0].split()))
    if words < 3:
        return match[0]
    return [Piece(" " if match[1] in ".,;:!?—”" else ", ", match.end(1), match.end())]


def _sign(match: re.Match[str]) -> str:
    """The words of a sign, without a verb where one stands before it: "was < 5"."""
    words = _SIGN_WORDS[match[0].strip()]
    if _IS_BEFORE.search(match.string, max(0, match.start() - 20), match.start()):
        words = words.removeprefix("is ")
    return f" {words} "


def _greek_name(letter: str) -> str:
    """The name of a letter without its accents, of the micro sign as well: "eta" of ή."""
    plain = unicodedata.normalize("NFKD", letter)[0]
    named = _GREEK_NAME.match(unicodedata.name(plain, ""))
    return named[1].lower().replace("lamda", "lambda") if named else letter


def _spelled(letters: str) -> str:
    """Capitals that are named one by one; "A" alone would be the article."""
    return LETTER_A if letters == "A" else ".".join(letters)


def _slashed(match: re.Match[str]) -> str:
    """Words that have a slash between them by custom: "and/or", "he/she"."""
    small = match[1][0].lower() + match[1][1:]
    words = _SHORT_SLASHES.get(small) or _SLASHED_WORDS.get(match[1].lower())
    if words is None:
        return match[0]
    return words.capitalize() if match[1][0].isupper() and not match[1].isupper() else words


def _quotes(text: Tracked) -> Tracked:
    text = text.sub(_SINGLE_QUOTED, _quoted).sub(_SINGLE_QUOTES, "")
    return text.sub(_STRAIGHT_OPEN, "“").sub(_STRAIGHT, "”")


def _en_dash(match: re.Match[str]) -> str:
    """The words of a compound, "cost–benefit", or those around a dash: "late–but not too late".

    A dash that parts a clause is one of two or stands beside a word of the closed classes.
    """
    before = _CLAUSE_MARKS.split(match.string[max(0, match.start() - 200) : match.start()])[-1]
    after = _CLAUSE_MARKS.split(match.string[match.end() : match.end() + 200])[0]
    parts = "–" in before + after or any(word.lower() in CLOSED for word in match.groups())
    return match[0] if parts else f"{match[1]}-{match[2]}"


def _punctuation(text: Tracked) -> Tracked:
    text = text.sub(_ELLIPSIS, "…").sub(_STRAY_HYPHENS, " ")
    text = text.sub(_MANY, r"\1").sub(_REPEATED, r"\1").sub(_MISSING_SPACE, " ")
    text = text.sub(_SPACES, " ").sub(_BEFORE_MARK, r"\1").sub(_AFTER_OPEN, r"\1")
    return text.sub(_EMPTY_PAIR, " ").sub(_SPACES, " ").strip()


def _reading(placed: tuple[int, str]) -> Literal["letter", "markup", "none"]:
    character = placed[1]
    if character.isalpha() and unicodedata.name(character, "").startswith("LATIN "):
        return "letter"
    return "markup" if character in "_*~|#<>`´" or character.isspace() else "none"


def _leave_out(text: Tracked, unspoken: list[tuple[int, int]]) -> Tracked:
    """Replace runs of characters without an English reading by a space, and record each run."""

    def replace(match: re.Match[str]) -> list[Piece]:
        pieces: list[Piece] = []
        for kind, run in itertools.groupby(enumerate(match[0], match.start()), _reading):
            characters = list(run)
            start, end = characters[0][0], characters[-1][0] + 1
            if kind == "none":
                unspoken.append(text.span(start, end))
            words = "".join(c for _, c in characters) if kind == "letter" else " "
            pieces.append(Piece(words, start, end))
        return pieces

    return text.sub(_UNUSUAL_SIGNS, replace)


def _paragraph(text: Tracked, british: bool, unspoken: list[tuple[int, int]]) -> Tracked:
    text = text.sub(_EMOTICON, "").sub(_RULED_LINE, "").sub(_MARKUP, "")
    text = text.sub(_LABELLED_LINE, ". ").sub(_SPACES, " ")
    text = expand_clipped(lower_capitals(expand_addresses(expand_early(text))))
    text = expand_abbreviations(text)
    text = expand_numerals(expand_roman_numerals(text), british)
    text = _quotes(_read_signs(text)).sub(_JOINED_NAMES, r"\1-")
    text = text.sub(_WORDS_WITH_EN_DASH, _en_dash).sub(_DASHES, "—")
    text = _leave_out(text, unspoken)
    return _punctuation(text.sub(_LONG_WORD, r"\1 ").sub(_LONG_CHAIN, r"\1 "))


def normalize(text: str, british: bool = False) -> Normalized:
    """Spell out numbers, signs and abbreviations; normalize punctuation and white space.

    Blank lines and list items end a paragraph. A paragraph without a final mark gets a point if
    another paragraph follows. The running time is linear in the length of the text.
    """
    markup: list[Markup] = []
    unspoken: list[tuple[int, int]] = []

    def given(match: re.Match[str]) -> list[Piece]:
        start, end = match.span(1)
        markup.append(Markup(start, end, phonemes=match[2]))
        return [
            Piece("", match.start(), start),
            Piece(PRONOUNCED, start, end),
            Piece("", end, match.end()),
        ]

    def stressed(match: re.Match[str]) -> list[Piece]:
        start, end = tracked.span(*match.span(1))
        markup.append(Markup(start, end, stress=float(match[2])))
        return _inner(match)

    def pronounced(match: re.Match[str]) -> str:
        unspoken.append(tracked.span(*match.span()))
        return " "

    tracked = Tracked.of(text).sub(_PLACEHOLDER, " ").sub(_GIVEN, given)
    tracked = tracked.sub(_STRESSED, stressed).sub(_LINK, _inner)
    tracked = expand_formulas(tracked.sub(_PRONUNCIATION, pronounced))
    tracked = without_markdown(expand_prose(tracked))
    cleaned = _clean_characters(without_html(tracked.sub(_BAR, ","))).sub(_HEADING, "")
    paragraphs = [
        paragraph
        for part in cleaned.sub(_START, "\n")
        .sub(_ITEM, _item)
        .sub(_BULLET, "\n\n")
        .split(_PARAGRAPH)
        if (paragraph := _paragraph(part, british, unspoken)).text
    ]
    finished = [p if _FINISHED.search(p.text) else p.followed_by(".") for p in paragraphs[:-1]]
    ordered = sorted(markup, key=lambda mark: mark.start)
    return Normalized((*finished, *paragraphs[-1:]), tuple(ordered), tuple(sorted(unspoken)))


def _item(match: re.Match[str]) -> list[Piece]:
    """The number of a list item, which is spoken with a pause after it."""
    return [Piece("\n\n", match.start(), match.start(1)), Piece(",", *match.span(2))]


def _inner(match: re.Match[str]) -> list[Piece]:
    """The first group that has matched, alone."""
    start, end = match.span(1 if match[1] is not None else 2)
    return [Piece("", match.start(), start), Piece("", end, match.end())]
