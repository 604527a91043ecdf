"""Amounts of money."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..tracked import Piece, Replacement
from .magnitudes import MAGNITUDE, MAGNITUDE_NAMES
from .measures import PER_UNIT, unit_per
from .number_forms import (
    DASH,
    NOUN_AFTER,
    NUMBER,
    START,
    in_the_plural,
    is_attributive,
    is_one,
    is_one_of_a_kind,
    plain,
)
from .numbers import cardinal, fraction
from .rules import Rule
from .tables import table, word_sets
from .tagging.kinds import CLOSED, IRREGULAR_PAST, LISTS, VERBS, Kind


class _Currency(NamedTuple):
    unit: str
    units: str
    cent: str
    cents: str


_CURRENCIES = {sign: _Currency(*words) for sign, *words in table("currencies")}
_SIGNS = "".join(sign for sign in _CURRENCIES if len(sign) == 1)
_CODES = "|".join(re.escape(sign) for sign in _CURRENCIES if len(sign) > 1)
_COUNTRIES = {
    "US": "US",
    "C": "Canadian",
    "CA": "Canadian",
    "A": "Australian",
    "AU": "Australian",
    "NZ": "New Zealand",
    "HK": "Hong Kong",
    "S": "Singapore",
    "SG": "Singapore",
}
_PRICED = word_sets("priced")
_PAID_FOR = re.compile(rf"\s(?:{'|'.join(sorted(_PRICED['noun']))})\b|-an?-[a-z]")
_PAID = "|".join(sorted(_PRICED["paid"]))
_ADJECTIVES = _PRICED["adjective"] | {
    word for word, (kind, _) in CLOSED.items() if kind is Kind.ADJECTIVE
}
_ADJECTIVE = rf"(?:\w+-[a-z]+,?|{'|'.join(sorted(_ADJECTIVES))}),?"
# "Its hostile", "a new four-year,", "Amazon's", but not "it's" or "the firm paid".
_DETERMINED = re.compile(
    r"(?:\b(?i:an?|the|this|its|his|her|their|our|my|your)"
    r"|(?<!\b[Ii]t)(?<!\b[Hh]e)(?<!hat)(?<!here)(?<!\b[Ww]ho)['’]s|s['’])\s"
    rf"(?:(?:{_ADJECTIVE}\s)?[a-z]+,?\s|(?:{_ADJECTIVE}\s){{1,2}})?$"
)
# A second adjective of the same noun: "a $5-million, three-year deal".
_ADJECTIVE_AFTER = re.compile(r",\s\w+-[a-z]+(?:-[a-z]+)?\s[a-z]")
_NO_NOUNS = _PRICED["paid"] | _PRICED["behind"]
_NEXT_WORD = re.compile(r"\s(?:(?:hour|dai|week|month|year)ly\s)?([A-Za-z][A-Za-z'’-]*)")
_PAID_BY = re.compile(
    rf"\s(?:[A-Z][\w'’-]*\s){{1,3}}(?:{_PAID}\b)|\s(?:people|[a-z]+s)\s(?:{_PAID})\b"
)
_RATE = re.compile(r"(?:\s?/\s?|\sper\s)[a-z]+\s[a-z]")


def _per_what(unit: str, power: str | None) -> str:
    """A unit, a noun or another currency behind an amount: "₹83/$"."""
    return _CURRENCIES[unit].unit if unit in _CURRENCIES else unit_per(unit, power)


def _money(match: re.Match[str], british: bool) -> Replacement:
    minus, country, sign, low, small, high, magnitude, behind, per, power = match.groups()
    currency = _CURRENCIES[sign]
    if country or behind:
        name = _COUNTRIES[country or behind]
        currency = currency._replace(
            unit=f"{name} {currency.unit}", units=f"{name} {currency.units}"
        )
    rate = _RATE.match(match.string, match.end(4))  # "a $60/year plan"
    hyphen = match[0].endswith(f"-{magnitude}")  # "$5-million deals"
    if small and not high:
        small, magnitude = None, small
    hyphen = hyphen and bool(
        NOUN_AFTER.match(match.string, match.end())
        or _ADJECTIVE_AFTER.match(match.string, match.end())
    )
    singular = hyphen or _names_a_price(match) or bool(rate and is_one_of_a_kind(match))
    words = _amount(high or low, currency, magnitude, singular, british)
    if high:
        scale = f" {MAGNITUDE_NAMES[small]}" if small else ""
        cents = "." in low and not (small or magnitude)
        first = _amount(low, currency, None, singular, british) if cents else plain(low, british)
        words = f"{first}{scale} to {words}"
    unknown = match.string[match.end() : match.end() + 1].isalpha()  # the letter of "$12e"
    rest = f" per {_per_what(per, power)}" if per else " " if unknown else ""
    return ("minus " if minus else "") + words + rest


def _names_a_price(match: re.Match[str]) -> bool:
    """Whether the amount describes a noun: "a $5 bill" and "$20-a-day habits" have dollar."""
    if is_attributive(match) or _PAID_FOR.match(match.string, match.end()):
        return True
    before = match.string[max(0, match.start() - 60) : match.start()]
    return bool(_DETERMINED.search(before)) and _has_noun_behind(match)


def _has_noun_behind(match: re.Match[str]) -> bool:
    """Whether a noun or its adjective follows: "the $5 million deal", but not what somebody does
    with the amount: "the $5 million raised"."""
    following = _NEXT_WORD.match(match.string, match.end())
    if not following or _PAID_BY.match(match.string, match.end()):
        return False
    word = following[1]
    if word in CLOSED:
        return word in _ADJECTIVES
    verb = word.endswith("s") and not VERBS.isdisjoint((word[:-1], word[:-2]))
    verb = verb or word in IRREGULAR_PAST or word in LISTS["participles"]
    return not (verb or word.endswith(("ed", "ly")) or word in _NO_NOUNS)


def _amount(
    number: str, currency: _Currency, magnitude: str | None, singular: bool, british: bool
) -> str:
    if magnitude:
        units = currency.unit if singular else currency.units
        return f"{plain(number, british)} {MAGNITUDE_NAMES[magnitude]} {units}"
    whole, _, fraction = number.replace(",", "").partition(".")
    if len(fraction) not in (0, 2):
        return f"{plain(number, british)} {currency.units}"
    amount, cents = int(whole or 0), int(fraction.ljust(2, "0"))
    words = []
    if amount or not cents:
        name = currency.unit if singular or amount == 1 else currency.units
        words.append(f"{cardinal(amount, british)} {name}")
    if cents:
        name = currency.cent if cents == 1 or singular else currency.cents
        words.append(f"{cardinal(cents)} {name}")
    return " and ".join(words)


def _money_after(match: re.Match[str], british: bool) -> str:
    number = match[1]
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})*,\d\d", number):  # as on the continent: 1.234,50 €
        number = number.replace(".", "").replace(",", ".")
    return _amount(number, _CURRENCIES[match[3]], match[2], is_attributive(match), british)


def _continental(match: re.Match[str], british: bool) -> list[Piece]:
    """Euros with points between thousands and a comma before cents: "€1.234,50"."""
    number = match[1].replace(".", "").replace(",", ".")
    return [Piece(number, *match.span(1))]


def _money_before(match: re.Match[str], british: bool) -> str:
    return _amount(match[2], _CURRENCIES[match[1]], match[3], is_attributive(match), british)


def _cents(match: re.Match[str], british: bool) -> list[Piece]:
    singular = is_one(match[1]) or _names_a_price(match)
    words = f"{plain(match[1], british)} {'cent' if singular else 'cents'}"
    if match[2]:
        words += f" per {unit_per(match[2], None)}"
    return [Piece(words, match.start(1), match.end())]


def _fraction_of_money(match: re.Match[str], british: bool) -> str:
    """Parts of a million: "$1/2 million", "$1 1/2 million"."""
    sign, whole, above, below, magnitude = match.groups()
    high, low = int(above), int(below)
    if not 0 < high < low:
        return match[0]
    currency = _CURRENCIES[sign]
    units = currency.unit if is_attributive(match) else currency.units
    if whole:
        part = f"{cardinal(int(whole), british)} and {fraction(high, low, behind_whole=True)}"
    else:
        part = "half a" if (high, low) == (1, 2) else f"{fraction(high, low)} of a"
    return f"{part} {magnitude} {units}"


def _negative_money(match: re.Match[str], british: bool) -> str:
    """An amount in parentheses, as accounts write what is negative: "$(2.5) million"."""
    return "minus " + _amount(match[2], _CURRENCIES[match[1]], match[3], False, british)


MONEY: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?:€|R\$|\bkr\.?|\b(?:EUR|CHF|SEK|NOK|DKK|PLN|BRL)|zł)\s?"
            r"(\d{1,3}(?:\.\d{3})+(?:,\d\d)?|\d+,\d\d?)(?!\d|[.,]\d)"
        ),
        _continental,
    ),
    (re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+(?:,\d\d)?)(?=\s?(?:€|kr\b|zł))"), _continental),
    (re.compile(r"(?<![\w.,])(\d+,\d\d)(?=\s?(?:kr\b|zł|EUR\b))"), _continental),
    (re.compile(rf"\b({_CODES})\s?({NUMBER}){MAGNITUDE}(?!\w)"), _money_before),
    (re.compile(rf"[{_SIGNS}](\d{{1,3}})s\b"), in_the_plural),
    (
        re.compile(rf"([{_SIGNS}])(?:(\d{{1,3}})[\s-])?(\d)/(\d)\s(million|billion|trillion)\b"),
        _fraction_of_money,
    ),
    (re.compile(rf"([{_SIGNS}])\s?\(({NUMBER})\){MAGNITUDE}"), _negative_money),
    (
        re.compile(
            rf"(?:(?<![\w)])([-−]))?(?:\b(US|CA|AU|NZ|HK|A|C|S))?([{_SIGNS}])\s?({NUMBER})"
            rf"(?:\s?(thousand|million|billion|bn|[kKMmB])(?={DASH}))?"
            rf"(?:{DASH}[{_SIGNS}]?({NUMBER}))?(?:{MAGNITUDE}|(?<=\d)(?=[A-Za-z]))(?:\s(US|CA|AU|NZ|HK|SG)D\b)?"
            rf"(?:\s?/\s?({PER_UNIT}|(?!(?:each|and)\b)[a-z]{{3,14}}|[{_SIGNS}](?!\d))(?![^\W²³])([²³])?(?:\.(?=\s[a-z]))?)?"
        ),
        _money,
    ),
    (
        re.compile(
            rf"{START}(\d{{1,3}}(?:\.\d{{3}})*,\d\d(?=\s?€)|{NUMBER})"
            rf"(?:\s?(k|[Mm]n?|bn|tn|thousand|million|billion|trillion))?\s?([{_SIGNS}]|(?!RM)(?:{_CODES})\b)"
        ),
        _money_after,
    ),
    (
        re.compile(
            rf"(?:{START}(?={NUMBER}\s?¢)|\b(?:me|for|only|just|than|costs?|pays?|paid|owes?)\s(?=\d\dc(?!\w)))"
            rf"({NUMBER})\s?[¢c](?:/({PER_UNIT}|[a-z]{{3,14}})(?![^\W²³]))?"
        ),
        _cents,
    ),
)
