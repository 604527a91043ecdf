"""Which word of a clause became which of its phonemes, where these are fewer or more words."""

from __future__ import annotations

import random
from functools import cache

import pytest

from kokoro_pipeline.runtime.text.espeak_voices.word_shares import share


@pytest.mark.parametrize(
    ("alone", "clause", "shares"),
    [
        (["le", "ami"], "lez ami", ["lez ", "ami"]),
        (["də", "la", "mɛʁ"], "dəla mɛʁ", ["də", "la ", "mɛʁ"]),
        (["ˈuno", "dˈos"], "ˌuno dˈos", ["ˌuno ", "dˈos"]),
        (["a", "b"], "", [""]),
        (["a", "bcd", "e"], "a e", ["a ", "e"]),
        (["", "abc", "de"], "abcde", ["", "abc", "de"]),
        (["a b", "c"], "a b x c", ["a b ", "x c"]),
    ],
    ids=str,
)
def test_shares_make_up_the_clause(alone: list[str], clause: str, shares: list[str]) -> None:
    found = share(alone, clause)
    assert [part.phonemes for part in found] == shares
    assert "".join(part.phonemes for part in found) == clause
    assert [part.first for part in found] == [0, *(part.last + 1 for part in found[:-1])]
    assert found[-1].last == len(alone) - 1


def _fewest_changes(alone: tuple[str, ...], clause: str) -> float:
    """The least that it costs to make the clause of the words alone, by trying everything."""
    said = "\n".join(alone)

    def cost(symbol: str) -> float:
        return 0.25 if symbol in "ˈˌ" else 1.0

    @cache
    def least(i: int, j: int) -> float:
        ways = [0.0] if not i and not j else []
        if i:
            ways.append(least(i - 1, j) + (0.5 if said[i - 1] == "\n" else cost(said[i - 1])))
        if j:
            ways.append(least(i, j - 1) + cost(clause[j - 1]))
        if i and j:
            symbol, heard = said[i - 1], clause[j - 1]
            if symbol == heard or (symbol, heard) == ("\n", " "):
                ways.append(least(i - 1, j - 1))
            elif symbol not in "\n " and heard != " ":
                ways.append(least(i - 1, j - 1) + max(cost(symbol), cost(heard)))
        return min(ways)

    return least(len(said), len(clause))


def test_words_are_cut_where_the_fewest_phonemes_change() -> None:
    """What each word has costs as little as the whole does, on drawn clauses."""
    draw = random.Random(5)
    for _ in range(300):
        alone = ["".join(draw.choices("abɛˈ", k=draw.randint(1, 4))) for _ in range(4)]
        symbols = list(" ".join(alone))
        for _ in range(draw.randint(1, 4)):
            symbols[draw.randrange(len(symbols))] = draw.choice(["", " ", "a", "ˈ"])
        clause = "".join(symbols).strip()
        shares = share(alone, clause)
        if len(shares) < len(alone) or len(clause.split()) == len(alone):
            continue
        parts = sum(
            _fewest_changes((word,), part.phonemes.removesuffix(" "))
            + (0.0 if part.phonemes.endswith(" ") else 0.5)
            for word, part in zip(alone, shares, strict=True)
        )
        assert parts - 0.5 <= _fewest_changes(tuple(alone), clause), (alone, clause)
