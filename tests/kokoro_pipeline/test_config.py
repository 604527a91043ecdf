"""Reading a `config.json`: whatever is wrong with it is an InputError that says what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kokoro_pipeline.config import default_config, load_config
from kokoro_pipeline.errors import InputError

GOOD = default_config().raw


def test_a_good_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(GOOD), "utf-8")
    assert load_config(file) == default_config()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot read"),
        ("{", "cannot read"),
        ("[" * 100_000, "cannot read"),
        ("null", "no JSON object"),
        ("[]", "no JSON object"),
        ("{}", "lacks vocab, n_token, plbert, istftnet"),
        ({"vocab": None}, "vocab is NoneType, expected an object"),
        ({"vocab": []}, "vocab is list"),
        ({"plbert": 5}, "plbert is int"),
        ({"istftnet": "x"}, "istftnet is str"),
        ({"n_token": "178"}, "n_token is '178', expected a whole number above 0"),
        ({"n_token": True}, "n_token is True"),
        ({"n_token": 0}, "n_token is 0"),
        ({"n_token": 2}, "expected a whole number below 2"),
        ({"vocab": {"": 1}}, "the symbol '' of vocab is not one character"),
        ({"vocab": {"ab": 1}}, "the symbol 'ab'"),
        ({"vocab": {"a": 178}}, "vocab has 178 for 'a', expected a whole number below 178"),
        ({"vocab": {"a": -1}}, "vocab has -1"),
        ({"vocab": {"a": 1.5}}, "vocab has 1.5"),
        ({"vocab": {"a": None}}, "vocab has None"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str | dict[str, Any], said: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(content if isinstance(content, str) else json.dumps(GOOD | content), "utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert said in str(caught.value) and str(file) in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="cannot read"):
        load_config(file)
