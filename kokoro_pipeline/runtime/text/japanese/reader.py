"""Read Japanese as kokoro does by misaki's `Cutlet`, and know what every word became.

misaki normalises a text, writes its numbers in kana, has MeCab split it into words with readings,
joins them to words of its own list, and turns their kana into phonemes. Latin words go to the model
as they are; here they are read as English, and what has no reading is reported.

UniDic is `unidic-lite`'s, which is installed with its dictionary. misaki's other packages are not
needed: pyopenjtalk (its second reader), unidic (downloads its dictionary) and mojimoji.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
import sys
import threading
import unicodedata
from collections.abc import Container, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from ..english_words import ENGLISH_RUN, placed_english_pieces
from ..pieces import Piece, PieceReader, joined, without_layout
from ..reading import Reader
from ..tracked import Tracked
from ..vocabulary import SILENT_MARKS
from .written_forms import number_pattern, number_read, written_out

_lock = threading.Lock()

_FIRST_LETTER = 6  # MeCab's class of hiragana
_KATAKANA = 7
_CLUSTER = re.compile(
    "[^\u3099\u309a\uff9e\uff9f\u0300-\u036f][\u3099\u309a\uff9e\uff9f\u0300-\u036f]*"
)
_RANGE = re.compile(r"[〜～](?=\d)")
# What mojimoji, which misaki has for it, changes after NFKC.
_QUOTES = {"‘": "`", "’": "'", "”": '"'}
# Signs that the model has no symbol for, and that misaki would hand to it.
_SIGNS = {
    "%": "パーセント",
    "¥": "円",
    "$": "ドル",
    "€": "ユーロ",
    "£": "ポンド",
    "°": "ど",
    "&": "アンド",
    "@": "アットマーク",
    "+": "プラス",
    "=": "イコール",
    "×": "かける",
    "÷": "わる",
    "#": "シャープ",
    "*": "アスタリスク",
    "/": "スラッシュ",
    "\\": "バックスラッシュ",
    "§": "セクション",
    "‰": "パーミル",
    "\0": " ",  # it ends a string of MeCab, which would lose the rest
}
_DEGREES = re.compile("°[CF]?")
_SPACES = re.compile(r"\s+")
# As misaki has it: no space around a glottal stop, but beside a mark.
_AROUND_STOP = re.compile(r'(?<![!",.:;?»—…”]) (?=ʔ)|(?<=ʔ) (?!["«“])')
_PARENTHESES = str.maketrans("()", "«»")


def load_reader(code: str) -> Reader:
    """The reader of "ja", loaded once.

    Raises EnvironmentFault if the extra `ja` is not installed.
    """
    with _lock:
        return _load()


@functools.cache
def _load() -> Reader:
    try:
        with _mojimoji_put_off():
            misaki = importlib.import_module("misaki.cutlet")
        numbers = importlib.import_module("misaki.num2kana")
        fugashi = importlib.import_module("fugashi")
        features = importlib.import_module("fugashi.fugashi").UnidicFeatures26
        folder = importlib.import_module("unidic_lite").DICDIR
    except ImportError as error:
        raise EnvironmentFault(
            f"reading Japanese needs packages that are not installed ({error}): "
            f"{install_command('ja')}"
        ) from error
    try:
        tagger = fugashi.GenericTagger(f'-r "{folder}/mecabrc" -d "{folder}"', features)
    except RuntimeError as error:
        raise EnvironmentFault(
            f"the dictionary of unidic-lite in {folder} does not load ({error}); reinstall it: "
            "pip install --force-reinstall unidic-lite"
        ) from error
    return PieceReader(_Japanese(misaki, numbers.Convert, tagger).pieces, spaced=True)


@contextmanager
def _mojimoji_put_off() -> Iterator[None]:
    """Let misaki import a mojimoji that is not installed: it has no wheels for aarch64.

    Only misaki's own normalisation needs it, for which there is one here.
    """
    try:
        importlib.import_module("mojimoji")
    except ImportError:
        sys.modules["mojimoji"] = ModuleType("mojimoji")
        try:
            yield
        finally:
            del sys.modules["mojimoji"]
    else:
        yield


class _Token(NamedTuple):
    start: int
    end: int
    sound: str
    space: str
    english: bool


class _Japanese:
    """The packages, and what is made of a text by them."""

    def __init__(self, misaki: Any, convert: Any, tagger: Any) -> None:
        self._misaki = misaki
        self._convert = convert
        self._tagger = tagger
        self._kept = frozenset(default_config().vocab) | SILENT_MARKS | {" "}
        longest = max(map(len, misaki.JA_WORDS))

        class Speller(misaki.Cutlet):
            """misaki's converter that keeps what it converts."""

            def __init__(self) -> None:  # misaki's own loads any UniDic that it finds
                self.table = dict(misaki.HEPBURN)
                self.exceptions: dict[str, str] = {}
                self.seen: list[str] = []

            def _romaji_word(self, word: Any) -> str:
                self.seen.append(word.surface)
                if word.surface.isdigit():
                    # Behind an English letter, or of a script without readings; misaki would stop.
                    return word.surface if word.surface.isascii() else ""
                sound: str = super()._romaji_word(word)
                return sound

            def _romaji_tokens(self, words: list[Any]) -> list[Any]:
                """What misaki's own gives. That one tries every end of a run, in cubic time."""
                tokens: list[Any] = []
                for group in _grouped(words, misaki.JA_WORDS, longest):
                    word = _as_one(group)
                    token = misaki.Token(self._romaji_word(word), True)
                    _set_spaces(word.surface, token, tokens[-1] if tokens else None)
                    tokens.append(token)
                for token in tokens:
                    token.surface = token.surface.replace("っ", "")
                return tokens

            def _get_single_mapping(self, pk: str | None, kk: str, nk: str | None) -> str:
                try:
                    sound: str = super()._get_single_mapping(pk, kk, nk)
                except KeyError:  # a small vowel behind what has none of its own
                    sound = self.table.get(kk, "")
                return sound

        self._speller = Speller

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text; Latin words in it are English."""
        whole = self._normalized(without_layout(Tracked.of(text)))
        found: list[Piece] = []
        for token in self._tokens(whole.text):
            if token.english:
                found += placed_english_pieces(whole, token.start, token.end)
                end = whole.span(token.start, token.end)[1]
                found.append(Piece(end, end, token.space))
            else:
                found.append(self._piece(whole, token))
        return _tidied(joined(found))

    def _normalized(self, text: Tracked) -> Tracked:
        """What `Cutlet._normalize_text` gives, and signs without a symbol as words."""
        text = text.sub(_RANGE, lambda match: "から")
        text = text.translate(self._misaki.Katakana_Phonetic_Extensions)
        text = text.sub(_CLUSTER, lambda match: unicodedata.normalize("NFKC", match[0]))
        text = written_out(text.translate(_QUOTES))
        text = text.sub(_DEGREES, lambda match: _SIGNS["°"])
        parts = []
        at = 0
        for match in ENGLISH_RUN.finditer(text.text):
            parts += [self._spelled(text[at : match.start()]), text[match.start() : match.end()]]
            at = match.end()
        return Tracked.joined([*parts, self._spelled(text[at:])])

    def _spelled(self, text: Tracked) -> Tracked:
        """Text between English words with its numbers and signs in words."""
        return text.edit(
            (*match.span(), number_read(match, self._convert))
            for match in number_pattern().finditer(text.text)
        ).translate(_SIGNS)

    def _words(self, text: str) -> list[tuple[int, Any]]:
        """MeCab's words with their positions."""
        at = 0
        words = []
        with _lock:  # it keeps the words of its last text
            for node in self._tagger(text):
                at = text.index(node.surface, at)
                feature = node.feature
                reading = feature.pron or feature.kana or node.surface
                known = node.char_type == _KATAKANA or not node.is_unk
                word = self._misaki.Word(
                    node.surface,
                    self._misaki.jaconv.kata2hira(reading),
                    _FIRST_LETTER if known else node.char_type,
                )
                words.append((at, word))
                at += len(node.surface)
        return words

    def _tokens(self, text: str) -> Iterator[_Token]:
        """What misaki joins to one token, and runs of English words."""
        words = self._words(text)
        speller = self._speller()
        tokens = speller._romaji_tokens([word for _, word in words])
        runs = [match.span() for match in ENGLISH_RUN.finditer(text)]
        starts = iter(words)
        for token, surface in zip(tokens, speller.seen, strict=True):
            start, word = next(starts)
            size = len(word.surface)
            while size < len(surface):
                size += len(next(starts)[1].surface)
            end = start + size
            run = next((run for run in runs if run[0] <= start and end <= run[1]), None)
            space = " " if token.space else ""
            if run is None:
                yield _Token(start, end, token.surface, space, english=False)
            elif run[1] == end:
                yield _Token(*run, "", space, english=True)

    def _piece(self, text: Tracked, token: _Token) -> Piece:
        sound = "".join(symbol for symbol in token.sound if symbol in self._kept)
        return Piece(*text.span(token.start, token.end), sound + token.space)


def _grouped(words: list[Any], known: Container[str], longest: int) -> Iterator[list[Any]]:
    """The words, and those of one class of characters that are together the longest known one."""
    start = 0
    while start < len(words):
        end, surface = start + 1, ""
        for position in range(start, len(words)):
            surface += words[position].surface
            if words[position].char_type != words[start].char_type or len(surface) > longest:
                break
            if surface in known:
                end = position + 1
        yield words[start:end]
        start = end


def _as_one(words: list[Any]) -> Any:
    surface = "".join(word.surface for word in words)
    reading = "".join(word.hira for word in words)
    return dataclasses.replace(words[0], surface=surface, hira=reading)


def _set_spaces(surface: str, token: Any, before: Any | None) -> None:
    """Set whether spaces follow a token and the one before it, as misaki does at brackets."""
    opens = surface in "「『«" or token.surface in "(["
    closes = not opens and (surface in "」』»" or token.surface in "]).,?!:")
    if before is not None and (opens or closes):
        before.space = opens
    token.space = closes or not (opens or token.surface == " ")


def _tidied(pieces: list[Piece]) -> list[Piece]:
    """The pieces with the spaces and the parentheses that misaki leaves."""
    phonemes = "".join(piece.sound for piece in pieces)
    owners = [i for i, piece in enumerate(pieces) for _ in piece.sound]
    for pattern, kept in ((re.compile(r"^\s+|\s+$"), ""), (_SPACES, " "), (_AROUND_STOP, "")):
        phonemes = phonemes.translate(_PARENTHESES) if pattern is _AROUND_STOP else phonemes
        for match in reversed(list(pattern.finditer(phonemes))):
            start, end = match.span()
            phonemes = phonemes[:start] + kept + phonemes[end:]
            owners[start:end] = owners[start : start + len(kept)]
    sounds = [""] * len(pieces)
    for owner, symbol in zip(owners, phonemes, strict=True):
        sounds[owner] += symbol
    return [piece._replace(sound=sound) for piece, sound in zip(pieces, sounds, strict=True)]
