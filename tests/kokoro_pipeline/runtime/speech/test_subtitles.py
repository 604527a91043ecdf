"""Subtitles read back by parsers that are not ours, and word times beside kokoro's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.runtime import ChunkSpans, Span, Speech
from kokoro_pipeline.runtime.speech.result import join_speech, outline
from kokoro_pipeline.runtime.speech.subtitles import (
    LINE,
    LONGEST,
    _cut,
    as_json,
    make_cues,
    write_subtitles,
)
from kokoro_pipeline.runtime.text import Word, phonemize

TEXTS = {
    "en": "“Well,” said Dr. Smith & Co., <i>it costs $3.50</i> on the 2nd of May. Is that so? Yes! "
    "This long sentence, which has many words and several clauses, goes on and on until it needs "
    "more than two lines of forty-two characters, and then it ends at last.",
    "short": "Hi.",
    "long word": "Look: " + "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerk" * 2 + " ends.",
}


def spoken(text: str, frames: int = 3, lang: str = "en-us") -> Speech:
    """Speech of a text in which every phoneme lasts `frames` frames, and nothing sounds."""
    read = phonemize(text, lang)
    durations = np.full(len(read.phonemes) + 2, frames, np.int64)
    samples = 600 * int(durations.sum())
    return Speech(
        audio=np.zeros(samples, np.float32),
        durations=durations,
        phonemes=read.phonemes,
        chunks=(
            ChunkSpans(
                Span(0, len(read.phonemes)),
                Span(0, len(durations)),
                Span(0, samples),
                tuple(range(len(read.phonemes))),
            ),
        ),
        unknown=(),
        voice="af_heart",
        speed=1.0,
        seed=0,
        synthetic=True,
        read=read.words,
    )


@pytest.fixture(scope="module", params=TEXTS)
def speech(request: pytest.FixtureRequest) -> Speech:
    return spoken(TEXTS[request.param])


def shown(speech: Speech) -> str:
    return "".join("".join("".join(cue.lines()).split()) for cue in make_cues(speech))


def test_cues_follow_the_common_rules(speech: Speech) -> None:
    cues = make_cues(speech)
    ends = [time for cue in cues for time in (cue.start, cue.end)]
    assert ends == sorted(ends)
    for cue in cues:
        assert cue.end - cue.start <= LONGEST
        assert 1 <= len(cue.lines()) <= 2
        assert all(len(line) <= LINE for line in cue.lines())


@pytest.mark.parametrize("length", [43, 60, 85, 127, 500])
@pytest.mark.parametrize("frames", [1, 12])
def test_a_word_that_is_longer_than_a_line_is_cut(length: int, frames: int) -> None:
    address = "https://www.example.org/" + "abcdefghij/" * length
    text = f"See {address[:length]} there."
    speech = spoken(text, frames)
    cues = make_cues(speech)
    assert shown(speech) == "".join(text.split())
    assert all(len(line) <= LINE for cue in cues for line in cue.lines())
    assert all(cue.end - cue.start <= LONGEST + 1e-9 for cue in cues)
    times = [time for cue in cues for word in cue.words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (speech.words[0].start, speech.words[-1].end)


def test_what_a_clause_leaves_fits_a_cue_with_the_next_word() -> None:
    words = ["la" * 10, "ma" * 20, "na" * 10]
    cues = make_cues(spoken(f"Sing dear friends, {' '.join(words)}", frames=1))
    assert all(len(line) <= LINE for cue in cues for line in cue.lines())


def test_a_long_word_is_cut_by_width() -> None:
    assert list(_cut("汉汉汉a汉", 5)) == ["汉汉", "汉a汉"]
    assert list(_cut("汉a", 2)) == ["汉", "a"]


def test_every_word_is_shown_as_it_is_written() -> None:
    text = TEXTS["en"].replace("<i>", "").replace("</i>", "").replace("& Co.,", "and Co.,")
    assert shown(spoken(text)) == "".join(text.split())


def test_a_sentence_ends_a_cue() -> None:
    cues = make_cues(spoken("One two three. “Four five six!” Seven."))
    assert [" ".join(cue.lines()) for cue in cues] == [
        "One two three.",
        "“Four five six!”",
        "Seven.",
    ]


def test_languages_without_spaces_are_cut_by_width() -> None:
    speech = spoken(
        "我们今天在北京的公园里散步，天气非常好，孩子们在草地上玩得很开心，大家都不想回家。",
        lang="zh",
    )
    for cue in make_cues(speech):
        assert all(len(line) <= LINE // 2 and " " not in line for line in cue.lines())
    assert (
        shown(speech)
        == "我们今天在北京的公园里散步，天气非常好，孩子们在草地上玩得很开心，大家都不想回家。"
    )


def test_subrip_is_read_back(tmp_path: Path, speech: Speech) -> None:
    srt = pytest.importorskip("srt")
    write_subtitles(tmp_path / "x.srt", speech)
    read = list(srt.parse((tmp_path / "x.srt").read_text("utf-8")))
    cues = make_cues(speech)
    assert [r.content for r in read] == ["\n".join(cue.lines()) for cue in cues]
    for r, cue in zip(read, cues, strict=True):
        assert r.start.total_seconds() == pytest.approx(cue.start, abs=6e-4)
        assert r.end.total_seconds() == pytest.approx(cue.end, abs=6e-4)


def test_webvtt_is_read_back_with_word_times(tmp_path: Path, speech: Speech) -> None:
    webvtt = pytest.importorskip("webvtt")
    write_subtitles(tmp_path / "x.vtt", speech)
    read = webvtt.read(str(tmp_path / "x.vtt"))
    cues = make_cues(speech)
    assert [r.start_in_seconds for r in read] == [pytest.approx(int(c.start), abs=1) for c in cues]
    for caption, cue in zip(read, cues, strict=True):
        assert caption.raw_text.count("<0") == len(cue.words) - 1
        plain = caption.text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
        assert plain == "\n".join(cue.lines())


def test_textgrid_is_read_back(tmp_path: Path, speech: Speech) -> None:
    textgrid = pytest.importorskip("praatio.textgrid")
    write_subtitles(tmp_path / "x.TextGrid", speech)
    grid = textgrid.openTextgrid(str(tmp_path / "x.TextGrid"), includeEmptyIntervals=False)
    assert grid.tierNames == ("words", "phones")
    entries = grid.getTier("words").entries
    assert [entry.label for entry in entries] == [word.text for word in speech.words]
    for entry, word in zip(entries, speech.words, strict=True):
        assert (entry.start, entry.end) == pytest.approx((word.start, word.end), abs=1e-5)
    assert grid.maxTimestamp == pytest.approx(speech.seconds, abs=1e-5)


def test_labels_and_json(tmp_path: Path, speech: Speech) -> None:
    write_subtitles(tmp_path / "x.lab", speech)
    rows = [row.split(" ") for row in (tmp_path / "x.lab").read_text("utf-8").splitlines()]
    assert [(int(a) / 1e7, int(b) / 1e7) for a, b, _ in rows] == [
        pytest.approx((word.start, word.end), abs=1e-6) for word in speech.words
    ]
    told = json.loads(as_json(speech))
    assert [word["text"] for word in told["words"]] == [word.text for word in speech.words]
    assert told["words"][0]["span"] == list(speech.words[0].span)


@pytest.mark.parametrize("name", ["x.txt", "x", "absent/x.srt", "folder.srt"])
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.srt").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_subtitles(tmp_path / name, spoken("Hi."))


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    write_subtitles(str(tmp_path / "x.srt"), spoken("Hi."))
    assert "Hi." in (tmp_path / "x.srt").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.srt").symlink_to("/dev/full")
    with pytest.raises(EnvironmentFault, match="No space left"):
        write_subtitles(tmp_path / "x.srt", spoken("Hi."))


def test_the_outline_of_a_join_has_the_times_of_the_join() -> None:
    pieces = [spoken("One, two."), spoken("Three four.")]
    whole = join_speech(pieces)
    lean = join_speech([outline(piece) for piece in pieces], samples=False)
    assert lean.words == whole.words
    assert (lean.seconds, len(lean.audio)) == (whole.seconds, len(whole.audio))
    assert whole.words[2].start == pytest.approx(pieces[0].seconds)


@pytest.mark.parametrize(
    "text",
    [
        "Hello there, my friend. It costs twenty dollars!",
        "“Yes,” she said; the well-read cat (and dog) slept.",
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_word_times_are_those_of_kokoro(text: str, seed: int) -> None:
    """`KPipeline.join_timestamps` on the same tokens and durations."""
    torch = pytest.importorskip("torch")
    pipeline = pytest.importorskip("kokoro.pipeline").KPipeline
    token = pytest.importorskip("misaki.token").MToken
    speech = spoken(text)
    durations = np.random.default_rng(seed).integers(1, 9, len(speech.durations))
    speech.durations[:] = durations
    words: list[Word] = [word for word in speech.read if word.phonemes]
    tokens = [
        token(
            text=word.text,
            tag="",
            phonemes=word.phonemes,
            whitespace=" "
            if speech.phonemes[word.offset + len(word.phonemes) :][:1] == " "
            else "",
        )
        for word in words
    ]
    pipeline.join_timestamps(tokens, torch.from_numpy(durations))
    theirs = {word.start: (t.start_ts, t.end_ts) for word, t in zip(words, tokens, strict=True)}
    assert len(speech.words) >= 7
    for word in speech.words:
        assert (word.start, word.end) == pytest.approx(theirs[word.span[0]], abs=1e-9)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Say [Kokoro](/kˈOkəɹO/) now.", ["Say Kokoro now."]),
        ("I [really](+2) mean [it](-1).", ["I really mean it."]),
        ('He said "[Kokoro](/kˈOkəɹO/)".', ['He said "Kokoro".']),
        ("I (really) - no.", ["I (really) - no."]),
        ('he said -- "go"', ['he said -- "go"']),
        ("A—B – C.", ["A—B – C."]),
        ("He said --> go.", ["He said --> go."]),
        ("Cost ($5) (a [b] c).", ["Cost ($5) (a [b] c)."]),
        ("Emoji 😀 here 👍. Next one.", ["Emoji 😀 here 👍.", "Next one."]),
    ],
)
def test_cues_show_the_text_as_it_is_written_but_for_markup(text: str, shown: list[str]) -> None:
    assert [line for cue in make_cues(spoken(text)) for line in cue.lines()] == shown
