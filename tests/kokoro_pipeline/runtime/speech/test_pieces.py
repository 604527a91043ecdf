"""How sentences are grouped into pieces, and the silence between pieces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.speech.pieces import (
    LONGEST_WITH_SHORT,
    Piece,
    Splitting,
    group_sentences,
    sentences_of_phonemes,
)
from kokoro_pipeline.runtime.speech.request import splitting_of
from kokoro_pipeline.runtime.text import Sentence, Word


def sentence(length: int, mark: str = "a", *, ends: bool = False) -> Sentence:
    return Sentence(mark * (length - 1) + ".", (), ends_paragraph=ends)


def lengths(sentences: list[Sentence], **options: object) -> list[int]:
    return [len(p.phonemes) for p in group_sentences(sentences, Splitting(**options))]


@pytest.mark.parametrize(
    ("options", "sizes", "pieces"),
    [
        ({}, [50, 90, 90, 90, 90], [50, 90, 181, 90]),  # the second is short, to be there in time
        ({}, [50, 199, 90], [50, 199, 90]),
        ({}, [5, 60, 100], [66, 100]),  # a first sentence too short for the model to say alone
        ({}, [50, 190, 15], [50, 206]),
        ({}, [50, 15, 280], [50, 296]),
        ({}, [50, 350, 15, 10], [50, 350, 26]),
        ({}, [50, 40, 50, 60, 70], [50, 91, 131]),
        ({"split": "sentence"}, [5, 60, 100], [5, 60, 100]),
        ({"split": "paragraph"}, [50, 190, 190], [50, 381]),
        ({"pause_sentence": 100}, [50, 60, 70], [50, 60, 70]),
    ],
    ids=str,
)
def test_sentences_are_grouped_to_what_the_model_says_best(
    options: dict[str, object], sizes: list[int], pieces: list[int]
) -> None:
    assert lengths([sentence(size) for size in sizes], **options) == pieces


@pytest.mark.parametrize("split", ["auto", "sentence", "paragraph"])
def test_a_paragraph_ends_a_piece(split: str) -> None:
    told = [sentence(10, ends=True), sentence(12, ends=True), sentence(14)]
    assert lengths(told, split=split) == [10, 12, 14]


def test_a_piece_is_known_as_soon_as_nothing_can_join_it() -> None:
    """The sentences that follow may not be written yet."""
    taken: list[int] = []

    def told() -> Iterator[Sentence]:
        for size in (10, 50, 90, 150, 100):
            taken.append(size)
            yield sentence(size)

    pieces = group_sentences(told(), Splitting())
    assert len(next(pieces).phonemes) == 10 + 1 + 50  # too short alone
    assert taken == [10, 50]
    assert len(next(pieces).phonemes) == 90
    assert taken == [10, 50, 90, 150]
    for splitting in (
        Splitting("sentence"),
        Splitting(first="clause"),
        Splitting("auto", pause_sentence=1),
    ):
        taken.clear()
        next(group_sentences(told(), splitting))
        assert taken == [10]


def test_the_first_clause_can_be_a_piece_of_its_own() -> None:
    words = (
        Word("Well", "wˈɛl", 0, 4, 0),
        Word(",", ",", 4, 5, 4),
        Word("yes", "jˈɛs", 6, 9, 6),
        Word(".", ".", 9, 10, 10),
    )
    told = [Sentence("wˈɛl, jˈɛs.", words, ("☃",))]
    first, second = group_sentences(told, Splitting(first="clause"))
    assert first == Piece("wˈɛl,", words[:2], ("☃",))
    assert second.phonemes == "jˈɛs."
    assert [(w.text, w.start, w.offset) for w in second.words] == [("yes", 6, 0), (".", 9, 4)]


def test_a_word_spoken_as_several_is_not_torn_by_the_first_clause() -> None:
    date = Word("5/1", "fˈɪfθ, wˈʌn", 0, 3, 0)
    told = [Sentence("fˈɪfθ, wˈʌn ˈɛnd", (date, Word("end", "ˈɛnd", 4, 7, 12)))]
    first, second = group_sentences(told, Splitting(first="clause"))
    assert (first.phonemes, second.phonemes) == ("fˈɪfθ, wˈʌn", "ˈɛnd")


def test_words_move_with_their_sentence() -> None:
    told = [
        Sentence(text, (Word(text, text, 5 * i, 5 * i + 4, 0),)) for i, text in enumerate("abcd")
    ]
    (piece,) = group_sentences(told, Splitting())
    assert piece.phonemes == "a b c d"
    assert all(piece.phonemes[w.offset : w.offset + len(w.phonemes)] == w.text for w in piece.words)


def test_what_is_unspoken_is_never_lost() -> None:
    told = [
        Sentence("", (), ("1",)),
        Sentence("aaa.", (), ("2",)),
        Sentence("", (), ("3",), ends_paragraph=True),
        Sentence("bbb.", (), ("4",)),
        Sentence("", (), ("5",)),
    ]
    pieces = list(group_sentences(told, Splitting()))
    assert [p.unspoken for p in pieces] == [("1", "2", "3"), ("4", "5")]


@pytest.mark.parametrize(
    ("options", "silences"),
    [
        ({}, [0, 0, 0]),
        ({"pause_sentence": 200}, [0, 0.2, 0.2]),
        ({"pause_paragraph": 500}, [0, 0, 0.5]),
        ({"pause_sentence": 200, "pause_paragraph": 500}, [0, 0.2, 0.5]),
    ],
    ids=str,
)
def test_pauses_stand_before_the_next_piece(
    options: dict[str, float], silences: list[float]
) -> None:
    told = [sentence(50), sentence(60, ends=True), sentence(70)]
    pieces = list(group_sentences(told, Splitting(**options)))
    assert [p.silence for p in pieces] == silences


def test_phonemes_are_cut_after_their_sentences() -> None:
    told = "wˈʌn tˈu. “θɹˈi!” fˈɔɹ… fˈIv, sˈɪks"
    parts = [s.phonemes for s in sentences_of_phonemes(told)]
    assert parts == ["wˈʌn tˈu.", "“θɹˈi!”", "fˈɔɹ…", "fˈIv, sˈɪks"]
    assert " ".join(parts) == told
    assert max(lengths(list(sentences_of_phonemes((told + ". ") * 40)))) <= LONGEST_WITH_SHORT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("words", "sentence", 0, 0), "split is 'words', expected one of auto, sentence"),
        (("auto", "word", 0, 0), "first is 'word', expected one of sentence, clause"),
        (("auto", "sentence", -1, 0), "pause_sentence is -1"),
        (("auto", "sentence", 0, 3.2e10), "pause_paragraph is 3.*milliseconds from 0 to 60000"),
        (("auto", "sentence", float("nan"), 0), "pause_sentence is nan"),
        (("auto", "sentence", "5", 0), "pause_sentence is '5'"),
    ],
)
def test_bad_options_are_refused(options: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        splitting_of(*options)
