"""Labelled sentences of English and how they are to be read, labelled before they were tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kokoro_pipeline.runtime.text import phonemize
from kokoro_pipeline.runtime.text.english.reader import load_english, load_reader

DATA = Path(__file__).parent / "data"
_LABELLED = re.compile(r"\{(\w+)\|(\w+)\}")


def rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


READINGS = rows("english_readings.tsv")
HETERONYMS = [row[0] for row in rows("english_heteronyms.tsv")]
PRONUNCIATIONS = {(word, kind): sound for word, kind, sound in rows("heteronym_pronunciations.tsv")}
READER = load_reader("en-us")


def _sounds(text: str) -> str:
    """The phonemes without stress, marks and spaces."""
    phonemes = phonemize(text).phonemes
    return "".join(c for c in phonemes if c.isalpha() and c not in "ˈˌ")


def _spelled(words: str) -> str:
    """The words with the letters in capitals as markup that gives their phonemes."""
    letters = load_english(False).lexicon.golds

    def spell(match: re.Match[str]) -> str:
        return " ".join(f"[{c}](/{letters[c]}/)" if c != "I" else c for c in match[0])

    given = re.compile(r"(\[[^\]]*\]\([^)]*\))")
    return "".join(
        part if given.fullmatch(part) else re.sub(r"\b[A-Z]+\b", spell, part)
        for part in given.split(words)
    )


@pytest.mark.parametrize(
    ("kind", "text", "words"), READINGS, ids=[f"{row[0]}: {row[1]}" for row in READINGS]
)
def test_a_sentence_is_read_as_its_words(kind: str, text: str, words: str) -> None:
    """The text sounds like the spelled-out words, of which " | " separates good alternatives."""
    expected = [_sounds(_spelled(each)) for each in words.split(" | ")]
    assert _sounds(text) in expected


@pytest.mark.parametrize("labelled", HETERONYMS)
def test_a_heteronym_is_pronounced_as_its_sense_demands(labelled: str) -> None:
    text = _LABELLED.sub(r"\1", labelled)
    expected = [
        PRONUNCIATIONS[word.lower(), kind].replace("ˌ", "")
        for word, kind in _LABELLED.findall(labelled)
    ]
    starts = []
    removed = 0
    for match in _LABELLED.finditer(labelled):
        starts.append(match.start() - removed)
        removed += len(match[0]) - len(match[1])
    words = [word for sentence in READER.read(text) for word in sentence.words]
    heard = [w.phonemes.replace("ˌ", "") for w in words if w.start in starts]
    assert heard == expected


def test_there_are_enough_labelled_sentences() -> None:
    """The figures of the documentation rest on at least 300 readings, of every kind."""
    assert len(READINGS) >= 300
    assert len({row[1] for row in READINGS}) == len(READINGS)
    assert len(HETERONYMS) >= 150
