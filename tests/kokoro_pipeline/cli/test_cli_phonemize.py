"""`phonemize`: one line of phonemes, JSON output, and a warning about what was left out."""

from __future__ import annotations

import json

import pytest

from kokoro_pipeline.runtime import text as text_package
from kokoro_pipeline.runtime.text import Phonemized, Word


@pytest.fixture(autouse=True)
def read_text(monkeypatch):
    words = (Word("hello", "həlˈoʊ", 0, 5, 0),)
    monkeypatch.setattr(
        text_package,
        "phonemize",
        lambda text, lang, lexicon: Phonemized(
            lexicon.find("hello") if lexicon else "həlˈoʊ", words, ("☃",)
        ),
    )


def test_the_phonemes_are_one_line_on_stdout(run_cli):
    ended = run_cli("phonemize", "hello ☃")
    assert (ended.code, ended.out) == (0, "həlˈoʊ\n")
    assert "left unspoken" in ended.err
    assert "☃" in ended.err


def test_json_has_the_words(run_cli):
    assert json.loads(run_cli("phonemize", "hello ☃", "--json").out) == {
        "text": "hello ☃",
        "lang": "en-us",
        "phonemes": "həlˈoʊ",
        "words": [{"text": "hello", "phonemes": "həlˈoʊ", "start": 0, "end": 5, "offset": 0}],
        "unspoken": ["☃"],
    }


def test_a_lexicon_of_the_user_counts(run_cli, tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("hello\thˈɛloʊ\n", "utf-8")
    assert run_cli("phonemize", "hello", "--lexicon", file).out == "hˈɛloʊ\n"
    file.write_text("hello\t#\n", "utf-8")
    ended = run_cli("phonemize", "hello", "--lexicon", file)
    assert ended.code == 3 and "mine.tsv:1" in ended.err
