"""Normalize written English to words and plain punctuation for grapheme-to-phoneme conversion.

The output consists of letters of the Latin script, apostrophes and hyphens inside words, points
inside initialisms ("U.S"), single spaces, and the marks `. , ; : ! ? — … “ ” ( )`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from .abbreviations import expand_abbreviations, expand_addresses, expand_roman_numerals
from .numerals import expand_numerals

MAX_WORD = 48
"""The maximum number of letters of a word; longer words are cut.

Words of more than six parts joined by hyphens, apostrophes or points are cut as well, since the
lexicon tries every run of parts.
"""

PRONOUNCED = "\ue000"
"""Placeholder in the normalised text for a word whose phonemes are given in the input."""


@dataclass(frozen=True)
class Pronunciation:
    """A word marked up as `[text](/phonemes/)`."""

    text: str
    phonemes: str


@dataclass(frozen=True)
class Normalized:
    """Normalised paragraphs, given pronunciations, and the text left out, each in order."""

    paragraphs: tuple[str, ...]
    pronunciations: tuple[Pronunciation, ...]
    unspoken: tuple[str, ...]


_CHARACTERS = str.maketrans(
    {
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
        "‽": "?!",
        "¿": "",
        "¡": "",
        "！": "!",
        "？": "?",
        "：": ":",
        "；": ";",
        "μ": "µ",
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
    }
)
_LOW_QUOTES = re.compile(r"„([^“”„\n]{1,300})“")
_BACKTICK_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[`´](?=[^\W\d_])")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_COMPATIBLE = re.compile(
    r"[\u2100-\u214f\u2460-\u24ff\ufb00-\ufb06\uff01-\uff5e\U0001d400-\U0001d7ff]+"
)
_VULGAR_FRACTION = re.compile(r"(\d?)([¼-¾⅐-⅞])")

_GIVEN = re.compile(r"\[([^\[\]\n]{1,200})\]\(/([^()\n]{1,200})/\)")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,500})\]\((?:https?://|/|#|\.)[^()\s]{0,1000}\)")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+|^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_BULLET = re.compile(r"\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?=\S)")
_PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_MARKUP = re.compile(r"(?<!\w)[*_~`´]+(?=[^\W\d]|[“\"'(])|(?<=[\w.,;:!?”\"')])[*_~`´]+(?!\w)")

# Signs that are read as words, after those that belong to numbers have been replaced.
_SIGN_WORDS = {
    "&": "and",
    "@": "at",
    "+": "plus",
    "=": "equals",
    "×": "times",
    "÷": "divided by",
    "±": "plus or minus",
    "≈": "approximately",
    "≠": "is not equal to",
    "≤": "is at most",
    "≥": "is at least",
    "∞": "infinity",
    "√": "square root of",
    "%": "percent",
    "°": "degrees",
    "²": "squared",
    "³": "cubed",
    "→": "to",
    "$": "dollars",
    "£": "pounds",
    "€": "euros",
    "¥": "yen",
    "¢": "cents",
    "§": "section",
    "©": "copyright",
    "®": "registered",
    "\\": "backslash",
    "^": "to the power of",
}
_SIGN = re.compile("|".join(map(re.escape, _SIGN_WORDS)))
_COMPARISON = re.compile(r"(?<=\w)\s([<>])\s(?=\w)")
_HASHTAG = re.compile(r"(?<!\w)#(?=\w)")
_SHARP = re.compile(r"(?<=\b[A-G])[#♯](?!\w)")
_INITIALS_AND = re.compile(r"\b([A-Z]{1,3})&([A-Z]{1,3})\b")
_LEADING_POINT = re.compile(r"(?<![\w.])\.(?=[A-Za-z])")
_SLASH = re.compile(r"(?<=\w)/(?=\w)")
_LONE_SLASH = re.compile(r"/+")
_GREEK = re.compile(r"(?<!\w)[\u0391-\u03c9](?!\w)")

_STRAIGHT_OPEN = re.compile(r"(?:(?<=^)|(?<=[\s(—“]))\"(?=\S)")
# Quotation marks, but not the apostrophe of an elision or of a possessive plural.
_ELISION = r"(?!(?:tis|twas|em|cause|til|till|round|bout|n|neath|cept)\b)"
_SINGLE_QUOTED = re.compile(
    rf"(?<![\w'])'(?=[\w“]){_ELISION}((?:[^'\n]|'(?=\w)){{1,300}}?)'(?!\w)", re.IGNORECASE
)
_SINGLE_QUOTES = re.compile(
    rf"(?<![\w'])'(?=\w){_ELISION}"
    r"|(?<=[.,!?;:…—”])'(?!\w)|(?<!\w)'(?!\w)",
    re.IGNORECASE,
)
_DASHES = re.compile(r"\s*(?:—+|-{2,}|(?<=\s)[-–]+(?=\s)|(?<=\w)–(?=\w)|–+)\s*")
_ELLIPSIS = re.compile(r"\.(?:\s?\.){2,}|…+")
_STRAY_HYPHENS = re.compile(r"(?<![^\W_])-+|-+(?![^\W_])")
_REPEATED = re.compile(r"([,;:—…])(?:\s*\1)+")
_MANY = re.compile(r"([!?]{3})[!?]+")
_BEFORE_MARK = re.compile(r"\s+([.,;:!?…)”])")
_AFTER_OPEN = re.compile(r"([(“])\s+")
_EMPTY_PAIR = re.compile(r"\(\s*[.,;:!?]*\)|“\s*[.,;:!?]*”")
_MISSING_SPACE = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])|(?<=[a-z][,;:!?])(?=[A-Za-z])")
_SPACES = re.compile(r"\s+")
_FINISHED = re.compile(r"[.!?…:;,—][”\")]*$")
_LONG_WORD = re.compile(rf"([^\W\d_]{{{MAX_WORD}}})(?=[^\W\d_])")
_LONG_CHAIN = re.compile(r"((?:[^\W\d_]+['.-]){5}[^\W\d_]+)['.-](?=[^\W\d_])")
_KEPT = frozenset(".,;:!?—…“”()'- " + PRONOUNCED)


def _fraction(match: re.Match[str]) -> str:
    halves = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
    return f"{match[1]} {halves}".strip() if match[1] else halves


def _clean_characters(text: str) -> str:
    """Unify quotes, dashes, spaces and digits, and remove invisible characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _VULGAR_FRACTION.sub(_fraction, unicodedata.normalize("NFC", text))
    text = _BACKTICK_APOSTROPHE.sub("'", _LOW_QUOTES.sub(r"“\1”", text))
    text = text.translate(_CHARACTERS).translate(_SUBSCRIPTS)
    text = _COMPATIBLE.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    return "".join(map(_clean_character, text))


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


def _read_signs(text: str) -> str:
    text = _COMPARISON.sub(lambda m: " is less than " if m[1] == "<" else " is greater than ", text)
    text = _INITIALS_AND.sub(lambda m: f"{'.'.join(m[1])} and {'.'.join(m[2])}", text)
    text = _LEADING_POINT.sub("dot ", _SHARP.sub(" sharp", _HASHTAG.sub("hashtag ", text)))
    text = _SIGN.sub(lambda m: f" {_SIGN_WORDS[m[0]]} ", text)
    text = _GREEK.sub(lambda m: unicodedata.name(m[0]).split()[-1].lower(), text)
    return _LONE_SLASH.sub(" slash ", _SLASH.sub(" ", text))


def _quotes(text: str) -> str:
    text = _SINGLE_QUOTES.sub("", _SINGLE_QUOTED.sub(r"“\1”", text))
    return _STRAIGHT_OPEN.sub("“", text).replace('"', "”")


def _punctuation(text: str) -> str:
    text = _ELLIPSIS.sub("…", text)
    text = _STRAY_HYPHENS.sub(" ", text)
    text = _REPEATED.sub(r"\1", _MANY.sub(r"\1", text))
    text = _MISSING_SPACE.sub(" ", text)
    text = _SPACES.sub(" ", text)
    text = _AFTER_OPEN.sub(r"\1", _BEFORE_MARK.sub(r"\1", text))
    return _SPACES.sub(" ", _EMPTY_PAIR.sub(" ", text)).strip()


def _is_spoken(character: str) -> bool:
    if character in _KEPT:
        return True
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN ")


def _leave_out(text: str, unspoken: list[str]) -> str:
    """Replace runs of characters without an English reading by a space, and record each run."""
    kept: list[str] = []
    run = ""
    for character in text + " ":
        if _is_spoken(character):
            if run:
                unspoken.append(run)
                kept.append(" ")
                run = ""
            kept.append(character)
        elif character.isspace() or character in "_*~|#<>`´":  # markup and rules are not words
            kept.append(" ")
        else:
            run += character
    return "".join(kept)


def _paragraph(text: str, british: bool, unspoken: list[str]) -> str:
    text = _SPACES.sub(" ", _MARKUP.sub("", text))
    text = expand_abbreviations(expand_addresses(text))
    text = expand_numerals(expand_roman_numerals(text), british)
    text = _DASHES.sub("—", _quotes(_read_signs(text)))
    text = _leave_out(text, unspoken)
    text = _LONG_CHAIN.sub(r"\1 ", _LONG_WORD.sub(r"\1 ", text))
    return _punctuation(text)


def normalize(text: str, british: bool = False) -> Normalized:
    """Spell out numbers, signs and abbreviations; normalize punctuation and white space.

    Blank lines and list items end a paragraph. A paragraph without a final mark gets a point if
    another paragraph follows. The running time is linear in the length of the text.
    """
    pronunciations: list[Pronunciation] = []

    def given(match: re.Match[str]) -> str:
        pronunciations.append(Pronunciation(match[1], match[2]))
        return PRONOUNCED

    text = _GIVEN.sub(given, text.replace(PRONOUNCED, " "))
    text = _LINK.sub(r"\1", text)
    unspoken: list[str] = []
    cleaned = _HEADING.sub("", _clean_characters(text))
    paragraphs = [
        paragraph
        for part in _PARAGRAPH.split(_BULLET.sub("\n\n", "\n" + cleaned))
        if (paragraph := _paragraph(part, british, unspoken))
    ]
    finished = [p if _FINISHED.search(p) else p + "." for p in paragraphs[:-1]]
    return Normalized((*finished, *paragraphs[-1:]), tuple(pronunciations), tuple(unspoken))
