"""Pounds, shillings and pence by their letters: "5l. 10s.", "21s. each", "cost 2/6"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .rules import Phrase, kept_point

_NAMES = {"l": ("pound", "pounds"), "s": ("shilling", "shillings"), "d": ("penny", "pence")}
_PRICED = (
    r"(?:cost(?:s|ing)?|prices?|priced|paid|pay(?:s|ing)?|worth|sold|sells?|bought|buys?|wages?|rent|fin(?:e|ed)"
    r"|penalty|tax|tolls?|duty|fees?|salary|income|pension|debts?|ow(?:ed|es?)|lent|gave|left|guineas?|bequeathed"
    r"|shillings?|pence|fortune|legacy|subscription|fares?|sum)"
)
# "Sold at 4d.", "paid the man 3s.", "a guinea is 21s.", but not "it ran for 5s."
_PRICE_BEFORE = (
    rf"\b(?i:{_PRICED})\s(?:(?!(?:with)?in\b)[a-z]+\s){{0,3}}(?:\d{{1,3}}[sd]\.\s(?:to|or|and)\s)?"
)
_FOR_EACH = (
    r"\s(?:(?:an?|per)\s[a-z]{2,}|each|apiece"
    r"|the\s(?:dozen|pound|yard|bushel|quarter|ounce|pair))\b"
)


_POUNDS = r"(?:£\d[\d,]{0,11}|\d[\d,]{0,8}l\.)"
_COIN = re.compile(r"£([\d,]*\d)|([\d,]*\d)([lsd])")


def _coins(match: re.Match[str]) -> str:
    """Pounds, shillings and pence that stand together: "£1 7s. 6d.", "5l. 10s."."""
    parts = [_coin(m[1] or m[2], m[3] or "l") for m in _COIN.finditer(match[0])]
    words = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return words + kept_point(match)


def _coin(number: str, letter: str) -> str:
    return f"{number} {_NAMES[letter][number != '1']}"


def _coin_alone(match: re.Match[str]) -> list[Piece]:
    group = match.lastindex or 1
    words = _coin(match[group], match.string[match.end(group)])
    return [Piece(words + kept_point(match), match.start(group), match.end())]


def _shillings_and_pence(match: re.Match[str]) -> list[Piece]:
    """Shillings and pence with a slash: "cost 2/6", "5/- each"."""
    words = _coin(match[1], "s") + (f" and {_coin(match[2], 'd')}" if match[2] != "-" else "")
    return [Piece(words, match.start(1), match.end(2))]


OLD_MONEY: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"(?<![\w.,$£€])(?:(?=\d{{1,2}}s\.|\d[\d,]{{0,8}}l\.|£)(?:{_POUNDS},?\s)?\d{{1,2}}s\.?,?\s\d{{1,2}}d\b\.?"
            rf"|{_POUNDS},?\s(?:\d{{1,2}}s|\d{{1,2}}d)\b\.?)(?!\w)"
        ),
        _coins,
    ),
    (re.compile(rf"(?<![\w.,$£€/-])(\d{{1,3}})[sd]\.(?={_FOR_EACH})"), _coin_alone),
    (re.compile(rf"{_PRICE_BEFORE}(\d{{1,3}})[sd]\.(?!\w)"), _coin_alone),
    (
        re.compile(
            r"\b(?:from|at|to|of|or|and)\s(\d{1,3})[sd]\.(?=,?\s(?:to|on|and|or|in|for|net)\s)"
        ),
        _coin_alone,
    ),
    (re.compile(r"\b(?:pence|shillings?|penny) (?:to|and|or) (\d{1,3})[sd]\."), _coin_alone),
    (
        re.compile(
            r"(?<![\w.,$£€/-])(?:(\d{1,3}(?:,\d{3})+)l\.(?=\s(?!of\b)[a-z\d]|\sof\s(?:his|her|their|my|debt|income))"
            r"|(\d{1,3})l\.(?=\s(?:an?\syear|per\sann(?:um)?|sterling|a\squarter)\b))"
            rf"|{_PRICE_BEFORE}(\d{{1,3}}(?:,\d{{3}})*)l\.(?!\w|\s(?:of|bottle|jug)\b)"
        ),
        _coin_alone,
    ),
    (
        re.compile(
            r"\b(?:costs?|paid|pays?|priced?(?:\sat)?|sold\s(?:for|at))\s(\d{1,2})/(-|[69](?![\w/])|1[01](?![\w/]))"
            r"(?=[.,;)](?!\d)|$|\s(?:then|each|per|an?|for|in)\b)"
        ),
        _shillings_and_pence,
    ),
    (
        re.compile(r"(?<![\w.,/$£€-])(\d{1,2})/(-)(?=[.,;)]|$|\s(?:each|per|an?)\b)"),
        _shillings_and_pence,
    ),
)
"""Phrases, each with what it is replaced by, before any other is expanded."""
