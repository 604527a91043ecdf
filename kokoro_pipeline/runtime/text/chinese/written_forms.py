"""Write out what misaki's Chinese hands to the model as it is, or reads as another number.

cn2an, which misaki writes numbers out with, knows no separators of thousands and no times, takes
the dash of a range for a minus, a date with slashes for a fraction, and reads telephone numbers
as thousands of millions. What is written here it reads right, or is Chinese already.
"""

from __future__ import annotations

import re
import unicodedata

from ..east_asian_forms import THOUSANDS, TIME, YEARS, Rule, dates, rewritten
from ..tracked import Tracked

_DIGITS = dict(zip("0123456789", "零一二三四五六七八九", strict=True))
_IN_CALLS = {**_DIGITS, "1": "幺"}
_UNITS = {
    "km/h": "公里每小时", "m/s": "米每秒", "km²": "平方公里", "km2": "平方公里", "m²": "平方米",
    "m2": "平方米", "cm²": "平方厘米", "m³": "立方米", "m3": "立方米", "km": "公里", "m": "米",
    "cm": "厘米", "mm": "毫米", "kg": "公斤", "g": "克", "mg": "毫克", "t": "吨", "L": "升",
    "l": "升", "ml": "毫升", "mL": "毫升", "kWh": "千瓦时", "kW": "千瓦", "W": "瓦", "h": "小时",
    "min": "分钟", "s": "秒", "°C": "℃", "°F": "华氏度",
}  # fmt: skip
_COUNTED = (
    "个|位|只|本|张|条|件|块|次|种|杯|瓶|碗|斤|公斤|米|公里|小时|分钟|天|周|年(?!级)|岁|间|家|辆|匹|名"
    "|倍|份|套|双|台|部|点|元|美元|欧元|万|亿|千|人(?!称)|层|口|句|首|片|颗|枚|艘|架|升|克|吨|盒|包"
)
_SIGNS = {
    "￥": "¥", "$": "美元", "€": "欧元", "£": "英镑", "¥": "元",
}  # fmt: skip
_WIDE = re.compile("[％＄＆＠＃＋－＝．／\uff10-\uff19\uff21-\uff3a\uff41-\uff5a㎡㎥㎞㎝㎜㎏]")
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_SMALL = re.compile("[½⅓⅔¼¾⅕⅛]")
_CIRCLED = re.compile("[①-⑳]")
_NUMBER = r"\d+(?:[,.]\d+)*"


def _in_digits(digits: str, table: dict[str, str] = _DIGITS) -> str:
    return "".join(table.get(digit, "") for digit in digits)


def _time(match: re.Match[str]) -> str:
    hour, minute, second = int(match[1]), match[2], match[3]
    if second:
        return f"{hour}点{int(minute)}分{int(second)}秒"
    if minute == "00":
        return f"{hour}点"
    return f"{hour}点{'零' if minute[0] == '0' else ''}{int(minute)}分"


def _between(match: re.Match[str]) -> str:
    """A range, or, of a larger number before a smaller or before a victory, a score."""
    first, second = match[1], match[2]
    if all(int(each) in YEARS for each in (first, second)) and len(first) == len(second) == 4:
        return f"{_in_digits(first)}至{_in_digits(second)}{match[3] or ''}"
    score = int(first) >= int(second) or first == "0" or match[3]
    return f"{first}{'比' if score else '至'}{second}{match[3] or ''}"


_RULES: tuple[Rule, ...] = (
    (_WIDE, lambda m: unicodedata.normalize("NFKC", m[0])),
    (_SMALL, lambda m: unicodedata.normalize("NFKC", m[0]).replace("⁄", "/")),
    (_CIRCLED, lambda m: f"{unicodedata.normalize('NFKC', m[0])}，"),
    (
        re.compile(
            r"(?<![\d-])(?:\(0\d{2,3}\) ?\d{3,4}-?\d{4}|1[3-9]\d[ -]?\d{4}[ -]?\d{4}"
            r"|0\d{2,3}-\d{7,8}|[48]00-\d{3,4}-\d{3,4})(?![\d-])"
        ),
        lambda m: _in_digits(m[0], _IN_CALLS),
    ),
    (
        re.compile(
            r"((?:电话|手机|号码|热线|QQ|[编卡账]号|邮编|验证码)[是为：:]?\s?)(\d{4,20})(?!\d)"
        ),
        lambda m: m[1] + _in_digits(m[2], _IN_CALLS),
    ),
    THOUSANDS,
    dates("zh"),
    (TIME, _time),
    (re.compile(r"(?<=\d):(?=\d)"), lambda m: "比"),
    (re.compile(rf"([¥￥$€£])\s?({_NUMBER}[百千万亿]*)"), lambda m: m[2] + _SIGNS[m[1]]),
    (
        re.compile(
            rf"(?<=\d)\s?({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![A-Za-z0-9])"
        ),
        lambda m: _UNITS[m[1]],
    ),
    (re.compile(r"(?<=\d)-(?=\d+=)"), lambda m: "减"),
    (re.compile(r"(?<![\d.-])(\d{1,4})[-–~～](\d{1,4})(?![\d-])([负胜平战击不惜险])?"), _between),
    (re.compile(r"(?<=[\d年月日号点分%℃])[-–~～](?=-?\d)"), lambda m: "至"),
    (re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)‰"), lambda m: f"千分之{m[1]}"),
    (re.compile(r"(?<!\d)(\d0)(?=后)"), lambda m: _in_digits(m[1])),
    (re.compile(r"(?<!\d)([2-9])0(?=年代)"), lambda m: f"{_DIGITS[m[1]]}十"),
    (re.compile(rf"(?<![\d./第])2(?={_COUNTED})"), lambda m: "两"),
)


def written_out(text: Tracked) -> Tracked:
    """The text with numbers and signs as cn2an and jieba read them right."""
    return rewritten(text, _RULES)
