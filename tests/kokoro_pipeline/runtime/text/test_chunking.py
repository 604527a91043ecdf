"""Splitting long phoneme strings: complete, within the limit, and cut at pauses."""

from __future__ import annotations

import itertools
import random
import sys
import unicodedata

import pytest

from kokoro_pipeline.config import MAX_PHONEMES, default_config
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text.chunking import PhonemeSpan, split_phonemes
from kokoro_pipeline.runtime.text.vocabulary import Vocabulary

VOCABULARY = Vocabulary(default_config().vocab)
UNKNOWN = "gK8❓\n"


def pieces(phonemes: str, limit: int) -> list[str]:
    return [phonemes[a:b] for a, b in split_phonemes(phonemes, VOCABULARY, limit)]


def fed(phonemes: str) -> int:
    return len(VOCABULARY.encode(phonemes).ids)


@pytest.mark.parametrize(
    ("phonemes", "limit", "expected"),
    [
        # sentence ends win over everything else
        ("abc. def. hij.", 10, ["abc. ", "def. hij."]),
        ("abc! def? hij… klm.", 6, ["abc! ", "def? ", "hij… ", "klm."]),
        ("a, b. c, d", 6, ["a, b. ", "c, d"]),
        ("“abc.” “def.”", 8, ["“abc.” ", "“def.”"]),
        # a point inside a word ends no sentence
        ("ab.c def. hij.", 11, ["ab.c def. ", "hij."]),
        # clauses only inside a sentence that is too long
        ("abc, def; hij: klm—nop", 6, ["abc, ", "def; ", "hij: ", "klm—", "nop"]),
        ("abc (def) hij", 11, ["abc (def) ", "hij"]),
        ("“abc def” hij klm", 11, ["“abc def” ", "hij klm"]),
        # words only inside a clause that is too long
        ("abc def hij klm", 8, ["abc def ", "hij klm"]),
        # an overlong word is cut evenly
        ("abcdefhijk", 6, ["abcde", "fhijk"]),
        ("abcdefhijkl", 5, ["abcd", "efhi", "jkl"]),
        # and its marks stay with their symbols
        ("abcˈdef", 4, ["abc", "ˈdef"]),
        ("abcdːef", 4, ["abc", "dːef"]),
        ("abcɔ̃ef", 4, ["abc", "ɔ̃ef"]),
        ("ˌˈab", 1, ["ˌ", "ˈ", "a", "b"]),  # where it cannot be kept, the limit wins
        # no tiny last chunk where words can be moved
        ("ab cd ef hi jk", 11, ["ab cd ", "ef hi jk"]),
        # a trailing space that no longer fits goes to the next chunk
        ("abcd. efh.", 5, ["abcd.", " efh."]),
        # symbols outside the vocabulary take no room and make no chunk of their own
        ("ggggg abc", 4, ["ggggg abc"]),
        ("abc defKKKK", 4, ["abc ", "defKKKK"]),
        ("KKKK. abc.", 5, ["KKKK. ", "abc."]),
        ("g8K", 1, ["g8K"]),
        ("", 5, []),
        ("abc", 5, ["abc"]),
    ],
)
def test_cuts_fall_where_a_speaker_pauses(phonemes: str, limit: int, expected: list[str]) -> None:
    """Protects the order sentence, clause, word, hard, and the even sizes."""
    assert pieces(phonemes, limit) == expected


def random_phonemes(rng: random.Random) -> str:
    """Anything from tidy sentences to noise of marks, spaces and unknown symbols."""
    symbols = "".join(default_config().vocab)
    kind = rng.choice(["sentences", "noise", "word", "spaces", "unknown", "marks"])
    length = rng.choice([1, 2, 7, 60, 400, 1500])
    if kind == "noise":
        return "".join(rng.choice(symbols + UNKNOWN) for _ in range(length))
    if kind == "word":
        return "".join(rng.choice("abdefhijkˈˌː") for _ in range(length))
    if kind == "spaces":
        return "".join(rng.choice("a  .") for _ in range(length))
    if kind == "unknown":
        return "".join(rng.choice(UNKNOWN + " a") for _ in range(length))
    if kind == "marks":
        return "".join(rng.choice("a\u0303ːˈ") for _ in range(length))
    words = []
    for _ in range(length // 5 + 1):
        word = "".join(rng.choice("abdefhijkˈ") for _ in range(rng.randint(1, 12)))
        words.append(word + rng.choice(["", "", "", "", ",", ".", "?", "…", ";", "—", "”", ".”"]))
    return " ".join(words)


def has_speakable(phonemes: str) -> bool:
    return any(s in VOCABULARY and not s.isspace() for s in phonemes)


@pytest.mark.parametrize("seed", range(300))
def test_every_input_is_partitioned(seed: int) -> None:
    """For any input: the spans are in order without gaps, and none is too long or empty."""
    rng = random.Random(seed)
    phonemes = random_phonemes(rng)
    limit = rng.choice([1, 2, 3, 5, 10, 50, MAX_PHONEMES])
    spans = split_phonemes(phonemes, VOCABULARY, limit)
    assert spans[0].start == 0
    assert spans[-1].end == len(phonemes)
    for before, after in itertools.pairwise(spans):
        assert before.end == after.start
    for start, end in spans:
        assert start < end
        assert fed(phonemes[start:end]) <= limit
        assert fed(phonemes[start:end]) > 0 or len(spans) == 1
    # A chunk of nothing but spaces is allowed only where neither neighbour has room for it.
    for before, lone, after in zip(spans, spans[1:], spans[2:], strict=False):
        if not has_speakable(phonemes[slice(*lone)]):
            assert fed(phonemes[before.start : lone.end]) > limit
            assert fed(phonemes[lone.start : after.end]) > limit


@pytest.mark.parametrize("seed", range(100))
def test_marks_stay_with_their_symbols(seed: int) -> None:
    """A stress mark belongs to what follows, a length or nasal mark to what precedes it."""
    rng = random.Random(1000 + seed)
    phonemes = "".join(rng.choice(["a", "e", "ˈb", "ɔ̃", "iː", " "]) for _ in range(400))
    for _, cut in split_phonemes(phonemes, VOCABULARY, 12)[:-1]:
        assert phonemes[cut - 1] not in "ˈˌ"
        assert phonemes[cut] != "ː"
        assert not unicodedata.combining(phonemes[cut])


@pytest.mark.parametrize("sentence_length", [20, 90, 170])
def test_chunks_of_a_long_text_are_full_and_even(sentence_length: int) -> None:
    """Many near-empty chunks would cost time and prosody."""
    sentence = "ab " * (sentence_length // 3) + "ab. "
    phonemes = sentence * 60
    sizes = [b - a for a, b in split_phonemes(phonemes, VOCABULARY)]
    fewest = -(-len(phonemes) // (MAX_PHONEMES // len(sentence) * len(sentence)))
    assert len(sizes) == fewest
    assert max(sizes) - min(sizes) <= len(sentence)


def test_limit_is_inclusive() -> None:
    """Exactly 510 phonemes are one chunk; 511 are two of about the same size."""
    assert split_phonemes("a" * 510, VOCABULARY) == [PhonemeSpan(0, 510)]
    assert split_phonemes("a" * 511, VOCABULARY) == [PhonemeSpan(0, 256), PhonemeSpan(256, 511)]


def test_limit_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="at least one phoneme, not 0"):
        split_phonemes("a", VOCABULARY, 0)


def calls_made(phonemes: str) -> int:
    """How many functions, Python's own among them, a split calls: work that a busy machine does
    not change."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        spans = split_phonemes(phonemes, VOCABULARY)
    finally:
        sys.setprofile(None)
    assert spans[-1].end == len(phonemes)
    return calls


@pytest.mark.parametrize(
    ("start", "repeated", "times"),
    [("", "ab cd, ef. ", 2_000), ("", "a", 8_000), ("", ". ", 1_500), ("a" * 600, "❓\n", 1_000)],
    ids=["book", "one word", "points", "unknown"],
)
def test_a_book_is_split_in_linear_time(start: str, repeated: str, times: int) -> None:
    """Guards against a quadratic search: twice the text is twice the work, not four times."""
    once, twice = (calls_made(start + repeated * n) for n in (times, 2 * times))
    assert once > times
    assert twice < 2.2 * once
