"""SSML: what every element becomes, where it is in the source, and what is refused."""

from __future__ import annotations

import time

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text import (
    Manner,
    Mark,
    Pause,
    PlacedMark,
    Said,
    Sentence,
    TextRun,
    parse_ssml,
    phonemize,
    read_runs,
    read_text,
)
from kokoro_pipeline.runtime.text.ipa import from_ipa
from kokoro_pipeline.runtime.text.pauses import seconds
from kokoro_pipeline.runtime.text.say_as import say_as

ENGLISH = Manner("en-us")


def runs(inside: str, attributes: str = "") -> list[tuple]:
    """What the inside of a document becomes, without positions."""
    found: list[tuple] = []
    for run in parse_ssml(f"<speak{attributes}>{inside}</speak>").runs:
        if isinstance(run, Pause):
            found.append(("pause", run.seconds))
        elif isinstance(run, Mark):
            found.append(("mark", run.name))
        else:
            found.append((run.text.text, run.manner, run.ends))
    return found


def text(inside: str, lang: str = "en-us") -> str:
    (run,) = parse_ssml(f"<speak>{inside}</speak>", lang).runs
    assert isinstance(run, TextRun)
    return run.text.text


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("Hello", [("Hello", ENGLISH, "nothing")]),
        ("  Hello\n\n  you ", [("Hello you", ENGLISH, "nothing")]),
        ("a &amp; b &lt; c &#65;", [("a & b < c A", ENGLISH, "nothing")]),
        ("<![CDATA[a <b> c]]>", [("a <b> c", ENGLISH, "nothing")]),
        ("a<!-- not this -->b", [("ab", ENGLISH, "nothing")]),
        ("<p>a</p>b", [("a", ENGLISH, "paragraph"), ("b", ENGLISH, "nothing")]),
        ("<s>a</s><s>b</s>", [("a", ENGLISH, "sentence"), ("b", ENGLISH, "sentence")]),
        (
            "<p><s>a</s> <s>b</s></p>c",
            [("a", ENGLISH, "sentence"), ("b", ENGLISH, "paragraph"), ("c", ENGLISH, "nothing")],
        ),
        ("x<p>a</p>", [("x", ENGLISH, "sentence"), ("a", ENGLISH, "paragraph")]),
        (
            'a<break time="500ms"/>b',
            [("a", ENGLISH, "nothing"), ("pause", 0.5), ("b", ENGLISH, "nothing")],
        ),
        ('a<break strength="none"/>b', [("ab", ENGLISH, "nothing")]),
        ('a <break time="0s"/>b', [("a b", ENGLISH, "nothing")]),
        ("<break/>a", [("pause", 0.4), ("a", ENGLISH, "nothing")]),
        ('<break strength="x-strong"/>a', [("pause", 1.2), ("a", ENGLISH, "nothing")]),
        (
            '<break strength="strong" time="2.5s"/>a',
            [("pause", 2.5), ("a", ENGLISH, "nothing")],
        ),
        (
            'a <voice name="am_adam">b</voice> c',
            [
                ("a", ENGLISH, "nothing"),
                ("b", Manner("en-us", "am_adam"), "nothing"),
                ("c", ENGLISH, "nothing"),
            ],
        ),
        ('<voice name="ff_siwis">b</voice>', [("b", Manner("fr", "ff_siwis"), "nothing")]),
        (
            '<voice name="ff_siwis" xml:lang="en-GB">b</voice>',
            [("b", Manner("en-gb", "ff_siwis"), "nothing")],
        ),
        (
            '<voice name="ff_siwis"><lang xml:lang="it">b</lang></voice>',
            [("b", Manner("it", "ff_siwis"), "nothing")],
        ),
        ('<lang xml:lang="zh-CN">b</lang>', [("b", Manner("zh"), "nothing")]),
        ('<p xml:lang="hi">b</p>', [("b", Manner("hi"), "paragraph")]),
        ('<prosody rate="slow">b</prosody>', [("b", Manner("en-us", None, 0.75), "nothing")]),
        ('<prosody rate="150%">b</prosody>', [("b", Manner("en-us", None, 1.5), "nothing")]),
        ('<prosody rate="-50%">b</prosody>', [("b", Manner("en-us", None, 0.5), "nothing")]),
        ('<prosody rate="+25%">b</prosody>', [("b", Manner("en-us", None, 1.25), "nothing")]),
        (
            '<prosody rate="2"><prosody rate="0.5">b</prosody></prosody>',
            [("b", ENGLISH, "nothing")],
        ),
        ('a <mark name="m"/>b', [("a b", ENGLISH, "nothing")]),
        ('<mark name="m"/><break/>', [("mark", "m"), ("pause", 0.4)]),
        ("<emphasis>a</emphasis> b", [("a b", ENGLISH, "nothing")]),
        ('a <sub alias="as  well">asw</sub>.', [("a as well.", ENGLISH, "nothing")]),
        (
            'a <phoneme alphabet="ipa" ph="t͡ʃaɪ">chai</phoneme>',
            [("a [chai](/ʧI/)", ENGLISH, "nothing")],
        ),
        (
            '<phoneme alphabet="x-kokoro" ph="ʧˈI">chai</phoneme>',
            [("[chai](/ʧˈI/)", ENGLISH, "nothing")],
        ),
        ("", []),
    ],
)  # fmt: skip
def test_what_an_element_becomes(inside: str, expected: list[tuple]) -> None:
    assert runs(inside) == expected


@pytest.mark.parametrize(
    ("kind", "written", "form", "lang", "expected"),
    [
        ("cardinal", "1999", "", "en-us", "one thousand, nine hundred and ninety-nine"),
        ("cardinal", "-5", "", "en-us", "minus five"),
        ("cardinal", "1,234", "", "es", "mil doscientos treinta y cuatro"),
        ("cardinal", "12", "", "ja", "12"),
        ("ordinal", "3", "", "en-us", "third"),
        ("ordinal", "21st", "", "en-gb", "twenty-first"),
        ("ordinal", "2", "", "fr", "deuxième"),
        ("ordinal", "2", "", "zh", "第2"),
        ("ordinal", "2", "", "ja", "2番目"),
        ("digits", "2025", "", "en-us", "two zero two five"),
        ("digits", "12", "", "fr", "un deux"),
        ("digits", "12", "", "zh", "1 2"),
        ("characters", "a1", "", "es", "A uno"),
        ("characters", "x-1", "", "en-us", "[x](/ˈɛks/) dash one"),
        ("date", "3/5/2024", "mdy", "en-us", "March 5, 2024"),
        ("date", "3/5/2024", "", "en-us", "March 5, 2024"),
        ("date", "3/5/2024", "", "en-gb", "May 3, 2024"),
        ("date", "2024-05-03", "", "en-us", "May 3, 2024"),
        ("date", "2024-05-03", "ymd", "fr", "3 mai 2024"),
        ("date", "1.5.2024", "dmy", "fr", "1er mai 2024"),
        ("date", "3/5", "dm", "es", "3 de mayo"),
        ("date", "5/2024", "my", "en-us", "May 2024"),
        ("date", "2024-05-03", "", "ja", "2024年5月3日"),
        ("date", "2024-05-03", "", "zh", "2024年5月3日"),
        ("time", "14:30", "hms24", "zh", "14点30分"),
        ("time", "14:30:05", "", "ja", "14時30分5秒"),
        ("time", "2:30pm", "hms12", "en-us", "2:30pm"),
        ("time", "14:30", "", "fr", "14:30"),
        ("time", "2:30pm", "hms12", "fr", "14:30"),
        ("time", "12:05 a.m.", "", "zh", "0点5分"),
        ("telephone", "555-0199", "", "en-us", "five five five, zero one nine nine"),
        ("telephone", "+1 (2)", "", "en-us", "plus one, two"),
        ("currency", "$3.50", "", "en-us", "$3.50"),
        ("currency", "USD 3.50", "", "en-us", "$3.50"),
        ("currency", "20 EUR", "", "fr", "€20"),
    ],
)
def test_say_as(kind: str, written: str, form: str, lang: str, expected: str) -> None:
    assert say_as(written, kind, form, lang) == expected
    attributes = f'interpret-as="{kind}"' + (f' format="{form}"' if form else "")
    assert text(f"<say-as {attributes}>{written}</say-as>", lang) == expected


@pytest.mark.parametrize(
    ("document", "line", "message"),
    [
        ("<speak>a</speak", 1, "not well-formed"),
        ("<speak>\n<p>a</speak>", 2, "not well-formed"),
        ("", 1, "not well-formed"),
        ("hello", 1, "not well-formed"),
        ("<speak>a &nbsp; b</speak>", 1, "not well-formed"),
        ("<p>a</p>", 1, "<p> is not the <speak>"),
        ("<speak>\n\n <audio src='x'/></speak>", 3, "<audio> is not supported; known are speak"),
        ("<speak>\n<mstts:express-as xmlns:mstts='m'>a</mstts:express-as></speak>", 2, "mstts"),
        ("<speak>\n<prosody pitch='high'>a</prosody></speak>", 2, "with pitch= is not supported"),
        ("<speak>\n<prosody rate='quick'>a</prosody></speak>", 2, "rate='quick' is neither"),
        ("<speak>\n<prosody rate='+2'>a</prosody></speak>", 2, "is neither"),
        ("<speak>\n<prosody rate='1000%'>a</prosody></speak>", 2, "not between 0.25 and 4"),
        ("<speak>\n<prosody rate='0'>a</prosody></speak>", 2, "not between"),
        ("<speak>\n<prosody>a</prosody></speak>", 2, "<prosody> needs rate="),
        ("<speak>\n<break time='1 year'/>a</speak>", 2, "'1 year' is not a duration"),
        ("<speak>\n<break time='31536000s'/>a</speak>", 2, "longer than 60 s"),
        ("<speak>\n<break time='-1s'/>a</speak>", 2, "is not a duration"),
        ("<speak>\n<break strength='huge'/>a</speak>", 2, "strength='huge' is not one of none"),
        ("<speak>\n<break>a</break></speak>", 2, "<break> has to be empty"),
        ("<speak>\n<mark/>a</speak>", 2, "<mark> needs name="),
        ("<speak>\n<sub>a</sub></speak>", 2, "<sub> needs alias="),
        ("<speak>\n<sub alias='b'></sub></speak>", 2, "<sub> is empty"),
        ("<speak>\n<sub alias='b'>a<mark\nname='c'/></sub></speak>", 2, "<mark> cannot be inside"),
        ("<speak>\n<voice>a</voice></speak>", 2, "<voice> needs name="),
        ("<speak>\n<voice gender='female'>a</voice></speak>", 2, "with gender="),
        ("<speak>\n<lang xml:lang='tlh'>a</lang></speak>", 2, "'tlh' is not supported"),
        ("<speak>\n<lang>a</lang></speak>", 2, "<lang> needs xml:lang="),
        ("<speak xml:lang='xx'>a</speak>", 1, "'xx' is not supported"),
        ("<speak>\n<phoneme ph='1'>a</phoneme></speak>", 2, "does not know: '1'"),
        ("<speak>\n<phoneme ph='ˈ'>a</phoneme></speak>", 2, "is no pronunciation"),
        ("<speak>\n<phoneme>a</phoneme></speak>", 2, "<phoneme> needs ph="),
        ("<speak>\n<phoneme alphabet='x-sampa' ph='a'>a</phoneme></speak>", 2, "not one of ipa"),
        ("<speak>\n<phoneme ph='a'>a[b]</phoneme></speak>", 2, "has a bracket"),
        ("<speak>\n<say-as>1</say-as></speak>", 2, "<say-as> needs interpret-as="),
        ("<speak>\n<say-as interpret-as='song'>1</say-as></speak>", 2, "not one of cardinal"),
        ("<speak>\n<say-as interpret-as='cardinal'>x</say-as></speak>", 2, "needs a whole number"),
        ("<speak>\n<say-as interpret-as='ordinal'>0</say-as></speak>", 2, "above 0"),
        ("<speak>\n<say-as interpret-as='date'>13/45/2024</say-as></speak>", 2, "is no date"),
        ("<speak>\n<say-as interpret-as='date' format='x'>1</say-as></speak>", 2, "format='x'"),
        ("<speak>\n<say-as interpret-as='time'>25:00</say-as></speak>", 2, "such as 14:30"),
        ("<speak>\n<say-as interpret-as='currency'>XYZ 3</say-as></speak>", 2, "XYZ is not"),
        ("<speak>\n<say-as interpret-as='telephone'>me</say-as></speak>", 2, "needs a number"),
        ("<speak>\n<p>a<p>b</p></p></speak>", 2, "<p> cannot be inside <p>"),
        ("<speak>\n<s><p>b</p></s></speak>", 2, "<p> cannot be inside <s>"),
        ("<speak>\n<s>a<emphasis><s>b</s></emphasis></s></speak>", 2, "<s> cannot be inside <s>"),
        ("<speak>\n<speak>a</speak></speak>", 2, "outermost"),
        ("<speak>\n\ud800</speak>", 2, "U.D800 is half of a character"),
        ("<speak>" + "<emphasis>" * 100 + "</emphasis>" * 100 + "</speak>", 1, "deeper than 64"),
    ],
)
def test_what_is_refused_is_named_with_its_line(document: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_ssml(document)
    assert str(caught.value).startswith(f"line {line}: ")


def test_a_billion_laughs_is_refused() -> None:
    bomb = '<!DOCTYPE speak [\n<!ENTITY a "ha">\n' + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">\n'
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )  # fmt: skip
    with pytest.raises(InputError, match="line 2: entities and external references"):
        parse_ssml(bomb + "]>\n<speak>&i;</speak>")


def test_a_file_cannot_be_read_by_an_entity() -> None:
    document = '<!DOCTYPE speak [<!ENTITY a SYSTEM "file:///etc/passwd">]><speak>&a;</speak>'
    with pytest.raises(InputError, match="entities and external references"):
        parse_ssml(document)


def test_what_is_ignored_is_reported() -> None:
    found = parse_ssml('<speak>\n<emphasis level="strong">a</emphasis></speak>')
    assert [(ignored.element, ignored.line) for ignored in found.ignored] == [("emphasis", 2)]


SOURCE = """\ufeff<?xml version="1.0" encoding="UTF-16"?>
<speak>Tom &amp; <sub alias="Doctor No">Dr.</sub>\r
 <mark name="here"/>met <phoneme ph="ˈæn">Ann</phoneme>.
<voice name="ff_siwis">Les 80 amis.</voice><mark name="end"/></speak>"""


def test_words_and_marks_are_at_their_places_in_the_source() -> None:
    found = parse_ssml(SOURCE)
    assert found.source == SOURCE[1:]
    first, second, end = read_runs(found.runs, found.source)
    assert isinstance(first, Said) and isinstance(second, Said)
    for said in (first, second):
        for word in said.sentence.words:
            assert found.source[word.start : word.end] == word.text
            at = word.offset
            assert said.sentence.phonemes[at : at + len(word.phonemes)] == word.phonemes
    assert [word.text for word in first.sentence.words] == [
        "Tom",
        "&amp;",
        "Dr.",
        "met",
        "Ann",
        ".",
    ]
    by_text = {word.text: word for word in first.sentence.words}
    assert by_text["Ann"].phonemes == "ˈæn"
    assert by_text["Dr."].phonemes == phonemize("Doctor No").phonemes
    assert first.marks == (PlacedMark("here", by_text["met"].offset),)
    assert (second.manner.lang, second.manner.voice) == ("fr", "ff_siwis")
    assert end == Mark("end", found.source.index('<mark name="end"'))


def test_a_document_reads_as_the_same_plain_text() -> None:
    plain = "It was 5 p.m. in St. Louis. He paid $3.50, didn't he?"
    found = parse_ssml(f"<speak>{plain.replace('5', '<emphasis>5</emphasis>')}</speak>")
    read = [item.sentence for item in read_runs(found.runs, found.source) if isinstance(item, Said)]
    assert " ".join(sentence.phonemes for sentence in read) == phonemize(plain).phonemes


def test_sentences_and_paragraphs_end_with_a_mark() -> None:
    found = parse_ssml("<speak><s>One</s><p>Two</p>Three</speak>")
    read = [item for item in read_runs(found.runs, found.source) if isinstance(item, Said)]
    assert [said.sentence.phonemes[-1] for said in read] == [".", ".", "i"]
    assert [said.sentence.ends_paragraph for said in read] == [False, True, False]


def test_a_document_with_nothing_to_say_is_refused() -> None:
    found = parse_ssml('<speak><break/> <mark name="a"/>…</speak>')
    with pytest.raises(InputError, match="nothing to speak"):
        list(read_runs(found.runs, found.source))


@pytest.mark.parametrize(
    ("written", "value"),
    [("500ms", 0.5), ("1.5s", 1.5), (" 2 s ", 2.0), (".5s", 0.5), ("+1s", 1.0), ("60s", 60.0)],
)
def test_durations(written: str, value: float) -> None:
    assert seconds(written) == value


@pytest.mark.parametrize(
    ("start", "unit", "end"),
    [("", "a line\n", ""), ("", "&amp; ", ""), ("<sub alias='b'>", "a\n", "</sub>")],
)
def test_a_long_document_takes_linear_time(start: str, unit: str, end: str) -> None:
    """The parser gives each line and each reference by itself; copying all before takes 25 times
    as long for five times the text."""

    def taken(times: int) -> float:
        begin = time.process_time()
        parse_ssml(f"<speak>{start}{unit * times}{end}</speak>")
        return time.process_time() - begin

    taken(1)  # what is imported at the first call
    assert taken(20_000) < 12 * taken(4_000) + 0.25


def test_pauses_in_plain_text() -> None:
    plain = "Hello.\n\n[pause 500ms] You [pause 1.5s], there [pause for effect] [pause](/pˈɔz/)."
    items = list(read_text(plain))
    assert [item.seconds for item in items if isinstance(item, Pause)] == [0.5, 1.5]
    for item in items:
        if isinstance(item, Pause):
            assert plain[item.start : item.end].startswith("[pause ")
            assert plain[item.end - 1] == "]"
        else:
            assert all(
                plain[word.start : word.end] == word.text for word in item.words if word.text
            )
    assert [type(item) for item in items] == [Sentence, Pause, Sentence, Pause, Sentence]
    assert list(read_text(iter(plain))) == items
    assert "pˈɔz ðəɹ" not in phonemize(plain).phonemes


@pytest.mark.parametrize("written", ["1 year", "61s", "31536000s", "5", "1e9s", "5 minutes"])
def test_a_pause_that_cannot_be_is_refused(written: str) -> None:
    with pytest.raises(InputError, match="is not a duration|longer than 60 s"):
        phonemize(f"Hello [pause {written}] you.")


@pytest.mark.parametrize(
    ("ipa", "lang", "kokoro"),
    [
        ("təˈmeɪ.toʊ", "en-us", "təˈmAtO"),
        ("təˈmɑː.təʊ", "en-gb", "təˈmɑːtQ"),
        ("ˈbɝd", "en-US", "ˈbɜɹd"),
        ("ˈɡiːk", "en", "ˈɡik"),
        ("gɔɪ", "en-gb", "ɡY"),
        ("d͡ʒin", "it", "ʤin"),
        ("bɔ̃ʒuʁ", "fr", "bɔ\u0303ʒuʁ"),
        ("ʁɛ̃", "fr-fr", "ʁɛ\u0303"),
        ("t͡ɕi", "ja", "ʨi"),
        ("/ˈpeɾo/", "es", "ˈpeɾo"),
    ],
)
def test_ipa_becomes_kokoros_symbols(ipa: str, lang: str, kokoro: str) -> None:
    assert from_ipa(ipa, lang) == kokoro
