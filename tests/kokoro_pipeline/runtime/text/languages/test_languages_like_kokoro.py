"""Every language gives kokoro's phonemes, knows what each word became, and loses nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text import LANGUAGES, Phonemized, phonemize, read_sentences
from kokoro_pipeline.runtime.text.vocabulary import Vocabulary

HERE = Path(__file__).parent
TABLES = {path.stem: path for path in sorted(HERE.glob("*.tsv"))}
VOCABULARY = Vocabulary(default_config().vocab)


def rows(code: str) -> Iterator[list[str]]:
    for line in TABLES[code].read_text("utf-8").splitlines()[1:]:
        text, stock, ours, why = (*line.split("\t"), "", "")[:4]
        assert bool(ours) == bool(why), f"{text}: what differs from kokoro needs a reason"
        yield [text, ours or stock]


def read_as(name: str) -> list[list[str]]:
    """The rows of the table of readings of a language: a text, and the words that it is read as."""
    lines = (HERE.parent / "data" / f"{name}_readings.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("# ")]


def check_positions(text: str, read: Phonemized) -> None:
    """Words are in order, without overlap, in the text and in the phonemes."""
    written = spoken = 0
    for word in read.words:
        assert written <= word.start < word.end <= len(text), word
        assert text[word.start : word.end] == word.text
        assert spoken <= word.offset, word
        assert read.phonemes[word.offset : word.offset + len(word.phonemes)] == word.phonemes
        written, spoken = word.end, word.offset + len(word.phonemes)


def test_every_language_but_english_has_a_table():
    """English has tests of its own."""
    assert set(TABLES) == set(LANGUAGES) - {"en-us", "en-gb"}
    assert all(len(list(rows(code))) >= 40 for code in TABLES)


@pytest.mark.parametrize(
    ("code", "text", "phonemes"),
    [(code, *row) for code in TABLES for row in rows(code)],
)
def test_phonemes_are_those_of_kokoro(code: str, text: str, phonemes: str):
    read = phonemize(text, code)
    assert read.phonemes == phonemes
    assert read.unspoken == ()
    assert VOCABULARY.encode(read.phonemes).unknown == ()
    check_positions(text, read)


@pytest.mark.parametrize("code", TABLES)
def test_a_long_text_is_its_sentences(code: str):
    """The sentences of a language are found where it ends them."""
    texts = [text for text, _ in rows(code)]
    space = "" if code in ("ja", "zh") else " "
    whole = space.join(text for text in texts if text[-1] in ".!?。！？।")
    sentences = list(read_sentences(whole, code))
    assert len(sentences) >= 0.9 * len([text for text in texts if text[-1] in ".!?。！？।"])
    assert phonemize(whole, code).phonemes == " ".join(part.phonemes for part in sentences)
    check_positions(whole, phonemize(whole, code))


@pytest.mark.parametrize("code", TABLES)
def test_parts_of_a_text_give_what_the_whole_gives(code: str):
    text = " ".join(text for text, _ in rows(code))[:1500]
    assert list(read_sentences(iter(text), code)) == list(read_sentences(text, code))


@pytest.mark.parametrize("code", TABLES)
def test_threads_read_what_one_thread_reads(code: str):
    table = list(rows(code)) * 3
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda row: phonemize(row[0], code).phonemes, table))
    assert read == [phonemes for _, phonemes in table]


@pytest.mark.parametrize(
    ("code", "text", "word", "phonemes"),
    [
        ("es", "Son 25 euros.", "25", "bˌAntiθˈinko"),
        ("es", "Cuesta $3,50 hoy.", "$3,50", "tɾˈes ðˈolaɾes kon θinkwˈɛnta θentˈaβos"),
        ("fr", "Les 80 amis.", "80", "katʁəvˈɛ̃z"),
        ("fr", "Aujourd'hui les amis.", "les", "lez"),
        ("fr", "C'est-à-dire oui.", "C'est-à-dire", "sɛtadˈiʁ"),
        ("it", "L'anno 1999 fu bello.", "1999", "mˈille noveʧˈɛnto novˈantanˈɔve"),
        ("pt-br", "O Sr. Silva", "Sr.", "seɲˈor"),
        ("hi", "यह 25 रुपये का है।", "25", "pˈʌcːis"),
        ("hi", "यह 25 रुपये का है।", "है", "hɛː"),
        ("hi", "यह 25 रुपये का है।", "।", ""),
        ("ja", "2024年です。", "2024", "ɲi seɴ ɲiʥɨːjoɴ"),
        ("ja", "ﾊﾟｿｺﾝです。", "ﾊﾟｿｺﾝ", "pasokoɴ"),
        ("zh", "他花了25%的钱。", "25%", "pai↓fə→nꭧɨ→ɚ↘ʂɨ↗u↓"),
        ("zh", "2024年5月", "2024年", "ɚ↘li↗ŋɚ↘ sɨ↘njɛ↗n"),
        ("es", "Es **muy** *bueno* y `sí`.", "muy", "mˈuj"),
        ("ja", "これは**猫**です。", "猫", "neko"),
        ("zh", "我爱**北京**。", "北京", "pei↓ʨi→ŋ"),
        ("zh", "我爱北京。", "北京", "pei↓ʨi→ŋ"),
    ],
)
def test_a_word_is_known_with_what_it_became(code: str, text: str, word: str, phonemes: str):
    read = phonemize(text, code)
    check_positions(text, read)
    assert [found.phonemes for found in read.words if found.text == word] == [phonemes]


@pytest.mark.parametrize(
    ("code", "text", "unspoken"),
    [
        ("ja", "猫😀と㐂です。", ("😀", "㐂")),
        ("ja", "๓です。", ("๓",)),
        ("zh", "猫😀和🚀。", ("😀", "🚀")),
        ("zh", "他是русский人。", ("русский",)),
        ("zh", "烪好。", ("烪",)),  # misaki raises ValueError
        ("es", "Hola \u200b\ue000 amigo.", ("\ue000",)),
        ("es", "Hola 你好 y привет amigo.", ("你好", "привет")),
        ("fr", "Le mot भारत, oui.", ("भारत",)),
        ("hi", "यह привет है।", ("привет",)),
    ],
)
def test_what_has_no_reading_is_reported(code: str, text: str, unspoken: tuple[str, ...]):
    read = phonemize(text, code)
    assert read.unspoken == unspoken
    assert VOCABULARY.encode(read.phonemes).unknown == ()
    check_positions(text, read)


@pytest.mark.parametrize(
    ("code", "text", "phonemes"),
    [
        (
            "ja",
            "番号は1234567890です。",
            "baŋɡoː βa iʨi ɲi saɴ joɴ ɡo ɾokɯ nana haʨi kʲɨː ʣeɾo desɨ.",
        ),
        ("ja", "価格は¥500です。", "kakakɯ βa ɡoçakɯ eɴ desɨ."),
        ("zh", "价格是￥500。", "ʨja↘kɤ↗ ʂɨ↘ u↓pai↓ɥɛ↗n."),
        ("zh", "5+3=8", "u↓ʨja→ sa→n tə↓ŋy↗ pa→"),
        ("zh", "体温36.5℃", "tʰi↓wə→n sa→nʂɨ↗ljou↘tjɛ↓n u↓ ʂɤ↘ʂɨ↘tu↘"),
        ("zh", "号码是12345678901234567890。", None),
    ],
)
def test_what_kokoro_loses_or_stops_at_is_read(code: str, text: str, phonemes: str | None):
    """Signs without a symbol, and numbers too long for the packages that spell them."""
    read = phonemize(text, code)
    assert read.unspoken == ()
    assert VOCABULARY.encode(read.phonemes).unknown == ()
    if phonemes is not None:
        assert read.phonemes == phonemes
    check_positions(text, read)


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        (code, *row)
        for code, name in (("zh", "chinese"), ("ja", "japanese"))
        for row in read_as(name)
    ],
)
def test_what_is_written_in_digits_and_signs_is_read_as_its_words(code: str, text: str, words: str):
    read = phonemize(text, code)
    assert read.phonemes.replace(" ", "") == phonemize(words, code).phonemes.replace(" ", "")
    assert read.unspoken == ()
    check_positions(text, read)


@pytest.mark.parametrize(
    ("code", "text", "english", "around"),
    [
        ("zh", "我用Python编程。", "Python", ("我用", "编程", "。")),
        ("zh", "这是GPT-4的天下。", "GPT-4", ("的", "天下")),
        ("ja", "「Python」を使う。", "Python", ("「", "」", "を", "使う")),
        ("ja", "ＰＹＴＨＯＮの本", "ＰＹＴＨＯＮ", ("の", "本")),
        ("zh", "请访问https://a.example.cn/b。", "https://a.example.cn/b", ("请", "访问", "。")),
        ("ja", "連絡はtest@example.comへ。", "test@example.com", ("連絡", "へ", "。")),
    ],
)
def test_latin_words_are_english(code: str, text: str, english: str, around: tuple[str, ...]):
    read = phonemize(text, code)
    check_positions(text, read)
    by_text = {word.text: word.phonemes for word in read.words}
    latin = phonemize(english.replace("ＰＹＴＨＯＮ", "PYTHON"), "en-us").phonemes
    assert by_text[english] == latin
    assert all(by_text[word] for word in around)
    assert read.unspoken == ()


@pytest.mark.parametrize(
    ("code", "text", "sentences"),
    [
        ("es", "El Sr. Gómez vino. ¿Cuándo? Ayer.", ["vino.", "¿Cuándo?", "Ayer."]),
        ("fr", "M. Dupont dort. Mme Dupont lit.", ["dort.", "lit."]),
        ("it", "Il dott. Rossi dorme. La sig.ra Bianchi legge.", ["dorme.", "legge."]),
        ("pt-br", "O Sr. Silva dorme. A Dra. Ana lê.", ["dorme.", "lê."]),
        ("hi", "वह आया।वह गया। डॉ. राम सोए।", ["आया।", "गया।", "सोए।"]),
        (
            "ja",
            "来た。見た！本当？「はい。」と言った。",
            ["来た。", "見た！", "本当？", "言った。"],
        ),
        ("zh", "来了。看了！真的？他说：“好。”走了。", ["来了。", "看了！", "真的？", "走了。"]),
    ],
)
def test_sentences_end_where_the_language_ends_them(code: str, text: str, sentences: list[str]):
    found = []
    start = 0
    for sentence in read_sentences(text, code):
        end = sentence.words[-1].end
        found.append(text[start:end])
        start = end
    assert len(found) == len(sentences)
    assert all(part.endswith(end) for part, end in zip(found, sentences, strict=True))


@pytest.mark.parametrize("code", TABLES)
def test_given_phonemes_are_spoken_as_they_are(code: str):
    text = {"ja": "これは[京都](/kʲoto/)です。", "zh": "我爱[北京](/pei/)市。"}.get(
        code, "a [Kokoro](/kokˈoɾo/), b"
    )
    read = phonemize(text, code)
    (given,) = [word for word in read.words if word.text in ("京都", "北京", "Kokoro")]
    assert given.phonemes in ("kʲoto", "pei", "kokˈoɾo")
    assert read.unspoken == ()
    check_positions(text, read)


@pytest.mark.parametrize("code", TABLES)
def test_a_text_without_any_mark_is_read_whole(code: str):
    text = " ".join(next(rows(code))[0] for _ in range(150)).translate(
        {ord(mark): " " for mark in ".!?。！？।,、，…¿¡"}
    )
    read = phonemize(text, code)
    assert read.unspoken == ()
    check_positions(text, read)


@pytest.mark.parametrize("code", ["es", "fr", "hi", "it", "pt-br"])
@pytest.mark.parametrize("words", [["pst", "brr", "krk"], ["1789", "1848", "1999"]], ids=str)
def test_long_lists_of_what_is_spelled_or_counted_are_read_to_the_end(code: str, words: list[str]):
    """Of a clause with more than 1,000 phonemes eSpeak drops the rest, and kokoro with it."""
    text = " ".join(words * 60)
    read = phonemize(text, code)
    assert [word.text for word in read.words] == words * 60
    counts = {
        word: {len(each.phonemes.split()) for each in read.words if each.text == word}
        for word in words
    }
    assert all(len(found) == 1 for found in counts.values()), counts  # none has several's
    check_positions(text, read)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("es", "Hola\0 amigo mío, bien."),
        ("fr", "Bonjour\0 tout le monde, ça va ?"),
        ("hi", "यह\0 बड़ा घर, ठीक है।"),
        ("it", "Ciao\0 amico mio, bene."),
        ("ja", "猫\0です。"),
        ("pt-br", "Olá\0meu amigo, bem."),
    ],
)
def test_nul_is_a_space(code: str, text: str):
    """It ends a string of eSpeak and of MeCab, which lost what stands behind it."""
    read = phonemize(text, code)
    assert read == phonemize(text.replace("\0", " "), code)
    check_positions(text, read)


@pytest.mark.parametrize("code", LANGUAGES)
def test_half_of_a_character_is_refused(code: str):
    """The C libraries take UTF-8, which it has not."""
    with pytest.raises(InputError, match="U.D800 at position 3 is half of a character"):
        phonemize("Hi \ud800", code)


MISAKIS_OWN = [
    *(
        "ww",
        "猫猫猫猫",
        "---",
        "ーーー",
        "a = b",
        "っっ",
        "((「猫」))",
        "『猫』, [犬]: «鳥»!",
        "。、？",
    ),
    *(
        "「（猫）」。猫",
        "猫 犬。",
        "あっ！",
        "ラジオーーー",
        "人人ｗｗｗ",
        "$5-3=2%",
        "東京都庁前駅東京都庁前駅",
    ),
]


@pytest.mark.parametrize("text", [" ".join(text for text, _ in rows("ja")), *MISAKIS_OWN])
def test_japanese_words_are_joined_as_misaki_joins_them(text: str, monkeypatch: pytest.MonkeyPatch):
    reader = LANGUAGES["ja"].reader()
    read = reader.read(text)
    monkeypatch.delattr(reader._pieces.__self__._speller, "_romaji_tokens")  # type: ignore[attr-defined]
    assert read == reader.read(text)


@pytest.mark.parametrize("sign", "1-ー=$猫")
def test_a_run_of_one_japanese_sign_takes_linear_time(sign: str):
    """Trying each end of a run from each of its words takes 64 times as long for four times it."""

    def taken(times: int) -> float:
        start = time.process_time()
        list(LANGUAGES["ja"].reader().read(sign * times))
        return time.process_time() - start

    taken(1)  # what is loaded at the first call
    assert taken(800) < 12 * taken(200) + 0.25


@pytest.mark.slow
def test_the_tables_are_what_the_installed_kokoro_reads():
    """Japanese is left out: kokoro imports packages for it that are not needed here."""
    codes = [code for code in TABLES if code != "ja"]
    done = subprocess.run(
        [sys.executable, str(HERE / "regenerate.py"), "--check", *codes],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
