"""A user's lexicon: its three formats, what is wrong in them, and that its words win."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text import (
    Lexicon,
    check_lexicon,
    lexicon_of,
    phonemize,
    read_lexicon,
    read_sentences,
)
from kokoro_pipeline.runtime.text.lexicon import Entry, with_s

PLS = """<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon"
    alphabet="ipa" xml:lang="en-US">
  <lexeme><grapheme>Zyx</grapheme><grapheme>Zyxx</grapheme>
    <phoneme>ˈt͡ʃaɪ.ɡoʊ</phoneme></lexeme>
  <lexeme role="noun"><grapheme>wug</grapheme>
    <phoneme alphabet="x-kokoro">wˈʌɡ</phoneme></lexeme>
</lexicon>
"""


def lexicon(*rows: tuple[str, str] | tuple[str, str, str]) -> Lexicon:
    return Lexicon(
        Entry(row[0], row[1], row[2] if len(row) == 3 else None, "test", i)
        for i, row in enumerate(rows)
    )


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "entries"),
    [
        (
            "a.tsv",
            "# comment\n\nZyx\tzˈɪks\nlead\tlˈɛd\tnoun\r\n",
            [("Zyx", "zˈɪks", None, 3), ("lead", "lˈɛd", "NOUN", 4)],
        ),
        ("a.tsv", "\ufeffZyx\tzˈɪks", [("Zyx", "zˈɪks", None, 1)]),
        (
            "a.json",
            '{\n "Zyx": "zˈɪks",\n "lead": {"NOUN": "lˈɛd",\n "DEFAULT": "lˈid"}\n}',
            [("Zyx", "zˈɪks", None, 2), ("lead", "lˈɛd", "NOUN", 3), ("lead", "lˈid", None, 3)],
        ),
        ("a.json", '{"Z\\u00fcri": "zˈyɹi"}', [("Züri", "zˈyɹi", None, 1)]),
        ("a.json", "{}", []),
        ("a.tsv", "a\tb\na\tb\n", [("a", "b", None, 1), ("a", "b", None, 2)]),
        (
            "a.pls",
            PLS,
            [
                ("Zyx", "ˈʧIɡO", None, 5),
                ("Zyxx", "ˈʧIɡO", None, 5),
                ("wug", "wˈʌɡ", "NOUN", 7),
            ],
        ),
        (
            "a.xml",
            "<lexicon><lexeme><grapheme>a b</grapheme><phoneme>x</phoneme>"
            '<phoneme prefer="true" alphabet="x-kokoro">ˈA bi</phoneme></lexeme></lexicon>',
            [("a b", "ˈA bi", None, 1)],
        ),
    ],
)
def test_formats(tmp_path: Path, name: str, text: str, entries: list[tuple]) -> None:
    found, problems = check_lexicon(written(tmp_path, name, text))
    assert problems == []
    assert [(e.word, e.phonemes, e.part, e.line) for e in found] == entries


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.tsv", "ok\ta\nZyx\n", 2, "1 columns"),
        ("a.tsv", "Zyx a\n", 1, "1 columns"),
        ("a.tsv", "a\tb\tNOUN\tx", 1, "4 columns"),
        ("a.tsv", "Zyx\tzˈ🙂g", 1, r"does not know: '🙂' U\+1F642"),
        ("a.tsv", "\tzˈɪks", 1, "the word is missing"),
        ("a.tsv", "Zyx\t", 1, "no phonemes"),
        ("a.tsv", "Zyx\t...", 1, "no sound"),
        ("a.tsv", "Zyx\tz(a)", 1, "parenthesis"),
        ("a.tsv", "[Zyx]\tza", 1, "bracket"),
        ("a.tsv", "Zyx\tza\tpreposition", 1, "'PREPOSITION' is not a part of speech: ADJ"),
        ("a.tsv", "x" * 201 + "\tza", 1, "201 characters"),
        ("a.json", '{"a": "b",\n}', 2, "not JSON"),
        ("a.json", '["a"]', 1, "expected an object"),
        ("a.json", "[]", 1, "expected an object"),
        ("a.json", '{"a": {}}', 1, "no phonemes"),
        ("a.json", '{"b": "a",\n"a": 3}', 2, "as a string"),
        ("a.json", '{"a": {"NOUN": ["x"]}}', 1, "as a string"),
        ("a.json", "[" * 100000, 1, "not JSON"),
        ("a.pls", PLS.replace("</lexicon>", ""), 9, "not well-formed"),
        ("a.pls", PLS.replace("wˈʌɡ", "w1"), 7, "does not know: '1'"),
        ("a.pls", PLS.replace("lexeme", "lexem"), 4, "<lexem> is no element"),
        ("a.pls", PLS.replace("x-kokoro", "sampa"), 7, "'sampa' is neither ipa"),
        ("a.pls", "<speak/>", 1, "<speak> is not the <lexicon>"),
        ("a.pls", "<lexicon>\n<lexeme><grapheme>a</grapheme></lexeme></lexicon>", 2, "<phoneme>"),
        (
            "a.pls",
            "<lexicon>\n<lexeme><grapheme>a</grapheme>\n<alias>b</alias></lexeme></lexicon>",
            3,
            "<alias> is not supported",
        ),
        ("a.tsv", "foo\thˈɛ\n\nfoo\tbˈɑ\n", 3, "'foo' is 'bˈɑ', and 'hˈɛ' in line 1"),
        ("a.tsv", "a\tb\tverb\na\tt\na\td\tVERB", 3, "'a' as VERB is 'd', and 'b' in line 1"),
        ("a.json", '{"foo": "hˈɛ",\n"foo": "bˈɑ"}', 2, "'foo' is 'bˈɑ', and 'hˈɛ' in line 1"),
        ("a.json", '{"a": {"NOUN": "b",\n"NOUN": "t"}}', 1, "'a' as NOUN is 't', and 'b'"),
        (
            "a.pls",
            PLS.replace("wug", "Zyx").replace(' role="noun"', ""),
            7,
            "'Zyx' is 'wˈʌɡ', and 'ˈʧIɡO' in line 5",
        ),
        ("a.pls", '<!DOCTYPE x [\n<!ENTITY a "b">]><lexicon/>', 2, "not allowed"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    path = written(tmp_path, name, text)
    _, (problem, *_) = check_lexicon(path)
    assert (problem.source, problem.line) == (str(path), line)
    with pytest.raises(InputError, match=message) as caught:
        read_lexicon(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_files_that_are_no_lexicon(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv is not a lexicon: expected one of \.tsv"):
        read_lexicon(written(tmp_path, "a.csv", "a\tb"))
    with pytest.raises(InputError, match="No such file"):
        read_lexicon(tmp_path / "b.tsv")
    (tmp_path / "c.tsv").write_bytes(b"a\tb\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"c\.tsv:2: it is not UTF-8"):
        read_lexicon(tmp_path / "c.tsv")


def test_many_mistakes_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="and 4 more; `kokoro-pipeline lexicon check`"):
        read_lexicon(written(tmp_path, "a.tsv", "x\n" * 9))


def test_the_last_of_several_files_counts(tmp_path: Path) -> None:
    files = [written(tmp_path, "a.tsv", "a b\tˈA"), written(tmp_path, "b.json", '{"a b": "bˈi"}')]
    assert read_lexicon(*files).find("a b") == "bˈi"


ZYX = lexicon(("zyx", "zˈɪks"), ("SQL", "sˈikwəl"), ("Nguyen", "wˈɪn"), ("C++", "sˈi"))


@pytest.mark.parametrize(
    ("text", "entry", "phonemes"),
    [
        ("A zyx here.", "zyx", "zˈɪks"),
        ("Zyx here.", "Zyx", "zˈɪks"),
        ("THE ZYX HERE.", "ZYX", "zˈɪks"),
        ("Two zyxs ran.", "zyxs", "zˈɪksᵻz"),
        ("Two zyxes ran.", "zyxes", "zˈɪksᵻz"),
        ("The zyx's tail.", "zyx's", "zˈɪksᵻz"),
        ("The zyx’s tail.", "zyx’s", "zˈɪksᵻz"),
        ("The zyxes' tails.", "zyxes'", "zˈɪksᵻz"),
        ("Use SQL now.", "SQL", "sˈikwəl"),
        ("Mr nguyen left.", "nguyen", "wˈɪn"),
        ("I like C++ a lot.", "C++", "sˈi"),
        ("A [zyx](/bˈi/) here.", "zyx", "bˈi"),
    ],
)
def test_english_words_in_all_their_forms(text: str, entry: str, phonemes: str) -> None:
    read = phonemize(text, "en-us", lexicon=ZYX)
    (word,) = [word for word in read.words if word.phonemes == phonemes]
    assert word.text == entry
    assert text[word.start : word.end] == entry
    assert read.phonemes[word.offset :].startswith(phonemes)
    assert read.unspoken == ()


@pytest.mark.parametrize("text", ["zyxology", "azyx", "Sql", "zyx'll"])
def test_other_words_are_left_alone(text: str) -> None:
    alone = phonemize(text, "en-us")
    assert phonemize(text, "en-us", lexicon=ZYX) == alone


def test_what_misaki_and_the_rules_know_is_overridden() -> None:
    words = lexicon(("the", "zˈA"), ("Dr", "dˈi"), ("5", "vˈi"), ("New York", "nˈu"), ("kg", "kˈA"))
    read = phonemize("The Dr saw 5 kg in New York.", lexicon=words)
    assert read.phonemes == "zˈA dˈi sˈɔ vˈi kˈA ɪn nˈu."


def test_a_word_can_differ_by_part_of_speech() -> None:
    words = lexicon(("record", "nˈu", "NOUN"), ("record", "vˈi", "VERB"), ("zyx", "ɡˈO", "VERB"))
    text = "They record a record. Many records. They want to zyx."
    read = phonemize(text, lexicon=words)
    assert [w.phonemes for w in read.words if w.text.startswith(("rec", "zyx"))] == [
        "vˈi", "nˈu", "nˈuz", "ɡˈO",
    ]  # fmt: skip
    alone = phonemize(text.replace("zyx", "go"))
    assert "ɹˈɛkəɹd" in alone.phonemes  # the reader without the lexicon is as it was


def test_a_users_part_of_speech_wins_over_the_rules_for_senses() -> None:
    words = lexicon(("bass", "nˈu", "NOUN"))
    assert "nˈu" in phonemize("He caught a bass.", lexicon=words).phonemes
    assert "nˈu" in phonemize("She plays the bass.", lexicon=words).phonemes


@pytest.mark.parametrize("british", [False, True])
def test_plurals_are_misakis(british: bool) -> None:
    from kokoro_pipeline.runtime.text.english.reader import load_english

    misaki = load_english(british).lexicon
    for end in "ptkfθszʃʒʧʤbdɡmnŋlɹvðəiA":
        assert with_s(f"a{end}", british) == misaki._s(f"a{end}")


@pytest.mark.parametrize(
    ("code", "text", "word", "phonemes"),
    [
        ("fr", "J'aime l'eau de Zyx.", "Zyx", "zˈu"),
        ("fr", "J'aime l'eau, les zyxs.", "l'eau", None),
        ("es", "El zyx, ¿no?", "zyx", "zˈu"),
        ("ja", "これは東京都です。", "東京都", "tˈu"),
        ("zh", "我爱北京市。", "北京市", "tˈu"),
        ("zh", "我用Zyx。", "Zyx", "zˈu"),
    ],
)
def test_words_of_other_languages(code: str, text: str, word: str, phonemes: str | None) -> None:
    words = lexicon(("Zyx", "zˈu"), ("東京都", "tˈu"), ("北京市", "tˈu"), ("京", "kˈA"))
    read = phonemize(text, code, lexicon=words)
    (found,) = [each for each in read.words if each.text == word]
    assert text[found.start : found.end] == word
    if phonemes:
        assert found.phonemes == phonemes
    else:
        assert read == phonemize(text, code)
    assert read.unspoken == ()


def test_text_in_parts_reads_the_same() -> None:
    text = "A zyx. Two zyxes' tails! SQL?\n\nC++ is C++."
    assert list(read_sentences(iter(text), lexicon=ZYX)) == list(read_sentences(text, lexicon=ZYX))


@pytest.mark.parametrize("british", [False, True])
def test_misakis_lexicon_is_that_of_its_constructor(british: bool) -> None:
    """We load it without the constructor, which also looks at every character of it."""
    from misaki import en

    from kokoro_pipeline.runtime.text.english.misaki_english import misaki_lexicon

    assert vars(misaki_lexicon(british)) == vars(en.Lexicon(british))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"vlorp": "v#"}, "'v#' has symbols"),
        ({" ": "vlˈɔɹp"}, "the word is missing"),
        ({"vlorp": 5}, "not two strings"),
        ({5: "vlˈɔɹp"}, "not two strings"),
    ],
    ids=repr,
)
def test_words_of_a_program_are_checked_as_those_of_a_file(words, said):
    assert lexicon_of({" vlorp ": " vlˈɔɹp"}).find("Vlorp") == "vlˈɔɹp"
    with pytest.raises(InputError, match=said):
        lexicon_of(words)
