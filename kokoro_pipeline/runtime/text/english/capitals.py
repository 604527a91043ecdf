"""Words in capitals that no lexicon has: a name is spoken, "POLONIUS", and letters are spelled."""

from __future__ import annotations

import re

_CONSONANT = "[B-DF-HJ-NP-TV-XZ]"
_VOWELS = "(?:[AEIOU]{1,2}|[AEOU]?Y)"
_ONSET = (
    "(?:SCH|S[CPT]R|SPL|[CST]HR|PHR|[BCDFGKPTVW][LR]|[CGPRSTW]H|S[CKLMNPQTW]|[STDG]W|QU|KN|GN|PS"
    f"|{_CONSONANT})"
)
_CODA = f"(?:[LMNRS]{_CONSONANT}S?|CK|CT|PT|FT|GH|[CPST]H|[PTK]S|BB|DD|FF|GG|PP|TT|ZZ|{_CONSONANT})"
_BETWEEN = f"(?:[LMNRS]?{_ONSET}|({_CONSONANT})\\1|CK|CT|PT|FT|[DK]G)"
_SYLLABLES = re.compile(f"{_ONSET}?{_VOWELS}(?:{_BETWEEN}{_VOWELS})+(?:{_CODA})?")
# What long names are no less: several vowels, and no consonants that nobody can say together.
_LONG = re.compile(f"(?:{_CONSONANT}{{0,3}}{_VOWELS}){{2,}}{_CONSONANT}{{0,3}}", re.IGNORECASE)
_UNSPOKEN = re.compile("[BCDFGJKPQVX]{3}|[AEIOU]{3}")
_SPELLED_BEGINNING = ("US", "UN", "UK")


def is_spoken_name(word: str) -> bool:
    """Whether a word in capitals that is in no lexicon has the syllables of a name.

    The shorter it is, the more regular they must be, as letters can stand in any order: "TOBY" and
    "MALVOLIO" are names, "USPTO" and "AICPA" are spelled.
    """
    if len(word) > 6:
        return _LONG.fullmatch(word) is not None and _UNSPOKEN.search(word) is None
    if len(word) < 4 or _SYLLABLES.fullmatch(word) is None:
        return False
    if len(word) == 4:
        return word[0] not in "AEIOU" and word[1] in "AEIOUY" and word[3] in "AEIOUY"
    return len(word) > 5 or not word.startswith(_SPELLED_BEGINNING)
