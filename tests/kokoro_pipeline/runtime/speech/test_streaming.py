"""Streams: the bits of the whole, laziness, ends before the end, and asynchronous iteration."""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
import time
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime import IgnoredMarkupWarning, Speech
from kokoro_pipeline.runtime.speech.pieces import Piece
from kokoro_pipeline.runtime.speech.request import SpeechRequest
from kokoro_pipeline.runtime.speech.result import join_speech
from kokoro_pipeline.runtime.text import Sentence, Word, lexicon_of
from kokoro_pipeline.runtime.text.vocabulary import SILENT_MARKS

PHONEMIZE = importlib.import_module("kokoro_pipeline.runtime.text.phonemize")
TEXT = (
    "The quick fox jumps over a lazy dog near home. It runs.\n\n"
    "Now, another paragraph begins here! Does it end? Yes it does."
)


@pytest.fixture(scope="module")
def tts(toy_artifact):
    with kokoro_pipeline.load(toy_artifact, threads=2) as synthesizer:
        yield synthesizer


@pytest.fixture(autouse=True)
def letters_are_phonemes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A language whose phonemes are its letters, so that nothing but speech is tested."""
    if "lexicon" in request.node.name:
        return

    def read(segment: str) -> list[Sentence]:
        words, start, phonemes = [], 0, ""
        for part in segment.split():
            start = segment.index(part, start)
            spoken = part.lower().replace("g", "ɡ")
            words.append(Word(part, spoken, start, start + len(part), len(phonemes)))
            phonemes += spoken + " "
            start += len(part)
        return [Sentence(phonemes.strip(), tuple(words))]

    class Reader:
        def read(self, text: str) -> list[Sentence]:
            return read(text)

    language = type(PHONEMIZE.find_language("en-us"))
    monkeypatch.setattr(language, "reader", lambda self: Reader())


def same(one: Speech, other: Speech) -> bool:
    return (
        np.array_equal(one.audio, other.audio)
        and np.array_equal(one.durations, other.durations)
        and (one.phonemes, one.chunks, one.words) == (other.phonemes, other.chunks, other.words)
    )


def equal(some: list[Speech], others: list[Speech]) -> bool:
    return all(same(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split": "sentence"},
        {"split": "paragraph"},
        {"first": "clause"},
        {"pause_sentence": 50, "pause_paragraph": 120},
        {"speed": 1.3, "seed": 9, "voice": "af_bella"},
    ],
    ids=str,
)
def test_speaking_is_the_join_of_the_stream(tts, options):
    pieces = list(tts.stream(TEXT, **options))
    whole = tts.speak(TEXT, **options)
    assert len(pieces) >= 2
    assert same(whole, join_speech(pieces))
    assert np.array_equal(whole.audio, np.concatenate([p.audio for p in pieces]))
    for parts in (iter(TEXT), iter([TEXT[:30], TEXT[30:31], "", TEXT[31:]])):
        assert same(whole, tts.speak(parts, **options))


def test_a_piece_is_what_its_phonemes_give(tts):
    first = next(tts.stream(TEXT))
    assert np.array_equal(first.audio, tts.synthesize(first.phonemes).audio)


def test_phonemes_are_streamed_by_the_same_rule(tts):
    phonemes = "wˈʌn tˈu θɹˈi fˈɔɹ fˈIv sˈɪks. sˈɛvən. ˈAt nˈIn"
    pieces = list(tts.stream(phonemes=phonemes))
    assert [p.phonemes for p in pieces] == ["wˈʌn tˈu θɹˈi fˈɔɹ fˈIv sˈɪks.", "sˈɛvən. ˈAt nˈIn"]
    assert len(tts.synthesize(phonemes).chunks) == 1


def test_pauses_are_zeros_between_the_chunks(tts):
    speech = tts.speak(TEXT, pause_sentence=50, pause_paragraph=120)
    ends = [0, *(chunk.samples.end for chunk in speech.chunks)]
    gaps = [chunk.samples.start - end for chunk, end in zip(speech.chunks, ends[:-1], strict=True)]
    assert gaps == [0, 1200, 2880, 1200, 1200]
    for chunk, gap in zip(speech.chunks, gaps, strict=True):
        start = chunk.samples.start
        assert not speech.audio[start - gap : start].any()
    assert speech.words[-1].end <= speech.seconds


def test_times_cover_the_audio_in_order(tts):
    speech = tts.speak(TEXT, pause_paragraph=120)
    assert [TEXT[slice(*word.span)] for word in speech.words] == TEXT.split()
    times = [time for word in speech.words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] <= speech.seconds
    ends = [t for phoneme in speech.phoneme_times for t in phoneme[1:]]
    assert ends == sorted(ends)
    inside = [t for t in speech.phoneme_times if not t.phoneme.isspace()]
    assert "".join(t.phoneme for t in inside) == "".join(TEXT.lower().replace("g", "ɡ").split())
    frame = 600 / 24_000
    assert sum(t.end - t.start for t in speech.phoneme_times) == pytest.approx(
        frame
        * sum(speech.durations[c.tokens.start + 1 : c.tokens.end - 1].sum() for c in speech.chunks)
    )


def test_unknown_symbols_have_no_time(tts):
    plain = tts.synthesize("a b c")
    with pytest.warns(UserWarning):
        odd = tts.synthesize("a7 b c")
    assert [t.phoneme for t in odd.phoneme_times] == [t.phoneme for t in plain.phoneme_times]


@pytest.mark.parametrize("mark", sorted(SILENT_MARKS))
def test_marks_without_a_symbol_have_no_time(tts, mark):
    """Spanish questions begin with one, and Chinese quotations hold them."""
    plain, marked = tts.synthesize("a b. c"), tts.synthesize(f"{mark}a b.{mark} c{mark}")
    assert [t.phoneme for t in marked.phoneme_times] == [t.phoneme for t in plain.phoneme_times]


@pytest.mark.parametrize(
    ("text", "lang"), [("¿Qué tal? «Bien».", "es"), ("« Oui », dit-il. L’été.", "fr")]
)
def test_words_beside_marks_without_a_symbol_have_times(tts, text, lang):
    speech = tts.speak(text, lang=lang)
    assert [word.text for word in speech.words]
    assert all(0 <= w.start < w.end <= speech.seconds for w in speech.words)
    assert len(speech.phoneme_times) == len(speech.durations) - 2 * len(speech.chunks)


def test_text_is_taken_as_it_is_spoken(tts):
    """One piece ahead of the caller, and no more than its text needs."""
    taken: list[int] = []

    def source() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield "This sentence is long enough to stand alone here. "

    stream = tts.stream(source(), split="sentence")
    next(stream)
    deadline = time.monotonic() + 30
    while len(taken) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(taken) <= 4
    stream.close()


@pytest.mark.parametrize("how", ["break", "close", "with", "drop"])
def test_leaving_ends_the_work_and_the_synthesizer_stays_usable(tts, how):
    taken: list[int] = []

    def source() -> Iterator[str]:
        for number in range(10_000):
            taken.append(number)
            yield "One more sentence that goes on for a while. "

    if how == "break":
        for _ in tts.stream(source(), split="sentence"):
            break
    elif how == "with":
        with tts.stream(source(), split="sentence") as stream:
            next(stream)
    else:
        stream = tts.stream(source(), split="sentence")
        next(stream)
        if how == "close":
            stream.close()
            assert list(stream) == []
        else:
            del stream
    gc.collect()
    assert len(tts.synthesize("a b").audio)
    _wait_for_streams_to_end()
    assert len(taken) < 10


def _wait_for_streams_to_end() -> None:
    deadline = time.monotonic() + 30
    while any(t.name == "kokoro-stream" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_goes_wrong_is_raised_where_the_stream_is_used(tts):
    def source() -> Iterator[str]:
        yield "A fine sentence comes first and is spoken. "
        yield "Then"
        raise OSError("the line is dead")

    stream = tts.stream(source(), split="sentence")
    assert "fine" in next(stream).phonemes
    with pytest.raises(OSError, match="the line is dead"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": None}, "either a text or phonemes"),
        ({"text": "a", "phonemes": "a"}, "either a text or phonemes"),
        ({"text": b"a"}, "text is bytes"),
        ({"text": 5}, "text is int"),
        ({"text": "a", "speed": 0}, "speed is 0"),
        ({"text": "a", "lang": "tlh"}, "not supported"),
        ({"text": "a", "split": "word"}, "split is 'word'"),
        ({"phonemes": " "}, "phonemes are empty"),
    ],
)
def test_bad_arguments_are_refused_at_the_call(tts, arguments, message):
    with pytest.raises(InputError, match=message):
        tts.stream(**arguments)


def test_parts_that_are_no_strings_and_texts_of_nothing_are_refused(tts):
    with pytest.raises(InputError, match="a part of the text is int"):
        list(tts.stream(["a", 5]))
    with pytest.raises(InputError, match="nothing to speak"):
        list(tts.stream(iter([" ", "\n"])))
    with pytest.raises(InputError, match="not in the vocabulary: 777"):
        list(tts.stream(phonemes="777"))
    assert len(tts.synthesize("a").audio)


def test_unknown_sentences_are_left_out_and_listed(tts):
    pieces = list(tts.stream("All is fine. 777! Last one.", split="sentence"))
    assert [p.phonemes for p in pieces] == ["all is fine.", "last one."]
    assert [p.unspoken for p in pieces] == [(), ("777!",)]


def test_asynchronous_iteration_gives_the_same_pieces(tts):
    async def gather(text: object) -> list[Speech]:
        return [piece async for piece in tts.astream(text)]

    async def words() -> AsyncIterator[str]:
        for part in TEXT.split(" "):
            await asyncio.sleep(0)
            yield part + " "

    expected = list(tts.stream(TEXT))
    assert equal(expected, asyncio.run(gather(TEXT)))
    spaced = list(tts.stream(TEXT + " "))
    assert equal(spaced, asyncio.run(gather(words())))


def test_invalid_arguments_raise_at_the_call(tts):
    for begin in (tts.stream, tts.astream):
        with pytest.raises(InputError, match="split"):
            begin(TEXT, split="words")


def test_cancelling_the_task_ends_the_work(tts):
    taken: list[int] = []

    async def endless() -> AsyncIterator[str]:
        while True:
            taken.append(0)
            await asyncio.sleep(0)
            yield "One more sentence that goes on for a while. "

    async def listen() -> None:
        async for _ in tts.astream(endless(), split="sentence"):
            heard.set()

    async def run() -> None:
        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    heard = asyncio.Event()
    asyncio.run(run())
    _wait_for_streams_to_end()
    count = len(taken)
    time.sleep(0.05)
    assert len(taken) == count
    assert len(tts.synthesize("a b").audio)


def test_streams_of_several_threads_take_turns(tts):
    expected = [list(tts.stream(TEXT, seed=seed)) for seed in range(4)]
    results: dict[int, list[Speech]] = {}

    def work(seed: int) -> None:
        results[seed] = list(tts.stream(TEXT, seed=seed))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        assert equal(expected[seed], results[seed])


@pytest.mark.parametrize("closed", [False, True])
def test_consumers_of_one_stream_share_its_pieces_and_all_end(tts, closed):
    expected = [piece.audio.tolist() for piece in tts.stream(TEXT)]
    stream = tts.stream(TEXT)
    found: list[list[float]] = []

    def work() -> None:
        for piece in stream:
            found.append(piece.audio.tolist())
            if closed:
                stream.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert closed or sorted(found) == sorted(expected)


def test_pauses_of_the_text_are_silence(tts):
    """Also at its beginning and its end, where no speech follows."""
    pieces = list(tts.stream("[pause 100ms]One here. [pause 0.5s] Two here. [pause 250ms]"))
    silences = [p.chunks[0].samples.start if p.chunks else len(p.audio) for p in pieces]
    assert silences == [2400, 12_000, 6000]
    assert [bool(p.phonemes) for p in pieces] == [True, True, False]
    whole = tts.speak("[pause 100ms]One here. [pause 0.5s] Two here. [pause 250ms]")
    assert same(whole, join_speech(pieces))
    assert whole.words[-1].text == "here."
    with pytest.raises(InputError, match="longer than 60 s"):
        tts.speak("One. [pause 31536000s] Two.")


def test_a_mark_has_the_time_of_the_word_behind_it(tts):
    spoken = tts.speak('<speak>One two <mark name="m"/>three.</speak>', ssml=True)
    assert spoken.marks[0].time == spoken.words[2].start


def test_a_document_of_ssml_is_spoken_as_it_says(tts):
    document = (
        '<speak>One here. <break time="200ms"/><voice name="af_bella">Two here.</voice> '
        '<mark name="mid"/><prosody rate="200%">Three here.</prosody><mark name="end"/></speak>'
    )
    pieces = list(tts.stream(document, ssml=True))
    assert [p.voice for p in pieces] == ["af_heart", "af_bella", "af_heart"]
    assert [p.speed for p in pieces] == [1.0, 1.0, 2.0]
    assert pieces[1].chunks[0].samples.start == 4800
    assert np.array_equal(
        pieces[2].audio,
        tts.render_piece(
            Piece(pieces[2].phonemes), SpeechRequest(phonemes="a", speed=2.0), 2
        ).audio,
    )
    whole = tts.speak(document, ssml=True)
    assert [m.name for m in whole.marks] == ["mid", "end"]
    before = sum(p.seconds for p in pieces[:2])
    assert before <= whole.marks[0].time <= whole.marks[1].time <= whole.seconds
    assert [document[slice(*w.span)] for w in whole.words] == [
        "One",
        "here.",
        "Two",
        "here.",
        "Three",
        "here.",
    ]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("<speak>One", "line 1"),
        ("<speak>\n<audio src='x'/></speak>", "line 2"),
        ("One", "line 1"),
        ('<speak><voice name="nobody">One here.</voice></speak>', "nobody"),
        ('<speak><prosody rate="x">One</prosody></speak>', "line 1"),
    ],
)
def test_a_broken_document_is_refused(tts, document, message):
    with pytest.raises(InputError, match=message):
        tts.speak(document, ssml=True)


def test_markup_that_changes_nothing_is_told(tts):
    document = "<speak>One <emphasis>here</emphasis> now.</speak>"
    with pytest.warns(IgnoredMarkupWarning, match="<emphasis> in line 1") as caught:
        tts.speak(document, ssml=True)
    assert caught[0].filename == __file__


def test_a_document_is_one_string(tts):
    with pytest.raises(InputError, match="one string"):
        tts.stream(iter(["<speak/>"]), ssml=True)


def test_a_lexicon_says_how_words_are_spoken(tts):
    spoken = tts.speak("One vlorp here.", lexicon=lexicon_of({"vlorp": "vlˈɔɹp"}))
    assert [w.phonemes for w in spoken.words if w.text == "vlorp"] == ["vlˈɔɹp"]
    with pytest.raises(InputError, match="lexicon is dict"):
        tts.speak("One", lexicon={"a": "b"})
