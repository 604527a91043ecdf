"""Short forms of listings, recipes, charts and courts: "gd cond.", "2 lg. eggs", "x 7 days"."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .number_forms import NOUN_AFTER
from .numbers import cardinal, plural
from .rules import Phrase, kept_point
from .tables import pairs, table, word_sets

_LISTED = {kind: "|".join(sorted(words)) for kind, words in word_sets("listed").items()}
_SIZES = {"lg": "large", "med": "medium", "sm": "small"}
_RULES = {"Civ": "Civil", "Crim": "Criminal", "App": "Appellate", "Bankr": "Bankruptcy"}
CURRENCY_NAMES = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen"}
_TITLES = {short: words for kind, short, words in table("abbreviations") if kind == "title"}
_SHIRES = pairs("shires")


def _size(match: re.Match[str]) -> str:
    """A size: "2 lg. eggs", "Lg. sofa"."""
    word = _SIZES[match[1].lower()]
    return word.capitalize() if match[1][0].isupper() else word


def _procedure(match: re.Match[str]) -> str:
    """The rules of the courts: "Fed. R. Civ. P. 12(b)"."""
    rules = "Rule" if match[2] else "Rules"
    return f"Federal {rules} of " + (
        "Evidence" if match[1] == "Evid" else f"{_RULES[match[1]]} Procedure"
    )


def _condition(match: re.Match[str]) -> list[Piece]:
    """The state of what is sold: "gd cond."."""
    state = {"gd": "good", "exc": "excellent"}.get(match[1].lower().rstrip("."), match[1])
    if match[1][0].isupper():
        state = state.capitalize()
    return [
        Piece(f"{state} ", match.start(), match.start(2)),
        Piece(f"condition{kept_point(match)}", match.start(2), match.end()),
    ]


def _shire(match: re.Match[str]) -> str:
    """A county behind a town: "near Kettering, Northants."."""
    return _SHIRES[match[1]] + kept_point(match)


_GIVEN = (
    r"(?:tabs?|caps?|mg|mcg|ml|daily|doses?|[Pp]\.?[Oo]\.?|[BTQ]I[DV]|[bt]id|qd|QD|q\d+h|IV|od|OD|bd|BD"
    r"|[bqt]\.i?\.?d\.?)"
)

_TERM = "yield|Treasury|Treasuries|note|bond|spread|auction|gilt|bund|swap|Treasurys|JGB"


def _terms(match: re.Match[str]) -> str:
    """The years of two bonds: "2s10s"."""
    return " ".join(plural(cardinal(int(term))) for term in match.groups())


def _episode(match: re.Match[str]) -> str:
    """A part of a series: "S3E7"."""
    return f"season {int(match[1])}, episode {int(match[2])}"


_SUM = re.compile(r"[\\=^]")


def _money(match: re.Match[str]) -> str:
    """Signs that stand for money, "bring $$", but not those around a formula of TeX."""
    beside = match.string[max(0, match.start() - 80) : match.end() + 80]
    return match[0] if _SUM.search(beside) else "money"


def _paid(match: re.Match[str]) -> list[Piece]:
    """What an amount is for: "£9.99pm", "£120pw"."""
    return [Piece(f" {_PAID[match[1]]}", *match.span(1))]


_PAID = {
    **{"pm": "per month", "pw": "per week", "pcm": "per calendar month", "pp": "per person"},
    **{"ph": "per hour", "pppn": "per person per night", "pn": "per night", "pa": "per annum"},
}

_ROADS = {
    **{"St": "Street", "Dr": "Drive", "Ln": "Lane", "Ct": "Court", "Pl": "Place", "Sq": "Square"},
    **{"Tce": "Terrace", "Cres": "Crescent"},
}
_BOUND = {"N": "northbound", "S": "southbound", "E": "eastbound", "W": "westbound"}
_TURNS = {"L": "left", "R": "right", "lt": "left", "rt": "right"}


def _stars(match: re.Match[str]) -> str:
    """A rating by signs: "★★★★☆"."""
    given = match[0].count("★")
    if "☆" in match[0]:
        return f"{given} out of {len(match[0])} stars"
    return f"{given} star{'s' * (given > 1)}"


def _starred(match: re.Match[str]) -> str:
    """The sign behind a number: "a 5★ hotel"."""
    one = match.string.endswith(" 1", 0, match.start()) or NOUN_AFTER.match(
        match.string, match.end()
    )
    return " star" if one else " stars"


_PARTIES = {"Pl": "Plaintiff", "Def": "Defendant"}
_PAPERS = {
    **{"Mot": "Motion", "Br": "Brief", "Mem": "Memorandum", "Compl": "Complaint", "Ex": "Exhibit"},
    **{"Decl": "Declaration", "Aff": "Affidavit", "Resp": "Response", "Opp": "Opposition"},
    **{
        "Summ": "Summary",
        "J": "Judgment",
        "Opp'n": "Opposition",
        "Supp": "Supplemental",
        "Am": "Amended",
        "Answ": "Answer",
    },
}
_PAPER = "|".join(sorted(_PAPERS, key=len, reverse=True))


_LETTER_BEHIND = re.compile(r"\s[B-HJ-Z](?![\w'’])")


def _party(match: re.Match[str]) -> str:
    """A party to a suit: "Pl.'s Mot."."""
    return _PARTIES[match[1]] + match[2]


def _papers(match: re.Match[str]) -> list[Piece]:
    """What a party files: "Plaintiff's Mot. Summ. J."."""
    words = " ".join(_PAPERS[word.rstrip(".")] for word in match[1].split())
    lettered = _LETTER_BEHIND.match(match.string, match.end())  # "Plaintiff's Ex. B was"
    point = "" if lettered else kept_point(match)
    return [Piece(words + point, match.start(1), match.end())]


_NUNS = (
    "Mary|Maria|Marie|Teresa|Theresa|Ann|Anne|Agnes|Bernadette|Catherine|Clare|Elizabeth|Frances|Helen|Jean|Joan"
    "|Josephine|Joyce|Lucy|Margaret|Monica|Patricia|Rita|Rose|Ruth|Simone|Cecilia|Angela|Benedicta|Immaculata"
)
_LEADING_WORDS = (
    "With",
    "When",
    "And",
    "But",
    "The",
    "As",
    "Then",
    "Dear",
    "Hi",
    "Hello",
    "Ask",
    "Meet",
    "For",
)


def _sister(match: re.Match[str]) -> Replacement:
    """A nun, unless a name stands before it: "John Hill Sr."."""
    if match[1] and match[1] not in _LEADING_WORDS:
        return match[0]
    return [Piece("Sister", *match.span(2))]


LISTINGS: tuple[Phrase, ...] = (
    (re.compile(r"\b([Mm])ob\.?(?=:?\s\+?\d{2,})"), r"\1obile"),
    (
        re.compile(
            r"(?:(?<=\besp\. )|(?<=\bcf\. )|(?<=\bcompare )|(?<=\b[Ss]ee )|(?<=\bat )"
            r"|(?<=\d )|(?<=\d, )|(?<=\())"
            r"n(n?)\.(?=\s\d)"
        ),
        lambda m: f"note{'s' * bool(m[1])}",
    ),
    (
        re.compile(rf"(?<![\w.])(Pl|Def)(s?)\.(?=['’]s? |['’]? (?:{_PAPER})\b)"),
        _party,
    ),
    (
        re.compile(
            rf"\b(?:Plaintiff|Defendant)s?(?:['’]s?)? ((?:{_PAPER})\.(?: (?:{_PAPER})\.){{0,4}})"
            r"(?! [Pp]arte\b)"
        ),
        _papers,
    ),
    (re.compile(rf"(?:\b([A-Z][\w'’]*),? )?\b(Sr\.)(?= (?:{_NUNS})\b)"), _sister),
    (
        re.compile(r"\b([Ss])td\.? ([Dd])ev(s?)\b\.?"),
        lambda m: f"{m[1]}tandard {m[2]}eviation{m[3]}{kept_point(m)}",
    ),
    (re.compile(r"(?<=\d)\s?★(?![★☆])"), _starred),
    (re.compile(r"(?<![★☆])★{1,5}☆{0,4}(?![★☆])"), _stars),
    (re.compile(r"(?<=\d)-spd\b\.?"), "-speed"),
    (re.compile(r"(?<=\d)-dr\b\.?(?=\s[a-z]|[,;)])"), "-door"),
    (
        re.compile(r"(?:(?<=\b[Tt]urn )|(?<=\bthen ))(L|R|lt|rt)\b\.?(?=\s(?:on|at|onto|in)\b)"),
        lambda m: _TURNS[m[1]],
    ),
    (
        re.compile(r"\b([NSEW])B(?=\s(?:lanes?|traffic|exits?|ramps?|side|trains?|platform)\b)"),
        lambda m: _BOUND[m[1]],
    ),
    (re.compile(r"\bAlt\.(?=\sside\b)"), "Alternate"),
    (re.compile(r"(?:(?<=/mo)|(?<=/yr)|(?<=/wk)|(?<=/hr))\.(?=[,;)])"), ""),
    (re.compile(r"(?<=\b[Gg]as \d)/(?=\d{3}\s?°?C)"), ", "),
    (re.compile(r"(?<=\d{3})\s?C/(?=\d{3}\s?F\b)"), "°C, "),
    (re.compile(r"(?<=°C, \d{3})\s?F\b"), "°F"),
    (re.compile(r"(?<=\d)\s?F(?=\s?\(\s?\d{2,3}\s?°?C\b)"), "°F"),
    (re.compile(r"(?<=°F)(\s?\(\s?\d{2,3})\s?C\b"), r"\1°C"),
    (re.compile(r"(?<=\d)\s?C(?=\s?\(\s?\d{2,3}\s?°?F\b)"), "°C"),
    (re.compile(r"(?<=°C)(\s?\(\s?\d{2,3})\s?F\b"), r"\1°F"),
    (re.compile(r"(?<![\w/])D/W(?=[,;.]|$)"), "dishwasher"),
    (re.compile(r"(?<=[A-Za-z] )req\.(?=[,;)])"), "required"),
    (re.compile(r"(?<=[A-Za-z] )pref\.(?=[,;)])"), "preferred"),
    (re.compile(r"(?<=[:,] [A-D])-(?=[,;.])"), " minus"),
    (
        re.compile(
            rf"(\b\d+[A-Z]? (?:[A-Z][a-z]+ ){{1,2}})({'|'.join(_ROADS)})"
            r"(?=[,;)]|$|\s(?:and|in|near|at|is|was)\b)"
        ),
        lambda m: f"{m[1]}{_ROADS[m[2]]}",
    ),
    (
        re.compile(rf"[$£€]\d[\d,]*(?:\.\d\d)?k?\s?(?<!\d\s(?=pm|pa))({'|'.join(_PAID)})\b"),
        _paid,
    ),
    (re.compile(r"([$£€]\d[\d,]*\.\d\d)[Ee]\b"), r"\1 estimated"),
    (
        re.compile(r"([$£€]\d[\d,]*\.\d\d)[Aa](?=[.,;:)]|$|\s(?:vs|versus|in|for|and)\b)"),
        r"\1 actual",
    ),
    (re.compile(r"(?<=[a-z:] )\${2,5}(?=[.,;!?)]|\s[a-z]{2}|$)"), _money),
    (re.compile(r"(?<=\d )mths?\b\.?"), lambda m: f"months{kept_point(m)}"),
    (re.compile(r"\bencl\.(?=\s(?:the|is|are|please|my|our|an?)\b)"), "enclosed"),
    (re.compile(r"(?<=[a-z] )x(?=\d{4}(?:[.,;)](?!\d)|\s[a-z]|$))"), "extension "),
    (re.compile(rf"(?<![\w.])(\d{{1,2}})Y[-/](\d{{1,2}})Y(?=\s(?:{_TERM})\b)"), r"\1-year \2-year"),
    (re.compile(rf"(?<![\w.])(\d{{1,2}})Y(?=\s(?:(?:{_TERM})\b|\d\.\d))"), r"\1-year"),
    (re.compile(r"\b(2|3|5|7|10|20)s(5|10|20|30)s\b"), _terms),
    (re.compile(r"(?<!\w)10-4(?=[,.!]\s(?:good|over|roger|copy)\b|\sgood buddy\b)"), "ten four"),
    (re.compile(r"(?<!\w)([35])'\s?(?:to|→|->|-|–)\s?([35])'"), r"\1 prime to \2 prime"),
    (
        re.compile(r"(?<!\w)([35])'(?=[\s-](?:ends?|UTRs?|caps?|strand|direction|untranslated)\b)"),
        r"\1 prime",
    ),
    (re.compile(r"(?<=\d(?:st|nd|rd|th))\s?%ile\b"), " percentile"),
    (re.compile(r"(?<![\w.])[Ss](\d{1,2})(?:[Ee]|[,:]?\s(?:E|Ep\.?\s?))(\d{1,3})\b"), _episode),
    (
        re.compile(
            r"(?<!\w)\.30-06\b|(?<!\w)30-06\b(?=\s(?:rounds?|rifles?|Springfield|ammo|cartridges?)\b)"
        ),
        "thirty aught six",
    ),
    (re.compile(r"(?<=\d )est\.(?=\s(?:by|of|vs|on|for)\b|[,;:)])"), "estimate"),
    (re.compile(r"(?<=% )est\.(?=\s*$|[,;:)])"), lambda m: f"estimated{kept_point(m)}"),
    (re.compile(r"\badv\.?/(?=[$£€])"), "advance, "),
    (re.compile(r"\bGrp\b\.?(?=\s\d)"), "Group"),
    (re.compile(r"\b([Rr])ec\. ?[Ll]oc\b\."), r"\1ecord locator"),
    (
        re.compile(r"(?:(?<=\d\" )|(?<=\d″ )|(?<=inches )|(?<=\bin\. ))o\.c\."),
        lambda m: f"on center{kept_point(m)}",
    ),
    (
        re.compile(
            r"(?:(?<=\bvs\. )|(?<=\bvs )|(?<=\bthe )|(?<=\ban )|(?<=\b[Cc]onsensus )|(?<=ts['’] ))"
            r"est\.(?=\s(?:of|for)\b)"
        ),
        "estimate",
    ),
    (re.compile(r"(?<=\d)/sh\b\.?"), " per share"),
    (re.compile(r"(?<![\w./$-])([2-9])/(?=\$\d)"), r"\1 for "),
    (re.compile(r"(?<=\d )inn\b\.?(?=[,;)])"), "innings"),
    (
        re.compile(
            r"(?<![\w.])(\d{1,3})/(\d{1,2})/(\d{1,2})(?=\son\s\d{1,2}-(?:of|for)-|\s(?:stat\s?line|triple)\b)"
        ),
        r"\1, \2, \3",
    ),
    (re.compile(r"(?<=[mM][lL] )susp\b\.?"), "suspension"),
    (re.compile(r"\b([Cc])onf\s?#\s?(?=[A-Z\d])"), r"\1onfirmation number "),
    (re.compile(r"\bst\.(?=\s\d{1,2}\s?lbs?\b)"), "st"),
    (re.compile(r"(?<=\b[Aa]t )(?:¼|1/4)(?=\s(?:to|past|of|before|after)\s)"), "a quarter"),
    (re.compile(r"(?<=\b[Aa]t )(?:½|1/2)(?=\spast\b)"), "half"),
    (re.compile(r"(?<=\d\d)/(?=\d\d\s?Hz\b)"), " "),
    (re.compile(r"(?<=\b[A-Z]{3})–(?=[A-Z]{3}\b)"), " to "),
    (re.compile(r"(?<=\d )shs\b\.?(?!$)"), "shares"),
    (re.compile(r"(?<=\d)\s?pct\b\.?(?!$)|(?<=\d)\s?pct(?=\.?$)"), " percent"),
    (
        re.compile(rf"(?<=\d)pc\b(?!\s(?:{_LISTED['set']})\b|\.\w)"),
        " percent",
    ),
    (re.compile(r"(?<=\d )pcm\b"), "per calendar month"),
    (re.compile(r"(?<=\d )pppn\b"), "per person per night"),
    (re.compile(r"(?<=\d )pp(?=\s(?:per\s|a\s)?(?:night|week|sharing)\b)"), "per person"),
    (re.compile(rf"(\b{_GIVEN}) x (?=\d+[\s-]?(?:days?|wks?|weeks?|mos?|months?)\b)"), r"\1 for "),
    (
        re.compile(
            r"(?:(?<=\bPO )|(?<=\bmg )|(?<=\bmL )|(?<=\bml )|(?<=\btab )|(?<=\bcap ))([BTQ])ID\b"
        ),
        r"\1.I.D",
    ),
    (re.compile(r"(?<=\bsets )[x×](?=\s\d+)"), "of"),
    (
        re.compile(
            r"(\b\d+ [a-z]+s)/(?=\d+[\s-](?:hrs?|hours?|days?|wks?|weeks?|mins?|minutes)\b)"
        ),
        r"\1 per ",
    ),
    (
        re.compile(r"\bFed\.\s?R\.\s?(Civ|Crim|App|Bankr|Evid)\.(?:(?<=Evid\.)|\s?P\.)(\s(?=\d))?"),
        lambda m: _procedure(m) + (m[2] or ""),
    ),
    (
        re.compile(
            r"(\b[Uu]nder |\b(?:by|of|in|see|to|and) (?=ss?\.?\s?\d+[A-Z]?(?:\(\w+\))*"
            r"(?:[–-]\d+)?\s(?:of\s(?:the|that|this|[A-Z])|and\s\d|[A-Z])))(ss?)\.?\s?(?=\d)"
        ),
        lambda m: f"{m[1]}section{'s' * (m[2] == 'ss')} ",
    ),
    (
        re.compile(
            r"(\b(?!Act\b|Part|Book|Ch|Vol|Page|Type|Phase|Se?c)[A-Z][a-z]+) v "
            r"(?=(?:the )?[A-Z][a-z]+)"
        ),
        r"\1 versus ",
    ),
    (re.compile(r"\bF/T\b"), "full-time"),
    (re.compile(r"\bP/T\b"), "part-time"),
    (
        re.compile(r"(?<![\w/])[Ww]/[Dd](?=\s(?:in|hookups?|incl|included)\b|[,;])"),
        "washer and dryer",
    ),
    (
        re.compile(rf"\b((?i:{_LISTED['state']})\.?)[\s-](cond\b\.?)"),
        _condition,
    ),
    (re.compile(r"\bgd(?=\s(?:home|shape|running|used|deal|price)\b)"), "good"),
    (re.compile(r"\bsec\.\sdep\b\.?"), "security deposit"),
    (re.compile(r"(?:(?<=\+ )|(?<=incl )|(?<=incl\. ))utils?\b\.?"), "utilities"),
    (re.compile(r"(?<=\dBR )apt\b(?!\.)|(?<=bedroom )apt\b(?!\.)"), "apartment"),
    (re.compile(r"(?<=\d )(lg|med|sm)\.?(?=\s[a-z])"), _size),
    (re.compile(r"(?<![\w.])(Lg|Sm)\.(?=\s[a-z])"), _size),
    (re.compile(r"\b[Ss]at\.(?=\s[Ff]at\b)"), "saturated"),
    (
        re.compile(r"(?:(?<=& )|(?<=and )|(?<=bank )|(?<=school )|(?<=public ))hols\b\.?"),
        lambda m: f"holidays{kept_point(m)}",
    ),
    (re.compile(r"\b(?<!\d )ea\.(?=\s[a-z])"), "each"),
    (re.compile(rf"((?<!\w)(?:{_LISTED['episode']}) )ep\.(?=\s[a-z])"), r"\1episode"),
    (
        re.compile(rf"(\b(?:I|{_LISTED['person']}) \(\d\d)([MF]\))"),
        r"\1 \2",
    ),
    (
        re.compile(r"(?<=\b[Tt]he )([$£€¥])(?=\s[a-z])"),
        lambda m: CURRENCY_NAMES[m[1]],
    ),
    (re.compile(r"\bRev['’]?d(?=\.?\s[A-Z])"), "Reverend"),
    (re.compile(r"\bCllr\b\.?(?=\s[A-Z])"), "Councillor"),
    (re.compile(r"\bLt\.?-(?=(?:Col|Gen|Cdr|Gov)\b)"), "Lieutenant "),
    (re.compile(r"\bMaj\.?-(?=Gen\b)"), "Major "),
    (
        re.compile(r"(?<=\bLieutenant )(Col|Gen)(?=\s[A-Z])|(?<=\bMajor )(Gen)(?=\s[A-Z])"),
        lambda m: _TITLES[m[1] or m[2]],
    ),
    (
        re.compile(
            r"\bSec\.(?=\sof\s(?:State|Defense|War|Labor|Commerce|the\s[A-Z])"
            r"|\s(?!Council\b|[IVX]+\b)[A-Z][a-z]+)"
        ),
        "Secretary",
    ),
    (
        re.compile(r"\b(Gov|Sen|Rep|Pres|Col|Gen)\.-(?=elect\b|designate\b)"),
        lambda m: f"{_TITLES[m[1]]}-",
    ),
    (
        re.compile(
            rf"(?:(?<=[a-z], )|(?<=\bin )|(?<=\bnear )|(?<=\bfrom ))({'|'.join(_SHIRES)})"
            r"(?!\w|-|['’]|\s[A-Z][a-z])\.?"
        ),
        _shire,
    ),
    (re.compile(r"(?<![\w/])W/O(?=\s[A-Z]{2,})"), "WITHOUT"),
    (re.compile(r"(?<![\w/])W/(?=\s[A-Z]{2,})"), "WITH"),
    (
        re.compile(r"(?:(?<=\b[Ii]n )|(?<=\bafter )|(?<=\bfor )|(?<=\bNFL ))Rd\.?(?=\s\d)"),
        "Round",
    ),
    (re.compile(r"\btysm\b"), "thank you so much"),
    (re.compile(r"\bTysm\b"), "Thank you so much"),
    (re.compile(r"(?<![\w-])ur(?=\s(?:so|too|very|not|the|an?|gonna|\w+ing)\b)"), "you're"),
    (re.compile(r"(?<![\w-])ur(?![\w'’-])"), "your"),
    (re.compile(r"\b[Cc] u\b(?=\s|[.!?]|$)"), "see you"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
