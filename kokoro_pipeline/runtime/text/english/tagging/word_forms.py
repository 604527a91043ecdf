"""What a word is as far as it alone tells, and the words beside it in a few cases."""

from __future__ import annotations

from .context import Context
from .kinds import BASE_FORM, CLOSED, IRREGULAR_PAST, LISTS, PAST_FORM, S_FORM, VERBS, Kind, Tagged

ACRONYMS = LISTS["acronyms"]
"""Capitals that are letters or an acronym in running text, although a word is spelled the same."""
_ACRONYM_IF = {"IT": LISTS["acronym_it"], "WHO": LISTS["acronym_who"]}
_ADJECTIVE_ENDINGS = ("ful", "less", "ous", "ive", "able", "ible", "ical", "ish", "iest", "ary")
_VOWELS = frozenset("aeiouy")
PUNCTUATION_TAGS = {
    ".": ".",
    "!": ".",
    "?": ".",
    ",": ",",
    ";": ":",
    ":": ":",
    "—": ":",
    "…": ":",
    "“": "``",
    "”": "''",
    "(": "-LRB-",
    ")": "-RRB-",
}
_CLITICS = {
    "'ll": (Kind.MODAL, "MD"),
    "'d": (Kind.MODAL, "MD"),
    "'ve": (Kind.HAVE, "VBP"),
    "'m": (Kind.BE, "VBP"),
    "'re": (Kind.BE, "VBP"),
}


def classify(s: Context, i: int) -> Tagged:
    """Kind and tag as far as the word alone determines them; for OPEN the tag is the form."""
    word, lower = s.words[i], s.lower[i]
    if word in PUNCTUATION_TAGS:
        return Kind.PUNCTUATION, PUNCTUATION_TAGS[word]
    if "." in word or _is_acronym(s, i):
        return Kind.NAME, "NNP"
    if len(word) > 2 and word[-1] == "s" and word[:-1].isupper():
        return Kind.PLURAL, "NNS"  # "PCs"
    if word in ("May", "Will") and i > 0 and s.words[i - 1].islower():
        return Kind.NAME, "NNP"  # the month or the man, but not in a headline's capitals
    named = word in ("An", "No") and i > 0 and s.words[i - 1].istitle()
    if named and any(following.islower() for following in s.words[i + 1 : i + 2]):
        return Kind.NAME, "NNP"  # "Doctor No lives here."
    if lower == "wont" and s.word(i - 1) not in LISTS["before_wont"]:
        return CLOSED["won't"]
    if lower in CLOSED:
        none = lower == "one" and s.word(i - 1) == "no"
        return CLOSED["nobody" if none else lower]
    if lower.endswith("-"):  # the beginning of a stammered word, which changes nothing
        return Kind.ADVERB, "RB"
    head, apostrophe, _ = lower.rpartition("'")
    if apostrophe:
        clitic = lower[len(head) :]
        if clitic in _CLITICS:
            return _CLITICS[clitic]
        if lower == "let's":
            return Kind.MODAL, "VB"
        if clitic == "'s" and head in LISTS["s_is_verb"]:
            return Kind.BE, "VBZ"
        return (Kind.POSSESSIVE if clitic in ("'s", "'") else Kind.NOUN), "NN"
    if lower in LISTS["plurals"] or (lower in LISTS["zero_plurals"] and _is_many(s, i)):
        return Kind.PLURAL, "NNS"
    if lower.endswith("ly") and lower not in LISTS["adverb_not"]:
        return Kind.ADVERB, "RB"
    describes = lower.endswith(_ADJECTIVE_ENDINGS) and len(lower) > 5
    if describes and lower not in s.vocabulary.adjectival:
        return Kind.ADJECTIVE, "JJ"
    doing = lower.endswith("ing") and not _VOWELS.isdisjoint(lower[:-3])
    if doing and lower not in LISTS["ing_nouns"]:
        return Kind.ING, "VBG"
    if lower in IRREGULAR_PAST or lower in LISTS["participles"] or _is_regular_past(lower):
        return PAST_FORM
    ordinary = lower in VERBS or lower in s.vocabulary.heteronyms
    if word[0].isupper() and i > 0 and s.words[i - 1] != "“" and not ordinary:
        return Kind.NAME, "NNP"
    if len(lower) > 3 and lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
        return S_FORM
    return BASE_FORM


def _is_many(s: Context, i: int) -> bool:
    """Whether a word that is its own plural is one: "fish live here", but not "the fish lives"."""
    one = not LISTS["one"].isdisjoint(s.lower[max(0, i - 2) : i])
    return not one and not s.word(i + 1).endswith("s")


def _is_regular_past(lower: str) -> bool:
    return lower.endswith("ed") and len(lower) > 3 and not lower.endswith(("eed", "hundred"))


def _is_acronym(s: Context, i: int) -> bool:
    """Whether capitals are letters or an acronym, and not emphasis."""
    word = s.words[i]
    if word.endswith(("'s", "’s")) and word[:-2] in _ACRONYM_IF:
        word = word[:-2]
    if len(word) < 2 or not word.isupper():
        return False
    if (s.lower[i - 1 : i], word) in ((["i"], "AM"), (["let"], "US")):
        return False  # "I AM here."
    if word == "US" and s.word(i - 1) in LISTS["before_us"] and _shouts(s, i):
        return False  # "Why do THIS to US?"
    if word in _ACRONYM_IF:
        introduced = s.word(i - 1) in ("the", "an", "our", "in", "from")
        return introduced or s.word(i + 1) in _ACRONYM_IF[word]
    return word in ACRONYMS or not s.vocabulary.known(word.lower())


def _shouts(s: Context, i: int) -> bool:
    """Whether another word than word `i` is in capitals for emphasis."""
    return any(
        len(word) > 1
        and word.isupper()
        and word not in ACRONYMS
        and s.vocabulary.known(word.lower())
        for word in (*s.words[:i], *s.words[i + 1 :])
    )
