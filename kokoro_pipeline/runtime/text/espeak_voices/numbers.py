"""Numbers as the languages that eSpeak reads write them, and amounts of something.

eSpeak reads a run of digits right, and takes every point and comma for a mark of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .agreement import agreeing
from .forms import SPACE, Forms, squeezed

_GUARD = r"(?<![\d.,])"
_END = r"(?![.,]?\d)"
_LONGEST = 12
"""The most digits of a number; longer ones are codes."""
_MILLION = re.compile(r"[1-9]\d*0{6}")


def number_pattern(forms: Forms, name: str) -> str:
    """A pattern of a number of a language, as the group `name`.

    It begins and ends with the number: neither "1.2.3" nor a part of "1,2,3" is one.
    """
    if not forms.word("decimal comma"):
        grouped = r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?"
        return rf"{_GUARD}(?P<{name}>(?:{grouped}|\d+(?:\.\d+)?){_END})"
    joint = f"{name}_joint"
    grouped = (
        rf"(?<!\d{SPACE})(?<!\+)[1-9]\d{{0,2}}(?P<{joint}>[. \u00a0\u202f])\d{{3}}"
        rf"(?:(?P={joint})\d{{3}})*"
        rf"(?!{SPACE}?\d)(?:,\d+)?"
    )
    english = r"[1-9]\d{0,2}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})"
    return rf"{_GUARD}(?P<{name}>(?:{grouped}|{english}|\d+(?:[.,]\d+)?){_END})"


class Number:
    """A number that `number_pattern` found."""

    def __init__(self, written: str, forms: Forms) -> None:
        self._forms = forms
        whole, joint, self.decimals = _parts(squeezed(written), forms)
        self.whole = whole
        self._point = forms.word("decimal comma" if joint == "," else "decimal point")

    @property
    def is_million(self) -> bool:
        """Whether its last word is one of millions, which a noun is joined to by "of"."""
        return not self.decimals and _MILLION.fullmatch(self.whole) is not None

    @property
    def is_singular(self) -> bool:
        """Whether a noun behind it is in the singular."""
        if self._forms.word("singular below two"):
            return self.whole in ("0", "1")
        return self.whole == "1" and not self.decimals

    def __str__(self) -> str:
        """What eSpeak reads as the number."""
        whole = spaced(self.whole) if self._is_code else self.whole
        if not self.decimals:
            return whole
        return f"{whole} {self._point} {self._said_decimals()}"

    @property
    def counts(self) -> bool:
        """Whether it is a whole number, and no code, of what a noun behind it names."""
        return not self.decimals and not self._is_code

    @property
    def _is_code(self) -> bool:
        return len(self.whole) > _LONGEST or (self.whole[0] == "0" and len(self.whole) > 1)

    def before(self, gender: str, noun: str = "") -> str:
        """The number before a noun of a gender, "m" or "f"."""
        said = agreeing(int(self.whole), gender, noun, self._forms) if self.counts else None
        return said or str(self)

    def _said_decimals(self) -> str:
        rest = self.decimals.lstrip("0")
        zeros = len(self.decimals) - len(rest)
        if not self._forms.word("decimal comma") or len(rest) > 3 or (zeros and len(rest) > 2):
            return spaced(self.decimals)
        return " ".join([*("0" * zeros), *([rest] if rest else [])])


def spaced(digits: str) -> str:
    """Digits that eSpeak reads one by one."""
    return " ".join(digits)


def _parts(written: str, forms: Forms) -> tuple[str, str, str]:
    """The digits before the decimal sign, that sign, and those behind it."""
    if not forms.word("decimal comma"):
        whole, joint, decimals = written.replace(",", "").partition(".")
        return whole, joint, decimals
    signs = re.findall("[.,]", written)
    if not signs:
        return written, "", ""
    last = signs[-1]
    groups = written.split(last)
    grouped = len(groups[0]) <= 3 and groups[0][0] != "0" and all(len(g) == 3 for g in groups[1:])
    if len(set(signs)) == 1 and (len(signs) > 1 or (last == "." and grouped)):
        return "".join(groups), "", ""
    whole, _, decimals = written.rpartition(last)
    return re.sub("[.,]", "", whole), last, decimals


def amount(number: Number, noun: Sequence[str], forms: Forms) -> str:
    """A number of something, whose noun is in the singular, the plural, and "f" or nothing."""
    gender = "f" if "f" in noun[2:] else "m"
    said = noun[0 if number.is_singular else 1]
    of = forms.word("of") if number.is_million else ""
    before = number.before(gender, said)
    space = "" if before.endswith("'") else " "
    return before + space + joined_by(of, said, forms)


def joined_by(of: str, noun: str, forms: Forms) -> str:
    """A noun behind the word that joins it to "million", if there is one."""
    if of and forms.code == "fr" and noun[0] in "aeiouyhé":
        return f"d'{noun}"
    return f"{of} {noun}" if of else noun
