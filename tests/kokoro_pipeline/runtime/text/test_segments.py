"""Where a text is cut before it is read, however it arrives."""

from __future__ import annotations

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text.english.sentence_ends import ENGLISH
from kokoro_pipeline.runtime.text.segments import MAX_SEGMENT, SentenceEnds, split_segments

CHINESE = SentenceEnds(before_space=".!?…", anywhere="。！？；")

CASES = [
    ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
    (
        'He said "Stop!" and left. "Why?" Nobody knew.',
        ['He said "Stop!" and left.', '"Why?"', "Nobody knew."],
    ),
    (
        "Dr. Smith met Mr. Jones at 5 p.m. They spoke.",
        ["Dr. Smith met Mr. Jones at 5 p.m. They spoke."],
    ),
    ("A. Lincoln was born in 1809. He grew.", ["A. Lincoln was born in 1809.", "He grew."]),
    ("It costs $3.50 in the U.S. today. Fine.", ["It costs $3.50 in the U.S. today.", "Fine."]),
    ("Wait... what? yes", ["Wait... what? yes"]),
    ("1. First item. 2. Second", ["1. First item.", "2. Second"]),
    ("(1. First item. Over 9. Next", ["(1. First item.", "Over 9.", "Next"]),
    (
        "Title\n\nBody text.\n- one\n- two\n3) three",
        ["Title|", "Body text.|", "- one|", "- two|", "3) three"],
    ),
    ("line one\nline two. Three", ["line one\nline two.", "Three"]),
    (r"So \[ x = 4. \] It is. Yes", [r"So \[ x = 4. \] It is.", "Yes"]),
    ("So $$ x! Y = 4. $$ It is. Yes", ["So $$ x! Y = 4. $$ It is.", "Yes"]),
    (r"A \(x. Y\) end. A \(never. Closed", [r"A \(x. Y\) end.", r"A \(never.", "Closed"]),
    ("Big $$ now. So it is.", ["Big $$ now.", "So it is."]),
    ("a\r\n\r\nb\n \n\nc\u2029d", ["a|", "b|", "c|", "d"]),
    ("See [Dr. Who. A](/dˈɑk. hˈu/) now. Then.", ["See [Dr. Who. A](/dˈɑk. hˈu/) now.", "Then."]),
    ("[He left. She stayed.] End.", ["[He left.", "She stayed.]", "End."]),
    ("• one • two", ["one|", "two"]),
    ("  \n\n  ", []),
    ("", []),
]


def cut(text: object, ends: SentenceEnds = ENGLISH) -> list[str]:
    return [s.text + "|" * s.ends_paragraph for s in split_segments(text, ends)]


@pytest.mark.parametrize(("text", "segments"), CASES)
def test_segments_end_where_sentences_certainly_end(text: str, segments: list[str]) -> None:
    assert cut(text) == segments


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "text",
    [*(text for text, _ in CASES), "word " * 700, "x" * 2500, "so, " * 400 + "\n\n" + "b. C" * 300],
)
def test_the_parts_in_which_a_text_arrives_change_nothing(text: str, size: int) -> None:
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    assert list(split_segments(iter(parts), ENGLISH)) == list(split_segments(text, ENGLISH))


@pytest.mark.parametrize(
    "text", [*(text for text, _ in CASES), "word " * 700, "e\u0301" * 2500, " " * 5000 + "a"]
)
def test_nothing_but_white_space_and_bullets_is_left_out(text: str) -> None:
    segments = list(split_segments(text, ENGLISH))
    end = 0
    for segment in segments:
        assert text[segment.start : segment.start + len(segment.text)] == segment.text
        assert set(text[end : segment.start]) <= set(" \n\r\t\u2029•")
        assert 0 < len(segment.text) <= MAX_SEGMENT
        end = segment.start + len(segment.text)
    assert not text[end:].strip()


def test_marks_that_need_no_space() -> None:
    """A quotation that ends inside a sentence stays with it."""
    assert cut("你好。“世界！”再见？ok. Yes", CHINESE) == ["你好。", "“世界！”再见？", "ok.", "Yes"]
    assert cut("“世界！”\n“再见？”他说。", CHINESE) == ["“世界！”", "“再见？”他说。"]
    assert cut("[你。好](/ni/)。再见", CHINESE) == ["[你。好](/ni/)。", "再见"]


def test_no_more_text_is_taken_than_the_next_segment_needs() -> None:
    taken: list[str] = []

    def parts() -> object:
        for part in ("One sentence. ", "Two", " more. ", "Three.\n", "\n", "Four"):
            taken.append(part)
            yield part

    segments = split_segments(parts(), ENGLISH)
    assert next(segments).text == "One sentence."
    assert taken == ["One sentence. ", "Two"]
    assert next(segments).text == "Two more."
    assert taken == ["One sentence. ", "Two", " more. ", "Three.\n"]
    assert next(segments).text == "Three."
    assert taken[4:] == ["\n"]  # two line ends are enough for a paragraph


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("x" * 999 + "e" + "\u0301" * 3 + "y" * 1000, [999, 1000, 4]),
        ("e" + "\u0301" * 2500, [1000, 1000, 501]),
        ("ae" + "\u0301" * 2500, [1, 1000, 1000, 501]),
    ],
)
def test_an_accent_stays_with_its_letter_as_far_as_a_segment_can_hold(
    text: str, sizes: list[int]
) -> None:
    assert [len(segment.text) for segment in split_segments(text, ENGLISH)] == sizes


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\ud800 hi", "U\\+D800 at position 0 "),
        ("One. Two. " * 1000 + "\udfff", "U\\+DFFF at position 10000 "),
        (["One. ", "Two \ud83d", "", "x\ude00"], "U\\+D83D at position 9 "),
        (["One. ", "Two \ud83d"], "U\\+D83D at position 9 "),
    ],
)
def test_half_of_a_character_is_refused_with_its_place(text: str | list[str], place: str) -> None:
    with pytest.raises(InputError, match=place):
        list(split_segments(text, ENGLISH))


@pytest.mark.parametrize(
    "strings", [["One. Two \ud83d", "\ude00 three."], ["One. Two \ud83d", "", "\ude00", " three."]]
)
def test_a_character_that_two_strings_share_is_whole(strings: list[str]) -> None:
    """Clients cut a text between the two units that a character has in UTF-16."""
    segments = list(split_segments(strings, ENGLISH))
    assert [(segment.text, segment.start) for segment in segments] == [
        ("One.", 0),
        ("Two \N{GRINNING FACE} three.", 5),
    ]


def test_the_time_is_linear_in_the_length() -> None:
    """A quadratic search would take minutes and end in the suite's timeout."""
    assert sum(1 for _ in split_segments("A short one. " * 80_000, ENGLISH)) == 80_000
    assert sum(1 for _ in split_segments("x" * 1_000_000, ENGLISH)) == 1000
    assert not list(split_segments(" " * 1_000_000, ENGLISH))
