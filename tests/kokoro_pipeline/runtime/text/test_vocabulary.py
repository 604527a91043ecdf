"""Vocabulary: exactly kokoro's lookup, and all omissions are reported."""

from __future__ import annotations

import pytest

from kokoro_pipeline.config import default_config
from kokoro_pipeline.runtime.text.vocabulary import UnknownSymbol, Vocabulary

VOCABULARY = Vocabulary(default_config().vocab)


@pytest.mark.parametrize(
    ("phonemes", "ids"),
    [
        ("", ()),
        ("həlˈO", (50, 83, 54, 156, 31)),
        ("ɡ", (92,)),
        ("ɔ̃", (76, 17)),  # the combining tilde is a token of its own
        ("a b", (43, 16, 44)),
        ("“”—…", (14, 15, 9, 10)),
    ],
)
def test_known_symbols_become_their_ids(phonemes: str, ids: tuple[int, ...]) -> None:
    """Guards the ids against normalisation or grouping of code points."""
    encoded = VOCABULARY.encode(phonemes)
    assert encoded.ids == ids
    assert encoded.unknown == ()


def test_lookup_equals_kokoros_for_every_symbol() -> None:
    """kokoro encodes with `filter(None, map(vocab.get, phonemes))`; so must we."""
    mapping = default_config().vocab
    phonemes = "".join(mapping) + "gKA8\n"
    kokoro = tuple(i for i in map(mapping.get, phonemes) if i is not None)
    assert VOCABULARY.encode(phonemes).ids == kokoro


@pytest.mark.parametrize(
    ("phonemes", "unknown", "words"),
    [
        ("hgh", [("g", 1)], "'g' U+0067 (latin small letter g) at 1"),
        ("\u0301a", [("\u0301", 0)], "U+0301 (combining acute accent) at 0"),
        ("a\n", [("\n", 1)], "U+000A (unnamed character of category cc) at 1"),
        ("a❓b❓", [("❓", 1), ("❓", 3)], "'❓' U+2753 (black question mark ornament) at 1"),
    ],
)
def test_unknown_symbols_are_reported_with_their_place(
    phonemes: str, unknown: list[tuple[str, int]], words: str
) -> None:
    """Protects "never dropped in silence": each occurrence is listed, readably."""
    encoded = VOCABULARY.encode(phonemes)
    assert [(u.symbol, u.position) for u in encoded.unknown] == unknown
    assert str(encoded.unknown[0]) == words
    assert len(encoded.ids) + len(encoded.unknown) == len(phonemes)


def test_unknown_symbol_gives_its_codepoint() -> None:
    assert UnknownSymbol("g", 3).codepoint == 0x67


def test_symbols_of_several_code_points_are_refused() -> None:
    """Such a key could never be found by a lookup of single code points."""
    with pytest.raises(ValueError, match="single code points"):
        Vocabulary({"tʃ": 1})
