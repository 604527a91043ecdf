"""Numbers as English words: "one hundred one", or "one hundred and one" in British English."""

from __future__ import annotations

from functools import lru_cache

_LARGEST = 10**30
_DENOMINATORS = {2: "half", 3: "third", 4: "quarter"}


@lru_cache(4096)
def _words(number: int, british: bool, kind: str) -> str:
    from num2words import num2words  # of the extra `text`, whose absence `load_english` reports

    words: str = num2words(number, to=kind).replace(",", "").replace("oh-", "oh ")
    return words if british else words.replace(" and ", " ")


def digits(text: str) -> str:
    """Read each ASCII digit by itself: "007" is "zero zero seven"."""
    return " ".join(_words(int(digit), False, "cardinal") for digit in text if digit.isdecimal())


def cardinal(number: int, british: bool = False) -> str:
    """A cardinal: "one hundred (and) five". Numbers too large to have a name are read by digits."""
    if abs(number) >= _LARGEST:
        return ("minus " if number < 0 else "") + digits(str(number))
    return _words(number, british, "cardinal")


def ordinal(number: int, british: bool = False) -> str:
    """An ordinal: "twenty-first"."""
    if number >= _LARGEST:
        return digits(str(number)) + "th"
    return _words(number, british, "ordinal")


def year(number: int, british: bool = False) -> str:
    """A year, in pairs where people do so: "nineteen oh five", "ten sixty-six"."""
    return _words(number, british, "year" if number < 10_000 else "cardinal")


def in_pairs(text: str, british: bool = False) -> str:
    """Names of rooms, flights and formats: "two thirty-seven", "ten eighty", "one oh one"."""
    number = int(text)
    if len(text) < 3 or number % 1000 == 0 or len(text) > 4:
        return cardinal(number, british)
    hundreds, rest = divmod(number, 100)
    if not rest:
        return f"{cardinal(hundreds)} hundred"
    return f"{cardinal(hundreds)} {f'oh {cardinal(rest)}' if rest < 10 else cardinal(rest)}"


def fraction(above: int, below: int, *, behind_whole: bool = False) -> str:
    """A common fraction: "three quarters", "one half"; "a half" behind a whole number."""
    name = _DENOMINATORS.get(below) or ordinal(below)
    count = "a" if behind_whole and (above, below) == (1, 2) else cardinal(above)
    return f"{count} {plural(name) if above > 1 else name}"


def decimal(text: str, british: bool = False) -> str:
    """ASCII digits with an optional point: "3.14" is "three point one four", ".5" "point five"."""
    whole, point, fraction = text.partition(".")
    words = [cardinal(int(whole), british)] if whole else []
    if point:
        words += ["point", digits(fraction)]
    return " ".join(words)


def plural(words: str) -> str:
    """The plural of a noun or of the last word of a number: "nineties", "inches", "dollars"."""
    if words.endswith("half"):
        return words[:-1] + "ves"
    if words.endswith("y") and words[-2:-1] not in set("aeiou"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith(("s", "x", "ch")) else "s")
