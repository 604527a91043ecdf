"""Written English to words: numbers, signs, abbreviations, punctuation; omissions are reported."""

from __future__ import annotations

import random
import time

import pytest

from kokoro_pipeline.runtime.text.english.letters import LETTER_A
from kokoro_pipeline.runtime.text.english.normalize import PRONOUNCED, Markup, normalize
from kokoro_pipeline.runtime.text.english.sentences import split_sentences
from kokoro_pipeline.runtime.text.tracked import Tracked


def read(text: str, british: bool = False) -> str:
    (paragraph,) = paragraphs_of(text, british)
    return paragraph


def paragraphs_of(text: str, british: bool = False) -> tuple[str, ...]:
    return tuple(paragraph.text for paragraph in normalize(text, british).paragraphs)


NORMALIZED: list[tuple[str, str | None]] = [
    # money
    ("$5.20", "five dollars and twenty cents"),
    ("$1, $0.99, $1.01", "one dollar, ninety-nine cents, one dollar and one cent"),
    ("£3.50 and €20", "three pounds and fifty pence and twenty euros"),
    ("£0.01", "one penny"),
    ("$1,234.56", "one thousand two hundred thirty-four dollars and fifty-six cents"),
    ("$5.2 million, $3bn, $5k", None),
    ("a $5 bill, a $3 million deal", "a five dollar bill, a three million dollar deal"),
    ("costs $5 today", "costs five dollars today"),
    ("$20/month", "twenty dollars per month"),
    ("-$5, US$7", "minus five dollars, seven US dollars"),
    ("$5-10, $5–$10 million", "five to ten dollars, five to ten million dollars"),
    (
        "5 € and 20 USD, 50¢, ¥500",
        "five euros and twenty dollars, fifty cents, five hundred yen",
    ),
    # dates
    ("2024-05-01", "May first, twenty twenty-four"),
    ("5/1/2024", "May first, twenty twenty-four"),
    ("13/5/2024", "May thirteenth, twenty twenty-four"),
    ("May 1st, May 1, 2024", "May first, May first, twenty twenty-four"),
    ("1 May 2024", "the first of May, twenty twenty-four"),
    ("the 4th of July", "the fourth of July"),
    ("in May 2024", "in May twenty twenty-four"),
    ("Jan. 5, Sept 9", "January fifth, September ninth"),
    ("on Mon. and Tues. we", "on Monday and Tuesday we"),
    # times
    (
        "5:30, 10:00, 12:05, 17:45",
        "five thirty, ten o'clock, twelve oh five, seventeen forty-five",
    ),
    ("5:30 PM, 5pm, 10:00 a.m. sharp", "five thirty p.m, five p.m, ten a.m sharp"),
    ("at 5 p.m. He left", "at five p.m. He left"),
    ("9am-5pm, 10:00–11:30", "nine a.m to five p.m, ten o'clock to eleven thirty"),
    ("16:9 and 3:1", "sixteen to nine and three to one"),
    # measures
    ("50%, 3.5 %, 10-20%", "fifty percent, three point five percent, ten to twenty percent"),
    ("1 km, 5km, 90 km/h", "one kilometer, five kilometers, ninety kilometers per hour"),
    ("32°F, -5 °C, 90°", None),
    ("100 m², 9.8 m/s", "one hundred square meters, nine point eight meters per second"),
    ("6'2\", 5 ft 10 in", "six foot two, five foot ten"),
    (
        "3x faster, 16GB, 2.4GHz",
        "three times faster, sixteen gigabytes, two point four gigahertz",
    ),
    # plain numbers
    ("1/2, 3/4, 2 1/2, ½, 1½", None),
    ("24/7, 9/11, 50/50", "twenty-four seven, nine eleven, fifty fifty"),
    ("1st, 22nd, 103rd", "first, twenty-second, one hundred third"),
    ("the 1990s, the '90s, the 80s", "the nineteen nineties, the nineties, the eighties"),
    ("10-20, 1990–1995, 1914-18", None),
    ("v2.0, 1.2.3, 192.168.0.1", None),
    (
        "3.14, 0.5, .5, 007",
        "three point one four, zero point five, point five, zero zero seven",
    ),
    ("1,234,567", "one million two hundred thirty-four thousand five hundred sixty-seven"),
    ("in 1984, 2005", "in nineteen eighty-four, two thousand five"),
    ("1234 votes", "one thousand two hundred thirty-four votes"),
    ("-5, +3, ~10, 10k", "minus five, plus three, about ten, ten thousand"),
    ("(555) 123-4567", "five five five, one two three, four five six seven"),
    ("call 911", "call nine one one"),
    ("Room 101, Flight 370, 1080p", "Room one oh one, Flight three seventy, ten eighty p"),
    ("MP3, 4K, H₂O, COVID-19", "MP three, four K, H two O, COVID-nineteen"),
    ("#1, No. 5, #fun", "number one, number five, hashtag fun"),
    ("１２ ٣", "twelve three"),
    # abbreviations
    ("Dr. Smith, Mr. and Mrs. Lee", "Doctor Smith, Mister and Mrs Lee"),
    ("12 Main St. and St. Louis", "twelve Main Street and Saint Louis"),
    ("Oak Dr. in Rome", "Oak Drive in Rome"),
    ("e.g. this, i.e. that", "for example this, that is that"),
    ("tea, etc. He left", "tea, etc. He left"),
    ("tea, etc. is fine", "tea, etc is fine"),
    ("in the U.S. He is", "in the U.S. He is"),
    ("the U.S. Army", "the U.S Army"),
    ("J. R. R. Tolkien", "J R R Tolkien"),
    ("than I. He", "than I. He"),
    ("Fig. 3, vol. 2, pp. 3-5", "figure three, volume two, pages three to five"),
    ("Smith v. Jones vs. him", "Smith versus Jones versus him"),
    ("Chapter IV, Henry VIII, World War I", "Chapter four, Henry the eighth, World War one"),
    ("Chapter IL, page LIL, Act VX", "Chapter IL, page LIL, Act VX"),
    ("Elizabeth I was, Elizabeth and I", "Elizabeth the first was, Elizabeth and I"),
    # addresses
    ("see https://www.a.com/b.", f"see w.w.w dot {LETTER_A} dot com slash b."),
    ("me@example.org!", "me at example dot org!"),
    ("README.md and foo.py", "README dot M.D and foo dot P.Y"),
    # signs
    ("2 + 2 = 4", "two plus two equals four"),
    ("R&D, AT&T, you & me", "R and D, A.T and T, you and me"),
    ("C++, C#, .NET", "C plus plus, C sharp, dot NET"),
    ("and/or, /usr", "and or, slash usr"),
    ("α and Ω", "alpha and omega"),
    # punctuation
    ("Wait... what", "Wait… what"),
    ("yes -- no - maybe – so—", "yes—no—maybe—so—"),
    ("a cost–benefit study, pre–World War II", "a cost-benefit study, pre-World War two"),
    ("I waited–nobody came; one thing–money–won", "I waited—nobody came; one thing—money—won"),
    ("Tell 'er I'm runnin' late, 'e's here.", "Tell 'er I'm runnin' late, 'e's here."),
    ("The word 'is' or 'im'; 'Ow!' he cried", "The word “is” or “im”; “Ow!” he cried"),
    ('"Hi," he said.', "“Hi,” he said."),
    ("‘Hi’ and ‘it’s’", "“Hi” and “it's”"),
    ("the dogs' tails, 'tis 'em", "the dogs' tails, 'tis 'em"),
    ("«Oui» „Ja“ [sic] {x}", "“Oui” “Ja” (sic) (x)"),
    ("no !!!!! way ,, so", "no!!! way, so"),
    ("a,b.C end.Next", "a, b.C end. Next"),
    ("**bold** _it_ `x` # y", "bold it x y"),
    ("snake_case", "snake case"),
    ("a\u00a0b\u200bc\td", "a bc d"),
    ("ﬁne ｆｕｌｌ 𝐛𝐨𝐥𝐝", "fine full bold"),
    ("e\u0301te\u0301", "été"),
    ("[site](https://x.org/y) ok", "site ok"),
]


@pytest.mark.parametrize(("text", "expected"), NORMALIZED)
def test_text_is_spelled_out(text: str, expected: str | None) -> None:
    """One line a rule: each protects one way of writing from being misread or dropped."""
    if expected is None:
        expected = LONGER[text]
    assert read(text) == expected


MARKS = ".,;:!?—…“”()'- " + PRONOUNCED + LETTER_A
LONGER = {
    "$5.2 million, $3bn, $5k": (
        "five point two million dollars, three billion dollars, five thousand dollars"
    ),
    "32°F, -5 °C, 90°": (
        "thirty-two degrees Fahrenheit, minus five degrees Celsius, ninety degrees"
    ),
    "1/2, 3/4, 2 1/2, ½, 1½": (
        "one half, three quarters, two and a half, one half, one and a half"
    ),
    "10-20, 1990–1995, 1914-18": (
        "ten to twenty, nineteen ninety to nineteen ninety-five, nineteen fourteen to eighteen"
    ),
    "v2.0, 1.2.3, 192.168.0.1": (
        "version two point zero, one point two point three,"
        " one nine two dot one six eight dot zero dot one"
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("101 kg", "one hundred and one kilograms"),
        ("5/1/2024", "the fifth of January, twenty twenty-four"),
        ("May 1, 2024", "the first of May, twenty twenty-four"),
        ("£101", "one hundred and one pounds"),
        ("Leeds won 3-0 and drew 0-0.", "Leeds won three nil and drew nil nil."),
        ("Leeds 2-1 Arsenal", "Leeds two one Arsenal"),
        ("She won 6-0, 6-1.", "She won six love, six one."),
        ("Read pages 3-10.", "Read pages three to ten."),
    ],
)
def test_british_reading_differs(text: str, expected: str) -> None:
    assert read(text, british=True) == expected


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("Title\n\nText", ("Title.", "Text")),
        ("Done!\r\n\r\nNext", ("Done!", "Next")),
        ("one\ntwo", ("one two",)),
        ("Name: Jo Li\nTown: Rome", ("Name: Jo Li. Town: Rome",)),
        ("it has\ntwo parts: a and\nB, see: c", ("it has two parts: a and B, see: c",)),
        ("List:\n- a cat\n- a dog\n1. end", ("List:", "a cat.", "a dog.", "one, end")),
        ("# Head\n\n> said\n\n\n\n***\n\nend", ("Head.", "said.", "end")),
        ("Title\n=====\nBody\n\n----\n\nEnd", ("Title.", "Body.", "End")),
        ("Note: one\n  two\n3 - 2 = 1", ("Note: one two three minus two equals one",)),
        (
            "See:\n| Name | Qty |\n|:--|--:|\n| Apples | 3 |\n| Pears | |\n\nEnd",
            ("See: Name, Quantity.", "Apples, three.", "Pears.", "End"),
        ),
        ("a | b\n---|---\nc | d\nno row", ("a, b.", "c, d no row")),
        ("one | two\nthree", ("one, two three",)),
        (
            "1\n00:00:01,000 --> 00:00:02,500\nHello.\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.",
            ("Hello.", "Bye."),
        ),
        ("00:01,000 --> 00:02,500 align:start\nHello.", ("Hello.",)),
        ("00:01,000 --> 00:02,500 Hello you.", ("Hello you.",)),
        (
            "It was pub-\nlished as a well-\nknown book.",
            ("It was published as a well-known book.",),
        ),
        ("", ()),
        (" \n\n ", ()),
    ],
)
def test_paragraphs_end_with_a_pause(text: str, paragraphs: tuple[str, ...]) -> None:
    """A heading or list item must not run into what follows."""
    assert paragraphs_of(text) == paragraphs


def test_what_has_no_reading_is_reported() -> None:
    """Text without a reading is reported; kokoro drops it silently."""
    text = "Hi 😀👍🏽 世界, Привет ← there ☃."
    unspoken = [text[start:end] for start, end in normalize(text).unspoken]
    assert unspoken == ["😀👍🏽", "世界", "Привет", "←", "☃"]
    assert paragraphs_of(text) == ("Hi, there.",)


def test_given_pronunciations_become_placeholders() -> None:
    text = "[Kokoro](/kˈOkəɹO/) is [it](/ˈɪt/)."
    assert paragraphs_of(text) == (f"{PRONOUNCED} is {PRONOUNCED}.",)
    assert normalize(text).markup == (
        Markup(1, 7, phonemes="kˈOkəɹO"),
        Markup(24, 26, phonemes="ˈɪt"),
    )


def test_a_stray_placeholder_in_the_text_is_no_pronunciation() -> None:
    assert paragraphs_of(f"a {PRONOUNCED} b") == ("a b",)


@pytest.mark.parametrize("seed", range(200))
def test_any_text_comes_out_as_letters_and_marks(seed: int) -> None:
    """The contract with the converter: no digit, no sign, no double space, whatever comes in."""
    rng = random.Random(seed)
    alphabet = [
        "$5.20", "1/2", "3:30", "Dr.", "U.S.", "’", '"', "😀", "é", "12345", "-", "–", "°C", "%",
        "a", "The", "word", " ", "\n", "\n\n", ".", ",", "(", "]", "/", "@", "x.com", "#", "<", "…",
        "٣", "½", "²", "IV", "\u200b", "\x00", "世", "&", "'s", "+", "=", "*", "_", "~", "10k",
        "Chapter", "IL", "[a](/b/)", "[", "](/", "v", "Jan", "http://", ":", "am", "st",
    ]  # fmt: skip
    text = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 60)))
    for paragraph in paragraphs_of(text):
        assert "  " not in paragraph
        assert paragraph == paragraph.strip()
        for symbol in paragraph:
            assert symbol in MARKS or symbol.isalpha(), (text, symbol)


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("“Stop!” he said. “Go.” Now", ["“Stop!” he said.", "“Go.”", "Now"]),
        ("in the U.S Army. It is", ["in the U.S Army.", "It is"]),
        ("Wait… What?! no", ["Wait…", "What?! no"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(paragraph: str, sentences: list[str]) -> None:
    """The tagger's context is one sentence, so a wrong cut gives wrong tags."""
    split = split_sentences(Tracked.of(paragraph))
    assert [sentence.text for sentence in split] == sentences


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "A.",
        ".a",
        "a-",
        "'",
        "$",
        "1/",
        "a@",
        "[",
        "http://a.",
        "Dr. ",
        "1:",
        "1+",
        "a=",
        "1 - ",
        "x²",
        "2x^",
        "$1-",
        "M",
        "1.1",
        "1 x ",
        "f(x)",
        "(",
        "- ",
        "\n",
        "Kesha",
        '1/2" ',
        "1 000 ",
        "<a ",
        "&amp;",
        "1. e4 ",
        "5 m s⁻¹ ",
        "ab12",
        "f:",
        "SEN. ",
        "$x",
        "\\(",
        "\\[x",
        "$^",
        "x**2 ",
        "(1-2) ",
        "![",
        "| a\n",
        "|-|\n",
        "a|b\n|--",
        "A > ",
        "\\qty{1}{",
        "\\textbf{",
        "[^",
        "a-\n",
        "00:00:00,000 --> ",
        "Elm St ",
        "1m",
        "1d ",
        "A v. ",
        "part (1/",
        "=",
        "===\n",
        "a^-",
        "abc¹",
        "4x A1 ",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """A pattern that backtracks takes 25 times as long for five times the text."""

    def seconds(characters: int) -> float:
        start = time.process_time()
        normalize(unit * (characters // len(unit)))
        return time.process_time() - start

    normalize(unit)  # what is read and compiled at the first call
    assert seconds(10_000) < 12 * seconds(2_000) + 0.25
