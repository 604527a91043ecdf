"""Short forms that the words beside them tell apart: cases, games, menus, keys, models, stages."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .dates import MONTHS
from .letters import LETTER_A, letter_name
from .number_forms import is_one
from .numbers import cardinal
from .rules import Phrase, kept_point

_KEYS = {"⌘": "Command", "⌥": "Option", "⇧": "Shift", "⌃": "Control"}
_COUNTED_BY_ORDINALS = (
    "Cir|Dist|Dept|Cong|Sess|Div|Inf|Cav|ed|Ed|Congress|Session|Division|Infantry|Cavalry|Regiment"
    "|Battalion|Brigade|Artillery|inst|ult|prox|day\\sof|of\\s(?:this|the|last|next)\\smonth"
    f"|of\\s(?:{'|'.join(MONTHS)})"
    "|Airborne|Armou?red|Army|Avenue|Ave|Baron|Baronet|Battery|Company|Corps|Dragoons?|Duke|Earl|Fleet|Foot"
    "|Fusiliers|Grenadiers|Guards|Highlanders|Hussars|Lancers|Legion|Lieutenant|Lord|Marines?|Marquess|Panzer"
    "|Platoon|Psalm|parallel|centur(?:y|ies)|chapters?|verses?|President|Rifles|Squadron|Street|Viscount|Ward|Wing|Field|Light|Heavy|Mounted|Naval"
    "|[Bb]attalions?|[Bb]rigades?|[Rr]egiments?|[Dd]ivisions?|[Ss]quadrons?|[Cc]ompanies"
)
_ORDINALS = r"(?:,?\s(?:and|or|to|&)\s|,\s)\d{1,3}(?:st|nd|rd|th)\b"
_LENGTHS = "One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Twelve|Square|Sq|Cubic|Cu|West"
_STORED = "GB|TB|MB|GiB|TiB|GHz|MHz|Wh|mAh"
_BATTED = r"RBIs?\b|SBs?\b|OPS\b|AVG\b|[2-3]B\b|steals\b|home\b|strikeouts\b|walks\b|homers\b"


def _ordinal(match: re.Match[str]) -> list[Piece]:
    """An ordinal as lawyers write it: "2d Cir.", "3d ed."."""
    last = match.lastindex or 2
    ending = {"2": "nd", "3": "rd"}[match[last - 1][-1]]
    return [Piece(ending, *match.span(last))]


def _circuit(match: re.Match[str]) -> list[Piece]:
    return [Piece(f"Circuit{kept_point(match)}", match.start(1), match.end())]


def _home_runs(match: re.Match[str]) -> list[Piece]:
    """What a batter has hit: "30 HR, 100 RBI"."""
    number, letters = (1, 2) if match[1] else (3, 4)
    return [Piece(f"home run{'s' * (not is_one(match[number]))}", *match.span(letters))]


def _of_several(match: re.Match[str]) -> list[Piece]:
    """The sign between a number and what there are so many of: "4x A100s"."""
    return [Piece("", *match.span(1))]


def _stage(match: re.Match[str]) -> list[Piece]:
    """A Roman numeral with a letter: "Phase IIb"."""
    return [Piece(f" {letter_name(match[1].upper())}", *match.span(1))]


def _key(match: re.Match[str]) -> str:
    """Signs of keys: "⌘C"."""
    return f"{_KEYS[match[1]]} {LETTER_A if match[2] else ''}"


_SUITS = {"♠": "spades", "♥": "hearts", "♦": "diamonds", "♣": "clubs"}
_RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack"}


def _card(match: re.Match[str]) -> str:
    """A card by its rank and suit: "K♥", or the suit alone: "the ace of ♠"."""
    rank = f"{_RANKS.get(match[1], match[1])} of " if match[1] else ""
    return rank + _SUITS[match[0][-1]]


def _zone(match: re.Match[str]) -> list[Piece]:
    """How far a clock is from that of Greenwich: "T09:30+01:00"."""
    words = f" UTC {'plus' if match[1] == '+' else 'minus'} {int(match[2])}"
    if match[3] != "00":
        words += f" {match[3]}"
    return [Piece(words, *match.span())]


_HONORS = (
    "champ|champions?|CEO|founder|entrepreneur|exit|author|bestseller|MVP|All-Stars?|All-Americans?"
    "|All-Pro|Olympians?|medall?ists?|finalists?|winners?|nominees?|winning|nominated|defending"
    "|Oscar|Grammy|Emmy|Tony|Pro Bowler|Pro Bowl|dad|mom"
)
_MENUS = (
    "Accounts?|Actions|Advanced|Applications|Apps?|Build|Control Panel|Dashboard|Data|Developer"
    "|Display|Edit|File|Format|General|Help|Home|Image|Insert|Layer|Library|Menu|My Account|Network"
    "|Options|Preferences|Profile|Project|Run|Security|Settings|Start|System|System Preferences"
    "|System Settings|Tools|View|Window"
)
_MENU_BEFORE = re.compile(
    r"\b(?:go(?:ing)? to|went to|open(?:ing)?|select(?:ing)?|choos(?:e|ing)|click(?:ing)?(?: on)?"
    r"|tap(?:ping)?|press|navigate to|head to|find it (?:in|under)|under|via|through|menu|path"
    r"|visit|use)\b[^.!?;]{0,60}$"
    rf"|\b(?:{_MENUS})$|>\s[^.!?;>]{{0,40}}$",
    re.IGNORECASE,
)
_MENU_AFTER = re.compile(r"[^.!?;]{1,40}\s[>›]\s[A-Z]")


def _path(match: re.Match[str]) -> Replacement:
    """The sign between the menus of a program, "Settings > Privacy", but not in "Cats > Dogs".

    A path has several of these signs, a menu that most programs have, or stands behind what is done
    with a menu.
    """
    text, start = match.string, match.start(1)
    before = text[max(0, match.start() - 80) : match.start()]
    menu = re.fullmatch(_MENUS, text[match.start() : start].strip())
    if (
        match[1].strip() == "›"
        or menu
        or _MENU_BEFORE.search(before)
        or (_MENU_AFTER.match(text, match.end(1)))
    ):
        return [Piece(", ", *match.span(1))]
    return match[0]


_PERSONS = (
    "I|me|he|she|mom|mum|mother|dad|father|parents?|wife|husband|spouse|partner|fianc[eé]e?|gf|bf|girlfriend"
    "|boyfriend|ex|friend|bff|roommate|brother|sister|sibling|son|daughter|kid|child|cousin|aunt|uncle|niece"
    "|nephew|boss|coworker|colleague|neighbor|neighbour|guy|girl|man|woman|patient"
)
_AGED = r"(1[3-9]|[2-9]\d)\s?([MF])"


def _age_and_sex(match: re.Match[str]) -> list[Piece]:
    """Age and sex by a letter: "my (32M) wife (30F)", "I'm 25M"."""
    age, sex = (1, 2) if match[1] else (3, 4)
    words = f"{cardinal(int(match[age]))} {match[sex]}"
    return [Piece(words, match.start(age), match.end(sex))]


def _ages_and_sexes(match: re.Match[str]) -> str:
    """Two people by age and sex: "(30M/29F)"."""
    return f"{cardinal(int(match[1]))} {match[2]}, {cardinal(int(match[3]))} {match[4]}"


SHORT_FORMS: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"\b(?i:my|our|his|her|(?:{_PERSONS})),? [(\[]{_AGED}(?=[)\],/])"
            rf"|\b(?:I['’]m|I am|[Hh]e['’]s|[Ss]he['’]s),? (?:an? )?{_AGED}"
            r"(?=[.,;!?)/]|$| (?:and (?!counting)|but |who |here|single|married|from |living"
            r"|looking|with an? ))"
        ),
        _age_and_sex,
    ),
    (re.compile(r"(?<=[(\[])(\d\d)([MF])(?:/|, ?)(\d\d)([MF])(?=[)\]])"), _ages_and_sexes),
    (
        re.compile(r"\b[A-Z][\w'’&.]{1,30}(\s(?:>|›(?=\s[A-Z]))\s)(?=[A-Z])"),
        _path,
    ),
    (re.compile(r"(?<=\b[Tt]he )MS(S?)\."), lambda m: f"manuscript{'s' * bool(m[1])}"),
    (re.compile(r"(?<=\d)-y\.o\.(?=\s[a-z])"), " year old"),
    (re.compile(r"(?<![\w.])(?=\d{1,2}(?::\d\d)?[ap]\.m\b)(\d{1,2}(?::\d\d)?)"), r"\1 "),
    (
        re.compile(
            r"((?<![\w.])(?:[A-Z]\.){1,4}|\b[A-Z]{2,6}|\b[A-Z][a-z]+ (?:Inc|Co|Corp|Ltd|Bros)\.,?)"
            r" vs?\. (?=(?:the )?[A-Z])"
        ),
        r"\1 versus ",
    ),
    (re.compile(rf"(?<![\w.,-])(\d{{0,2}}[23])(d)(?=\s(?:{_COUNTED_BY_ORDINALS})\b)"), _ordinal),
    # "the 103d", "the 1st, 2d and 4th"
    (
        re.compile(
            rf"\b[Tt]he\s(\d{{1,2}}[23])(d)\b|(?<![\w.,-])(\d{{0,2}}[23])(d)(?={_ORDINALS})"
        ),
        _ordinal,
    ),
    (
        re.compile(
            r"\d(?:st|nd|rd|th)(?:,\s|,?\s(?:and|or|to|&)\s)(?:\d{0,2}[23]d(?:,\s|,?\s(?:and|or)\s))?"
            r"(\d{0,2}[23])(d)\b"
        ),
        _ordinal,
    ),
    (re.compile(rf"\b(?:{'|'.join(MONTHS)}) ([23]?[23])(d)(?=[,;.)]|$)"), _ordinal),
    (re.compile(r"\bFed\.(?=\sCir\.)"), "Federal"),
    (
        re.compile(
            r"(?<=[a-z)] )d(?:ef)?\."
            r"(?= (?:[A-Z]\. )?(?:[A-Z][^\W\d_]+ ){1,3}(?:\(\d+\) )?\d{1,2}[-–]\d)"
        ),
        "defeated",
    ),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{3}[-–/]\d(?:d| dec)|\d\d[-–/]\d dec(?=\.))\b"
            r"(?:\.(?! ?[A-Z]|$))?(?!\s\d|['’])"
        ),
        lambda m: f"{m[1].rstrip('dec ')} declared",
    ),
    (re.compile(r"(?:(?<=\d(?:st|nd|rd|th) )|(?<=\bFederal ))(Cir)\b\.?(?! ?[A-Z]{2})"), _circuit),
    (
        re.compile(
            rf"\b(\d{{1,3}}) (HRs?)\b(?=,? (?:and |with )?(?:\.\d{{3}}|\d+ )?(?:{_BATTED}))"
            r"|\b(?i:hits?|hitting|homered|slugged|slugging|batted|career|leads? with|belted|mashed"
            r"|RBIs?,?|RBIs? and|SB,) (\d{1,3}) (HRs?)\b"
        ),
        _home_runs,
    ),
    (
        re.compile(
            r"(?<![\w.,/])(?:[1-9]\d?)([x×])(?= (?:[A-Z][A-Za-z]{0,14}-?\d|[A-Z]{2,6} \d{3,4}\b))"
        ),
        _of_several,
    ),
    (
        re.compile(
            r"(?<![\w.,/])(?:[2-9]|[1-9]\d)(x) (?=(?:(?:[A-Z]{2,5}|[A-Z][A-Za-z'’-]+|world|national"
            rf"|state|former) ){{0,3}}(?:{_HONORS})\b)"
        ),
        lambda m: [Piece("-time", *m.span(1))],
    ),
    (
        re.compile(
            r"(?<![\w.])((?:[A-Z][A-Za-z]+ |[A-Z]{1,4}-?)\d{2,4}[A-Za-z]{0,3})"
            rf"(?=,? \d{{1,4}}(?:\.\d)?\s?(?:{_STORED})\b)(?!,)"
        ),
        r"\1,",
    ),
    (
        re.compile(
            r"(?<![\w.-])([A-Z]{1,4}-?\d{2,4}[A-Za-z]{0,3}|[A-Z]{2,4} \d{4})-"
            rf"(?=\d{{1,4}}\s?(?:{_STORED})\b)"
        ),
        r"\1, ",
    ),
    (
        re.compile(
            rf"((?:(?<![\w.])(?!(?:{_LENGTHS})\b)[A-Z][\w'’.$&-]{{0,30}}|\)) \(?|\()"
            r"f(?:ea)?t\. (?=[A-Z\d$])"
        ),
        r"\1featuring ",
    ),
    (
        re.compile(r"([$£€]\d[\d,]{0,20}(?:\.\d{1,9})?[KMBT]?) est\b\.?(?=\s*$|[,;:)]|\s+[A-Z])"),
        lambda m: f"{m[1]} estimated{kept_point(m)}",
    ),
    (
        re.compile(
            r"\b(?i:phases?|types?|stages?|class|grades?|groups?) (?:I{1,3}|I?V|VI{1,3})([a-e])\b"
        ),
        _stage,
    ),
    (
        re.compile(
            r"(?<!\w)(Apt\.?|Apartment|Room|Rm\.?|Gate|Unit|Suite|Ste\.?|Flat|Seat|Ward|Block|Bay|Dock)"
            r" (\d{1,4}) ([A-Z])(?![\w'’]|\.\w|\s[A-Z]|\s\d)"
        ),
        r"\1 \2\3",
    ),
    (
        re.compile(
            r"\bINR(?=\s(?:was |is |of |at )?\d\.\d"
            r"(?!\d|\s(?:crore|lakh|cr|[mb]n|[mb]illion|per)\b))"
        ),
        "I.N.R",
    ),
    (re.compile(r"(?<!\w)(10|[2-9AKQJ])([♠♥♦♣])(?!\w)|(?<=\bof )[♠♥♦♣](?![\w\ufe0f])"), _card),
    (re.compile(r"([⌘⌥⇧⌃])\s?\+?\s?(A\b)?"), _key),
    (re.compile(r"(?:(?<=T\d\d:\d\d)|(?<=T\d\d:\d\d:\d\d))([+-])(\d\d):?([0-5]\d)\b"), _zone),
)
"""Phrases, each with what it is replaced by, before addresses and capitals are looked at."""
