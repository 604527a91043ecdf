"""Write out what eSpeak drops, spells or misreads, as text that it reads right.

eSpeak takes the points and commas of numbers, times and abbreviations for marks of the sentence,
reads units and rulers' numerals as letters, and drops the minus and some other signs. Each rule
rewrites one of these; the forms of a language are its table in `data/`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from ..say_as import in_words, written_date
from ..tracked import Tracked
from .agreement import Agreement, is_feminine
from .forms import SPACE, Forms, load_forms, squeezed
from .numbers import Number, amount, joined_by, number_pattern, spaced
from .roman_numerals import expand_roman_numerals

Edit = tuple[int, int, str]
Rule = Callable[[Tracked], Tracked]

_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]")
# eSpeak would name these letters one by one; what is left out is reported.
_OTHER_SCRIPTS = "\u0400-\u052f\u0590-\u08ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ´](?=\w)")
_LETTER_BEHIND = r"(?![\w\u0900-\u0963])"
_TOKEN = re.compile(r"[^\s<>«»\"“”]+")
_SITE = re.compile(r"(?:[\w-]{1,63}\.){1,8}[a-z]{2,24}(?::\d+)?(?:[/?#].*)?")
_ENDINGS = re.compile(r"\.(?:com|org|net|edu|gov|info|app|dev|io|eu|es|fr|it|br|in|pt|mx|ar)\b")
_SCHEME = re.compile(r"(?:https?|ftp)://|(?=www\.)")
_AROUND = "()[]{}.,;:!?'’…"
_ADDRESS_PART = re.compile(r"[^\W_]+|.")
_INITIALS = re.compile(
    r"(?<![\w.])(?:(?:[A-ZÀ-ÖØ-Þ]\. ?)+[A-ZÀ-ÖØ-Þ]|(?:[^\W\d_]\.)+[^\W\d_])\."
    r"|(?<![\w\u0900-\u0963.])(?:[\u0900-\u0963]{1,3}\.){2,8}"
)
_MINUS = re.compile(
    r"(?<![^\s(\[«“\"'=×÷*/:])[-−–](?=[$€£₹]?\d)"
    r"|(?<=[\d )])−(?=[\d (])|(?<=\d )-(?= \d+ ?=)"
)
_DATE = re.compile(
    r"(?<![\d/.-])(?:(?P<day>\d{1,2})(?P<sign>[/.-])(?P<month>\d{1,2})(?P=sign)(?P<year>\d{4}|\d\d)"
    r"|(?P<iso>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)|(?P<dd>\d\d)/(?P<mm>0\d)|(?P<d0>0\d)/(?P<m1>1[0-2]))"
    r"(?!\d|[/.-]\d)"
)
_TIME = re.compile(
    r"(?<![\d:.,/])(?P<hour>[01]?\d|2[0-4])"
    rf"(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?|{SPACE}?[hH]{SPACE}?(?P<after>[0-5]\d)(?:min\b|(?!{SPACE}min)))"
    rf"(?:(?P<sign>{SPACE}?h(?:s|rs)?)\b(?!\d))?(?![\w:])"
)
_FRACTION = re.compile(
    r"(?<![\w.,/-])(?:(\d{1,3}) ?)??(?:(?<!\d)(\d{1,3}[/⁄]\d{1,3})(?![\w/]|[.,]\d)|([¼-¾⅐-⅞]))"
)
_VALUES = {
    vulgar: unicodedata.normalize("NFKC", vulgar).replace("⁄", "/")
    for vulgar in map(chr, (*range(0xBC, 0xBF), *range(0x2150, 0x215F)))
}
_HEIGHT = re.compile(r"(?<![\w.,])([12])m(\d\d)(?!\w)")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_RANGE = re.compile(
    r"(?<![\w.,/–-])(\d{1,4})(?:[.,]\d{1,3})*(?:h| ?[%€°])?(?P<dash>[-–]| – )"
    r"(?=(\d{1,4})(?!\d|[-–/]\d))"
)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[-–](?=\d)")
_TIMES = re.compile(r"(?<=\d)(?:[xX]| [xX] )(?=\d)")
_VERSION = r"(?<![\d.,])(?P<version>\d{1,5}(?:\.\d{1,5}){2,8})(?![.,]?\d)"
_SIGN = re.compile(r"[=×÷±≈≠≤≥&§‰]|#(?=\w)|(?<=[\w)] )[<>](?= [\w(])|(?<=\d)[<>](?=\d)")
_NOON = 12
_FIRST_YEARS, _LAST_YEARS = 1000, 2199


@functools.cache
def normalizer(code: str) -> Rule:
    """What writes a text of a language out."""
    rules = list(_rules(load_forms(code)))

    def normalize(text: Tracked) -> Tracked:
        return functools.reduce(lambda done, rule: rule(done), rules, text)

    return normalize


def _rules(forms: Forms) -> Iterator[Rule]:
    """The rules of a language, in order: each sees what those before it have left."""
    yield Tracked.composed
    yield lambda text: text.sub(_INVISIBLE, "").sub(_APOSTROPHE, "'")
    others = _OTHER_SCRIPTS + ("" if forms.code == "hi" else "\u0900-\u0dff")
    foreign = re.compile(f"[{others}]+")
    yield lambda text: text.sub(foreign, " ")
    yield _edits(functools.partial(_addresses, forms))
    if telephone := forms.word("telephone"):
        pattern = re.compile(rf"(?<![\w.,+-])(?:{telephone})(?![\w-]|[.,]\d)")
        yield _edits(functools.partial(_telephones, pattern))
    yield _edits(_abbreviations(forms))
    yield _edits(_initials)
    yield _edits(functools.partial(_signs, _MINUS, lambda sign: forms.word("minus")))
    yield _edits(functools.partial(_dates, forms))
    yield _edits(functools.partial(_times, forms))
    if forms.of("hour word"):
        yield _edits(_times_with_points(forms))
    yield _edits(functools.partial(_ranges, forms))
    yield _edits(_amounts_of_money(forms))
    if forms.code != "hi":
        yield lambda text: expand_roman_numerals(text, forms)
    if forms.of("ordinal"):
        yield _edits(_ordinals(forms))
    yield _edits(_fractions(forms))
    yield _edits(functools.partial(_heights, forms))
    yield _edits(_measures(forms))
    yield _edits(functools.partial(_products, forms))
    yield _edits(_numbers(forms))
    yield _edits(functools.partial(_signs, _SIGN, lambda sign: forms.of("sign").get(sign, [""])[0]))
    if longest := forms.word("spelled capitals"):
        capitals = re.compile(rf"(?<!\w)[A-Z]{{2,{longest}}}(?!\w)")
        yield _edits(lambda text: ((*m.span(), spaced(m[0])) for m in capitals.finditer(text)))


_PARTICLE = r"(?:et|de|du|des|le|la|les|di|da|do|dos|del|della|von|van)\b|[dl]['’]"
_BEHIND = {
    "abbreviation": "",
    "abbreviation title": r"(?:(?<=/)|(?=\s))(?=\s?[^\W\d_])",
    "abbreviation name": rf"(?=\s?(?:[A-ZÀ-ÖØ-Þ][\w'’]|{_PARTICLE}))",
    "abbreviation number": rf"(?={SPACE}?(?:\d|[IVX]+\b))",
}
"""What has to stand behind the abbreviations of a kind."""


def _edits(find: Callable[[str], Iterable[Edit]]) -> Rule:
    return lambda text: text.edit(find(text.text))


def _alternatives(written: Iterable[str]) -> str:
    """A pattern of any of these, the longest first."""
    return "|".join(map(_pattern, sorted(written, key=len, reverse=True)))


def _pattern(written: str) -> str:
    """There may be a space behind a point or a degree, and no letter behind a letter."""
    spaced = re.sub(
        r"(\\\.|°)(?:\\ )?(?=.)", lambda match: f"{match[1]}{SPACE}?", re.escape(written)
    )
    return spaced + ("" if unicodedata.category(written[-1])[0] in "PS" else _LETTER_BEHIND)


def _abbreviations(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    """Abbreviations as words, before a feminine noun in the feminine if they have one.

    The point is gone with them, but for one that ends the sentence as well.
    """
    said: dict[str, tuple[str, ...]] = {}
    patterns: dict[str, str] = {}
    for kind, behind in _BEHIND.items():
        for written, words in forms.of(kind).items():
            for first in {written[0], written[0].upper()} | (
                {written[0].lower()} if kind == "abbreviation title" else set()
            ):
                form = first + written[1:]
                said.setdefault(squeezed(form), words)
                patterns.setdefault(form, _pattern(form) + behind)
    anywhere = {squeezed(written).lower() for written in forms.of("abbreviation")}
    longest_first = sorted(patterns, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(patterns[form] for form in longest_first)})")

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            written = squeezed(match[0])
            feminine = is_feminine(_next_word(text, match.end()), forms)
            words = said[written][-1 if feminine else 0]
            ends = written[-1] == "." and written.lower() in anywhere
            if ends and _ends_here(text, match.end()):
                words += "."
            yield *match.span(), _set_off(words, text, *match.span())

    return find


_END = re.compile(r"[\s\"'”’»)\]]*(?:$|[A-ZÀ-ÖØ-Þ¿¡])")


def _ends_here(text: str, position: int) -> bool:
    return _END.match(text, position) is not None


def _set_off(words: str, text: str, start: int, end: int) -> str:
    """Words with spaces to the letters and digits around them."""
    before = " " if start and text[start - 1].isalnum() else ""
    after = " " if end < len(text) and text[end].isalnum() else ""
    return f"{before}{words}{after}"


def _initials(text: str) -> Iterator[Edit]:
    """Letters with points, which eSpeak would make a stop after: "S.A." becomes "S A"."""
    for match in _INITIALS.finditer(text):
        point = "." if text[match.end() :].strip("\"'”’») ") == "" else ""
        yield *match.span(), " ".join(match[0].replace(".", " ").split()) + point


def _addresses(forms: Forms, text: str) -> Iterator[Edit]:
    """Addresses of the web and of mail, sign by sign."""
    signs = forms.of("address")
    for token in _TOKEN.finditer(text):
        bare = token[0].strip(_AROUND)
        start = token.start() + token[0].find(bare)
        scheme = _SCHEME.match(bare)
        address = bare[scheme.end() :] if scheme else bare
        mail = address.count("@") == 1 and "." in address.partition("@")[2] and address[0] != "@"
        site = _SITE.fullmatch(address) and address[1:3].isalnum() and _ENDINGS.search(address)
        if not address or not (scheme or mail or site):
            continue
        parts = _ADDRESS_PART.findall(address.rstrip("/"))
        words = [signs[part][0] if part in signs else _spelled(part) for part in parts]
        yield start, start + len(bare), " ".join(words)


def _telephones(pattern: re.Pattern[str], text: str) -> Iterator[Edit]:
    """Telephone numbers that would be read as large numbers, digit by digit."""
    for match in pattern.finditer(text):
        yield *match.span(), spaced(re.sub(r"\D", "", match[0]))


def _spelled(part: str) -> str:
    return spaced(part) if part.isdigit() and len(part) > 2 else part


def _dates(forms: Forms, text: str) -> Iterator[Edit]:
    for match in _DATE.finditer(text):
        day = match["day"] or match["d"] or match["dd"] or match["d0"]
        month = match["month"] or match["m"] or match["mm"] or match["m1"]
        if not (1 <= int(day) <= 31 and 1 <= int(month) <= 12):
            continue
        if match["year"] and len(match["year"]) == 2 and match["sign"] != "/":
            continue  # "1.2.24" is a version
        parts = {"d": int(day), "m": int(month)}
        if year := match["year"] or match["iso"]:
            parts["y"] = int(year)
        yield *match.span(), written_date(parts, forms.code)


def _times(forms: Forms, text: str) -> Iterator[Edit]:
    for match in _TIME.finditer(text):
        end = match.end()
        said = _time(
            forms, match["hour"], match["minute"] or match["after"], match["second"], match["sign"]
        )
        for word in forms.words("hours spoken"):
            if text.startswith(word, end + 1):
                end += 1 + len(word)
        yield match.start(), end, said


def _times_with_points(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    words = "|".join(sorted(forms.words("hour word"), key=len, reverse=True))
    pattern = re.compile(
        rf"(?<!\w)(?i:{words}) ?(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d)"
        rf"(?P<sign>{SPACE}?h(?:s|rs)?\b)?(?![.,]?\d|%|{SPACE}[%€])"
    )

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            said = _time(forms, match["hour"], match["minute"], None, match["sign"])
            yield match.start("hour"), match.end(), said

    return find


def _time(forms: Forms, hour: str, minute: str, second: str | None, sign: str | None) -> str:
    hours, minutes = Number(str(int(hour)), forms), Number(str(int(minute)), forms)
    if second:
        units = forms.of("unit")
        amounts = ((hours, "h"), (minutes, "min"), (Number(str(int(second)), forms), "s"))
        return " ".join(
            amount(n, units[unit], forms) if unit in units else str(n) for n, unit in amounts
        )
    idioms = forms.of("clock")
    idiom = idioms.get(f"{hours}:{minute}") or idioms.get(f":{minute}")
    if idiom and int(hour) <= _NOON:
        return idiom[0].format(hours)
    ((both, (whole, few)),) = forms.of("hours").items()
    template = both if int(minute) > 9 else few if int(minute) else whole
    said = template.format(hours.before("f"), minutes.whole)
    if sign and template == "{}":
        return amount(hours, forms.of("unit")["h"], forms)
    return said.replace("(s)", "" if hours.is_singular else "s")


def _amounts_of_money(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    signs = rf"(?:{_alternatives(forms.of('currency'))})"
    scales = rf"{SPACE}?(?:{_alternatives(forms.of('scale'))})"
    units = _alternatives(forms.of("unit"))
    pattern = re.compile(
        rf"(?:{number_pattern(forms, 'number')}(?P<scale>{scales})?{SPACE}?(?P<sign>{signs})"
        rf"(?:(?P<cents>\d\d)(?!\d)|(?!\d))"
        rf"|(?<!\w)(?P<first>{signs}){SPACE}?{number_pattern(forms, 'behind')}(?P<large>{scales})?)"
        rf"(?:/(?:(?P<per>{units})|(?P<each>(?=[^\W\d_]))|-))?"
    )

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            written = match["number"] or match["behind"]
            if match["cents"]:
                written += "," + match["cents"]
            noun = forms.named("currency", match["sign"] or match["first"])
            large = match["scale"] or match["large"]
            scale = forms.named("scale", large) if large else None
            said = _money(Number(written, forms), noun, scale, forms)
            yield *match.span(), said + _each(match, forms)

    return find


def _each(match: re.Match[str], forms: Forms) -> str:
    """What an amount is for: "/kg", or a stroke before a word or a number."""
    if match["per"]:
        return f" {forms.word('per')} {forms.named('unit', match['per'])[0]}"
    return f" {forms.word('per')} " if match["each"] is not None else ""


def _money(
    number: Number, noun: tuple[str, ...], scale: tuple[str, ...] | None, forms: Forms
) -> str:
    if scale:
        return f"{number} {scale[0]} {joined_by(''.join(scale[1:]), noun[1], forms)}"
    hundredths = noun[2:4]
    if len(number.decimals) != 2 or len(hundredths) < 2:
        return amount(number, (*noun[:2], noun[-1]), forms)
    rest = Number(str(int(number.decimals)), forms)
    cents = amount(rest, hundredths, forms)
    if number.whole == "0" and rest.whole != "0":
        return cents
    units = amount(Number(number.whole, forms), (*noun[:2], noun[-1]), forms)
    if rest.whole == "0":
        return units
    return " ".join(part for part in (units, forms.word("with cents"), cents) if part)


def _ordinals(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    """Digits with the suffixes of ordinals; "1°" is one, and so are others before a word."""
    by_suffix = {s: said for row, (said, *_) in forms.of("ordinal").items() for s in row.split()}
    one = rf"(?<=(?<!\d)1°)(?!{SPACE}?[CF]\b)"
    degree = rf"(?:{one}|(?=\s(?!nor[dt]|su[drl]|est|oeste|ovest|latitud)[a-zà-ÿ]{{4}}))"
    suffixes = "|".join(
        rf"{suffix}{degree}" if suffix == "°" else rf"\.?{suffix}(?!\w)"
        for suffix in sorted(by_suffix, key=len, reverse=True)
    )
    pattern = re.compile(rf"(?<![\w.,])(\d{{1,4}})({suffixes})")

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            suffix = by_suffix[match[2].lstrip(".")]
            said = match[1] + suffix if suffix else in_words(int(match[1]), forms.code, "ordinal")
            if said != match[0]:
                yield *match.span(), said

    return find


def _heights(forms: Forms, text: str) -> Iterator[Edit]:
    """A person's height as "1m80"."""
    for match in _HEIGHT.finditer(text):
        metres = amount(Number(match[1], forms), forms.of("unit")["m"], forms)
        yield *match.span(), f"{metres} {match[2]}"


def _measures(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    units = forms.of("unit")
    signs = _alternatives(units)
    pattern = re.compile(
        rf"{number_pattern(forms, 'number')}{SPACE}?(?P<unit>{signs})"
        rf"(?:(?P<each>/(?=\d))|(?:/(?P<per>{signs}))?(?![\w/²³'’]|{SPACE}?[$€£]))"
    )

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            said = amount(Number(match["number"], forms), forms.named("unit", match["unit"]), forms)
            yield *match.span(), said + _each(match, forms)

    return find


def _fractions(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    units = forms.of("unit")
    unit = re.compile(rf"{SPACE}?({_alternatives(units)})(?![\w/²³'’])")

    def find(text: str) -> Iterator[Edit]:
        for match in _FRACTION.finditer(text):
            fraction = _VALUES[match[3]] if match[3] else match[2]
            if measured := unit.match(text, match.end()):
                noun = forms.named("unit", measured[1])
                said = _fraction(forms, match[1], fraction, "f" in noun[2:])
                of = "" if match[1] or fraction == "1/2" else forms.word("of")
                said = f"{said} {joined_by(of, noun[1 if match[1] else 0], forms)}"
                yield match.start(), measured.end(), said
                continue
            feminine = is_feminine(_next_word(text, match.end()), forms)
            said = _fraction(forms, match[1], fraction, feminine)
            yield *match.span(), _set_off(said, text, *match.span())

    return find


def _next_word(text: str, position: int) -> str:
    found = _NEXT_WORD.match(text, position)
    return found[1] if found else ""


def _fraction(forms: Forms, whole: str | None, fraction: str, feminine: bool) -> str:
    """A fraction behind a whole number or alone, as it is said before a noun."""
    known = forms.of("fraction").get(fraction)
    if known is None:
        over, under = re.split("[/⁄]", fraction)
        said = f"{over} {forms.word('over')} {under}"
        return f"{whole} {said}" if whole else said
    if not whole:
        return known[feminine]
    mixed = forms.of("mixed")
    if special := mixed.get(f"{whole} {fraction}"):
        return special[feminine]
    return mixed.get(fraction, mixed[""])[feminine].format(whole, known[feminine])


def _ranges(forms: Forms, text: str) -> Iterator[Edit]:
    """The dash between two numbers; of two with four digits, these are years or no range."""
    for match in _RANGE.finditer(text):
        digits = match[1], match[3]
        years = all(_FIRST_YEARS <= int(each) <= _LAST_YEARS for each in digits)
        word = forms.word("range of years") if years else ""
        if min(map(len, digits)) < 4 or years:
            word = word or forms.word("range")
        if word:
            yield *match.span("dash"), f" {word} "


def _products(forms: Forms, text: str) -> Iterator[Edit]:
    """The x of "2x1", and of a score, where it has spaces."""
    for match in _TIMES.finditer(text):
        score = forms.word("score") if match[0][0] == " " else ""
        yield *match.span(), f" {score or forms.word('times')} "


def _numbers(forms: Forms) -> Callable[[str], Iterator[Edit]]:
    pattern = re.compile(rf"{number_pattern(forms, 'number')}|{_VERSION}|{_BETWEEN_DIGITS.pattern}")
    agreement = Agreement(forms)

    def find(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            if match["version"]:
                yield *match.span(), f" {forms.word('decimal point')} ".join(match[0].split("."))
            elif not match["number"]:
                yield *match.span(), " "
            else:
                number = Number(match[0], forms)
                if number.counts and (
                    counted := agreement.said(int(number.whole), text, *match.span())
                ):
                    yield match.start(), counted[1], counted[0]
                elif (said := str(number)) != match[0]:
                    yield *match.span(), said

    return find


def _signs(pattern: re.Pattern[str], word: Callable[[str], str], text: str) -> Iterator[Edit]:
    for match in pattern.finditer(text):
        if said := word(match[0]):
            start, end = match.span()
            before = " " if text[start - 1 : start].strip() else ""
            after = " " if text[end : end + 1].strip() else ""
            yield start, end, f"{before}{said}{after}"
