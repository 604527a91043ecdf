"""Read chords and their progressions: "Cmaj7", "F#m7b5", "a ii–V–I"."""

from __future__ import annotations

import re

from .letters import LETTER_A
from .numbers import cardinal
from .rules import Phrase, Rule

_QUALITIES = {
    "maj": "major",
    "min": "minor",
    "m": "minor",
    "dim": "diminished",
    "aug": "augmented",
    "sus": "sus",
    "add": "add",
}
_SIGNS = {"#": "sharp", "♯": "sharp", "b": "flat", "♭": "flat"}
_NUMERALS = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7}
_NUMERAL = r"(?:VII|VI|V|IV|III|II|I|vii°?|vi|v|iv|iii|ii|i)"


def _chord(match: re.Match[str], british: bool) -> str:
    """A chord by its root, quality and the tones that it adds."""
    root, sign, quality, number, altered, tone = match.groups()
    words = [LETTER_A if root == "A" else root]
    words += [_SIGNS[sign]] if sign else []
    words.append(_QUALITIES[quality])
    words += [cardinal(int(number))] if number else []
    words += [_SIGNS[altered], cardinal(int(tone))] if altered else []
    return " ".join(words)


def _progression(match: re.Match[str]) -> str:
    """Three degrees or more of a scale, "ii–V–I", but no stammer, "I-I-I"."""
    degrees = re.split(r"\s?[-–]\s?", match[0].replace("°", ""))
    if len(set(degrees)) == 1:
        return match[0]
    return " ".join(cardinal(_NUMERALS[degree.lower()]) for degree in degrees)


PROGRESSIONS: tuple[Phrase, ...] = (
    (
        re.compile(rf"(?<![\w–-]){_NUMERAL}(?:\s?[-–]\s?{_NUMERAL}){{2,7}}(?![\w–'’-])"),
        _progression,
    ),
)
"""Degrees of a scale, before other Roman numerals are read."""


def _note(match: re.Match[str], british: bool) -> str:
    """The flat note that an instrument or a key is named by: "a Bb clarinet"."""
    root = match[1] or match[2]
    return f"{LETTER_A if root == 'A' else root} flat"


_INSTRUMENTS = (
    r"clarinets?|trumpets?|cornets?|(?:alto|tenor|soprano|baritone|bass)\s(?:sax(?:ophone)?|clarinet)"
    r"|alto|tenor|soprano|baritone|sax(?:ophone)?s?|horns?|tubas?|flugelhorns?|euphoniums?|flutes?"
    r"|harmonicas?|instruments?|major|minor|scales?|chords?|blues|notes?|natural|lydian|mixolydian"
)

CHORDS: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w.$-])([ABDEG])b(?=\s(?:{_INSTRUMENTS})\b)"
            r"|(?<=\bkey of )([ABDEG])b(?![\w-])"
        ),
        _note,
    ),
    (
        re.compile(
            r"(?<![\w.$-])([A-G])([#♯b♭]?)"
            r"(maj(?=7|9|11|13)|min(?=7|9|11)|m(?=6|7|9|11)|dim(?=7|\b)|aug(?=7)|sus(?=[24])"
            r"|add(?=[249])|(?<=[#♯♭])(?:maj|min|m|aug)(?![a-z]))"
            r"(\d{1,2})?(?:([#♯b♭])(5|9|11|13))?(?![\w-]|\.\d)"
        ),
        _chord,
    ),
)
"""Chords that nothing else is written as: "Am" is a word, and "E5" a place."""
