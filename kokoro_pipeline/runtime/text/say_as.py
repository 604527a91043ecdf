"""Write out what `<say-as>` names, as text that a language's reader reads in that way."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

KINDS = (
    "cardinal", "ordinal", "digits", "characters", "date", "time", "telephone", "currency"
)  # fmt: skip
"""The values of `interpret-as`."""

_LONGEST = 100
_NUM2WORDS = {"en-us": "en", "en-gb": "en", "es": "es", "fr": "fr", "it": "it", "pt-br": "pt_BR"}
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "pt-br": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
}
_DATES = ("mdy", "dmy", "ymd", "md", "dm", "ym", "my", "d", "m", "y")
_CURRENCIES = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "¥"}
_SIGNS = {
    ".": "dot", "-": "dash", "_": "underscore", "@": "at", "/": "slash", "+": "plus", "#": "hash",
    "&": "and", "*": "star", ":": "colon", ",": "comma", "?": "question mark",
}  # fmt: skip


def say_as(text: str, kind: str, form: str, lang: str) -> str:
    """`text` written out as one of `KINDS` in a language; `form` is the `format` of a date or time.

    Raises InputError for a text that is not of that kind, and for a language in which it cannot be
    written out.
    """
    if len(text) > _LONGEST:
        raise InputError(f"say-as {kind} of {len(text)} characters; {_LONGEST} are the most")
    return _WRITERS[kind](text, form, lang)


def _whole_number(text: str, kind: str) -> int:
    plain = re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}\b)", "", text)
    if not re.fullmatch(r"[-−]?[0-9]{1,30}", plain):
        raise InputError(f"say-as {kind} needs a whole number, not {text!r}")
    return int(plain.replace("−", "-"))


def in_words(number: int, lang: str, to: str) -> str:
    """A number as "cardinal" or "ordinal" in a language of num2words.

    Raises EnvironmentFault if it is not installed.
    """
    try:
        num2words = importlib.import_module("num2words").num2words
    except ImportError as error:
        raise EnvironmentFault(
            f"words for numbers need a package that is not installed ({error}): "
            f"{install_command('text')}"
        ) from error
    words: str = num2words(number, lang=_NUM2WORDS[lang], to=to)
    return words


def _cardinal(text: str, form: str, lang: str) -> str:
    number = _whole_number(text, "cardinal")
    return in_words(number, lang, "cardinal") if lang in _NUM2WORDS else str(number)


def _ordinal(text: str, form: str, lang: str) -> str:
    bare = re.sub(r"(?i)(?<=\d)(st|nd|rd|th|[ºªoa.]|er|e|ème)$", "", text)
    number = _whole_number(bare, "ordinal")
    if lang == "zh":
        return f"第{number}"
    if lang == "ja":
        return f"{number}番目"
    if lang not in _NUM2WORDS:
        raise InputError(f"say-as ordinal is not known in {lang}")
    if number < 1:
        raise InputError(f"say-as ordinal needs a number above 0, not {text!r}")
    return in_words(number, lang, "ordinal")


def _digits(text: str, form: str, lang: str) -> str:
    digits = re.findall(r"[0-9]", text)
    if not digits or re.search(r"[^0-9\s.,()/+-]", text):
        raise InputError(f"say-as digits needs digits, not {text!r}")
    return _spaced(digits, lang)


def _spaced(symbols: list[str], lang: str) -> str:
    """Single letters and digits in the words of a language, so that they are not read as one."""
    if lang in _NUM2WORDS:
        symbols = [in_words(int(s), lang, "cardinal") if s.isdigit() else s for s in symbols]
    return " ".join(symbols)


def _characters(text: str, form: str, lang: str) -> str:
    symbols = [symbol for symbol in text if not symbol.isspace()]
    if not lang.startswith("en"):
        return _spaced([symbol.upper() for symbol in symbols], lang)
    letters = importlib.import_module(".english.reader", __package__).load_english(lang == "en-gb")
    said = []
    for symbol in symbols:
        if symbol.isascii() and symbol.isalpha():
            # Alone, the letters A and I would be words.
            said.append(f"[{symbol}](/{letters.lexicon.golds[symbol.upper()]}/)")
        elif symbol.isdigit():
            said.append(in_words(int(symbol), lang, "cardinal"))
        else:
            said.append(_SIGNS.get(symbol, symbol))
    return " ".join(said)


def _date(text: str, form: str, lang: str) -> str:
    numbers = re.findall(r"\d+", text)
    if not form and re.match(r"\d{4}\D", text):
        form = "ymd"[: len(numbers)]
    form = form or ("mdy" if lang == "en-us" else "dmy")[: max(len(numbers), 1)]
    if form not in _DATES:
        raise InputError(f"format={form!r} is not one of {', '.join(_DATES)}")
    if len(numbers) != len(form) or re.search(r"[^\d\s./-]", text):
        raise InputError(f"say-as date of the form {form} needs {len(form)} numbers, not {text!r}")
    parts = dict(zip(form, map(int, numbers), strict=True))
    if not 1 <= parts.get("m", 1) <= 12 or not 1 <= parts.get("d", 1) <= 31:
        raise InputError(f"{text!r} is no date of the form {form}")
    return written_date(parts, lang)


def written_date(parts: dict[str, int], lang: str) -> str:
    """A date of the parts "y", "m" and "d", some of which may be missing, in a language."""
    year, month, day = (parts.get(part) for part in "ymd")
    if lang in ("ja", "zh"):
        units = ((year, "年"), (month, "月"), (day, "日"))
        return "".join(f"{number}{unit}" for number, unit in units if number is not None)
    base = "en" if lang.startswith("en") else lang
    name = _MONTHS[base].split()[month - 1] if month else ""
    if base == "en":
        if day is None:
            return " ".join(str(part) for part in (name, year) if part)
        written = f"{name} {day}" if name else in_words(day, lang, "ordinal")
        return f"{written}, {year}" if year else written
    of = " de " if base in ("es", "pt-br") else " "
    first = "1er" if base == "fr" and day == 1 else day
    return of.join(str(part) for part in (first, name, year) if part)


def _time(text: str, form: str, lang: str) -> str:
    if form not in ("", "hms", "hm", "hms12", "hms24", "hm12", "hm24"):
        raise InputError(f"format={form!r} is not one of hms12, hms24")
    match = re.fullmatch(r"(\d{1,2})[:.h](\d{2})(?:[:.](\d{2}))?\s*([ap]\.?m\.?)?", text, re.I)
    if match is None or int(match[1]) > 24 or int(match[2]) > 59 or int(match[3] or 0) > 59:
        raise InputError(f"say-as time needs a time such as 14:30, not {text!r}")
    if lang.startswith("en"):
        return text
    hours, minutes, seconds = match[1], match[2], match[3]
    if match[4]:
        hours = str(int(hours) % 12 + 12 * (match[4][0] in "pP"))
    if lang in ("ja", "zh"):
        hour, minute, second = ("時", "分", "秒") if lang == "ja" else ("点", "分", "秒")
        return f"{int(hours)}{hour}{int(minutes)}{minute}" + (
            f"{int(seconds)}{second}" if seconds else ""
        )
    return ":".join(part for part in (hours, minutes, seconds) if part)


def _telephone(text: str, form: str, lang: str) -> str:
    if not re.search(r"\d", text) or re.search(r"[^\d\s()+./x-]", text):
        raise InputError(f"say-as telephone needs a number, not {text!r}")
    groups = [_spaced(re.findall(r"\d", group), lang) for group in re.findall(r"\d+", text)]
    plus = "plus " if text.strip().startswith("+") and lang.startswith("en") else ""
    return plus + ", ".join(groups)


def _currency(text: str, form: str, lang: str) -> str:
    match = re.fullmatch(r"([A-Z]{3})\s*([\d.,]+)|([\d.,]+)\s*([A-Z]{3})", text)
    if match is None:
        if not re.search(r"\d", text) or not re.search(r"[$€£¥₹￥]", text):
            raise InputError(f"say-as currency needs an amount such as $3.50, not {text!r}")
        return text
    code, amount = match[1] or match[4], match[2] or match[3]
    if code not in _CURRENCIES:
        raise InputError(f"{code} is not a known currency: {', '.join(_CURRENCIES)}")
    return f"{_CURRENCIES[code]}{amount}"


_WRITERS: dict[str, Callable[[str, str, str], str]] = {
    "cardinal": _cardinal,
    "ordinal": _ordinal,
    "digits": _digits,
    "characters": _characters,
    "date": _date,
    "time": _time,
    "telephone": _telephone,
    "currency": _currency,
}
