"""Read Mandarin as kokoro does by misaki's `ZHG2P`, and know what every word became.

misaki writes numbers out, maps punctuation, and reads each run of Chinese characters word by word;
everything else goes to the model as it is, letters included. Here what it would lose or misread is
written out first (`written_forms.py`), Latin words are read as English, and what has no reading is
left out and reported.
"""

from __future__ import annotations

import functools
import importlib
import logging
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from ..english_words import ENGLISH_RUN, placed_english_pieces, set_off
from ..pieces import Piece, PieceReader, joined, without_layout
from ..reading import Reader
from ..tracked import Tracked
from ..vocabulary import SILENT_MARKS
from .written_forms import written_out

_lock = threading.Lock()

# misaki's own, in `ZHG2P.map_punctuation`.
_PUNCTUATION = {
    **dict.fromkeys("、，", ", "),
    **dict.fromkeys("。．", ". "),
    "！": "! ",
    "：": ": ",
    "；": "; ",
    "？": "? ",
    **dict.fromkeys("«《「【『〈", " “"),
    **dict.fromkeys("»》」】』〉", "” "),
    "（": " (",
    "）": ") ",
}
_DIGITS = dict(zip("0123456789", "零一二三四五六七八九", strict=True))
# Signs that the model has no symbol for, and that misaki would hand to it.
_SIGNS = {
    "¥": "元",
    "￥": "元",
    "$": "美元",
    "€": "欧元",
    "£": "英镑",
    "%": "百分号",
    "℃": "摄氏度",
    "°": "度",
    "&": "和",
    "@": "艾特",
    "+": "加",
    "=": "等于",
    "×": "乘以",
    "÷": "除以",
    "±": "正负",
    "<": "小于",
    ">": "大于",
    "≤": "小于等于",
    "≥": "大于等于",
    "≈": "约等于",
    "≠": "不等于",
}
_BEFOREHAND = {"〇": "零", "｡": "。", "~": "～", **dict.fromkeys("\t\n\v\f\r\x85\u2028\u2029", " ")}
# All that cn2an's rules for numbers look at, but for the measure word behind.
_NUMBER = re.compile(r"[-\d.年月日/%℃]*\d[-\d.年月日/%℃]*")
_BEHIND = re.compile(r"[^-\d.年月日/%℃]*")
_UNITS = re.compile(r"([年月日])")
_MEASURE_WORD = 2
_LONGEST_NUMBER = 16
_CHINESE = re.compile("[\u4e00-\u9fff]+")
_NON_SYLLABIC = chr(815)


def load_reader(code: str) -> Reader:
    """The reader of "zh", loaded once.

    Raises EnvironmentFault if the extra `zh` is not installed.
    """
    with _lock:
        return _load()


@functools.cache
def _load() -> Reader:
    try:
        misaki = importlib.import_module("misaki.zh")
        jieba = importlib.import_module("jieba")
        pypinyin = importlib.import_module("pypinyin")
        cn2an = importlib.import_module("cn2an")
    except ImportError as error:
        raise EnvironmentFault(
            f"reading Chinese needs packages that are not installed ({error}): "
            f"{install_command('zh')}"
        ) from error
    jieba.setLogLevel(logging.WARNING)  # it tells of its dictionary on stderr
    jieba.initialize()
    return PieceReader(_Chinese(misaki.ZHG2P, jieba, pypinyin, cn2an).pieces, spaced=True)


class _Chinese:
    """The packages, and what is made of a text by them. It has no state between calls."""

    def __init__(self, g2p: Any, jieba: Any, pypinyin: Any, cn2an: Any) -> None:
        self._g2p = g2p
        self._jieba = jieba
        self._pypinyin = pypinyin
        self._cn2an = cn2an
        self._kept = frozenset(default_config().vocab) | SILENT_MARKS

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text; Latin words in it are English."""
        found: list[Piece] = []
        whole = written_out(without_layout(Tracked.of(text)))
        at = 0
        for match in ENGLISH_RUN.finditer(whole.text):
            found += self._chinese(whole[at : match.start()])
            before = found[-1].sound if found else ""
            behind = whole.text[match.end() : match.end() + 1]
            found += set_off(placed_english_pieces(whole, *match.span()), before, behind)
            at = match.end()
        return joined([*found, *self._chinese(whole[at:])])

    def _chinese(self, text: Tracked) -> Iterator[Piece]:
        text = text.translate(_BEFOREHAND)
        text = text.edit(self._numbers(text.text))
        text = text.translate(_DIGITS | _SIGNS).translate(_PUNCTUATION)
        at = 0
        for match in _CHINESE.finditer(text.text):
            yield from self._marks(text[at : match.start()])
            yield from self._words(text[match.start() : match.end()])
            at = match.end()
        yield from self._marks(text[at:])

    def _numbers(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Numbers as cn2an writes them out, as edits of the parts that they consist of."""
        for match in _NUMBER.finditer(text):
            if max(map(len, re.findall(r"\d+", match[0]))) > _LONGEST_NUMBER:
                # Too long for cn2an, which would leave it as it is.
                yield *match.span(), "".join(_DIGITS.get(digit, digit) for digit in match[0])
                continue
            # cn2an would lose a minus and what is before the point of a temperature.
            number = match[0].replace("℃", "摄氏度")
            behind = _BEHIND.match(text, match.end(), match.end() + _MEASURE_WORD)
            measured = behind[0] if behind else ""
            written = self._cn2an.transform(number + measured, "an2cn").removesuffix(measured)
            old, new = _UNITS.split(match[0]), _UNITS.split(written)
            if len(old) != len(new):
                yield *match.span(), written
                continue
            cuts = [match.start()]
            for part in old:
                cuts.append(cuts[-1] + len(part))
            yield from (
                (start, end, part)
                for (start, end), part in zip(pairwise(cuts), new, strict=True)
                if start < end
            )

    def _words(self, run: Tracked) -> Iterator[Piece]:
        """The words of a run of Chinese characters."""
        at = 0
        for word in self._jieba.lcut(run.text, cut_all=False):
            sound = ("" if at == 0 else " ") + self._word(word)
            yield Piece(*run.span(at, at + len(word)), sound)
            at += len(word)

    def _word(self, word: str) -> str:
        """A word's phonemes, without those of characters that no pinyin is known for."""
        style = self._pypinyin.Style.TONE3
        phonemes = ""
        for pinyin in self._pypinyin.lazy_pinyin(word, style=style, neutral_tone_with_five=True):
            try:
                phonemes += self._g2p.py2ipa(pinyin)
            except ValueError:  # not a syllable
                continue
        return phonemes.replace(_NON_SYLLABIC, "")

    def _marks(self, run: Tracked) -> Iterator[Piece]:
        """What is not Chinese, one by one; of a mark with spaces, the mark has the sound."""
        at = 0
        while at < len(run.text):
            start, end = run.spans[at]
            first = at
            while at < len(run.text) and run.spans[at] == (start, end):
                at += 1
            sound = "".join(symbol for symbol in run.text[first:at] if symbol in self._kept)
            yield Piece(start, start if sound.isspace() else end, sound)
