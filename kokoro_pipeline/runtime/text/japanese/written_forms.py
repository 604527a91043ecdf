"""Write out the numbers of a Japanese text as they are said.

misaki's numbers in kana know no separators of thousands, no decimals and no times, and a number
and its counter are two words to it, so that 1人 would be "ichi nin" and 3本 "san hon".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import resources

from ..east_asian_forms import THOUSANDS, TIME, YEARS, Rule, dates, rewritten
from ..tracked import Tracked

KANA = ["ゼロ", "いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう"]
_DIGITS = dict(zip("0123456789", KANA, strict=True))
_LONGEST = 9
_TEN = re.compile("(?:じゅう|十)$")
_KANJI = "零一二三四五六七八九"
_LARGE = "百千万億兆"
_UNITS = {
    "km/h": "キロメートル毎時", "m/s": "メートル毎秒", "km2": "平方キロメートル",
    "m2": "平方メートル", "cm2": "平方センチメートル", "m3": "立方メートル", "km": "キロメートル",
    "m": "メートル", "cm": "センチメートル", "mm": "ミリメートル", "kg": "キログラム",
    "g": "グラム", "mg": "ミリグラム", "t": "トン", "L": "リットル", "l": "リットル",
    "ml": "ミリリットル", "mL": "ミリリットル", "kWh": "キロワット時", "kW": "キロワット",
    "W": "ワット", "min": "分", "s": "秒", "h": "時間", "kcal": "キロカロリー",
    "GB": "ギガバイト", "MB": "メガバイト", "TB": "テラバイト", "KB": "キロバイト",
}  # fmt: skip
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_MONEY = {"¥": "円", "$": "ドル", "€": "ユーロ", "£": "ポンド"}
_NUMBER = r"\d+(?:[,.]\d+)*"
_HALVES = ("1/2", "1/3", "2/3", "1/4", "3/4")


def spaced(digits: str) -> str:
    """Digits that are said one by one."""
    return " ".join(_DIGITS[digit] for digit in digits if digit in _DIGITS)


def _telephone(match: re.Match[str]) -> str:
    return " の ".join(spaced(part) for part in match[0].split("-"))


def _time(match: re.Match[str]) -> str:
    hour, minute, second = int(match[1]), int(match[2]), match[3]
    return (
        f"{hour}時" + (_minutes(minute) if minute or second else "")
        + (f"{int(second)}秒" if second else "")
    )  # fmt: skip


def _minutes(minute: int) -> str:
    # Behind the kana of a number 分 is not always read as minutes.
    return f"{minute}{'分' if minute % 10 in (0, 1, 3, 4, 6, 8) and minute else 'ふん'}"


def _between(match: re.Match[str]) -> str:
    """A range, or, of a larger number before a smaller, a score."""
    first, second = match[1], match[2]
    years = all(int(each) in YEARS for each in (first, second))
    score = not years and (int(first) >= int(second) or first == "0")
    return f"{first}{'対' if score else 'から'}{second}"


def _over(match: re.Match[str]) -> str:
    """A fraction, or the month and day of a date."""
    over, under = int(match[1]), int(match[2])
    if match[0].replace("⁄", "/") not in _HALVES and 1 <= over <= 12 and 1 <= under <= 31:
        return f"{over}月{under}日"
    return f"{under}分の{over}"


_RULES: tuple[Rule, ...] = (
    (re.compile(r"〒\s?(?=\d)"), lambda m: "郵便番号 "),
    (
        re.compile(r"(?<![\d-])(?:0\d{1,4}-\d{1,4}-\d{3,4}|\d{3}-\d{4}|0\d{9,10})(?![\d-])"),
        _telephone,
    ),
    THOUSANDS,
    dates("ja"),
    (re.compile(r"(?<![\d-])\d{1,3}(?:-\d{1,3}){2,4}(?![\d-])"), lambda m: m[0].replace("-", "の")),
    (TIME, _time),
    (re.compile(r"(?<=時)(\d{1,2})分"), lambda m: _minutes(int(m[1]))),
    (re.compile(r"(?<=月)1日(?![間中目])"), lambda m: "ついたち"),
    (re.compile(r"(?<=\d):(?=\d)"), lambda m: "対"),
    (re.compile(r"(?<![\d/⁄])(\d{1,3})[/⁄](\d{1,3})(?![\d/⁄])"), _over),
    (re.compile(rf"([¥$€£])\s?({_NUMBER}[百千万億兆]*)"), lambda m: m[2] + _MONEY[m[1]]),
    (re.compile(rf"(?<=\d)\s?({_UNIT})(?![A-Za-z0-9])"), lambda m: _UNITS[m[1]]),
    (re.compile(r"(?<=\d)-(?=\d+=)"), lambda m: "ひく"),
    (re.compile(r"(?<![\d.-])(\d{1,4})[-–~](\d{1,4})(?![\d-])"), _between),
    (re.compile(r"(?<=[年月日時分%度])[-–~〜～](?=-?\d)"), lambda m: "から"),
    (re.compile(r"(?<![\dA-Za-z%)-])[-−](?=\d)"), lambda m: "マイナス"),
)


def written_out(text: Tracked) -> Tracked:
    """The text with dates, times, units and ranges in words, its numbers still in digits."""
    return rewritten(text, _RULES)


@functools.cache
def counters() -> dict[str, dict[str, str]]:
    """By counter, the sounds of "1=" and "1~", the number alone and at the end of a larger one."""
    lines = (resources.files(__package__) / "data" / "counters.tsv").read_text("utf-8").splitlines()
    table = {}
    for line in lines:
        if not line.startswith("# "):
            counter, forms = line.split("\t")
            table[counter] = dict(re.findall(r"(\d+[=~])(\S+)", forms))
    return table


@functools.cache
def number_pattern() -> re.Pattern[str]:
    """A number with its decimals, or with what is behind it: hundreds and the like, a counter."""
    known = "|".join(
        "分(?![けか析担類野割布])" if counter == "分" else counter
        for counter in sorted(counters(), key=len, reverse=True)
    )
    return re.compile(
        rf"(?P<whole>[0-9]+)(?:\.(?P<decimals>[0-9]+)|(?P<large>(?=[{_LARGE}]))"
        rf"|(?P<counter>(?:{known})(?!の[0-9]|称))?)"
    )


def number_read(match: re.Match[str], convert: Callable[[str], str]) -> str:
    """What `number_pattern` found, as UniDic reads it right; `convert` gives kana.

    Kana is what misaki has. MeCab cuts that of hundreds in the middle and does not know it before
    a larger unit, where the number is given in kanji.
    """
    digits, counter = match["whole"], match["counter"]
    if match["decimals"]:
        whole = "れい" if digits == "0" else _whole(digits, convert)
        return f" {whole} テン {spaced(match['decimals'])}"
    if match["large"] is not None:
        following = match.string[match.end()]
        odd = following in "万億兆" or digits in ("3", "6", "8")
        return (
            f" {_in_kanji(digits)}" if odd and _is_plain(digits) else f" {_whole(digits, convert)}"
        )
    if not counter:
        return f" {_whole(digits, convert)}"
    return f" {_counted(digits, counter, convert) or _whole(digits, convert) + counter}"


def _is_plain(digits: str) -> bool:
    """Whether digits are a number, and no code to be said digit by digit."""
    return len(digits) <= _LONGEST and (digits[0] != "0" or digits == "0")


def _whole(digits: str, convert: Callable[[str], str]) -> str:
    if not _is_plain(digits):
        return spaced(digits)
    hundreds = any(digit != "0" for digit in digits[-3::-4])
    return _in_kanji(digits) if hundreds else convert(digits)


def _in_kanji(digits: str) -> str:
    written = ""
    for at, digit in enumerate(digits):
        power = len(digits) - at - 1
        unit = "十百千"[power % 4 - 1] if power % 4 else ""
        if digit != "0":
            written += ("" if digit == "1" and unit else _KANJI[int(digit)]) + unit
        if power and power % 4 == 0 and digits[max(0, at - 3) : at + 1].strip("0"):
            written += "万億"[power // 4 - 1]
    return written or _KANJI[0]


def _counted(digits: str, counter: str, convert: Callable[[str], str]) -> str:
    """A number with a counter, if they sound otherwise than apart."""
    forms = counters()[counter]
    if not _is_plain(digits):
        return ""
    if said := forms.get(f"{digits}=") or forms.get(f"{digits}~"):
        return said
    if said := forms.get(f"{digits[-1]}~"):
        return _whole(digits[:-1] + "0", convert) + said
    number = _whole(digits, convert)
    return _TEN.sub(forms["10~"], number) if "10~" in forms and _TEN.search(number) else ""
