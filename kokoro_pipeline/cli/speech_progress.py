"""A progress bar of a text that is being spoken, if somebody watches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .console import Console

if TYPE_CHECKING:
    from ..runtime import Speech
    from ..runtime.speech.request import SpeechRequest

_WITH_END = "{percentage:3.0f}%|{bar:20}| {desc}, {remaining} left"
_WITHOUT_END = "{desc}, {elapsed} passed"


class SpeechProgress:
    """Pieces and seconds of audio so far, the speed, and the time left where the end is known."""

    def __init__(self, request: SpeechRequest, console: Console) -> None:
        self._bar: Any = None
        self._pieces = 0
        self._audio = 0.0
        self._begun = time.perf_counter()
        if console.watched:
            from tqdm import tqdm

            text = request.text if request.phonemes is None else request.phonemes
            total = len(text) if isinstance(text, str) else None
            self._bar = tqdm(
                total=total,
                file=console.stderr,
                leave=False,
                bar_format=_WITHOUT_END if total is None else _WITH_END,
                desc="reading",
            )

    def add(self, speech: Speech) -> None:
        """Count a piece."""
        if self._bar is None:
            return
        self._pieces += 1
        self._audio += speech.seconds
        speed = self._audio / max(time.perf_counter() - self._begun, 1e-9)
        self._bar.set_description_str(
            f"{self._pieces} pieces, {self._audio:.1f} s of audio, {speed:.1f} times real time",
            refresh=False,
        )
        end = speech.read[-1].end if speech.read else self._bar.n + len(speech.phonemes) + 1
        self._bar.update(end - self._bar.n)

    def __enter__(self) -> SpeechProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
