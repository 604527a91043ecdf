"""Numbers as English words: "one hundred one", or "one hundred and one" in British English."""

from __future__ import annotations

_SMALL = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = (
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "quintillion",
    "sextillion",
    "septillion",
    "octillion",
)
_LARGEST = 1000 ** (len(_SCALES) + 1)

_IRREGULAR_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def _below_hundred(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")


def _below_thousand(number: int, british: bool) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    words = f"{_SMALL[hundreds]} hundred"
    if rest:
        words += (" and " if british else " ") + _below_hundred(rest)
    return words


def digits(text: str) -> str:
    """Read each ASCII digit by itself: "007" is "zero zero seven"."""
    return " ".join(_SMALL[int(digit)] for digit in text if digit.isdecimal())


def cardinal(number: int, british: bool = False) -> str:
    """A cardinal: "one hundred (and) five". Numbers too large to have a name are read by digits."""
    if number < 0:
        return "minus " + cardinal(-number, british)
    if number >= _LARGEST:
        return digits(str(number))
    if number < 1000:
        return _below_thousand(number, british)
    groups: list[str] = []
    rest = number
    for scale in ("", *_SCALES):
        rest, group = divmod(rest, 1000)
        if group:
            joint = "and " if british and not scale and group < 100 else ""
            groups.append(joint + _below_thousand(group, british) + (f" {scale}" if scale else ""))
        if not rest:
            break
    return " ".join(reversed(groups))


def ordinal(number: int, british: bool = False) -> str:
    """An ordinal: "twenty-first"."""
    words = cardinal(number, british)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    head, last = words[:cut], words[cut:]
    if last in _IRREGULAR_ORDINALS:
        last = _IRREGULAR_ORDINALS[last]
    else:
        last = (last[:-1] + "ie" if last.endswith("y") else last) + "th"
    return head + last


def year(number: int, british: bool = False) -> str:
    """A year, from 1000 on read in pairs: "nineteen oh five", "twenty twenty-four"."""
    century, rest = divmod(number, 100)
    if number % 1000 < 10 or century > 99:
        return cardinal(number, british)
    if not rest:
        return f"{_below_hundred(century)} hundred"
    return f"{_below_hundred(century)} " + (
        f"oh {_SMALL[rest]}" if rest < 10 else _below_hundred(rest)
    )


def decimal(text: str, british: bool = False) -> str:
    """ASCII digits with an optional point: "3.14" is "three point one four", ".5" "point five"."""
    whole, point, fraction = text.partition(".")
    words = [cardinal(int(whole), british)] if whole else []
    if point:
        words += ["point", digits(fraction)]
    return " ".join(words)


def plural(words: str) -> str:
    """The plural of a noun or of the last word of a number: "nineties", "inches", "dollars"."""
    if words.endswith("y") and words[-2:-1] not in set("aeiou"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith(("s", "x", "ch")) else "s")
