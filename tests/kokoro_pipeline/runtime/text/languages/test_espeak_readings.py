"""What eSpeak would misread is read as the words that it stands for."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from kokoro_pipeline.runtime.text import phonemize
from kokoro_pipeline.runtime.text.chinese import written_forms as chinese
from kokoro_pipeline.runtime.text.espeak_voices.forms import load_forms
from kokoro_pipeline.runtime.text.espeak_voices.normalize import normalizer
from kokoro_pipeline.runtime.text.japanese import written_forms as japanese
from kokoro_pipeline.runtime.text.languages import LANGUAGES
from kokoro_pipeline.runtime.text.segments import split_segments
from kokoro_pipeline.runtime.text.tracked import Tracked

DATA = Path(__file__).parent.parent / "data" / "espeak_readings.tsv"
READINGS = [
    line.split("\t") for line in DATA.read_text("utf-8").splitlines() if not line.startswith("# ")
]
CODES = ("es", "fr", "hi", "it", "pt-br")
NORMALIZERS = {
    **{code: normalizer(code) for code in CODES},
    "ja": japanese.written_out,
    "zh": chinese.written_out,
}

ODD_PARTS = re.findall("[^|]+", "1|0|-|½|X|#|A.|a.|a@|€1|1h|1:1|www.|1.|1,|1-|1/|1:|1～|1 |1 1/2 ")


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


@pytest.mark.parametrize("code", NORMALIZERS)
@pytest.mark.parametrize("part", ODD_PARTS)
def test_odd_signs_take_linear_time(code: str, part: str):
    normalize = NORMALIZERS[code]

    def taken(times: int) -> float:
        start = time.process_time()
        normalize(Tracked.of(part * times))
        return time.process_time() - start

    taken(1)  # what is compiled at the first call
    assert taken(8000) < 12 * taken(2000) + 0.25
