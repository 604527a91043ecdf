"""Each spoken word knows what it is in the text, and nothing of the text is lost."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text import Sentence, phonemize
from kokoro_pipeline.runtime.text.english.normalize import normalize
from kokoro_pipeline.runtime.text.english.reader import load_reader
from kokoro_pipeline.runtime.text.tracked import Piece, Tracked

from .test_english_pronunciation import AMERICAN, BRITISH
from .test_text_normalization import NORMALIZED

READER = load_reader("en-us")


def written(text: str) -> list[str]:
    """The entries with phonemes."""
    return [w.text for s in READER.read(text) for w in s.words if w.phonemes]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('Dr. Lee paid $2, "well-known".', 'Dr. Lee paid $2 , " well-known " .'),
        ("$3.50, -$5 and $20/month", "$3.50 , -$5 and $20/month"),
        ("at 10:30 p.m. on 2024-05-01", "at 10:30 p.m. on 2024-05-01"),
        ("May 1st, 2024, or July 4", "May 1st , 2024 , or July 4"),
        ("1 to 5 kg of H2O, 10-20 MP3s", "1 to 5 kg of H2O , 10-20 MP3s"),
        ("R&D and/or AT&T", "R&D and/or AT&T"),
        ("me@example.org!", "me@example.org !"),
        ("see www.a.com/b.", "see www.a.com/b ."),
        ("snake_case, **bold** text", "snake_case , bold text"),
        ("[Kokoro](/kˈOkəɹO/) [very](+2) [site](https://a.org) ok", "Kokoro very site ok"),
        ("the U.S. Army vs. J. R. R. Tolkien", "the U.S. Army vs. J. R. R. Tolkien"),
        ("Henry VIII, Chapter IV", "Henry VIII , Chapter IV"),
        ("no!!!!! Wait... (yes)", "no ! ! !!! Wait ... ( yes )"),
        ("„Ja“ ‘it’s’ — e\u0301te\u0301", "„ Ja “ ‘ it’s ’ — e\u0301te\u0301"),
        ("ﬁne ｆｕｌｌ ２½", "ﬁne ｆｕｌｌ ２½"),
        ("a\u200bb c", "a\u200bb c"),
        ("-5 °C, 3x, 50%", "-5 °C , 3x , 50%"),
    ],
)
def test_words_are_as_written(text: str, words: str) -> None:
    """What is written as one is one entry, however many words it is read as."""
    assert written(text) == words.split(" ")


@pytest.mark.parametrize(
    ("text", "word", "phonemes"),
    [
        ("It is $3.50.", "$3.50", "θɹˈi dˈɑləɹz ænd fˈɪfti sˈɛnts"),
        ("Dr. Lee", "Dr.", "dˈɑktəɹ"),
        ("at 10:30 today", "10:30", "tˈɛn θˈɜɹTi"),
        ("[Kokoro](/kˈOkəɹO/)", "Kokoro", "kˈOkəɹO"),
        ("[a b](/x y/) c", "a b", "x y"),
    ],
)
def test_an_entry_has_the_phonemes_of_all_its_words(text: str, word: str, phonemes: str) -> None:
    (sentence,) = READER.read(text)
    assert (word, phonemes) in [entry[:2] for entry in sentence.words]


def test_what_is_not_spoken_is_an_entry_without_phonemes() -> None:
    (sentence,) = READER.read("Hi 😀, **you**!")
    silent = [word.text for word in sentence.words if not word.phonemes]
    assert silent == ["😀", "**", "**"]
    assert sentence.unspoken == ("😀",)


def test_what_is_left_out_is_reported_with_the_sentence_it_stands_in() -> None:
    first, second = READER.read("Hi 😀. Then ☃ came 世界.")
    assert (first.unspoken, second.unspoken) == (("😀",), ("☃", "世界"))
    (nothing,) = READER.read("😀 ☃")
    assert nothing.unspoken == ("😀", "☃")
    assert nothing.phonemes == ""


def test_an_added_mark_is_written_nowhere() -> None:
    (sentence,) = READER.read("the 4th of July 1999")
    (mark,) = [word for word in sentence.words if word.phonemes == ","]
    assert (mark.text, mark.start, mark.end) == ("", 15, 15)


ALPHABET = [
    "$5.20", "1/2", "3:30", "Dr.", "U.S.", "’", '"', "😀", "é", "12345", "-", "–", "°C", "%",
    "a", "The", "word", " ", "\n", "\n\n", ".", ",", "(", "]", "/", "@", "x.com", "#", "<", "…",
    "٣", "½", "²", "IV", "\u200b", "\x00", "世", "&", "'s", "+", "=", "*", "_", "~", "10k",
    "Chapter", "IL", "[a](/b/)", "[be](+2)", "[", "](/", "v", "Jan", "http://", ":", "am", "st",
    "May 5, 2024", "e\u0301", "Henry VIII", "5 kg", "\ue000", "'tis", "„a“",
]  # fmt: skip


def _random_text(seed: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice(ALPHABET) + rng.choice(["", " "]) for _ in range(rng.randint(1, 40)))


TEXTS = [text for text, _ in (*AMERICAN, *BRITISH, *NORMALIZED)] + list(
    map(_random_text, range(300))
)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_nothing_is_lost(text: str) -> None:
    """Every character but white space is in one word, and so is every phoneme."""
    sentences = READER.read(text)
    position = 0
    for word in (word for sentence in sentences for word in sentence.words):
        assert word.start >= position
        assert text[word.start : word.end] == word.text == word.text.strip()
        assert not text[position : word.start].strip()
        position = word.end
    assert not text[position:].strip()
    for sentence in sentences:
        check_phonemes(sentence)


def check_phonemes(sentence: Sentence) -> None:
    position = 0
    for word in sentence.words:
        end = word.offset + len(word.phonemes)
        assert word.offset >= position
        assert sentence.phonemes[word.offset : end] == word.phonemes == word.phonemes.strip()
        assert not sentence.phonemes[position : word.offset].strip()
        position = max(position, end)
    assert not sentence.phonemes[position:].strip()


@pytest.mark.parametrize("text", TEXTS[::7], ids=range(len(TEXTS[::7])))
def test_spans_of_normalised_text_are_in_order(text: str) -> None:
    for paragraph in normalize(text).paragraphs:
        spans = [paragraph.span(i, i + 1) for i in range(len(paragraph))]
        assert all(start <= end for start, end in spans)
        for earlier, later in itertools.pairwise(spans):
            assert earlier[0] <= later[0] or later[0] == later[1]


class TestTracked:
    def test_an_edit_keeps_what_it_does_not_change(self) -> None:
        text = Tracked.of("the dogs ran").sub(re.compile("dogs"), "dots")
        assert text.text == "the dots ran"
        assert text.span(4, 8) == (4, 8)
        assert text.span(6, 7) == (6, 7)

    def test_what_is_new_stands_for_what_it_replaced(self) -> None:
        text = Tracked.of("a $3 b").sub(re.compile(r"\$(\d)"), "three dollars")
        assert text.span(2, 7) == text.span(8, 15) == (2, 4)
        assert text.span(16, 17) == (5, 6)

    def test_pieces_stand_for_their_parts(self) -> None:
        pattern = re.compile(r"(\d) (kg)")
        text = Tracked.of("x 5 kg").sub(
            pattern, lambda m: [Piece("five", *m.span(1)), Piece("kilograms", *m.span(2))]
        )
        assert text.text == "x five kilograms"
        assert text.span(2, 6) == (2, 3)
        assert text.span(7, 16) == (4, 6)

    def test_insertions_and_deletions_have_empty_spans(self) -> None:
        text = Tracked.of("ab").followed_by("!")
        assert text.span(2, 3) == (2, 2)
        assert Tracked.of("abc").sub(re.compile("b"), "").span(0, 2) == (0, 3)
        assert Tracked.of("ab").sub(re.compile("(?=b)"), "--").span(1, 3) == (1, 1)

    @pytest.mark.parametrize("seed", range(50))
    def test_edits_give_what_re_gives(self, seed: int) -> None:
        rng = random.Random(seed)
        text = "".join(rng.choice("ab1 .") for _ in range(30))
        for pattern, new in ((r"a*", "x"), (r"(\d)(.?)", r"\2-\1"), (r"\s+", ""), (r"^", ">")):
            compiled = re.compile(pattern)
            assert Tracked.of(text).sub(compiled, new).text == compiled.sub(new, text)
            parts = [part.text for part in Tracked.of(text).split(re.compile(r"\.+"))]
            assert parts == re.split(r"\.+", text)


def test_the_words_of_a_text_are_where_it_has_them() -> None:
    """Over several paragraphs, whose ends get a mark that is written nowhere."""
    text = "Title\n\nDr. Lee paid $2. Then\nhe left 😀\n\n- one\n- two"
    result = phonemize(text)
    assert " ".join(w.text or "+" for w in result.words) == (
        "Title + Dr. Lee paid $2 . Then he left 😀 + - one + - two"
    )
    for word in result.words:
        assert text[word.start : word.end] == word.text
        end = word.offset + len(word.phonemes)
        assert result.phonemes[word.offset : end] == word.phonemes


@pytest.mark.parametrize("text", ["...!?", "“”()"])
def test_marks_alone_are_nothing_to_speak(text: str) -> None:
    with pytest.raises(InputError, match="nothing to speak"):
        phonemize(text)


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("this [or](+2) that", "ˈɔɹ"),
        ("this [or](+1) that", "ˌɔɹ"),
        ("an [important](-1) day", "ɪmpˌɔɹtᵊnt"),
        ("an [important](-2) day", "ɪmpɔɹtᵊnt"),
        ("the [flibbertigibbet](-2) ran", "flɪbəɹTiʤɪbət"),
    ],
)
def test_stress_markup_is_applied_as_misaki_does(text: str, phonemes: str) -> None:
    """The figures are levels of stress; they were spoken as numbers."""
    (sentence,) = READER.read(text)
    assert sentence.words[2].phonemes == phonemes
