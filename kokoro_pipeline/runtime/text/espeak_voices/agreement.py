"""Numbers that agree with the noun behind them: "veintiún libros", "duas casas", "une fille".

eSpeak reads every number as one counts: "veintiuno libros". What a noun changes is the one, in
Portuguese the two and, in Spanish and Portuguese, the hundreds. Other numbers stay digits.
"""

from __future__ import annotations

import re

from ..say_as import in_words
from .forms import Forms

_MILLIONS = {"es": "mill", "pt-br": "milh"}
_MILLION = 10**6
_MOST = 10**12
# In Italian before "studente", "zio", "gnomo", "psicologo", "yacht" and "iato".
_UNO = re.compile(r"(?:s[^aeiou]|z|gn|p[sn]|x|y|i[aeou])", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouàèéìòù]", re.IGNORECASE)


def is_feminine(word: str, forms: Forms) -> bool:
    """Whether a name or noun is feminine, by the lists and endings of the language."""
    if word in forms.words("feminine") or word.lower() in forms.words("feminine"):
        return True
    masculine = word.lower() in forms.words("masculine")
    if masculine or word.lower().endswith(tuple(forms.words("masculine ending"))):
        return False
    return word.lower().endswith(("a", *forms.words("feminine ending")))


def agreeing(number: int, gender: str, noun: str, forms: Forms) -> str | None:
    """The words of a number before a noun of a gender, "m" or "f", without a space behind "un'".

    None if they are those that one counts with, or the language has one form. `noun` may be empty
    where it is not known.
    """
    if number >= _MOST:
        return None
    if forms.code == "it":
        return _italian(gender, noun) if number == 1 else None
    if forms.code not in ("es", "fr", "pt-br"):
        return None
    counted = in_words(number, forms.code, "cardinal").replace(",", "")
    if forms.code == "fr":
        said = re.sub(r"\bun$", "une", counted) if gender == "f" else counted
    else:
        # The word for millions is a noun of its own, which what is before it agrees with.
        large, small = _parts(counted, number, forms.code)
        said = large + (_SMALL[forms.code](small, gender) if small else "")
    return said if said != counted else None


def _parts(words: str, number: int, code: str) -> tuple[str, str]:
    """The words up to the millions, and those behind."""
    if number < _MILLION:
        return "", words
    end = re.search(rf"{_MILLIONS[code]}\w+\s?", words)
    return (words[: end.end()], words[end.end() :]) if end else (words, "")


def _spanish(words: str, gender: str) -> str:
    words = re.sub(r"\bveintiuno(?= mil)", "veintiún", words)
    words = re.sub(r"\buno(?= mil)", "un", words)
    if gender == "m":
        return re.sub(r"\buno$", "un", re.sub(r"\bveintiuno$", "veintiún", words))
    return re.sub(r"uno$", "una", re.sub(r"(?<=ient)os\b", "as", words))


def _portuguese(words: str, gender: str) -> str:
    if gender == "m":
        return words
    words = re.sub(r"\bum\b", "uma", re.sub(r"\bdois\b", "duas", words))
    return re.sub(r"(?<=ent)os\b", "as", words)


_SMALL = {"es": _spanish, "pt-br": _portuguese}


def _italian(gender: str, noun: str) -> str:
    if gender == "f":
        return "un'" if _VOWEL.match(noun) else "una"
    return "uno" if not noun or _UNO.match(noun) else "un"


class Agreement:
    """Finds the noun behind a number in the texts of a language."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        labels = {said[0] for said in forms.of("abbreviation number").values()}
        self._labels = labels | forms.words("counted") | forms.words("number of")
        self._no_noun = forms.words("no noun")
        self._either = forms.words("either gender")
        self._before_one = forms.words("before one")

    def said(self, number: int, text: str, start: int, end: int) -> tuple[str, int] | None:
        """The words for a number that is written from `start` to `end`, and where they end.

        None if no noun follows or it changes nothing. A number behind the name of what is counted
        ("capítulo 1", "el 21") has no noun, and neither has a word that is no plural behind others
        than 1. The end is that of the number or, behind "un'", of the space.
        """
        following = noun = _NEXT.match(text, end)
        while noun and noun[1] in self._either:
            noun = _NEXT.match(text, noun.end())
        if following is None or noun is None or noun[1] in self._no_noun:
            return None
        before = _LAST.search(text, max(0, start - _LONGEST), start)
        behind = before[1].lower() if before else ""
        if number == 1:
            if (behind and behind not in self._before_one) or noun[1].endswith("s"):
                return None
        elif behind in self._labels or not noun[1].endswith("s"):
            return None
        gender = "f" if is_feminine(noun[1], self._forms) else "m"
        said = agreeing(number, gender, following[1], self._forms)
        if said is None:
            return None
        return said, end + 1 if said.endswith("'") else end


_NEXT = re.compile(r"[ \u00a0\u202f]([a-zß-öø-ÿœ]{2,})(?![\w@'’-]|\.\w)")
_LAST = re.compile(r"(\w+)['’]?[ \u00a0\u202f]$")
_LONGEST = 40
"""Characters in which the word before a number is looked for."""
