"""Read formulas that are written in LaTeX: "$x^2$" is "x squared".

A formula stands between dollar signs or between "\\(" and "\\)", "\\[" and "\\]". Its signs and
commands become words; numbers stay digits, which are expanded with all others.
"""

from __future__ import annotations

import re

from ..tracked import Tracked
from .letters import letter_name
from .numbers import ordinal
from .tables import table

# As in Pandoc, a formula neither begins nor ends with a space, and no digit follows its last sign.
_FORMULA = re.compile(
    r"\$\$([^$]{1,1000})\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$,.;:!?)])([^$\n]{1,300})(?<=\S)\$(?![\d$]|(?!th\b|s\b)[A-Za-z])"
    r"|\\\(([^$\n]{1,300}?)\\\)|\\\[([^$]{1,1000}?)\\\]"
    r"|\\begin\{(?:equation|align|gather|multline)\*?\}([^$]{1,1000}?)"
    r"\\end\{(?:equation|align|gather|multline)\*?\}"
)
_SHORT = re.compile(r"[A-Za-z]|\d+(?:\.\d+)?[a-zA-Z]?")
_MARK = re.compile(r"[\\^_=<>+*/([!|-]")
_NAMED_OR_TEXT = re.compile(r"\\[a-zA-Z]+\s?(?:\{[a-zA-Z ]{0,80}\})?|\\.")
_WORD = re.compile(r"[a-zA-Z]{4}")
_TOKEN = re.compile(
    r"(?P<command>\\[A-Za-z]+\*?)|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?)"
    r"|(?P<word>[a-zA-Z]{4,})|(?P<letter>[a-zA-Z])|(?P<space>(?:\\[,;:! ]|\s)+)|(?P<sign>\\.|.)",
    re.DOTALL,
)
_DEPTH = 12  # of braces within braces


def _commands(kind: str) -> dict[str, str]:
    """The words of the commands of a kind, by their names."""
    return {name: words for row_kind, name, words in table("latex") if row_kind == kind}


_SYMBOLS = _commands("symbol")
_FUNCTIONS = _commands("function")
_OPERATORS = _commands("operator")
_ACCENTS = _commands("accent")
_UNSPOKEN = _commands("unspoken")
_SIGNS = {
    "+": "plus",
    "-": "minus",
    "−": "minus",
    "=": "equals",
    "<": "is less than",
    ">": "is greater than",
    "/": "over",
    "*": "times",
    "!": "factorial",
    "\\\\": ",",
    "\\%": "percent",
    "\\$": "dollars",
    **dict.fromkeys(("~", "&", "\\"), ""),
}
_SPOKEN_SIGNS = frozenset({"plus", "minus", "times", "over"})
_ROUND = (")", "]")  # either, for intervals
_SET = (r"\}",)
_BRACKETS = {"(": _ROUND, "[": _ROUND, r"\{": _SET}
_FUNCTION_LETTERS = "fghFGHOPE"
_WITHOUT_OF = ("log", "natural log")  # "n log n"
_RAW = frozenset(["text", "textbf", "textit", "textrm", "mbox", "mathrm", "operatorname"])
_FONTS = frozenset(
    ["mathbf", "mathit", "mathsf", "mathcal", "mathbb", "mathfrak", "boldsymbol", "bm"]
)
_FRACTIONS = frozenset(["frac", "dfrac", "tfrac", "cfrac"])
_NAMED = frozenset({"begin", "end", "label"})  # whose argument is not spoken either
_POWERS = {
    "2": "squared",
    "3": "cubed",
    "minus 1": "inverse",
    "T": "transpose",
    "times": "star",
    "composed with": "degrees",
    "prime": "prime",
    "prime prime": "double prime",
}


_COMMANDS_OF_SIGNS = {"∑": r"\sum", "Σ": r"\sum", "∏": r"\prod", "∫": r"\int"}
_LIMITED = re.compile(r"([∑Σ∏∫])((?:[_^](?:\{[^{}\n]{1,30}\}|\w)){1,2})")


def expand_formulas(text: Tracked) -> Tracked:
    """Replace formulas by their words; what is between dollar signs and is none is left."""
    return text.sub(_FORMULA, _formula).sub(_LIMITED, _limited)


def _limited(match: re.Match[str]) -> str:
    """A sign with limits outside a formula: "∑_{i=1}^n"."""
    try:
        words = _Formula(_COMMANDS_OF_SIGNS[match[1]] + match[2]).read()
    except _NotReadError:
        return match[0]
    if match.string[max(0, match.start() - 4) : match.start()].lower() == "the ":
        words = words.removeprefix("the ")
    summed = match.string[match.end() : match.end() + 2].lstrip()[:1]
    return f"{words} of " if summed.isalnum() or summed == "(" else f"{words} "


def _formula(match: re.Match[str]) -> str:
    source = next(group for group in match.groups() if group is not None)
    if match[0][0] == "$" and not _is_mathematical(source):
        return match[0]
    try:
        words = _Formula(source).read()
    except _NotReadError:
        return match[0]
    follows_word = match.string[: match.start()][-1:].isalnum()
    return f"{' ' * follows_word}{words}" if words else match[0]


def _is_mathematical(source: str) -> bool:
    """Whether dollar signs enclose a formula: a letter, a number, or signs without a word.

    "$HOME/$USER" and "$5 or 6$" have words or no signs.
    """
    if _SHORT.fullmatch(source):
        return True
    return bool(_MARK.search(source)) and not _WORD.search(_NAMED_OR_TEXT.sub(" ", source))


class _NotReadError(Exception):
    """The braces of a formula do not match, or are nested too deeply."""


class _Formula:
    """The reading of one formula, token by token: a descent along its braces."""

    def __init__(self, source: str) -> None:
        self._tokens = [
            (match.lastgroup or "", match[0].lstrip("\\").rstrip("*"))
            if match.lastgroup == "command"
            else (match.lastgroup or "", match[0])
            for match in _TOKEN.finditer(source)
        ]
        self._at = 0
        self._open: list[tuple[str, ...]] = []  # what closes the sequences that are read
        self._groups = 0  # how many arguments of commands are being read
        self._maps = r"\to" in source or r"\rightarrow" in source

    def read(self) -> str:
        words = " ".join(self._sequence(())).replace("( ", "(").replace(" )", ")")
        return " ".join(words.split())

    def _sequence(self, closing: tuple[str, ...]) -> list[str]:
        """The words up to a closing sign, which is taken too, or up to the end if there is none."""
        if len(self._open) == _DEPTH:
            raise _NotReadError
        self._open.append(closing)
        words: list[str] = []
        while self._at < len(self._tokens):
            kind, token = self._tokens[self._at]
            self._at += 1
            if token in closing and kind == "sign":
                break
            words += self._words(kind, token)
        else:
            if closing:
                raise _NotReadError
        self._open.pop()
        return words

    def _words(self, kind: str, token: str) -> list[str]:
        """The words of a token and of those that belong to it."""
        if kind == "command":
            return self._command(token)
        if kind == "letter":
            return [letter_name(token), *self._argument(token)]
        if kind in ("number", "word"):
            return [token]
        if kind == "space":
            return []
        if token == "{":
            return self._sequence(("}",))
        if token == "}":
            raise _NotReadError
        if token == "^":
            return self._power()
        if token == "_":
            return self._group()
        if token in _BRACKETS:
            return ["(", *self._sequence(_BRACKETS[token]), ")"]
        if token in ("|", r"\|", ":"):
            return self._bar(token)
        return [_SIGNS.get(token, token)]

    def _argument(self, letter: str) -> list[str]:
        """The primes of a letter, and what a function that it names is of."""
        primes = []
        while self._peek() == "'":
            self._at += 1
            primes.append("prime")
        if letter not in _FUNCTION_LETTERS or self._peek() != "(":
            return primes
        self._at += 1
        return [*primes, "of", *_together(self._sequence(_ROUND))]

    def _bar(self, token: str) -> list[str]:
        """A sign that means "such that" in a set and "given" in parentheses."""
        around = next((closing for closing in reversed(self._open) if closing != ("}",)), ())
        if around == _SET:
            return ["such that"]
        if token == ":":
            return ["from" if self._maps else ":"]
        if around == _ROUND:
            return ["given"]
        name = "absolute value" if token == "|" else "norm"
        return ["the", name, "of", *_together(self._sequence((token,)))]

    def _command(self, name: str) -> list[str]:
        if name in _UNSPOKEN:
            if name in _NAMED:
                self._raw()
            elif self._peek() == ".":  # the empty delimiter of "\\left."
                self._at += 1
            return []
        if name in _RAW:
            return [self._raw()]
        if name in _FONTS:
            return self._group()
        if name in _FRACTIONS:
            return self._fraction()
        if name == "sqrt":
            return self._root()
        if name == "binom":
            return [*self._group(), "choose", *self._group()]
        if name in _ACCENTS:
            return [*self._group(), _ACCENTS[name]]
        if name == "vec":
            return ["vector", *self._group()]
        if name in _FUNCTIONS:
            return self._function(_FUNCTIONS[name])
        if name in _OPERATORS:
            return self._operator(name, _OPERATORS[name])
        if name == "mid":
            return self._bar("|")
        if name in _SYMBOLS:
            return [_SYMBOLS[name]]
        return [name.lower().removeprefix("var")]  # letters of Greek have their names

    def _function(self, name: str) -> list[str]:
        below, above = self._bounds(power=True)
        spoken = [name, *(["base", *below] if below else []), *above]
        return spoken if len(spoken) == 1 and name in _WITHOUT_OF else [*spoken, *self._of()]

    def _operator(self, command: str, name: str) -> list[str]:
        """A sum, an integral, a limit, with what stands below and above it."""
        below, above = self._bounds(power=False)
        if command.startswith("lim"):
            spoken = ["as", *("approaches" if word == "to" else word for word in below)]
        elif below and above:
            spoken = ["from", *below, "to", *above]
        else:
            spoken = ["over", *below]
        return [name, *(spoken if below else []), *self._of()]

    def _bounds(self, *, power: bool) -> tuple[list[str], list[str]]:
        below: list[str] = []
        above: list[str] = []
        while (sign := self._peek()) in ("_", "^"):
            self._at += 1
            if sign == "_":
                below = self._group()
            else:
                above = self._power() if power else self._group()
        return below, above

    def _of(self) -> list[str]:
        """ "of" where something follows that it is of."""
        return [] if self._peek() in ("", ",", ")", "}", "=") else ["of"]

    def _fraction(self) -> list[str]:
        above, below = self._group(), self._group()
        if all(len(part) == 1 and part[0].isdecimal() for part in (above, below)):
            return [f"{above[0]}/{below[0]}"]
        return [*_together(above), "over", *_together(below)]

    def _root(self) -> list[str]:
        degree = ""
        if self._peek() == "[":
            self._at += 1
            degree = " ".join(self._sequence(("]",)))
        name = {"": "square", "2": "square", "3": "cube"}.get(degree)
        if name is None:
            name = ordinal(int(degree)) if re.fullmatch(r"\d{1,3}", degree) else f"{degree}-th"
        return ["the", name, "root of", *_together(self._group())]

    def _power(self) -> list[str]:
        exponent = self._group()
        written = " ".join(exponent)
        if written in _POWERS:
            return [_POWERS[written]]
        return ["to the power of", *_together(exponent)]

    def _group(self) -> list[str]:
        """What stands between braces, or the next number, letter, sign or command alone."""
        if not self._peek() or self._groups == _DEPTH:
            raise _NotReadError
        kind, token = self._tokens[self._at]
        self._at += 1
        self._groups += 1
        words = self._words(kind, token)
        self._groups -= 1
        return words

    def _raw(self) -> str:
        """The text between braces as it is."""
        self._peek()
        depth, parts = 0, []
        while self._at < len(self._tokens):
            _, token = self._tokens[self._at]
            self._at += 1
            depth += (token == "{") - (token == "}")
            parts.append("" if token in "{}" else token)
            if depth == 0:
                return "".join(parts)
        raise _NotReadError

    def _peek(self) -> str:
        """The next token that is no space, to which this goes on; "" at the end."""
        while self._at < len(self._tokens) and self._tokens[self._at][0] == "space":
            self._at += 1
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""


def _together(words: list[str]) -> list[str]:
    """The words, between parentheses if a sign between them could be read with what follows."""
    return ["(", *words, ")"] if _SPOKEN_SIGNS.intersection(words) else words
