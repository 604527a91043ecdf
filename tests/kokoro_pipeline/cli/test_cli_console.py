"""The output of commands: valid JSON, tables, and no progress without a terminal."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from kokoro_pipeline.cli.console import Console, plain, seconds, size, table
from kokoro_pipeline.errors import InputError


@dataclass
class Point:
    x: float
    where: Path


class Span(NamedTuple):
    start: int
    end: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (float("nan"), None),
        (float("-inf"), None),
        (Path("a/b"), "a/b"),
        (Point(1.5, Path("c")), {"x": 1.5, "where": "c"}),
        (Span(1, 2), {"start": 1, "end": 2}),
        (np.float32(0.5), 0.5),
        (np.array([[1, 2]], np.int64), [[1, 2]]),
        ({1: (2, 3)}, {"1": [2, 3]}),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="frozenset"),  # of no fixed order
    ],
    ids=repr,
)
def test_plain_gives_what_json_knows(value, expected):
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_plain_refuses_what_has_no_form():
    with pytest.raises(TypeError, match="object"):
        plain(object())


def test_json_is_one_document_in_readable_utf8():
    out = io.StringIO()
    Console(out, io.StringIO()).json({"phonemes": "həlˈoʊ"})
    assert "həlˈoʊ" in out.getvalue()
    assert json.loads(out.getvalue()) == {"phonemes": "həlˈoʊ"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_and_warnings_for_everyone():
    for err, progress in ((io.StringIO(), ""), (Terminal(), "half done\n")):
        console = Console(io.StringIO(), err)
        console.progress("half done")
        console.warn("look out")
        assert err.getvalue() == progress + "kokoro-pipeline: warning: look out\n"
        assert console.stdout.getvalue() == ""


def test_audio_is_not_written_to_a_terminal():
    with pytest.raises(InputError, match="-o FILE"):
        Console(Terminal(), io.StringIO()).binary_output()


def test_table_aligns_columns_and_leaves_no_blanks_at_line_ends():
    assert table([("a", "bb", ""), ("ccc", "d", "e")]) == "a    bb\nccc  d   e"
    assert table([]) == ""


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0123, "0.012 s"), (1.234, "1.23 s"), (65.4, "1 min 05 s")]
)
def test_seconds(value, expected):
    assert seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0 B"), (1536, "1.5 KiB"), (312 << 20, "312.0 MiB"), (5 << 30, "5.0 GiB")],
)
def test_size(value, expected):
    assert size(value) == expected
