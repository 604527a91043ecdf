"""Roman numerals after names of rulers and of what is counted, and before centuries."""

from __future__ import annotations

import re

from ..tracked import Tracked
from .agreement import is_feminine
from .forms import Forms

_ROMAN = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})(?![\w'’.-]\w|\w)"
_NAMED = re.compile(rf"(?<![\w-])([^\W\d_][^\W\d_]+) ({_ROMAN})")
_CENTURY = re.compile(r"(?<!\w)((?=[IVX])X{0,3}(?:IX|IV|V?I{0,3}))(?:e|ème|ième|es)(?!\w)")
_ALONE = re.compile(rf"(?<![\w'’-])(?=[IVX]{{2}})({_ROMAN})")
_VALUES = {"I": 1, "V": 5, "X": 10}
_TENTH = 10


def value(roman: str) -> int:
    """The value of a numeral of the letters I, V and X."""
    values = [_VALUES[letter] for letter in roman]
    return sum(
        -one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True)
    )


def expand_roman_numerals(text: Tracked, forms: Forms) -> Tracked:
    """Write Roman numerals as eSpeak reads them: "Carlos V" as "Carlos 5º"."""
    if forms.code == "fr":
        text = text.sub(_CENTURY, lambda match: f"{value(match[1])}e")
    text = text.edit(
        (*match.span(2), said)
        for match in _NAMED.finditer(text.text)
        if (said := _after(match[1], match[2], forms))
    )
    if before := "|".join(sorted(forms.words("ordinal before"))):
        century = re.compile(rf"(?<![\w'’-])({_ROMAN})(?= (?:{before})\b)")
        text = text.sub(century, lambda match: f"{value(match[1])}º")
    if forms.code == "fr":
        text = text.sub(_ALONE, lambda match: str(value(match[1])))
    return text


def _after(word: str, roman: str, forms: Forms) -> str:
    """What a numeral behind a word is read as; nothing for one that is none."""
    if word.lower() not in forms.words("counted") and (
        (not word[0].isupper() and (len(roman) == 1 or forms.code == "fr"))
        or word.isupper()
        or (roman == "X" and word not in forms.words("tens"))
    ):
        return ""
    number = value(roman)
    if forms.code == "fr":
        return "premier" if number == 1 else str(number)
    if number > _TENTH and forms.code != "it":
        return str(number)
    return f"{number}{'ª' if is_feminine(word, forms) else 'º'}"
