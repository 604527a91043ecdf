"""Read moves of chess: "1. e4 e5 2. Nf3" and "Qxd5+"."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .letters import LETTER_A
from .numbers import cardinal
from .rules import Rule

_PIECES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight"}
_MOVE = (
    r"(?:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|[a-h]x[a-h][1-8](?:=[QRBN])?|[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)"
    r"[+#]?[!?]{0,2}"
)
# Moves as they alone are written, and words of chess. "Ba2+" is an ion elsewhere, "a4" paper.
_CONTEXT = re.compile(
    r"(?<![\w.])\d{1,3}\.(?:\.\.)?\s?(?:[KQRBN]?[a-h]?x?[a-h][1-8]|O-O)(?!\w)"
    r"|\b(?:[KQRBN]|[a-h])x[a-h][1-8]|\bO-O\b"
    r"|\b[KQRBN][a-h][1-8][+#]?\s[KQRBN]?[a-h][1-8]\b|\b[a-h][1-8]\s[KQRBN][a-h][1-8]\b"
    r"|\b(?i:chess|checkmate|castl(?:es|ed|ing)|pawns?|bishops?|knights?|rooks?|gambit|grandmaster)\b"
)
_NEAR = 200
_PART = re.compile(r"O-O-O|O-O|=[QRBN]|[KQRBN]|[a-h]|\d|x|\+|#")
_NAMES = {
    **{"O-O-O": "castles queenside", "O-O": "castles", "x": "takes", "+": "check", "#": "mate"},
    "a": LETTER_A,
}


def _is_chess(match: re.Match[str]) -> bool:
    start = max(0, match.start() - _NEAR)
    return bool(_CONTEXT.search(match.string, start, match.end() + _NEAR))


def _move(match: re.Match[str], british: bool) -> Replacement:
    """A move and, with a pause for its point, its number."""
    if not _is_chess(match):
        return match[0]
    words = []
    for part in _PART.findall(match[2]):
        if part[0] == "=":
            words.append(f"promotes to {_PIECES[part[1]]}")
        elif part.isdecimal():
            words.append(cardinal(int(part)))
        else:
            words.append(_PIECES.get(part) or _NAMES.get(part, part))
    move = Piece(" ".join(words), *match.span(2))
    if not match[1]:
        return [move]
    return [Piece(f"{cardinal(int(match[1]))}, ", match.start(), match.start(2)), move]


CHESS: tuple[Rule, ...] = (
    (
        re.compile(rf"(?<![\w.,$-])(?:(\d{{1,3}})\.(?:\.\.|…)?\s?)?({_MOVE})(?![\w-])"),
        _move,
    ),
)
"""Moves, where something beside them is of chess, too."""
