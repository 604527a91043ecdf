"""Clipped words that only their company tells from other words: "no. of items", "est. cost"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from ..tracked import Piece, Replacement, Tracked
from .chords import PROGRESSIONS
from .finance import FINANCE
from .itineraries import ITINERARIES
from .knitting import KNITTING
from .laboratory import LABORATORY
from .lineage import LINEAGE
from .listings import CURRENCY_NAMES, LISTINGS
from .magnitudes import MAGNITUDE_NAMES
from .pleadings import PLEADINGS
from .products import PRODUCTS
from .reports import REPORTS
from .rules import kept_point
from .schedules import SCHEDULES
from .sports import MATCHES
from .tables import table
from .weather import WEATHER

_STATES = {short: name for kind, short, name in table("states") if kind != "province"}
_POINTED_STATES = {
    "N.Y.": "New York",
    "N.J.": "New Jersey",
    "N.H.": "New Hampshire",
    "N.M.": "New Mexico",
    "N.C.": "North Carolina",
    "N.D.": "North Dakota",
    "S.C.": "South Carolina",
    "S.D.": "South Dakota",
    "R.I.": "Rhode Island",
    "W.Va.": "West Virginia",
}
_COMPASS = {"N": "North", "S": "South", "E": "East", "W": "West"}
_REGIONS = (
    r"\bN\.?\s(?=(?:Korea|Dakota|Carolina|Macedonia|Ireland|Vietnam)n?s?\b|Yorkshire\b)"
    r"|\bS\.?\s(?=(?:Korea|Dakota|Carolina|Sudan|Vietnam)n?s?\b|Yorkshire\b)"
    r"|\b[NS]\.\s(?=(?:Africa|America)ns?\b|(?:Africa|America|Wales|London)\b)"
    r"|\bW\.?\s(?=Virginian?s?\b|Midlands\b)|\bE\.?\s(?=Midlands\b|Anglia\b|Timor\b)"
    r"|\b[EW]\.\s(?=German[ys]?\b|(?:Bank|Africa|Jerusalem|Sussex|Yorkshire|Ham|Indies|Hollywood)\b)"
)
_TITLES = {short: words for kind, short, *words in table("abbreviations") if kind == "title"}
_RANKS = {
    short: _TITLES[short][0].lower()
    for short in ("Sgt", "Lt", "Capt", "Col", "Cpl", "Maj", "Gen", "Gov", "Sen", "Pvt", "Prof")
}
_MAKERS = {
    **{"trans": "translated", "ed": "edited", "illus": "illustrated", "dir": "directed"},
    **{"prod": "produced", "arr": "arranged"},
}
_MEASURED = {
    **{"elev": "elevation", "alt": "altitude", "dist": "distance", "diam": "diameter"},
    **{"dia": "diameter", "circ": "circumference"},
}
_GUESSED = (
    "cost|costs|price|value|time|delivery|arrival|wait|size|age|weight|population|revenue|income|total"
    "|number|amount|completion|release|date|read|reading|duration|distance|calories|tax|taxes|payment"
    "|budget|range|yield|speed|profit|loss|damage|repair|travel|shipping|reach"
)
_PATIENT_DOES = (
    "is|was|has|had|denies|denied|reports|reported|presents|presented|states|stated|complains|c/o|s/p"
    "|w/|with|will|can|tolerated|seen|admitted|discharged"
)
_COMPLAINTS = (
    "pain|chest|abdominal|back|head|headaches?|SOB|shortness|fever|cough|nausea|dizziness|fatigue"
    "|abd|numbness|sore|severe|mild|worsening|blurred|itching|weakness|vomiting|rash|difficulty"
)
_INGREDIENTS = (
    "salt|sugar|oil|vanilla|butter|soda|powder|cinnamon|pepper|flour|milk|water|honey|juice|garlic"
    "|ginger|cumin|paprika|oregano|thyme|yeast|cornstarch|vinegar|sauce|mustard|cocoa|zest|cream"
    "|nutmeg|parsley|basil|syrup|broth|(?:chicken|beef|vegetable|fish) stock|rice|oats"
    "|cheese|buttermilk|yogurt|onions?|shortening|margarine|cilantro|mayonnaise|extract|chili"
    "|cayenne|turmeric"
)


def _with_case(words: dict[str, str]) -> Callable[[re.Match[str]], str]:
    """The word of the first group, with a capital where that has one."""

    def expanded(match: re.Match[str]) -> str:
        word = words[match[1].lower()]
        return word.capitalize() if match[1][0].isupper() else word

    return expanded


_DOSED = ("bid", "tid", "qid", "qhs", "qam", "qpm", "qod", "prn")


def _dosed(match: re.Match[str]) -> list[Piece]:
    """How often a medicine is taken, in letters: "400 mg bid"."""
    return [Piece(" ".join(".".join(w.upper()) for w in match[2].split()), *match.span(2))]


def _party(match: re.Match[str]) -> list[Piece]:
    """The state of a politician: "(D-MN)"."""
    state = _STATES.get(match[2]) or _POINTED_STATES.get(match[2], match[2])
    return [
        Piece(f" {state}", match.end(1), match.end(2)),
        Piece(" " * (match.end() > match.end(2)), match.end(2), match.end()),
    ]


def _rank(match: re.Match[str]) -> list[Piece]:
    return [Piece(_RANKS[match[2]], match.start(2), match.end())]


def _region(match: re.Match[str]) -> str:
    name = _COMPASS[match[0][0]]
    irish = match.string.startswith("Ireland", match.end())
    return f"{name}ern " if irish else f"{name} "


_OF_RECIPES = {"T": "tablespoon", "t": "teaspoon", "c": "cup", "pt": "pint", "qt": "quart"}


def _spoons(match: re.Match[str]) -> list[Piece]:
    """Spoons and cups in a recipe: "1 T. salt", "2 t oil", "½ c butter"."""
    name = _OF_RECIPES[match[2]]
    one = re.search(r"(?<![\d/.])1$|(?<![\d ] )(?<!\d-)\b\d/\d$", match.string[: match.start()])
    return [Piece(name if one else f"{name}s", match.start(2), match.end())]


def _pair(match: re.Match[str]) -> str:
    """Two currencies, "EUR/USD", in letters, so that no amount of the second follows."""
    return f"{'.'.join(match[1])} {'.'.join(match[2])}"


def _pair_of_signs(match: re.Match[str]) -> str:
    """Two currencies by their signs: "£/$ 1.27"."""
    first, second = (CURRENCY_NAMES[sign] for sign in match.groups())
    return f"{first} {second}"


_SCENES = {"INT": "Interior,", "EXT": "Exterior,"}
_OF_THE_MONTH = {"ult": "ultimo", "inst": "instant", "prox": "proximo"}
_CODES = "|".join(sign for sign, *_ in table("currencies") if sign.isalpha() and len(sign) == 3)

_PHRASES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], Replacement]], ...] = (
    (re.compile(r"\b([Nn])o\.\sof\b(?!\scourse\b)"), r"\1umber of"),
    (
        re.compile(rf"\b([Ee])st\.(?=\s(?:{_GUESSED})\b|:?\s[$£€~]|\s(?!1[0-9]\d\d\b|20\d\d\b)\d)"),
        r"\1stimated",
    ),
    (re.compile(rf"\b((?i:{'|'.join(_MAKERS)}))\.(?=\sby\b)"), _with_case(_MAKERS)),
    (re.compile(rf"\b((?i:{'|'.join(_MEASURED)}))\.(?=:?\s[\d~])"), _with_case(_MEASURED)),
    (
        re.compile(
            r"\bfl\.(?=\s(?:ca?\.\s)?(?:(?:1\d{3}|[5-9]\d\d)s?\b|\d{1,4}\s?(?:B\.?C|C\.?E)\b))"
        ),
        "flourished",
    ),
    (re.compile(r"\b([Cc])onf\.(?=\s(?:#|no\.|number\b|code\b))"), r"\1onfirmation"),
    (re.compile(r"(?<=onfirmation )#\s?(?=[A-Z\d])"), "number "),
    (re.compile(r"\b[Mm]ed(?:\.?-|\.\s)(?=(?:high|low|heat)\b)"), "medium "),
    (re.compile(r"\bF[Ww][Dd]?(?=:)"), "forward"),
    (re.compile(r"(?<=[\d%kKmM] )p\.a\.?(?!\w)"), lambda m: f"per annum{kept_point(m)}"),
    (re.compile(r"(?<=\d )ea\b\.?"), lambda m: f"each{kept_point(m)}"),
    (re.compile(rf"(?<!\bdew )(?<!ing )\b([Pp])t\.(?=\s(?:{_PATIENT_DOES})(?!\w))"), r"\1atient"),
    (re.compile(r"\b([Hh])x(?=\sof\b)"), r"\1istory"),
    (re.compile(rf"(?<!\w)c/o(?=\s(?:{_COMPLAINTS})\b)|(?<=[Pp]atient )c/o\b"), "complaining of"),
    (
        re.compile(
            r"\b([Aa])bd\.?(?=\s(?:pain|exam|CT|ultrasound|distention|distension|tenderness|cramp|soft|surgery)s?\b)"
        ),
        r"\1bdominal",
    ),
    (
        re.compile(
            rf"((?:\d\s?(?:mg|mcg|µg|g|m[lL]|IU|units?|tabs?|tablets?|caps?|capsules?|puffs?|drops?)|\b(?:PO|IV|IM|SC))"
            rf"\.?\s)((?:{'|'.join(_DOSED)})(?: prn)?)\b(?!['’-])"
        ),
        _dosed,
    ),
    (re.compile(r"\b([DRI])-([A-Z]{2}|(?:[A-Z][a-z]?\.){2})(?=[),;]|-\d)-?"), _party),
    (
        re.compile(
            rf"\b(?i:(an?|the|our|his|her|that|this|former))\s({'|'.join(_RANKS)})\.(?=\s[a-z])"
        ),
        _rank,
    ),
    (re.compile(_REGIONS), _region),
    (re.compile(r"(?<=\d )([bmt]n)\b(?:\.(?=\s[a-z]))?"), lambda m: MAGNITUDE_NAMES[m[1]]),
    (
        re.compile(r"(?:(?<=\b[Tt]he )|(?<=\b[Aa] )|(?<=\bat ))7-11(?![\w:-]|\s?[ap]\.?m\b)"),
        "seven eleven",
    ),
    (re.compile(r"\bSte\.-(?=[A-Z])"), "Saint "),
    (re.compile(r"\bGen\.(?=\s[XYZ]\b(?!\.\s?[A-Z]))"), "Gen"),
    (re.compile(r"\bVS(?=\s(?:[Cc]ode|Codium|[Ss]tudio)\b)"), "V.S"),
    (
        re.compile(
            r"(?<=[A-Za-z]{2}\s)VS(?=\s(?!(?:is|was|has|are|and|or|to|in|on|for|at|with|code|studio|extensions?)\b)[A-Za-z])"
        ),
        "versus",
    ),
    (re.compile(r"(?<=[A-Z])\$(?=[A-Z])"), "S"),  # "A$AP"
    (re.compile(r"(?<=[a-z])\$(?=[a-z])"), "s"),  # "Ke$ha"
    (re.compile(r"(?<=\b[A-Z])!(?=[a-z]{2})"), "i"),  # "P!nk"
    (re.compile(r"(?<=\b[Bb]link-)182\b"), "one eighty-two"),
    (
        re.compile(
            rf"(?<=\d)(\s)(T|t(?=\.)|(?<!\d\d )(?:t|c|pt|qt))\b\.?"
            r"(?=\s(?:(?!(?:of|on|in|to|for|and|or|with|at|per|from|by)\b)[a-z]+\s)?"
            rf"(?:{_INGREDIENTS})\b(?! per\b))"
        ),
        _spoons,
    ),
    (
        re.compile(
            r"(?:(?<=\dth )|(?<=\dst )|(?<=\dnd )|(?<=\drd ))St"
            r"(?:\.(?=\s[a-z]|[,;:)])|(?=$|[.,;)]|\s(?:and|&|in|to|at|near)(?!\w)))"
        ),
        "Street",
    ),
    (re.compile(r"(?<!\d)(?<!\d )\bW/L\b"), "win-loss"),
    (re.compile(r"(?<=\dV)/(?=\d+(?:-\d+)?\s?Hz\b)"), ", "),
    (re.compile(r"(?<=\d )ext\.?(?=\s?\d)"), "extension"),
    (
        re.compile(
            r"(?:(?<=\dth )|(?<=\dst )|(?<=\dnd )|(?<=\drd ))c\.(?=$|\s(?!AD\b|BC|CE\b)[A-Z])"
        ),
        "century.",
    ),
    (re.compile(r"(?:(?<=\bratio of )|(?<=\bratio )(?=[a-z]{2}))([a-z]+):([a-z]+)\b"), r"\1 to \2"),
    (re.compile(r"(?<=\bof )exp\b\.?"), lambda m: f"experience{kept_point(m)}"),
    (re.compile(r"\bbus\.(?=\s(?:days?|hrs?|hours?)\b)"), "business"),
    (re.compile(r"(?<=\d)(?:-|\s)?pk\b\.?"), lambda m: f"-pack{kept_point(m)}"),
    (re.compile(r"\bplat\.(?=\s\d)"), "platform"),
    (re.compile(r"\b([Vv])it\.?(?=\s[A-EK]\d{0,2}\b)"), r"\1itamin"),
    (re.compile(r"(?<=\w )a-(?=(?:year|day|week|month|night|piece|head|side)\b(?!-))"), "a "),
    (re.compile(r"(?<=[a-z)] )bt(?=\s[A-Z][a-z])"), "beat"),
    (
        re.compile(
            r"(?<=[$£€]\d)/(?=[$£€]\d)|(?<=[$£€]\d\d)/(?=[$£€]\d)|(?<=\d\.\d\d)/(?=[$£€]\d)"
        ),
        ", ",
    ),
    (re.compile(r"(?<=[A-Z]{2} )V\.(?=\s[A-Z]{2})"), "versus"),
    (re.compile(r"(?<![\w,;:] )\b(INT|EXT)\.(?=\s[A-Z]{2})"), lambda m: _SCENES[m[1]]),
    (re.compile(r"\bWash\.(?=,? D\.?C\b)"), "Washington"),
    (re.compile(r"\bRt\. Rev\.(?=\s[A-Z])"), "Right Reverend"),
    (re.compile(r"\bV(?:ery|\.) Rev\.(?=\s[A-Z])"), "Very Reverend"),
    (re.compile(r"(?<=\b[Mm]y )dr\.(?=\s[a-z])|(?<=\b[Tt]he )dr\.(?=\s[a-z])"), "doctor"),
    (re.compile(r"(?<=[ECMP]T)\s?/\s?(?=(?:\d{1,2}(?::\d\d)?\s?[ap]\.?m|noon|midnight)\b)"), ", "),
    (
        re.compile(
            r"\bexc\.(?=\s(?:bank|public|school|holidays|weekends|Mon|Tue|Wed|Thu|Fri|Sat|Sun))"
        ),
        "except",
    ),
    (re.compile(r"(?<=\bport ):(?=\d{2,5}\b)"), ""),
    (re.compile(r"(?<=\b[1-5])xx\b"), " X X"),
    (re.compile(r"\b([tT])1/2\b"), r"\1 one half"),
    (re.compile(r"(?<=\d[a-h])[-–](?=[b-i]\b(?!\.\w|['’]))"), " to "),
    (re.compile(r"\bApp\.(?=\s[A-H]\b(?!\.))"), "Appendix"),
    (
        re.compile(r"(?=n)(?:(?<=\d )|(?<=, ))nn?\.\s?(?=\d)"),
        lambda m: "notes " if m[0][1] == "n" else "note ",
    ),
    (
        re.compile(r"(?<=\d(?:st|nd|rd|th) )(ult|inst|prox)\b\.?"),
        lambda m: f"{_OF_THE_MONTH[m[1]]}{kept_point(m)}",
    ),
    (re.compile(r"(?<=[\dkKM] )reqs?(?=/|\sper\b)"), "requests"),
    (re.compile(r"\bCal\.(?=\s(?:Civ|Penal|Code|Gov|Lab|Bus|Fam|Evid|Const)\b)"), "California"),
    (re.compile(r"\bCiv\.(?=\s(?:Code|Proc)\b)"), "Civil"),
    (re.compile(r"\bHwy\.?(?=\s\d)"), "Highway"),
    (re.compile(r"\bRt\.?(?=\s\d)"), "Route"),
    (re.compile(r"\bSte\.(?=\s[A-Z](?:[.,;)]|$|-?\d))"), "Suite"),
    (re.compile(r"\bApt\.(?=\s#)"), "apartment"),
    (re.compile(r"\b([Ll])ong\.(?=\s?[-−]?\d{1,3}\.\d{2,})"), r"\1ongitude"),
    (re.compile(r"\bSgt\.(?=\s(?:1st|[Ff]irst|Maj\.?\s[A-Z]))"), "Sergeant"),
    (
        re.compile(r"(?:(?<=\dst )|(?<=\dnd ))(Sgt|Lt)\.(?=$|[,;)])"),
        lambda m: _RANKS[m[1]] + "." * (m.end() == len(m.string)),
    ),
    (re.compile(rf"\b({_CODES})/({_CODES})\b"), _pair),
    (re.compile(r"(?<![\w/])([$£€¥])/([$£€¥])(?=\s)"), _pair_of_signs),
    (re.compile(r"\bS?Fr\.?\s(?=\d)"), "CHF "),
    (re.compile(r"(?<![\w.,'])\d{1,3}(?:'\d{3})+(?![\d'\"])"), lambda m: m[0].replace("'", "")),
    (re.compile(r"(?<=\d)[.,][-–—](?=[\s.,;)]|$)"), ""),
)


def expand_clipped(text: Tracked) -> Tracked:
    """Write the words out, before the abbreviations that are the same everywhere."""
    themes = (
        PROGRESSIONS,
        SCHEDULES,
        ITINERARIES,
        MATCHES,
        LINEAGE,
        PLEADINGS,
        PRODUCTS,
        WEATHER,
        KNITTING,
        LABORATORY,
        FINANCE,
        REPORTS,
        LISTINGS,
        _PHRASES,
    )
    for pattern, words in itertools.chain(*themes):
        text = text.sub(pattern, words)
    return text
