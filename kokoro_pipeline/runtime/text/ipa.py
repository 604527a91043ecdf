"""From the International Phonetic Alphabet to Kokoro's symbols."""

from __future__ import annotations

import re
import unicodedata

_TIES = re.compile("[\u0361\u035c]")
_DROPPED = str.maketrans("", "", ".\u0329\u032f\u031a\u02d1‿|[]/")
_EVERYWHERE = (
    ("tʃ", "ʧ"), ("dʒ", "ʤ"), ("tɕ", "ʨ"), ("dʑ", "ʥ"), ("ts", "ʦ"), ("dz", "ʣ"),
    ("ʈʂ", "ꭧ"), ("g", "ɡ"), ("'", "ˈ"), (":", "ː"), ("ɫ", "l"), ("ʍ", "w"),
)  # fmt: skip
_ENGLISH = (
    ("eɪ", "A"), ("aɪ", "I"), ("aʊ", "W"), ("ɔɪ", "Y"), ("ɝ", "ɜɹ"), ("ɚ", "əɹ"), ("r", "ɹ"),
    ("ɬ", "l"), ("x", "k"),
)  # fmt: skip
_AMERICAN = (("oʊ", "O"), ("əʊ", "O"), ("ɾ", "T"), ("ː", ""))
_BRITISH = (("əʊ", "Q"), ("oʊ", "Q"))


def from_ipa(text: str, lang: str) -> str:
    """Kokoro's symbols for IPA of a language, given as in BCP 47.

    Affricates become one symbol. In English so do diphthongs, and r is ɹ; American vowels have no
    length. Syllable points, ties and brackets are dropped. Symbols that Kokoro does not have stay.
    """
    text = _TIES.sub("", unicodedata.normalize("NFC", text))
    # A nasal vowel is two symbols of the model: the vowel and the tilde.
    text = "".join(
        unicodedata.normalize("NFD", symbol) if "\u0303" in unicodedata.normalize("NFD", symbol)
        else symbol
        for symbol in text
    )  # fmt: skip
    rules = _EVERYWHERE
    code = lang.lower().replace("_", "-")
    if code.partition("-")[0] in ("en", "a", "b"):
        british = code in ("en-gb", "b")
        rules = (*rules, *_ENGLISH, *(_BRITISH if british else _AMERICAN))
    for ipa, ours in rules:
        text = text.replace(ipa, ours)
    return text.translate(_DROPPED).strip()
