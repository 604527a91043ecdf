"""Words of one spelling and one part of speech that differ by sense, which their company tells."""

from __future__ import annotations

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METALS = _words(
    "copper zinc mercury tin arsenic cadmium iron nickel silver gold antimony steel bismuth"
)
_LEAD_THINGS = _words(
    "pipe pipes paint paints poisoning acid pencil pencils shot weight weights balloon bullet"
    " bullets crystal exposure apron ore solder sheet contamination dust content oxide alloy"
    " ions battery batteries lining glaze smelter coffin azide chromate acetate"
)
_MADE_OF = _words("of molten contains contain containing melted pure from red white")
_MATERIAL = _words(
    "made lump piece pieces sheet sheets bar bars block ton tons amount traces melted ball"
)
_FISHY = _words(
    "fish fishing fished fisherman caught catch lake river pond sea striped largemouth"
    " smallmouth angler anglers hook bait trout perch salmon grilled fillet pike carp"
)
_SHIP = _words("ship ship's boat boat's vessel stern deck sail sailor hull sea waves")
_BENDING = _words("take takes took taking taken final deep curtain")


def _is_metal(words: Sequence[str], i: int) -> bool:
    before = words[i - 1] if i else ""
    earlier = words[max(0, i - 4) : i]
    after = words[i + 1] if i + 1 < len(words) else ""
    beyond = words[i + 2] if i + 2 < len(words) else ""
    if after in _LEAD_THINGS or before in _METALS:
        return True
    if before == "the" and after == "out":  # "get the lead out"
        return True
    if after in ("and", "or", ",") and beyond in _METALS:
        return True
    if before in ("and", "or", ",") and _METALS.intersection(earlier):
        return True
    return before in _MADE_OF and (before != "of" or bool(_MATERIAL.intersection(earlier)))


def sense_of(words: Sequence[str], tags: Sequence[str], i: int) -> tuple[str, str] | None:
    """American and British phonemes of word `i` where its sense is not the lexicon's first one.

    `words` are the lower-case tokens of the sentence, `tags` their Penn tags.
    """
    word, tag = words[i], tags[i]
    noun = tag.startswith("NN")
    after = words[i + 1] if i + 1 < len(words) else ""
    before = words[i - 1] if i else ""
    if word == "lead" and (noun or tag == "JJ") and _is_metal(words, i):
        return "lˈɛd", "lˈɛd"
    if word in ("bass", "basses"):
        end = "ᵻz" if word == "basses" else ""
        return (
            None if _FISHY.intersection(words) else (f"bˈAs{end}", f"bˈAs{end.replace('ᵻ', 'ɪ')}")
        )
    if word == "bow" and noun and _BENDING.intersection(words[max(0, i - 3) : i]):
        return "bˈW", "bˈW"
    if word == "bow" and noun and (after == "to" or _SHIP.intersection(words)):
        return "bˈW", "bˈW"
    if (
        word in ("tear", "tears")
        and noun
        and (
            (after in ("in", "through") and before in ("a", "the", "small", "large", "big"))
            or (before == "and" and i > 1 and words[i - 2] == "wear")
        )
    ):
        end = "z" if word == "tears" else ""
        return f"tˈɛɹ{end}", f"tˈɛː{end}"
    if word == "row" and noun and after in ("with", "over", "about") and before == "a":
        return "ɹˈW", "ɹˈW"
    if word in ("resume", "resumes") and noun:
        end = "z" if word == "resumes" else ""
        return f"ɹˈɛzəmˌA{end}", f"ɹˈɛzjʊmˌA{end}"
    if word == "dove" and after in ("into", "in", "down", "off", "under") and before != "the":
        return "dˈOv", "dˈQv"
    return None
