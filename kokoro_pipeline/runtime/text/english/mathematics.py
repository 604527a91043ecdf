"""Formulas: signs between numbers and letters, powers, and functions."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .letters import LETTER_A, letter_name
from .number_forms import letter_by_letter, minus
from .numbers import cardinal, ordinal
from .rules import Rule

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_POWER = "[⁻⁺]?[⁰¹²³⁴-⁹]{1,6}|ⁿ"
_VALUE = (
    r"(?:\d{1,30}(?:[.,]\d{1,30}){0,9}(?:[abcxyz]{2}|a[st]|bh|gh|mv|ma|[a-zA-Z])?|(?!(?i:is|be|if|so|or|of|to|in|at|by|on|as|an|we|he|it|no|us|up|do|go|my|me|am)\b)[a-zA-Zα-ωµ]{1,2}"
    r"|[fghtFGHP]\((?:[a-zA-Z]|\d{1,9})\))"
)
_TERM = rf"[-−+]?√?\(?{_VALUE}(?:{_POWER}|[!%])?\)?(?![\w(])"
_EXPRESSION = rf"{_TERM}(?:\s?[-+−*·×÷/^±]\s?{_TERM}){{0,12}}"
_RELATION = r"\s?(?:[=≈≠≤≥<>≡∝]|==|!=|<=|>=)\s?"
_EQUATION = re.compile(
    rf"(?<![\w'’])(?<!\d )(?<!\d[.,]){_EXPRESSION}(?:{_RELATION}{_EXPRESSION}){{1,6}}(?![\w/])"
)
_POLYNOMIAL = re.compile(
    rf"(?<![\w.,])(?<!\d ){_TERM}(?:\s?[-+−*·×^±]\s?{_TERM}){{1,12}}(?![\w/-])"
)
_SYMBOL = re.compile(
    r"(?P<function>[fghtFGHP])\((?P<argument>[a-zA-Z]|\d{1,9})\)|(?P<letters>[a-zA-Zα-ωµ]{1,2})"
    r"|(?P<relation>==|!=|<=|>=|[<>≤≥=≡∝])|(?P<sign>[-−])|(?P<operator>[*·/!])"
)
_LETTER_POWER = re.compile(r"[abnpqtuvwxyz][²³⁴-⁹ⁿ]")
_LIKE_TERMS = re.compile(r"\d([abnxyz])\s[-−+]\s\d{1,9}\1\b")  # "6x − 2x"
_RELATIONS = {
    "=": "equals",
    "==": "equals",
    "!=": "is not equal to",
    "<=": "is less than or equal to",
    ">=": "is greater than or equal to",
    "<": "is less than",
    ">": "is greater than",
    "≤": "is less than or equal to",
    "≥": "is greater than or equal to",
    "≡": "is identical to",
    "∝": "is proportional to",
}


_MODULUS = re.compile(r"\s?\(?mod\b")
_INEQUALITY = re.compile(r"[<>]=?|[≤≥]")
_VERB_BEFORE = re.compile(r"\b(?:[Ii]s|[Ll]et|(?:[Ff]or|of) (?:all|any|each|every|some))\s$")


def _equation(match: re.Match[str], british: bool) -> Replacement:
    text = match.string
    if not re.search(r"\d|[²³√]", match[0]) and not re.search(r"\b[a-zA-Z]\b", match[0]):
        return match[0]
    pieces = []
    for symbol in _SYMBOL.finditer(text, match.start(), match.end()):
        words = _symbol(symbol, match)
        if words is not None:
            pieces.append(Piece(words, *symbol.span()))
    return pieces


def _polynomial(match: re.Match[str], british: bool) -> Replacement:
    formula = _LETTER_POWER.search(match[0]) or _LIKE_TERMS.search(match[0])
    return _equation(match, british) if formula else match[0]


def _symbol(symbol: re.Match[str], equation: re.Match[str]) -> str | None:
    if symbol["function"]:
        return f"{symbol['function']} of {letter_name(symbol['argument'])}"
    if symbol["letters"]:
        text, start, end = equation.string, symbol.start(), symbol.end()
        before = " " if start and text[start - 1].isdecimal() else ""
        after = " " if text[end : end + 1].isdecimal() else ""
        return before + " ".join(map(letter_name, symbol["letters"])) + after
    if symbol["relation"]:
        words = _RELATIONS[symbol["relation"]]
        text, start = equation.string, equation.start()
        if symbol["relation"] == "≡" and _MODULUS.match(text, equation.end()):
            return " is congruent to "
        bare = _VERB_BEFORE.search(text, max(0, start - 10), start) or (
            _INEQUALITY.search(text, start, symbol.start())
        )
        return f" {words.removeprefix('is ') if bare else words} "
    if symbol["sign"]:
        return " minus "
    spaced = equation.string[symbol.start() - 1].isspace()
    if symbol["operator"] == "/":
        around = equation.string[symbol.start() - 1] + equation.string[symbol.end()]
        if around.isdecimal():
            return None  # a fraction
        return " divided by " if spaced else " over "
    return " factorial " if symbol["operator"] == "!" else " times "


def _difference(match: re.Match[str], british: bool) -> list[Piece]:
    start = match.start(1)
    return [
        Piece(letter_name(match[1]), start, start + 1),
        Piece(" minus ", match.end(1), match.start(2)),
    ]


def _times(match: re.Match[str], british: bool) -> str:
    return " times "


_CROSS = re.compile(r"(?<=\w)(?:\s[x×]\s|×)(?=\w)")


def _sides(match: re.Match[str], british: bool) -> list[Piece]:
    """The signs between the sides of a thing: "a 2 × 2 × 3 design", "an n × n matrix"."""
    return [Piece(" by ", *sign.span()) for sign in _CROSS.finditer(match.string, *match.span())]


def _chain(match: re.Match[str], british: bool) -> list[Piece]:
    """The signs of a size of three sides, "2 × 2 × 3", or of factors: "30 is 2 × 3 × 5"."""
    factors = match.string.endswith(("is ", "= ", "by "), 0, match.start()) and not match[1]
    word = " times " if factors else " by "
    return [Piece(word, *sign.span()) for sign in _CROSS.finditer(match.string, *match.span())]


def _function(match: re.Match[str], british: bool) -> list[Piece]:
    start, end = match.span(2)
    pieces = [Piece(f"{match[1]} of ", match.start(), start), Piece("", end, match.end())]
    return pieces if match[2] != "a" else [pieces[0], Piece(LETTER_A, start, end), pieces[1]]


_BAR_OR_A = re.compile(r"\||\bA\b")


def _probability(match: re.Match[str], british: bool) -> list[Piece]:
    """The probability of an event: "P(X > 3)"."""
    start, end = match.span(2)
    parts = [
        Piece(" given " if part[0] == "|" else LETTER_A, *part.span())
        for part in _BAR_OR_A.finditer(match.string, start, end)
    ]
    close = " " * match.string[end + 1 : end + 2].isalpha()  # "P(A)P(B)"
    return [Piece(f"{match[1]} of ", match.start(), start), *parts, Piece(close, end, match.end())]


def _over(match: re.Match[str], british: bool) -> str:
    return " over "


def _power(match: re.Match[str], british: bool) -> list[Piece]:
    exponent = match[2].translate(SUPERSCRIPTS)
    pieces = [Piece(letter_name(match[1]), *match.span(1))]
    if exponent == "-1" and (match[1].isupper() or match[1] in "fg"):
        return [*pieces, Piece(" inverse ", *match.span(2))]
    if exponent in ("2", "3"):
        return [*pieces, Piece(f" {'squared' if exponent == '2' else 'cubed'} ", *match.span(2))]
    if exponent == "n":
        words = "nth"
    else:
        words = "minus " * exponent.startswith("-") + ordinal(int(exponent.lstrip("+-")))
    return [*pieces, Piece(f" to the {words} ", *match.span(2))]


_FUNCTIONS = {
    **{"sin": "sine", "cos": "cosine", "tan": "tangent", "cot": "cotangent", "sec": "secant"},
    **{"csc": "cosecant", "arcsin": "arc sine", "arccos": "arc cosine", "arctan": "arc tangent"},
    **{"sinh": "hyperbolic sine", "cosh": "hyperbolic cosine", "tanh": "hyperbolic tangent"},
    **{"ln": "natural log", "log": "log", "exp": "exponential", "sqrt": "square root"},
    **{"det": "determinant", "max": "maximum", "min": "minimum"},
}
_NAMES = "|".join(_FUNCTIONS)


def _named_function(match: re.Match[str], british: bool) -> list[Piece]:
    """A function by its abbreviation: "sin(x)", "log2(8)", "cos θ"."""
    article = "the " if match[1] in ("ln", "exp", "sqrt", "det", "max", "min") else ""
    base = f" base {match[2]}" if match[2] else ""
    start = match.start(3)
    pieces = [Piece(f"{article}{_FUNCTIONS[match[1]]}{base} of ", match.start(), start)]
    if multiple := re.fullmatch(r"(\d{1,3})([a-zA-C])", match[3]):  # "2x" alone is "two times"
        words = f"{cardinal(int(multiple[1]), british)} {letter_name(multiple[2])}"
        pieces.append(Piece(words, *match.span(3)))
    if match[4]:
        pieces.append(Piece("", *match.span(4)))
    return pieces


def _function_power(match: re.Match[str], british: bool) -> str:
    """A power of a function, "sin² x"."""
    return f"{_FUNCTIONS[match[1]]} {'squared' if match[2] == '²' else 'cubed'} "


def _inverse_function(match: re.Match[str], british: bool) -> str:
    """The inverse of a function, "tan⁻¹(1)"."""
    return f"inverse {_FUNCTIONS[match[1]]} of "


def _absolute(match: re.Match[str], british: bool) -> list[Piece]:
    inner = match.span(1)
    return [
        Piece("the absolute value of ", match.start(), inner[0]),
        Piece("", inner[1], match.end()),
    ]


def _higher_root(match: re.Match[str], british: bool) -> str:
    return "the cube root of " if match[1] == "³" else "the fourth root of "


def _integral(match: re.Match[str], british: bool) -> str:
    """An integral with its bounds, "∫₀¹"."""
    low = letter_name(match[1])
    return f"the integral from {low} to {match[2].translate(SUPERSCRIPTS)} of "


def _times_root(match: re.Match[str], british: bool) -> str:
    return " times the square root of "


def _derivative(match: re.Match[str], british: bool) -> str:
    return f"d {match[1]} d {match[2]}"


def _second_derivative(match: re.Match[str], british: bool) -> str:
    return f"d squared {match[1]} d {match[2]} squared"


def _place(match: re.Match[str], british: bool) -> str:
    """A place in a sequence: "the (n−1)th term"."""
    sign = "plus" if match[2] == "+" else "minus"
    return f"{letter_name(match[1])} {sign} {ordinal(int(match[3]))}"


def _prime(match: re.Match[str], british: bool) -> str:
    double = "double " * (match[2] not in "'′")
    return f"{match[1]} {double}prime of ("


def _pi(match: re.Match[str], british: bool) -> str:
    return "pi "


def _factorial(match: re.Match[str], british: bool) -> str:
    return " factorial"


def _variable(match: re.Match[str], british: bool) -> str:
    return letter_name(match[0])


def _limit(match: re.Match[str], british: bool) -> str:
    """A limit: "lim x→∞ 1/x"."""
    return f"the limit as {letter_name(match[1])} approaches {match[2]} of "


def _floor(match: re.Match[str], british: bool) -> list[Piece]:
    """The floor, the ceiling or the norm of a term: "⌊x⌋"."""
    name = {"⌊": "floor", "⌈": "ceiling", "‖": "norm"}[match[0][0]]
    start, end = match.span(1)
    return [Piece(f"the {name} of ", match.start(), start), Piece("", end, match.end())]


def _of_freedom(match: re.Match[str], british: bool) -> list[Piece]:
    """The degrees of freedom of a statistic: "F(2, 57) = 4.9"."""
    joint = [Piece(" and ", *match.span(3))] if match[3] else []
    return [Piece(" of ", *match.span(1)), *joint, Piece("", *match.span(5))]


def _distributed(match: re.Match[str], british: bool) -> str:
    """The sign between a variable and its distribution: "X ~ N(0, 1)"."""
    return " is distributed as "


def _similar(match: re.Match[str], british: bool) -> str:
    return " is similar to "


_SIDE = r"(?:\d{1,4}|[a-zA-Z])"
_OF_SIDES = (
    r"(?:matri(?:x|ces)|grids?|arrays?|tables?|designs?|cubes?|boards?|lattices?|blocks?|images?"
    r"|kernels?|filters?|windows?|factorials?|tensors?|determinants?|squares?|chessboards?|puzzles?"
    r"|layouts?|ANOVA|submatri(?:x|ces)|mesh(?:es)?|tiles?|rectangles?|patch(?:es)?)\b"
)

EQUATIONS: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w.,]){_SIDE}(?:\s?×\s?{_SIDE}){{1,3}}(?=(?:\s[a-z-]{{4,14}}){{0,2}}\s{_OF_SIDES})"
            rf"|(?<![\w.,])[a-zA-Z] x {_SIDE}(?=\s{_OF_SIDES})"
        ),
        _sides,
    ),
    (
        re.compile(
            r"(?<![\w.,])\d{1,4}(?:\.\d{1,3})?(?:\s×\s\d{1,4}(?:\.\d{1,3})?){2,3}"
            r"(?!\d|[.,]\d|\s?[=×*+/²³^!-]|\s(?:is|equals)\b)(?=(\s?(?:[cmk]?m|in|ft|px)\b)?)"
        ),
        _chain,
    ),
    (
        re.compile(r"\blim(?:it)?[ _({]{0,2}([a-z])\s?→\s?([-−+]?(?:∞|\d{1,4}|[a-z]\b))[)}]? "),
        _limit,
    ),
    (re.compile(r"[⌊⌈‖]([^⌊⌋⌈⌉‖\n]{1,60})[⌋⌉‖]"), _floor),
    (re.compile(r"(?<=△[A-Z]{3})\s?[~∼]\s?(?=△)"), _similar),
    (re.compile(r"(?<=[△∠])[A-Z]{3}\b"), letter_by_letter),
    (
        re.compile(r"(?:\b[FtB]|χ²|χ2)(\()(\d{1,4})(?:(,) ?(\d{1,5}))?(\))(?=\s?[=<>≈])"),
        _of_freedom,
    ),
    (re.compile(r"(?<=[A-Z]\))/(?=[PE]\([A-Z])"), _over),
    (re.compile(r"\b([PE])\(([A-Z](?:\s?[<>=≤≥|∩∪]\s?[^()]{1,12})?)\)"), _probability),
    (re.compile(r"\b(p)\(([b-z]\s?\|\s?[b-zα-ωA-Z])\)"), _probability),
    (re.compile(r"(?<=\b[A-Z])\s?[~∼]\s?(?=[A-Z][a-z]{0,12}\()"), _distributed),
    (
        re.compile(
            r"(?<=[Δ∂][a-zA-Z])/(?=[Δ∂][a-zA-Z]\b)|(?<=\b[xyz])/(?=[xyz]\b)|(?<=π)/(?=\d)|(?<=\b[xyzn])/(?=\d)"
            r"|(?<=(?<![\w/.])\d)/(?=[nxyzkNRπ](?![\w/]))|(?<=[\w²³]\))/(?=\d|\(|[a-z]\b)"
            r"|(?<=[\w)]!)/(?=[\w(])|(?<=[α-ω])/(?=[α-ω]|[a-zA-Z](?:\d|\b))|(?<=[a-zA-Z]\d)/(?=[a-zA-Zα-ω][²³])"
        ),
        _over,
    ),
    (re.compile(r"([³⁴])√(?=[\d(a-z])"), _higher_root),
    (re.compile(r"(?<=[\d)])√(?=\d)"), _times_root),
    (re.compile(r"\bd([a-z])/d([a-z])\b"), _derivative),
    (re.compile(r"\b([fgh])(['′]{1,2}|[\"″])\((?=[a-z\d]{1,3}\))"), _prime),
    (re.compile(r"\bd²([a-z])/d([a-z])²"), _second_derivative),
    (re.compile(r"(?<=∂²[a-z])/(?=∂)"), _over),
    (re.compile(r"\(([a-z])\s?([-−+])\s?(\d)\)(?:st|nd|rd|th)\b"), _place),
    (re.compile(r"(?<=\d[²³⁰¹⁴-⁹])\s[-−–]\s(?=\d{1,9}(?![\da-zA-Z]))"), minus),
    (re.compile(r"∫\s?([\da-z])([⁰¹²³⁴-⁹ⁿ]|∞)(?!\s?d[a-z]\b)\s?"), _integral),
    (re.compile(r"(?<=\d)\s?[x×]\s?(?=\d[\d.,]*\s?=)"), _times),
    (
        re.compile(
            r"(?<![\w.])(sin|cos|tan|cot|sec|csc|ln|log)([²³])\s?(?=\(|[A-Za-zα-ω](?!\w)|\d)"
        ),
        _function_power,
    ),
    (
        re.compile(
            r"(?<![\w.])(sin|cos|tan|cot|sec|csc|sinh|cosh|tanh)⁻¹\s?(?=\(|[A-Za-zα-ω](?!\w)|\d)"
        ),
        _inverse_function,
    ),
    (re.compile(rf"(?<![\w.])({_NAMES})(\d{{0,2}})\(([^()]{{1,40}})(\))"), _named_function),
    (
        re.compile(
            r"(?<![\w.])(sin|cos|tan|ln|log(?=\d))(\d{0,2})\s"
            r"(\d{0,3}[nxyztθφαβωA-C]|\d{0,3}[πω][nxyzt]?|\d+(?:\.\d+)?(?=\s?°)|(?<=log\d\s)\d+|(?<=log\d\d\s)\d+)()(?![\w'’])"
        ),
        _named_function,
    ),
    (
        re.compile(
            r"(?<![\w|])\|((?:[^|\s]{1,12}(?:\s?[-+−*·×÷/]\s?[^|\s]{1,8}){0,3}))\|(?![\w|])"
        ),
        _absolute,
    ),
    (
        re.compile(
            r"(?<=\b[nkmN])!(?!\w)|(?<=[\dnk]\))!|(?<=\d)!(?=\s(?:is|are|has|have|ends|grows|equals|and|or|by|as|over|using|ways|divided|times|[+=*/×-])(?!\w))"
        ),
        _factorial,
    ),
    (_EQUATION, _equation),
    (_POLYNOMIAL, _polynomial),
    (re.compile(r"(?<![\w.'’-])([b-hj-z])\s?[-−]\s?(\d|[a-z](?![\w'’-]))(?!\w*-)"), _difference),
    (re.compile(r"(?<=[\d)])\s?[*·]\s?(?=[\d(])"), _times),
    (
        re.compile(
            r"(?<![\w.'])([fgh])\(((?:[-−]?(?:\d{0,9}[a-z]|\d{1,9}))"
            r"(?:(?:\s?[-+−]|,)\s?\d{0,9}[a-z0-9]){0,2})\)"
        ),
        _function,
    ),
    (re.compile(r"π(?=[a-zA-Z](?![a-z]))"), _pi),
)
"""What has to be read before numbers are taken to be dates, ranges or measures."""

POWERS: tuple[Rule, ...] = (
    (re.compile(rf"([\w)])({_POWER})"), _power),
    (
        re.compile(r"(?<![\w.'])a(?=\s?[+=×÷−]\s?\w)|(?<=[+=×÷−]\s)a(?![\w'’])(?!\s[a-z])"),
        _variable,
    ),
    (re.compile(r"(?<![\w.'])[Aa](?=\s?[∪∩⊂⊃⊆⊇∈∉])|(?<=[∪∩⊂⊃⊆⊇∈∉]\s)[Aa](?![\w'’])"), _variable),
)
