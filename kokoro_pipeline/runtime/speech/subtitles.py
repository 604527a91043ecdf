"""Subtitles and alignment files from the times of words.

Cues follow the common rules: at most two lines of 42 characters (a wide character counts as two),
at most seven seconds, and an end at the end of a sentence where one is near. Only a word that fits
a line and takes longer than seven seconds is shown for longer.
"""

from __future__ import annotations

import html
import json
import math
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kokoro_pipeline.artifact.disk import beside
from kokoro_pipeline.errors import EnvironmentFault, InputError

from ..audio.files import check_place
from ..text.reading import Word
from .result import Speech

LINE = 42
"""Characters of a line."""
LINES = 2
LONGEST = 7.0
"""Seconds of a cue."""

_SENTENCE_ENDS = frozenset(".!?…。！？।")
_CLAUSE_ENDS = frozenset(",;:—、，；：")


@dataclass(frozen=True)
class CueWord:
    """A word with the marks around it, or a part of a long one, as it is shown."""

    text: str
    start: float
    """Seconds."""
    end: float
    spaced: bool
    """Whether a space stands before it."""


@dataclass(frozen=True)
class Cue:
    """What is shown at once."""

    words: tuple[CueWord, ...]

    @property
    def start(self) -> float:
        """Seconds."""
        return self.words[0].start

    @property
    def end(self) -> float:
        """Seconds."""
        return self.words[-1].end

    def lines(self, show: Callable[[CueWord], str] = lambda word: word.text) -> list[str]:
        """The text in lines, as even as they can be; `show` gives the text of a word."""
        cut = _line_break(self.words)
        parts = [self.words] if cut is None else [self.words[:cut], self.words[cut:]]
        return [
            "".join(" " * (word.spaced and i > 0) + show(word) for i, word in enumerate(part))
            for part in parts
        ]


def make_cues(speech: Speech) -> list[Cue]:
    """The cues of a speech, in order and without overlap."""
    cues: list[Cue] = []
    pending: list[CueWord] = []
    for word in (part for whole in _cue_words(speech) for part in _parts(whole)):
        while pending and (
            _width([*pending, word]) > LINE * LINES - _slack([*pending, word])
            or word.end - pending[0].start > LONGEST
        ):
            # End at the last clause if that leaves a cue of some length, else here.
            cut = _last_clause(pending)
            cues.append(Cue(tuple(pending[:cut])))
            pending = pending[cut:]
        pending.append(word)
        if word.text[-1] in _SENTENCE_ENDS or _closes_sentence(word.text):
            cues.append(Cue(tuple(pending)))
            pending = []
    if pending:
        cues.append(Cue(tuple(pending)))
    return cues


def _parts(word: CueWord) -> Iterator[CueWord]:
    """A word that is wider than a line, in even parts that fit a line and the longest time.

    Its time is shared by their widths. Other words stay whole, however long they are spoken: a part
    of a number would be read as another number.
    """
    width = _columns(word.text)
    if width <= LINE:
        yield word
        return
    seconds = word.end - word.start
    fitting = min(LINE, int(width * LONGEST / max(seconds, LONGEST)))
    count = math.ceil(width / max(fitting, 2))
    passed = 0
    for text in _cut(word.text, math.ceil(width / count)):
        start, first = word.start + seconds * passed / width, not passed
        passed += _columns(text)
        end = word.start + seconds * passed / width
        yield CueWord(text, start, end, word.spaced and first)


def _cut(text: str, most: int) -> Iterator[str]:
    """Pieces of a text of at most `most` columns, at least 2, each as wide as it can be."""
    piece, width = "", 0
    for character in text:
        columns = _columns(character)
        if width + columns > most:
            yield piece
            piece, width = "", 0
        piece += character
        width += columns
    yield piece


def _closes_sentence(text: str) -> bool:
    return text.rstrip("\"'”’»)]」』）")[-1:] in _SENTENCE_ENDS


def _last_clause(words: Sequence[CueWord]) -> int:
    half = len(words) // 2
    for position in range(len(words) - 1, half, -1):
        if words[position - 1].text[-1] in _CLAUSE_ENDS:
            return position
    return len(words)


def _cue_words(speech: Speech) -> Iterator[CueWord]:
    """The spoken words, each with the marks that are written next to it.

    A mark belongs to the word that it touches, the one before if it touches both, and to the next
    word if it touches none.
    """
    times = {word.span: word for word in speech.words}
    word: CueWord | None = None
    opening, before_opening = "", False  # marks of the next word, and whether they follow a space
    end, spaced = 0, False
    markup = _markup(speech.read)
    for position, written in enumerate(speech.read):
        spaced = spaced or written.start > end
        end = max(end, written.end)
        if position in markup:
            continue
        gap, spaced = spaced, False
        time = times.get((written.start, written.end)) if written.phonemes else None
        text = " ".join(written.text.split())
        if time is not None:
            if word is not None:
                yield word
            first = before_opening if opening else gap
            word = CueWord(_joined(opening, gap, text), time.start, time.end, first)
            opening = ""
        elif not text or any(map(str.isalnum, text)):
            continue  # a word that is not spoken
        elif word is not None and not opening and not gap:
            word = replace(word, text=word.text + text)
        else:
            before_opening = before_opening if opening else gap
            opening = _joined(opening, gap, text)
            if word is not None and text[-1] in _SENTENCE_ENDS:  # "I see 👍. Next"
                word = replace(word, text=_joined(word.text, before_opening, opening))
                opening = ""
    if word is not None:
        yield replace(word, text=_joined(word.text, before_opening, opening))


def _joined(one: str, spaced: bool, other: str) -> str:
    return f"{one} {other}" if one and other and spaced else one + other


def _markup(read: Sequence[Word]) -> set[int]:
    """Which entries are the brackets of markup, "[word](/phonemes/)", and not shown."""
    found: set[int] = set()
    opened = None
    for position, written in enumerate(read):
        if written.phonemes:
            continue
        if written.text == "[":
            opened = position
        elif written.text.startswith("](") and opened is not None:
            found |= {opened, position}
            opened = None
    return found


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _width(words: Sequence[CueWord]) -> int:
    return sum(_columns(w.text) + (w.spaced and i > 0) for i, w in enumerate(words))


def _slack(words: Sequence[CueWord]) -> int:
    """What a line break costs, since words are not torn: the space after the best break fits."""
    if _width(words) <= LINE or _line_break(words) is not None:
        return 0
    return LINE * LINES  # cannot be laid out in two lines


def _line_break(words: Sequence[CueWord]) -> int | None:
    """The word that begins the second line, where one is needed and there is one that fits."""
    if _width(words) <= LINE:
        return None
    breaks = [
        (max(_width(words[:i]), _width(words[i:])), i)
        for i in range(1, len(words))
        if _width(words[:i]) <= LINE and _width(words[i:]) <= LINE
    ]
    return min(breaks)[1] if breaks else None


# ---- formats


def _clock(seconds: float, point: str) -> str:
    milliseconds = round(seconds * 1000)
    hours, rest = divmod(milliseconds, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def srt(speech: Speech) -> str:
    """SubRip."""
    return "\n".join(
        f"{number}\n{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}\n"
        + "".join(line + "\n" for line in cue.lines())
        for number, cue in enumerate(make_cues(speech), 1)
    )


def vtt(speech: Speech) -> str:
    """WebVTT with a time for each word."""

    def cue_text(cue: Cue) -> str:
        def show(word: CueWord) -> str:
            text = html.escape(word.text, quote=False)
            return text if word is cue.words[0] else f"<{_clock(word.start, '.')}>{text}"

        return "".join(line + "\n" for line in cue.lines(show))

    return "WEBVTT\n" + "".join(
        f"\n{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}\n{cue_text(cue)}"
        for cue in make_cues(speech)
    )


def as_json(speech: Speech) -> str:
    """Words, phonemes and cues as JSON. Times are seconds, spans code points of the text."""
    return json.dumps(
        {
            "seconds": speech.seconds,
            "words": [
                {
                    "text": word.text,
                    "phonemes": word.phonemes,
                    "start": round(word.start, 6),
                    "end": round(word.end, 6),
                    "span": list(word.span),
                }
                for word in speech.words
            ],
            "phonemes": [
                {"phoneme": t.phoneme, "start": round(t.start, 6), "end": round(t.end, 6)}
                for t in speech.phoneme_times
            ],
            "cues": [
                {"start": round(c.start, 6), "end": round(c.end, 6), "lines": c.lines()}
                for c in make_cues(speech)
            ],
        },
        ensure_ascii=False,
        indent=1,
    )


def text_grid(speech: Speech) -> str:
    """Praat's TextGrid, with a tier of words and one of phonemes."""
    words = [(word.start, word.end, word.text) for word in speech.words]
    phonemes = [(t.start, t.end, t.phoneme) for t in speech.phoneme_times if t.phoneme.strip()]
    tiers = [("words", words), ("phones", phonemes)]
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {speech.seconds:.6f}",
        "tiers? <exists>",
        f"size = {len(tiers)}",
        "item []:",
    ]
    for number, (name, intervals) in enumerate(tiers, 1):
        covered = list(_covering(intervals, speech.seconds))
        lines += [
            f"    item [{number}]:",
            '        class = "IntervalTier"',
            f'        name = "{name}"',
            "        xmin = 0",
            f"        xmax = {speech.seconds:.6f}",
            f"        intervals: size = {len(covered)}",
        ]
        for position, (start, end, text) in enumerate(covered, 1):
            quoted = text.replace('"', '""')
            lines += [
                f"        intervals [{position}]:",
                f"            xmin = {start:.6f}",
                f"            xmax = {end:.6f}",
                f'            text = "{quoted}"',
            ]
    return "\n".join(lines) + "\n"


def _covering(
    intervals: Sequence[tuple[float, float, str]], end: float
) -> Iterator[tuple[float, float, str]]:
    """The intervals with empty ones between them, since a tier has no gaps."""
    passed = 0.0
    for start, stop, text in intervals:
        if start - passed >= 5e-7:
            yield passed, start, ""
        if stop - start >= 5e-7:
            yield start, stop, text
            passed = stop
    if end - passed >= 5e-7:
        yield passed, end, ""


def lab(speech: Speech) -> str:
    """HTK labels: start and end in units of 100 ns, and the word."""
    return "".join(
        f"{round(word.start * 1e7)} {round(word.end * 1e7)} {'_'.join(word.text.split())}\n"
        for word in speech.words
    )


FORMATS: dict[str, Callable[[Speech], str]] = {
    ".srt": srt,
    ".vtt": vtt,
    ".json": as_json,
    ".textgrid": text_grid,
    ".lab": lab,
}
"""By suffix, in lower case."""


def check_subtitles(path: str | os.PathLike[str]) -> None:
    """Raises InputError for an unknown suffix or a path that cannot be written."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        known = ", ".join((".srt", ".vtt", ".json", ".TextGrid", ".lab"))
        raise InputError(f"cannot write {path}: unknown subtitles {path.suffix!r}; known: {known}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    check_place(path)


def write_subtitles(path: str | os.PathLike[str], speech: Speech) -> None:
    """Write the subtitles of a speech in the format of the suffix; an older file stays on failure.

    Raises InputError like `check_subtitles`, EnvironmentFault if the file cannot be written.
    """
    check_subtitles(path)
    path = Path(path)
    text = FORMATS[path.suffix.lower()](speech)
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    growing = beside(target)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")
            return
        try:
            growing.write_text(text, "utf-8")
            if target.exists():
                shutil.copymode(target, growing)
            growing.replace(target)
        except PermissionError:  # a folder that takes no new files
            path.write_text(text, "utf-8")
        finally:
            growing.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error
