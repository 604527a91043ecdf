"""What eSpeak would misread is read as the words that it stands for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kokoro_pipeline.runtime.text import phonemize
from kokoro_pipeline.runtime.text.espeak_voices.forms import load_forms
from kokoro_pipeline.runtime.text.espeak_voices.normalize import normalizer
from kokoro_pipeline.runtime.text.languages import LANGUAGES
from kokoro_pipeline.runtime.text.segments import split_segments
from kokoro_pipeline.runtime.text.tracked import Tracked

DATA = Path(__file__).parent.parent / "data" / "espeak_readings.tsv"
READINGS = [
    line.split("\t") for line in DATA.read_text("utf-8").splitlines() if not line.startswith("# ")
]
CODES = ("es", "fr", "hi", "it", "pt-br")


def _sounds(text: str, code: str) -> str:
    """The phonemes without stress and spaces; the marks count, so that no point is read as one."""
    return "".join(c for c in phonemize(text, code).phonemes if c not in "ˈˌ ")


@pytest.mark.parametrize(
    ("code", "text", "words"), READINGS, ids=[f"{row[0]}: {row[1]}" for row in READINGS]
)
def test_a_sentence_is_read_as_its_words(code: str, text: str, words: str):
    assert _sounds(text, code) == _sounds(words, code)
    read = phonemize(text, code)
    assert read.unspoken == ()
    written = 0
    for word in read.words:
        assert written <= word.start < word.end <= len(text), word
        assert text[word.start : word.end] == word.text
        assert read.phonemes[word.offset : word.offset + len(word.phonemes)] == word.phonemes
        written = word.end


@pytest.mark.parametrize("code", CODES)
def test_a_point_before_a_name_or_a_number_ends_no_sentence(code: str):
    """What is written out before a name or a number is not cut off from it."""
    forms = load_forms(code)
    behind = {"title": "María", "name": "María", "number": "5"}
    texts = [
        f"Ab {written} {word} cd."
        for kind, word in behind.items()
        for written in forms.of(f"abbreviation {kind}")
    ]
    cut = [text for text in texts if len(list(split_segments(text, LANGUAGES[code].ends))) > 1]
    assert cut == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "part",
    [
        "1",
        "1.",
        "1,",
        "1-",
        "1/",
        "1 ",
        "0",
        "a.",
        "A.",
        "a@",
        "€1",
        "-",
        "½",
        "X",
        "1h",
        "1:1",
        "1 1/2 ",
        "www.",
        "#",
    ],
)
def test_odd_signs_take_linear_time(code: str, part: str):
    def taken(times: int) -> float:
        start = time.process_time()
        normalizer(code)(Tracked.of(part * times))
        return time.process_time() - start

    taken(1)  # what is compiled at the first call
    assert taken(8000) < 12 * taken(2000) + 0.25
