"""Lines of plays and poems: "Hamlet 3.1.56", "Aeneid 6.126–131"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import in_pairs
from .rules import Rule

_PLAYS = (
    r"Hamlet|Macbeth|Othello|Lear|Tempest|Romeo and Juliet|Twelfth Night|Julius Caesar|Coriolanus"
    r"|Cymbeline|Pericles|Timon|Titus|Henry [IV]+|Richard II{1,2}|King John|Merchant|As You Like It"
    r"|Much Ado|Measure for Measure|Winter['’]s Tale|Antony and Cleopatra|Merchant of Venice"
)
_POEMS = (
    r"Iliad|Odyssey|Aeneid|Metamorphoses|Georgics|Eclogues|Odes|Theogony|Inferno|Purgatorio|Paradiso"
    r"|Paradise Lost|De Rerum Natura"
)
_NUMBER = re.compile(r"\d+")


def _line(match: re.Match[str], british: bool) -> list[Piece]:
    """Act, scene and line of a play, or book and line of a poem, and the last line of several."""
    numbers = [in_pairs(number, british) for number in _NUMBER.findall(match["place"])]
    last = f" to {in_pairs(match['last'], british)}" if match["last"] else ""
    return [Piece(", ".join(numbers) + last, match.start("place"), match.end())]


LINES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"\b(?:(?:{_PLAYS}),? (?=\d+\.\d+\.\d)|(?:{_POEMS}),? )"
            r"(?P<place>\d{1,2}(?:\.\d{1,2})?\.\d{1,4})(?:[-–](?P<last>\d{1,4}))?(?![\w-]|[.,]\d)"
        ),
        _line,
    ),
)
