"""What a request has spoken, and what of its text was lost on the way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.speech.pieces import Piece
from kokoro_pipeline.runtime.speech.progress import Progress


def speech(chunks: int) -> Any:
    return cast(Any, SimpleNamespace(chunks=[None] * chunks))


def test_what_was_lost_is_told_with_the_next_speech_or_at_the_end():
    progress = Progress()
    progress.add(Piece("777", unspoken=("?",)), None)
    second = Piece("a", unspoken=("!",))
    assert progress.with_lost(second).unspoken == ("?", "777", "!")
    progress.add(second, speech(2))
    assert progress.chunks == 2
    assert progress.with_lost(Piece("b")).unspoken == ()
    progress.add(Piece("888"), None)
    assert progress.end() == ("888",)


def test_a_request_that_says_nothing_is_an_error():
    progress = Progress()
    progress.add(Piece("777"), None)
    with pytest.raises(InputError, match="nothing to say.*777"):
        progress.end()
