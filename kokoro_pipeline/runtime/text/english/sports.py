"""Scores and averages of sports that are not read as ranges or fractions."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .numbers import cardinal, in_pairs
from .rules import Phrase, Rule

_CRICKET = re.compile(
    r"\b(?:overs?|ov|wickets?|innings|declared|runs|crease|bowl(?:ed|ers?)|batt?(?:ing|ers?|sm[ae]n)"
    r"|at (?:tea|lunch|stumps|the close)|(?:1st|2nd|3rd|[45]th|[Ff]irst|[Ss]econd|[Tt]hird"
    r"|[Ff]ourth|[Ff]ifth) Test|ODI|T20)\b"
)


def _slash_line(match: re.Match[str], british: bool) -> str:
    """Three averages of a batter: ".311/.425/.686"."""
    return ", ".join(in_pairs(average, british) for average in match.groups())


def _innings(match: re.Match[str], british: bool) -> str:
    """Runs and wickets of cricket, "287/6 off 50 overs"."""
    cricket = _CRICKET.search(match.string, max(0, match.start() - 60), match.end() + 60)
    return f"{match[1]} for {match[2]}" if cricket else match[0]


def _batting_average(match: re.Match[str], british: bool) -> str:
    return in_pairs(match[1] or match[2], british)


_SCORED = re.compile(
    r"\b(?:w[io]n(?:s|ning)?|los(?:t|es?|ing)|le(?:d|ads?|ading)|dr(?:ew|aws?|awn)|beat(?:s|en|ing)?"
    r"|trail(?:s|ed|ing)?|defeat(?:s|ed|ing)?|victory|scor(?:es?|ed|ing)|thrash(?:ed|ing)|ahead"
    r"|finish(?:es|ed)?|ended|ending|result|equali[sz]ed|(?:half|full)[- ]?time)\b[^.!?;=]{0,30}$"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day:?\s$",
    re.IGNORECASE,
)
_SCORE_OF = re.compile(
    r"\s(?:(?:[a-z]+\s)?(?:win|victory|defeat|loss|lead|draw|score|scoreline|thriller|thrashing"
    r"|result)|up|down|ahead|behind|winners?|at (?:the (?:break|interval)|(?:half|full)[- ]?time)"
    r"|after (?:extra time|penalties)|on (?:aggregate|penalties|points)|to (?:the )?[A-Z][a-z]+)\b"
)


_TEAM_NAME = re.compile(
    r"\b(?!(?:Chapter|Section|Part|Unit|Lesson|Page|Step|Level|Table)\b)[A-Z][a-z]+\s$"
)
_OTHER_TEAM = re.compile(r"\s[A-Z][a-z]+(?!:)\b")


def is_score(match: re.Match[str]) -> bool:
    """Whether two numbers are the score of a match: "they won 3 - 1"."""
    before = match.string[max(0, match.start() - 45) : match.start()]
    between_teams = _TEAM_NAME.search(before) and _OTHER_TEAM.match(match.string, match.end())
    return bool(
        between_teams or _SCORED.search(before) or _SCORE_OF.match(match.string, match.end())
    )


_SET_BEHIND = re.compile(r",?\s\d{1,2}[-–]\d")
_SET_BEFORE = re.compile(r"\d[-–]\d{1,2},?\s$")


def british_score(match: re.Match[str]) -> str:
    """A score without "to": "three nil", and in tennis, which has several sets, "six love"."""
    sets = _SET_BEHIND.match(match.string, match.end()) or _SET_BEFORE.search(
        match.string[max(0, match.start() - 8) : match.start()]
    )
    goals = (cardinal(int(number)) for number in match.groups()[:2])
    return " ".join(("love" if sets else "nil") if each == "zero" else each for each in goals)


_GAMES = r"\d{1,3}[-–]\d{1,3}(?:[-–]\d{1,2})?(?![\w-]|[.,]\d)"
_TEAM_BEFORE = re.compile(r"\b(?!(?:Ages?|Grades?|Chapters?|Pages?)\b)[A-Z][\w.'’]*\s\($")
_OPPONENT_BEFORE = re.compile(
    r"\b(?:the|against|vs\.?|versus|faces?|hosts?|visits?|beat)\s(?:[A-Z][\w.'’]*\s){1,2}\($"
)
_PLAYS = re.compile(
    r"(?!\sinch)[^()]{0,30}\)"
    r"\s(?:at|hosts?|visits?|plays?|faces?|takes? on|takes? the mound|travels?|meets?"
    r"|leads?|trails?|vs\.?|versus|against|and the|remains?|sits?|pitche[sd]|starts?|started|opens?"
    r"|returns?|heads?|will|are|have|has|won|beat|lost|fell|enters?)\b"
)
_MOST_GAMES = 162  # of a season; larger numbers are years: "the Sui (581–618)"
_EARNED_RUNS = re.compile(r",\s\d{1,2}\.\d\d\sERA")
_CHANGED_TO = "|".join(
    rf"(?<=\b{form} to )"
    for form in ("improved", "improves", "improving", "fell", "falls", "dropped", "drops", "moved")
)


def _record(match: re.Match[str], british: bool) -> list[Piece]:
    """Games won, lost and tied by a team or a pitcher: "improved to 8-3-1"."""
    group = match.re.groups
    games = [cardinal(int(number)) for number in re.findall(r"\d+", match[0])]
    if match.string.endswith(("an ", "An "), 0, match.start()) and games[0] == "zero":
        games[0] = "oh"  # "an 0-10 start"
    return [Piece(f"{', '.join(games[:-1])} and {games[-1]}", *match.span(group))]


def _record_in_parentheses(match: re.Match[str], british: bool) -> Replacement:
    """The record of the team or pitcher in front of it: "the Celtics (45-15)"."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    if any(int(number) > _MOST_GAMES for number in re.findall(r"\d+", match[0])):
        return match[0]
    behind = (_PLAYS, _EARNED_RUNS)
    is_record = _OPPONENT_BEFORE.search(before) or (
        _TEAM_BEFORE.search(before) and any(p.match(match.string, match.end()) for p in behind)
    )
    return _record(match, british) if is_record else match[0]


def _of_tries(match: re.Match[str], british: bool) -> str:
    """Shots made of those tried: "10-18 FG"."""
    return f"{cardinal(int(match[1]))} of {cardinal(int(match[2]))}"


_GOAL_MINUTE = r"\d{1,3}(?:\+\d{1,2})?'(?:\s?\((?:pens?|og|OG|P|p)\.?\))?"
_GOAL = re.compile(r"(\d{1,3})(?:\+(\d{1,2}))?'(?:\s?\((\w{1,4})\.?\))?")
_CERTAIN_GOAL = re.compile(r"\b(?:45|90|105|120)\+\d{1,2}'|\d'\s?\((?:pen|og|OG)\b")
_LONG_THINGS = re.compile(r"[A-Za-z]+s\s")
_GOAL_KINDS = {"o": "own goal", "p": "penalty"}


def _goals(match: re.Match[str], british: bool) -> Replacement:
    """The minutes of a scorer's goals: "Saka 23', 67' (pen)"."""
    goals = list(_GOAL.finditer(match[1]))
    listed = len(goals) > 1 and not _LONG_THINGS.match(match[0])
    in_brackets = match.string.endswith("(", 0, match.start())
    near = match.string[max(0, match.start() - 60) : match.end() + 60]
    if not (listed or in_brackets or _CERTAIN_GOAL.search(near)):
        return match[0]
    words = [
        cardinal(int(goal[1]))
        + (f" plus {cardinal(int(goal[2]))}" if goal[2] else "")
        + (f" ({_GOAL_KINDS[goal[3][0].lower()]})" if goal[3] else "")
        for goal in goals
    ]
    return [Piece(", ".join(words), *match.span(1))]


def _added_time(match: re.Match[str], british: bool) -> str:
    """A minute behind the full time: "in 45+2'"."""
    return f"{cardinal(int(match[1]))} plus {cardinal(int(match[2]))}"


def _tie_break(match: re.Match[str], british: bool) -> str:
    """The points of the loser in the tie-break of a set: "7-6(5)"."""
    return f", {cardinal(int(match[1]))}"


def _hurdles(match: re.Match[str], british: bool) -> str:
    """The unit and letter of a race: "400mH"."""
    return "m hurdles"


RECORDS: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w'’-])[A-Z][^\W\d_]+ \(?({_GOAL_MINUTE}(?:,? (?:and )?{_GOAL_MINUTE})*)"
            r"(?![\w'’\"+]|\s?[x×]|,? (?:and )?\d"
            r"|\s(?:long|wide|tall|high|deep|lengths?|boards?)\b)"
        ),
        _goals,
    ),
    (re.compile(r"(?<![\w.])(45|90|105|120)\+(\d{1,2})'(?!\w)"), _added_time),
    (re.compile(r"(?:(?<=\b7[-–]6)|(?<=\b6[-–]7))\s?\((\d{1,2})\)"), _tie_break),
    (
        re.compile(
            r"(?:(?<=\b[1-4]00)|(?<=\b[68]0)|(?<=\b110))\s?mH\b"
            r"(?!\s(?:inductors?|inductance|coils?|chokes?|of|at|in series)\b)"
        ),
        _hurdles,
    ),
    (
        re.compile(r"(?<![\w./])\.([1-9]\d\d)/\.([1-9]\d\d)/\.([1-9]\d\d)(?![\w/])"),
        _slash_line,
    ),
    (re.compile(rf"(?<=\(){_GAMES}"), _record_in_parentheses),
    (
        re.compile(
            rf"(?:{_CHANGED_TO}|(?<=\brecord of ))"
            rf"{_GAMES}(?!\s(?:victory|defeat|win|loss|lead|down|up)\b)"
        ),
        _record,
    ),
    (
        re.compile(
            rf"(?<![\w.,/-]){_GAMES}(?=\s(?:record|mark|start|team|squad|season"
            r"|this (?:season|year)|on the (?:season|year)|overall|against the spread|in conference"
            r"|in (?:the|their) (?:conference|division)"
            r"|(?:over|in) (?:his|her|its|their) last)\b)"
        ),
        _record,
    ),
    (
        re.compile(
            rf"(?<=\b[Tt]he ){_GAMES}"
            r"(?=\s[A-Z][a-z]+s\b(?!['’]|\s(?:win|victory|loss|defeat|lead|score)))"
        ),
        _record,
    ),
    (
        re.compile(
            r"(?:(?<=\bare )|(?<=\bwere )|(?<=\bwent )|(?<=\bgo ))"
            rf"{_GAMES}(?=\s(?:at home|on the road)\b)"
        ),
        _record,
    ),
    (
        # Without a win or a loss: "they are 0-4", "we started 5-0".
        re.compile(
            r"\b(?:(?:[Tt]hey|[Ww]e|[Yy]ou|[A-Z][a-z]{1,14}s) (?:are|were)"
            r"|(?:team|club|squad) (?:is|was)|went|start(?:ed)?|opened|began|now) "
            rf"(?=0[-–][1-9]|[1-9]\d?[-–]0)({_GAMES})"
            r"(?=[.,;)]|$|\s(?:and|but|since|against|when|after|before|in|to (?:start|open|begin)"
            r"|all)\b)"
        ),
        _record,
    ),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{1,2})[-–](\d{1,2})"
            r"(?=\s(?:FG|3P|3PT|3FG|FT|shooting\b|from (?:three|3\b|deep|downtown|beyond the arc"
            r"|the (?:field|floor|arc|stripe|line|foul line|free throw line))\b))"
        ),
        _of_tries,
    ),
)


def _bowled(match: re.Match[str], british: bool) -> list[Piece]:
    """Wickets and the runs they cost: "Anderson took 5-32"."""
    return [Piece(" for ", *match.span(1)), *([Piece(" for ", *match.span(2))] if match[2] else [])]


CRICKET: tuple[Rule, ...] = (
    (
        re.compile(
            r"\b(?!(?:It|This|That|Each|Which)\b)[A-Z][a-z]+ (?:took|taking"
            r"|returned|claimed|finished with|had figures of|with figures of)"
            r" \d([-–/])\d\d(?:,? and [A-Z][a-z]+ \d([-–/])\d\d)?"
            r"(?![\w/-]|[.,]\d)(?=[.,;)]|$| (?:as|off|from \d|and [A-Z])\b)"
        ),
        _bowled,
    ),
    (re.compile(r"(?<![\w.,/])(?!24/7)(\d{2,3})/(\d)(?![\w/]|[.,]\d)"), _innings),
    (
        re.compile(r"(?<=[a-z] )([1-9]|10)/(\d{2,3})(?=[,;)]|\.(?!\d)|$| (?:and|off|as|from) )"),
        _innings,
    ),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{2,3})[-–](\d)"
            r"(?=\s(?:at (?:tea|lunch|stumps|the close)|declared|overnight|off)\b)"
        ),
        _innings,
    ),
)

BATTING: Rule = (
    re.compile(
        r"(?:(?<=\bhit )|(?<=\bhits )|(?<=\bhitting )|(?<=\bbatted )|(?<=\bbatting ))"
        r"\.([1-9]\d\d)(?!\d)"
        r"|(?<![\w.])\.([1-9]\d\d)(?=\s(?:OBP|AVG|SLG|OPS|batting|slugging|on-base|hitter|clip"
        r"|(?:career\s|lifetime\s)?average)\b)"
    ),
    _batting_average,
)

MATCHES: tuple[Phrase, ...] = (
    (re.compile(r"(?<=\b15|\b30|\b40)[–—](?=love\b)|(?<=\b[Ll]ove)[–—](?=(?:15|30|40)\b)"), "-"),
    (re.compile(r"(\b[A-Z][a-z]+ )def\.(?=\s[A-Z][a-z])"), r"\1defeated"),
    (re.compile(r"(?<=\b[Mm]an)\.(?=\s(?:City|Utd|United|Town)\b)"), ""),
    (re.compile(r"\bUtd\b\.?(?=\s[a-z(\d]|\s(?:v|vs|beat)\b|[,;:)'’]|\s[-–]|\s[A-Z])"), "United"),
    (re.compile(r"\bUtd\b"), "United"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
