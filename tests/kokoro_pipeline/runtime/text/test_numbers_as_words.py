"""Names of numbers: the words themselves, American and British."""

from __future__ import annotations

import pytest

from kokoro_pipeline.runtime.text.english.numbers import (
    cardinal,
    decimal,
    digits,
    ordinal,
    plural,
    year,
)


@pytest.mark.parametrize(
    ("number", "american", "british"),
    [
        (0, "zero", "zero"),
        (13, "thirteen", "thirteen"),
        (20, "twenty", "twenty"),
        (21, "twenty-one", "twenty-one"),
        (100, "one hundred", "one hundred"),
        (101, "one hundred one", "one hundred and one"),
        (999, "nine hundred ninety-nine", "nine hundred and ninety-nine"),
        (1000, "one thousand", "one thousand"),
        (1005, "one thousand five", "one thousand and five"),
        (1250, "one thousand two hundred fifty", "one thousand two hundred and fifty"),
        (1_000_001, "one million one", "one million and one"),
        (2_500_000, "two million five hundred thousand", "two million five hundred thousand"),
        (10**27, "one octillion", "one octillion"),
        (-7, "minus seven", "minus seven"),
    ],
)
def test_cardinals(number: int, american: str, british: str) -> None:
    """Guards scales, hyphens and the British "and"."""
    assert cardinal(number) == american
    assert cardinal(number, british=True) == british


def test_a_number_without_a_name_is_read_digit_by_digit() -> None:
    assert cardinal(10**30) == "one" + " zero" * 30


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "first"),
        (2, "second"),
        (3, "third"),
        (5, "fifth"),
        (8, "eighth"),
        (9, "ninth"),
        (11, "eleventh"),
        (12, "twelfth"),
        (20, "twentieth"),
        (22, "twenty-second"),
        (100, "one hundredth"),
        (103, "one hundred third"),
    ],
)
def test_ordinals(number: int, words: str) -> None:
    assert ordinal(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1066, "ten sixty-six"),
        (1492, "fourteen ninety-two"),
        (1800, "eighteen hundred"),
        (1905, "nineteen oh five"),
        (1999, "nineteen ninety-nine"),
        (2000, "two thousand"),
        (2007, "two thousand seven"),
        (2010, "twenty ten"),
        (2024, "twenty twenty-four"),
    ],
)
def test_years_are_read_in_pairs(number: int, words: str) -> None:
    assert year(number) == words


def test_decimals_and_digits() -> None:
    assert decimal("3.14") == "three point one four"
    assert decimal(".5") == "point five"
    assert decimal("10") == "ten"
    assert digits("007") == "zero zero seven"


@pytest.mark.parametrize(
    ("singular", "expected"),
    [("dollar", "dollars"), ("penny", "pennies"), ("inch", "inches"), ("day", "days")],
)
def test_plurals(singular: str, expected: str) -> None:
    assert plural(singular) == expected
