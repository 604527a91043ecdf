"""Read codes character by character: identifiers in base sixteen, numbers of cards and the like."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .chemistry import ELEMENT
from .letters import LETTER_A
from .number_forms import apart, looks_like_year
from .numbers import cardinal, digits, in_pairs, year
from .rules import Rule

_FORMULA = re.compile(rf"(?:{ELEMENT}(?!0)\d{{0,3}}){{2,}}")
_IBAN_BEFORE = re.compile(r"\bIBAN\b[^.;!?]{0,20}$")
_LONG_ACCOUNT = re.compile(r"(?:[A-Z\d]{4} ){4}")


def characters(code: str) -> str:
    """The names of letters and digits one by one, "three F two"; a colon is named as well."""
    names = {":": "colon", "a": LETTER_A, "A": LETTER_A}
    return " ".join(digits(c) if c.isdecimal() else names.get(c, c.upper()) for c in code)


def _groups(match: re.Match[str], british: bool) -> str:
    """Groups of characters with signs between them, where a speaker pauses."""
    return ", ".join(map(characters, re.findall(r"[A-Za-z0-9]+", match[0])))


def _characters(match: re.Match[str], british: bool) -> str:
    return characters(match[0])


def _labelled(match: re.Match[str], british: bool) -> list[Piece]:
    """Groups of digits behind what they are: "Meeting ID: 812 3456 7890"."""
    sign = [Piece("number ", *match.span(1))] if match[1] else []
    return [*sign, Piece(", ".join(map(digits, re.findall(r"\d+", match[2]))), *match.span(2))]


def _preprint(match: re.Match[str], british: bool) -> list[Piece]:
    """The number of a preprint: "arXiv:2101.00001v2"."""
    version = f" version {cardinal(int(match[3]))}" if match[3] else ""
    words = f" {in_pairs(match[1], british)} point {digits(match[2])}{version}"
    return [Piece(words, match.start(1) - 1, match.end())]


def _numbered(match: re.Match[str], british: bool) -> str:
    """Letters, a year and a number: "INV-2024-00123"."""
    letters, *numbers = match[0].split("-")
    words = [
        year(int(n), british)
        if looks_like_year(n)
        else (in_pairs(n, british) if len(n) < 5 and n[0] != "0" else digits(n))
        for n in numbers
    ]
    return ", ".join([characters(letters), *words])


def _serial(match: re.Match[str], british: bool) -> str:
    """Capitals and digits, unless they are a chemical formula: "C12H22O11"."""
    return match[0] if _FORMULA.fullmatch(match[0]) else characters(match[0])


def _card(match: re.Match[str], british: bool) -> str:
    """The number of a card in groups of four, unless these are years: "1066 1215 1415"."""
    return match[0] if all(map(looks_like_year, match[0].split())) else _groups(match, british)


def _account(match: re.Match[str], british: bool) -> str:
    """The number of an account: "IBAN DE89 3704 0044 0532 0130 00"."""
    named = _IBAN_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
    if not (named or _LONG_ACCOUNT.match(match[0])):
        return match[0]
    return _groups(match, british)


def _parcel(match: re.Match[str], british: bool) -> str:
    """The number of a parcel, in its groups: "1Z 999 AA1 01 2345 6784"."""
    return ", ".join(map(characters, match[0].split()))


def _taxed(match: re.Match[str], british: bool) -> list[Piece]:
    """The number of a firm that pays a tax: "VAT no. GB 123 4567 89"."""
    groups = re.findall(r"[A-Z]+|\d+", match[2])
    return [
        Piece("ID" if match[1].lower() == "id" else "number", *match.span(1)),
        Piece(", ".join(map(characters, groups)), *match.span(2)),
    ]


def _expiry(match: re.Match[str], british: bool) -> list[Piece]:
    """The month and year on a card: "exp. 09/27"."""
    month, year = (
        "oh " * part.startswith("0") + cardinal(int(part)) for part in (match[2], match[3])
    )
    return [Piece("expires", *match.span(1)), Piece(f"{month} {year}", match.start(2), match.end())]


def _form(match: re.Match[str], british: bool) -> Replacement:
    """Forms of taxes: "a 1099-MISC"."""
    suffix = " misc" if match[2] else ""
    return [Piece(in_pairs(match[1], british) + suffix, match.start(1), match.end())]


CODES: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w-])(?!CVE)[A-Z]{2,6}-\d{2,6}-\d{3,8}(?![\w-]|[.,]\d)"), _numbered),
    (
        re.compile(r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"),
        _groups,
    ),
    (re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}(?![\w:-])"), _groups),
    (
        re.compile(
            r"\b(?i:verification|security|2FA|access|one-time|activation|login|sign-in|meeting|webinar|conference|zoom|account|acct\.?|customer|client|member(?:ship)?|patient"
            r"|confirmation|booking|reservation|reference|tracking|invoice|policy|claim|student|employee|apple)"
            r" ?(?:(?i:id|number|no\.|code)(?: is)?:?\s?#?|(#)\s?)"
            r"(?=(?:\d[ -]?){6})(?!\d{4}-\d\d\b)(\d{2,6}(?:[ -]\d{2,6}){1,5})(?![\w-]| ?\d|[.,]\d)"
        ),
        _labelled,
    ),
    (
        re.compile(
            r"\b(?:ABN|ACN|TFN|NHS|GST|GSTIN|NPI|IMEI|UTR|BSB|CRN|ORCID)"
            r"(?: (?:no\.?|number))?(?: is)?:? ?()(\d{2,4}(?:[ -]\d{2,5}){1,4})(?![\w-]|[.,]\d)"
        ),
        _labelled,
    ),
    (re.compile(r"\barXiv: ?(\d{4})\.(\d{4,5})(?:v(\d{1,2}))?(?![\w-]|[.,]\d)"), _preprint),
    # A stamp or a counter in the name of a file: "IMG_20240613_142233.jpg".
    (
        re.compile(r"(?:(?<=[A-Za-z]_)|(?<=\d_)|(?<=[A-Z][A-Z]-))\d{5,}(?=[_-]|\.[a-z]|\b(?!\w))"),
        _characters,
    ),
    # A parcel of UPS.
    (re.compile(r"\b1Z(?: ?[A-Z\d]{2,4}){4,6}(?![\w])"), _parcel),
    (
        re.compile(
            r"\bVAT (?i:(?:reg(?:istration)?\.? )?(no\.?|number|id|#)):? "
            r"((?:[A-Z]{2} ?)?\d[\d ]{5,14}\d)\b"
        ),
        _taxed,
    ),
    # A ZIP code, but not the end of a telephone number.
    (
        re.compile(
            r"(?<![\w.,$#-])(?<!\+\d\d \d\d )(?<!\+\d\d \(\d\d\) )(?<!\(\d\d\) )"
            r"\d{5}-\d{4}(?![\w-]|[.,]\d)"
        ),
        _groups,
    ),
    # An address of the internet's sixth version.
    (
        re.compile(
            r"(?<![\w:.])(?=[a-f:]*\d)(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7})"
            r"(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])"
        ),
        _characters,
    ),
    # Hashes: "commit 3f2a9bc"; a number such as 12e3456 is none.
    (
        re.compile(
            r"(?<![\w.-])(?!\d+e\d+\b)(?=(?:[a-f]*\d){2})(?=\d*[a-f]+\d|[a-f]+\d+[a-f])[0-9a-f]{7,64}(?![\w-])"
        ),
        _characters,
    ),
    (
        re.compile(
            r"(?<![\w#-])(?=\d*[A-Z])(?=(?:[A-Z]*\d){4})(?![A-Z\d]*[A-Z]{5})[A-Z\d]{10,34}(?![\w-])"
        ),
        _serial,
    ),
    (re.compile(r"\b[A-Z]{2}\d\d(?: [A-Z\d]{4}){2,7}(?: [A-Z\d]{1,3})?(?!\w)"), _account),
    (
        re.compile(
            r"(?<![\w.,-])(?:\d{4}(?: \d{4}){3}(?: \d{1,3})?|3[47]\d\d \d{6} \d{5})(?![\w-]|[.,]\d)"
        ),
        _card,
    ),
    # Letters and more digits than a quantity has without commas, but neither money nor thousands:
    # "GW150914", "N12345".
    (
        re.compile(
            r"(?<![\w.#$-])(?!(?:USD?|EUR|GBP|JPY|CNY|INR|AUD|CAD|CHF|HKD?|SGD|NZD?|R[MS]?|K)\d)"
            r"[A-Z]{1,3}(?!\d+000\b)\d{5,9}(?![\w%-]|[.,]\d)"
        ),
        _characters,
    ),
    (re.compile(r"\b([Ee]xp(?:\.|:)?)\s(\d\d?)/(\d\d)(?![\w/]|[.,]\d)"), _expiry),
    (
        re.compile(r"(?<![\w.,$-])(1040|109[589])(?=-[A-Z]|s\b|\sforms?\b)(-MISC\b)?"),
        _form,
    ),
    (
        re.compile(
            r"(?<=\b[A-Z])/(?=[A-Z]-\d)|(?<=\b[A-Z]-\d\d)/(?=\d\d(?![\w/]))"
            r"|(?:(?<=\b[A-Z]\d)|(?<=\b[A-Z]{2}\d)|(?<=\b[A-Z]\d\d))/(?=[A-Z]{1,2}\d{1,2}\b)"
        ),
        apart,
    ),
)
"""What no rule for numbers may take apart."""
