"""Abbreviations and signs whose words depend on what stands beside them: "100 ac lot", "w/o"."""

from __future__ import annotations

import re

from .abbreviation_points import DAYS, ENDS_SENTENCE, MONTHS, TITLES
from .letters import LETTER_A
from .measures import BEHIND_PER
from .numbers import ordinal
from .rules import Phrase, kept_point
from .tables import pairs, word_sets

_LENGTHS = r"(?:f(?:oo|ee)t|inch(?:es)?|(?:yard|mile|(?:kilo|centi)?met(?:er|re))s?)"


def _squared(match: re.Match[str]) -> str:
    return "square " if match[1].lower() == "sq" else "cubic "


def _upper_number(match: re.Match[str]) -> str:
    """A number as the British write it: "Chanel No 5", "Nos 5 and 6"."""
    return f"number{match[2]}"


_KEYS = "Alt|Cmd|Command|Control|Ctrl|Fn|Option|Shift|Super|Win"


def _key(match: re.Match[str]) -> str:
    """A key that is held while another is pressed: "Ctrl+C"."""
    return f"{match[1]} {LETTER_A if match[2] else ''}"


def _known_as(match: re.Match[str]) -> str:
    """What comes before a name that somebody else has, had or was given: "f/k/a Acme"."""
    return {"a": "also", "f": "formerly", "n": "now"}[match[1].lower()] + " known as"


_DATES = "|".join(
    (
        r"\d",
        *(rf"{word}\b" for word in (*MONTHS, *MONTHS.values(), *DAYS, *DAYS.values(), "May")),
    )
)
_WEEKENDS = "the|this|next|last|every|each|all|long|per|a"


_BEFORE_YEAR = r"(?:\d{1,2}\s[A-Z][a-z]{2,8}\s|[A-Z][a-z]{2,8}\.?\s\d{1,2},\s)?"


def _folder(match: re.Match[str]) -> str:
    """The folder that is open, or the one around it, before a path: "./run.sh", "../../docs"."""
    return " ".join("slash" if sign == "/" else "dot" for sign in match[0]) + " "


def _every_hours(match: re.Match[str]) -> str:
    """How often a dose is taken: "q6h"."""
    return f"every {match[1]}{f' to {match[2]}' if match[2] else ''} hours"


def _ranks(match: re.Match[str]) -> str:
    """Ranks of two parts without a name behind them: "the Sgt. Maj."."""
    return f"{TITLES[match[1]]} {TITLES[match[2]]}"


def _weekdays(match: re.Match[str]) -> str:
    """Days by their letters, "M–F"."""
    return f"Monday to {'Friday' if match[1] == 'F' else 'Thursday'}"


def _letters(match: re.Match[str]) -> str:
    """The first of a range of letters: "Appendices A–C"."""
    letter = match[1] or match[2]
    return f"{LETTER_A if letter == 'A' else letter} to "


#: Nouns before which a slash is "per": "1/customer".
_PER_NOUNS = "|".join(
    symbol for symbol in pairs("per_units") if symbol.isalpha() and len(symbol) > 2
)
_TIMED = {kind: "|".join(sorted(words)) for kind, words in word_sets("timed").items()}

_HEATED = "(?i:room|oven|internal|body|air|water|fridge|ambient|operating|surface|core|cooking)"
_COUNTIES = "|".join(sorted(word_sets("counties")["county"]))
ABBREVIATED_PHRASES: tuple[Phrase, ...] = (
    (re.compile(r"\b[eE]\.\s?g\.(,?)"), r"for example\1"),
    (re.compile(r"\b[iI]\.\s?e\.(,?)"), r"that is\1"),
    (re.compile(r"\ba\.k\.a\."), "also known as"),
    (re.compile(r"\b[Pp]h\.\s?[Dd]\.?['’]?s\b"), "PHDs"),
    (re.compile(r"\b[Pp]h\.\s?[Dd]\b\.?"), "P.h.D."),
    (re.compile(r"\bPhD['’]?s\b"), "PHDs"),
    (re.compile(r"\bPhD\b"), "P.h.D"),
    (
        re.compile(r"(?:(?<=\b[Ii] )|(?<=\b[Ww]e ))(?:[❤♥]\ufe0f?|<3)(?=\s[A-Za-z])"),
        "love",
    ),
    (
        re.compile(
            r"(?<=\d )ac\.?(?=\s(?:lot|site|farm|parcel|property|tract|field|plot|ranch)\b)"
        ),
        "acre",
    ),
    (re.compile(r"(?<=\d )ac\b(?:\.(?=\s[a-z]|[,;)]))?"), "acres"),
    (re.compile(rf"(/(?:{_PER_NOUNS}))/(?=(?:{_PER_NOUNS})\b)"), r"\1 per "),
    (re.compile(r"(?<=[A-Za-z])-(?=[A-Z]\.(?:[A-Za-z]\.)+)"), " "),
    (re.compile(r"(?<=\d)([B-Z])s\b"), r" \1's"),
    (re.compile(r"\b[Rr]ef\. ?no\b"), "reference no"),
    (
        re.compile(
            r"(\b(?i:case|part|tel\.?|telephone|phone|acct\.?|account|order|invoice|serial|model|item|job"
            r"|flight|room|ticket|tracking|reference|the|your|this|my) )no\.(?=\s*[a-z(:]|[,;)])"
        ),
        r"\1number",
    ),
    (re.compile(r"\b([Nn])o\.(?=\s(?=[A-Z\d-]*\d)[A-Z]{1,5}-?\d)"), r"\1umber"),
    (re.compile(r"(?<=[A-Z]\.)/(?=[A-Z]\.)"), ", "),
    (re.compile(r"(?<=\d )city/(?=\d+ (?:hwy|highway)\b)"), "city, "),
    (re.compile(r"(?<=\d )(?:hwy|highway) mpg\b"), "highway miles per gallon"),
    (re.compile(r"(?<=\d )wkts?\b\.?(?!$)"), "wickets"),
    (re.compile(r"(?:(?<=\ba )|(?<=\bper )|(?<=/))bbl\b(?:\.(?!$|\s[A-Z]))?"), "barrel"),
    (re.compile(r"\b([Ww])k(?=\s\d)"), r"\1eek"),
    (
        re.compile(
            r"(?:^|(?<=^\s)|(?<=[;,(] )|(?<=\band )|(?<=\bbill ))S\.(?=\s\d{1,4}\b(?![.,]\d))"
        ),
        "S",
    ),
    (re.compile(r"(?:(?<=\byrs\. )|(?<=\byears )|(?<=\byrs ))exp\b\.?(?=\s[a-z])"), "experience"),
    (re.compile(r"(\b(?:dew|melting|boiling|freezing) )pt\b(?:\.(?!$|\s[A-Z]))?"), r"\1point"),
    (re.compile(r"(\d(?:st|nd|rd|th) )min\b\.?"), lambda m: f"{m[1]}minute{kept_point(m)}"),
    (re.compile(r"(?<=\ban )oz\b\.?"), lambda m: f"ounce{kept_point(m)}"),
    (re.compile(r"(?<=\ba )lb\b\.?"), lambda m: f"pound{kept_point(m)}"),
    (
        re.compile(
            r"(\b(?i:watch(?:ed|ing)?|tuned?|aire?[sd]|live|tv|news|show)\b[^.!?\n]{0,40}\bon )"
            r"Ch\.(?=\s\d)"
        ),
        r"\1Channel",
    ),
    (re.compile(r"\bC57BL/6(J|N)?\b"), r"C57 black six \1"),
    (re.compile(r"(?<=\b[Tt]he )pt\.(?=\s[a-z])"), "patient"),
    (re.compile(r"\b([Oo])rig\.(?=\s(?!\w+ed\b|in\b|from\b|an?\b|by\b)[a-z])"), r"\1riginal"),
    (re.compile(r"(?<=[A-Za-z] )(No)(s?)(?=\s\d)"), _upper_number),
    (re.compile(r"(?<=\b\d)m(?=\s\d{1,2}s\b)|(?<=\b\d\d)m(?=\s\d{1,2}s\b)"), " min"),
    (
        re.compile(
            rf"(\b(?i:{_TIMED['takes']}|time)(?: time)?:?\s(?:\d{{1,3}}\s?[-–]\s?)?\d{{1,3}})m\b"
        ),
        r"\1 min",
    ),
    (re.compile(rf"((?<![\w.,])\d{{1,3}})m(?=\s(?:{_TIMED['long']})\b)"), r"\1 min"),
    (re.compile(r"\b([BCDFGHJKLNPQSTVWXYZ]|R(?!s\.? ?\d))s\b(?!\.\s?[A-Z\d])"), r"\1's"),
    (
        re.compile(
            r"\b(all|and|your|two|three|four|five|six|seven|eight|nine|ten)\s([AEIOU])s"
            r"(?=[,.;:)!?]|\s(?:and|in|on|or)\b|$)"
        ),
        r"\1 \2's",
    ),
    (re.compile(r"(?<=\b[Ss]traight )As\b"), "A's"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )Cir\.(?!$)"), "Circuit"),
    (re.compile(r"(?<=[a-z], )Pa\.(?=[,;)]|\s[a-z(])"), "Pennsylvania"),
    (re.compile(r"(?<![\w~])~/(?=[\w.])"), "tilde slash "),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )ed\.(?=[\s,;)]+[a-z(\d]|[,;)])"), "edition"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )ed(?=\.(?:\s[A-Z]|$))"), "edition"),
    (re.compile(r"(?<=\b[Tt]he )[∑Σ](?=\sof\b)"), "sum"),
    (re.compile(r"[∑Σ](?=\sof\b)"), "the sum"),
    (re.compile(r"(?<=\b[Tt]he )√(?=\sof\b)"), "square root"),
    (re.compile(r"√(?=\sof\b)"), "the square root"),
    (re.compile(r"\bN\.B\."), "note well,"),
    (re.compile(r"(?<=[a-z] )v\.(?=\s(?:the\s)?[A-Z])"), "versus"),
    (re.compile(r"\bRt\.?\sHon\b\.?"), "Right Honorable"),
    (re.compile(r"(?<!\w)\(s\)he\b"), "she or he"),
    (re.compile(r"(?<![\w./])(?:\.\.?/)+(?:\.\.(?![\w.])|(?=[\w*.]))"), _folder),
    (re.compile(r"(?<=\bHEAD)~(?=\d)"), " tilde "),
    (re.compile(r"(?<=\w)\^(?=[\s.,;:)!?]|$)"), " caret"),
    (re.compile(r"(?<=\bSELECT )\*(?= FROM\b)|(?<=\bCOUNT\()\*(?=\))"), "star"),
    (re.compile(r"\bWWII\b|\bWW\s?2\b"), "World War two"),
    (re.compile(r"\bWWI\b|\bWW\s?1\b"), "World War one"),
    (re.compile(r"\bLL\.\s?([BDM])\b\.?"), r"L.L.\1"),
    (re.compile(r"\b([BDM])\.\s?(Sc|Ed|Eng|Phil|Div|Litt)\b\.(?=[\s,;)]+[a-z(,])"), r"\1 \2"),
    (
        re.compile(r"(?<=[\w.!?)] )<3(?=(?:\s?<3)*(?:[\s.!]*$|\s[xo]{2,}\b))|(?<=[!?] )<3(?=\s)"),
        "heart",
    ),
    (
        re.compile(
            r"\b(once|twice|[a-z]+s)/(?=(?:second|minute|hour|day|night|week|month|year|person|head"
            r"|game|page|user|visit|room)\b)"
        ),
        r"\1 per ",
    ),
    (
        re.compile(rf"(\b\d+(?: (?:\w+[a-z]|[a-z]))?)/(?=(?:{_PER_NOUNS})\b)"),
        r"\1 per ",
    ),
    (re.compile(r"(?<=\()c\.\s?(?=\d)"), "circa "),
    (
        # But neither cups, "1 c. 2% milk", nor the chapter of a law, "Geo. 5 c. 20 and".
        re.compile(
            r"(?<![\w.-])(?<!\d )c\.\s?(?=(?:(?:AD|A\.D\.)\s)?\d{3,4}\b|[$£€]\d|\d[\d.]{0,8},\d{3}"
            r"|\d[\d.,–-]{0,12}\s?(?:%|BC|AD|CE|[cmk]?m\b|k?g\b)"
            r"|\d\d[\d.,–-]{0,12}\s(?!(?:of|and|or|at|in|to)\b)[a-z]{2})"
        ),
        "circa ",
    ),
    (re.compile(r"\bca\.(?=\d)"), "circa "),
    (re.compile(r"(?<=° )incl\.(?!\w)"), lambda m: f"inclination{kept_point(m)}"),
    (
        re.compile(
            r"((?:\b(?:is|are|was|were|be|not) (?:in|ex)"
            r"(?=cl\.\s(?:in|with|for|at|on|by|as|if|when|and|or|but|free)\b)"
            rf"|\b(?i:in|ex)(?=cl\.(?:\sin\b|[,;)]|{ENDS_SENTENCE.pattern}))))cl\.(?!\w)"
        ),
        lambda m: f"{m[1]}cluded{kept_point(m)}",
    ),
    (
        re.compile(
            rf"(\b(?:{_HEATED} temp|(?:right|high|low|correct) temp(?=\.)))(s?)\b(?:\.(?!\w))?"
        ),
        lambda m: f"{m[1]}erature{m[2]}{kept_point(m)}",
    ),
    (
        re.compile(
            r"(?:^|(?<=, )|(?<=\b(?:in|of|to|at) )|(?<=\bfrom )|(?<=\bnear )|(?<=\bacross ))"
            rf"Co\.(?=\s(?:{_COUNTIES})\b)"
        ),
        "County",
    ),
    (re.compile(r"(?:(?<=\b1 )|(?<=/\d ))pts?\.?(?=\sof\s)"), "pint"),
    (re.compile(r"(?<=\d )pts?\.?(?=\sof\s)"), "pints"),
    (
        re.compile(r"(?<=\d )([mkrfwbp])\.([ps])\.([hmgsi])(?!\w)(?:\.(?!$|\s+[A-Z]))?"),
        r"\1\2\3",
    ),
    (re.compile(r"\b(f|HTTP)/(?=\d)"), r"\1 "),
    (re.compile(r"\b[Yy]oY\b|\by[/-]?o[/-]?y\b|\b[Yy]/[Yy]\b"), "year over year"),
    (re.compile(r"\bQoQ\b|\bq[/-]?o[/-]?q\b|\b[Qq]/[Qq]\b"), "quarter over quarter"),
    (re.compile(r"\bMoM\b|\bm[/-]o[/-]m\b|(?<=% )m/m\b"), "month over month"),
    (
        re.compile(
            r"(?<=\d(?:st|nd|rd|th)[ -])(?:[Cc](?:ent)?\.(?=\s(?:BC|AD|CE|B\.C|A\.D|[a-z(])|[,;)])"
            r"|C(?=\s(?:BC|AD|CE)\b|\s[a-z]|[,;)]))"
        ),
        "century",
    ),
    (re.compile(r"(?<=\d)[- ]?(?:y/o|yo|y\.o\.)(?!\w)"), " year old"),
    (re.compile(r"\bMk\.?(?=\s?[IVX\d])"), "Mark"),
    (re.compile(r"\bRev\.(?=\s(?:[A-Z]|\d+(?:\.\d+)?)(?![\w.:]))"), "Revision"),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )[Ff]l\.?(?=[.,;)\s]|$)"), "floor"),
    (re.compile(rf"(?<=[\s(])b\.(?=\s{_BEFORE_YEAR}(?:c\.\s)?(?:1\d{{3}}|20\d\d)\b)"), "born"),
    (re.compile(r"(?:^|(?<=[\s(]))r\.(?=\s(?:c\.\s)?(?:1\d{3}|20\d\d)\b)"), "reigned"),
    (re.compile(r"(?<=[\s(])m\.(?=\s(?:c\.\s)?1[5-9]\d\d\b)"), "married"),
    (re.compile(rf"(?<=[\s(,])d\.(?=\s{_BEFORE_YEAR}(?:c\.\s)?(?:1\d{{3}}|20\d\d)\b)"), "died"),
    (re.compile(r"\bq(\d{1,2})(?:[-–](\d{1,2}))?\s?h(?:rs?)?\b"), _every_hours),
    (re.compile(r"\b([ijkmnpqx])-th\b"), r"\1th"),
    (re.compile(r"(?<![\w.])([BM])\.?\s?Sc\b(?:\.(?=[,;:)]|\s[a-z(]))?"), r"\1.S.C"),
    (
        re.compile(
            r"\b(Sgt|Lt|Maj|Brig)\.?\s(Maj|Col|Gen|Cmdr|Gov)(?:\.(?=[,;:)]|\s[a-z])|(?!\w|\.?\s[A-Z]))"
        ),
        _ranks,
    ),
    (re.compile(r"(?<=[A-Za-z]\.)\s?2d\b"), " second"),
    (re.compile(r"(?<=[A-Za-z]\.)\s?3d\b"), " third"),
    (
        re.compile(
            r"\bPO(?=\s(?:every|daily|once|twice|three|at bedtime|[bt]id|[BTQ]\.?I\.?D|q\d))"
        ),
        "P.O",
    ),
    (re.compile(r"\bPO#\s?(?=\d)"), "P.O #"),
    (re.compile(r"(?<!\d )\bmm\.(?=\s\d)"), "measures"),
    (re.compile(r"\bPub\. L\.(?=\s(?:No\. )?\d)"), "Public Law"),
    (re.compile(r"\bEN(?=\s(?:ISO|IEC|\d))"), "E.N"),
    (re.compile(r"(?<=\d[ -]\d/\d )c\.(?=\s[a-z])"), "cups"),
    (re.compile(r"(?:(?<=\b1 )|(?<=(?<!\d[ -]\d)/\d ))c\.(?=\s(?:[a-z]|AP\b|\d%)|\))"), "cup"),
    (re.compile(r"(?<=\d )c\.(?=\s(?:[a-z]|AP\b|\d%)|\))"), "cups"),
    (
        re.compile(
            r"(?<![\w/.,-])(?<!\d )1/2-(?=(?:life|lives|price|time|way|day|hour|marathon|dozen"
            r"|pint)\b)"
        ),
        "half-",
    ),
    (
        re.compile(r"(?:(?<=\bF\.)|(?<=\bCal\.)|(?<=\bApp\.)|(?<=\bSupp\.))\s?([4-9])th\b"),
        lambda m: f" {ordinal(int(m[1]))}",
    ),
    (re.compile(r"\bFed\.\sReg\."), "Federal Register"),
    (re.compile(r"\bDist\.\sCt\.\sApp\."), "District Court of Appeal"),
    (re.compile(r"\bCt\.\sApp\."), "Court of Appeals"),
    (re.compile(r"\bDist\.\sCt\."), "District Court"),
    (re.compile(r"\bU\.\sS\.(?!\s[A-Z]\.)"), "U.S."),
    (re.compile(r"¶¶\s?(?=\d)"), "paragraphs "),
    (
        re.compile(
            r"\b[Ee]x\.(?=\s(?:[B-HJ-Z]|A(?=[.,;)]|$|\s(?:was|were|is|are|at|and|to|shows?)\b))(?![\w'’]|\.\w))"
        ),
        "Exhibit",
    ),
    (re.compile(r"§§\s?(?=\d)"), "sections "),
    (re.compile(r"§\s?(?=\d)"), "section "),
    (re.compile(r"(?<=\d(?:st|nd|rd|th) )Lt\.(?=\s[a-z])"), "Lieutenant"),
    (
        re.compile(
            r"\b([B-HJ-Z]|A(?!\. ?m\.))\.(?=\s(?:coli|pylori|aureus|elegans|sapiens|difficile|rex"
            r"|melanogaster|subtilis|cerevisiae|thaliana|botulinum|falciparum|erectus)\b)"
        ),
        r"\1",
    ),
    (re.compile(r"(?<=\()[Rr]et\.(?=\))"), "retired"),
    (re.compile(r"(?<!\w)[wW]/o(?!\w)"), "without"),
    (re.compile(r"\b[Ww]/r/t\b"), "with respect to"),
    (re.compile(r"(?<![\w/])([AaFfNn])/[Kk]/[Aa](?![\w/])"), _known_as),
    (re.compile(r"(?<!\w)w/(?!(?:[vwec]|in|out)\b)(?=\s?[A-Za-z\d]|\s[$£€+#])"), "with "),
    (re.compile(r"\bIPv(?=[46]\b)"), "I.P.V "),
    (re.compile(r"(?<=[a-z]s )([A-Z])[-–](?=[A-Z](?![\w'’-]))|\b(A)[-–](?=Z\b)"), _letters),
    (re.compile(rf"\b([Ss]q|[Cc]u)\.?\s(?={_LENGTHS}\b)"), _squared),
    (re.compile(r"(?<=\d-)([SsCc][qu])\.?-(?=(?:[cmk]?m|ft|in|yd|mi)\b)"), r"\1. "),
    (re.compile(r"(?:(?<=\bAlt[+-])|(?<=\bCtrl[+-]))Del\b"), "Delete"),
    (re.compile(rf"\b({_KEYS})\s?\+\s?(?=[A-Z\d])(A\b)?"), _key),
    (re.compile(r"(?<=\d)\s?in\.?\sHg\b"), " inHg"),
    (re.compile(r"(?:(?<=\.\d)|(?<=\.\d\d))\s?pp\b"), " percentage points"),
    (re.compile(r"(\b(?:[Ll]at|[Ll]ong)\. \d{1,3}(?:\.\d+)?)\s?(?=[NSEW]\b)"), r"\1° "),
    (re.compile(r"\b[Ll]ong\.(?=\s?\d{1,3}(?:\.\d+)?\s?(?:°|[EW]\b))"), "longitude"),
    (re.compile(r"\bTL;\s?DR\b"), "T.L.D.R"),
    (
        re.compile(r"(?<=\d[kKM])/(?=(?:yr|mo|wk|hr|year|month|week|day|hour)\b)"),
        " per ",
    ),
    (re.compile(r"\bM&M['’]?s?\b"), "M and M's"),
    (
        re.compile(
            r"(?<![\w.,])3M(?=['’]s\b|\s(?:Co|Company|makes?|made|says?|said|sells?|sold|shares|stock|tape"
            r"|is|has|was|will|announced|reported|paid|settled|Post-it|respirators?|masks?)\b)"
            r"|(?:(?<=\bat )|(?<=\bby ))3M(?=[.,;:!?)]|$)"
        ),
        "three M",
    ),
    (re.compile(r"(?<=\d)[-\s]cyl\b(?:\.(?=\s[a-z]|[,;:)]))?"), "-cylinder"),
    (re.compile(r"(?<=\d\s[a-z]{2})\.(?=\s@\s?[$£€]?\d)"), ""),
    (re.compile(r"\bblt\b\.?(?=\s(?:in\s)?(?:1[6-9]|20)\d\d\b)"), "built"),
    (re.compile(r"\bDist\.\sAtty\b\.?"), "District Attorney"),
    (re.compile(r"\bAtty\.\sGen\b\.?"), "Attorney General"),
    (re.compile(r"\b([Gg]ov['’]t)\.(?=\s[a-z]|[,;:)])"), r"\1"),
    (re.compile(r"\bMag\.(?=\s\d)"), "Magnitude"),
    (re.compile(r"\b([Vv])is\.(?=\s[<>]?\d)"), r"\1isibility"),
    (re.compile(r"(?<![\w.,/-])24-7(?![\w/-]|[.,]\d)"), "24/7"),
    (
        re.compile(
            r"(?<![\w.,/-])9-11(?=\s(?:attacks?|[Cc]ommission|[Mm]emorial|[Mm]useum|victims?|survivors?"
            r"|hijack\w+|terror\w*|first\sresponders?|responders?|truthers?|conspirac\w+)\b)"
        ),
        "9/11",
    ),
    (re.compile(r"\b([Pp])op\.(?=\s(?:of|is|was|density|growth)\b|:?\s[\d~])"), r"\1opulation"),
    (
        re.compile(
            r"(?<!\bin )(?<!\bjust )\b([Uu]nder|[Oo]ver) (\d{1,2})s\b"
            r"(?=\s(?:free|half|go|get|pay|travel|eat|swim|are|can|may|must|only|squad|team|league|football)\b)"
        ),
        r"\1-\2s",
    ),
    (re.compile(r"(?<=\b[QH]\d)['’](?=\d\d\b)"), " "),
    (re.compile(rf"\b[Ww]/[Cc]\b(?=,?\s(?:{_DATES}))"), "week commencing"),
    (re.compile(rf"\b[Ww]/[Ee]\b(?=,?\s(?:{_DATES}))"), "week ending"),
    (re.compile(rf"(\b(?i:{_WEEKENDS}) )w/e(?![\w/])"), r"\1weekend"),
    (
        re.compile(
            r"(?<![\w/])[Bb]/[Ww](?=\s(?:photo(?:graph)?|picture|image|film|movie|print|scan|cop(?:y|ies)"
            r"|tv|TV|television|camera|drawing|version|mode)s?\b)|(?<=\bin )[Bb]/[Ww](?=[.,;!?]|$)"
        ),
        "black and white",
    ),
    (re.compile(r"\bM\s?[-–]\s?(F|Th)\b(?=,?\s\d|[.;,:]|$)"), _weekdays),
    (re.compile(r"\b(?:GMT|UTC)[-−–](?=\d)"), lambda m: f"{m[0][:3]} minus "),
    (re.compile(r"\b24/7/365\b"), "24/7 three sixty-five"),
    (re.compile(r"(?:(?<=/\d\d)|(?<=/\d\d\d))\s?mm\s?Hg\b"), " millimeters of mercury"),
    (re.compile(r"(?<=\d)\smm\sHg\b"), " mmHg"),
    (re.compile(r"(?<=\d)/[-–](?!\w)"), ""),
    BEHIND_PER,
    (re.compile(r"(?<=\d)\s?/\s?(?:each|ea)\b\.?"), " each"),
    (
        re.compile(
            r"(\b(?:[Pp]art|[Ii]tem|[Mm]odel|[Oo]rder|[Cc]ase|[Ii]nvoice|[Tt]icket|[Ll]ot|[Aa]ccount"
            r"|PO) )#\s?(?=[A-Z]{1,3}-?\d)"
        ),
        r"\1number ",
    ),
    (
        re.compile(r"\bT-(?=\d{1,3}\s(?:seconds?|minutes?|hours?|days?|hrs?|mins?)\b|\d{1,2}:\d)"),
        "T minus ",
    ),
    (re.compile(r"(?<![\w:])([b-zB-Z]):([b-zB-Z])(?![\w:])"), r"\1 to \2"),
    (re.compile(r"(?<![\w:])[aA]:([b-zB-Z])(?![\w:])"), rf"{LETTER_A} to \1"),
    (
        re.compile(
            r"\bAA(?=\s(?:(?:or|and) AAA\s)?(?:batter(?:y|ies)|cells?)\b)|(?<=\bAAA or )AA\b"
        ),
        f"double {LETTER_A}",
    ),
    (re.compile(r"\bAB\+(?!\w)"), "A.B positive"),
    (re.compile(r"\bAB-(?![\w-])"), "A.B negative"),
    (re.compile(r"\bO\+(?!\w)"), "O positive"),
    (re.compile(r"\bO-(?=\s(?:donor|blood|type)|[,.;])"), "O negative"),
)
"""Phrases, each with what it is replaced by, before other abbreviations are expanded."""
