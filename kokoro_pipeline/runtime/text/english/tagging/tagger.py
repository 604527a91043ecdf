"""Tags the words of a sentence by rules.

The tagger decides between noun and verb ("a record", "to record"), adjective and noun ("a minute
amount"), past and present ("I have read"), demonstrative and conjunction ("that"), acronym and word
("US", "us"). It knows the closed classes, a few hundred frequent words, word endings and the
neighbours of a word; it is no general tagger.
"""

from __future__ import annotations

from collections.abc import Sequence

from .adjectives import is_adjective
from .base_form import is_base_verb
from .context import Context, Vocabulary
from .kinds import (
    BASE_FORM,
    CLOSED,
    DETERMINERS,
    ENDS,
    LISTS,
    NOMINAL,
    NOUN_AHEAD,
    OBJECT_STARTS,
    PHRASE_ENDS,
    S_FORM,
    SAME_PAST,
    SUBJECTS,
    Kind,
    Tagged,
)
from .past_form import decide_past
from .s_form import is_s_verb
from .strands import strands
from .word_forms import PUNCTUATION_TAGS, classify


class RuleTagger:
    """Assigns a Penn Treebank tag to each token of a sentence."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.heteronyms = vocabulary.heteronyms
        self._vocabulary = vocabulary

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The tags for the tokens of one sentence, including punctuation marks."""
        sentence, *asides = strands(words)
        tags: dict[int, str] = {}
        if asides:  # what is told in them is told of the sentence around them
            tags.update(enumerate(_tags(Context(words, self._vocabulary))))
        tagged = _tags(Context([words[i] for i in sentence], self._vocabulary))
        tags.update(zip(sentence, tagged, strict=True))
        return [tags.get(i) or PUNCTUATION_TAGS[word] for i, word in enumerate(words)]


def _tags(s: Context) -> list[str]:
    s.forms = [classify(s, i) for i in range(len(s.words))]
    tags = []
    for i, (kind, tag) in enumerate(s.forms):
        if kind is Kind.OPEN:
            kind, tag = _decide(s, i, tag)
        elif kind is Kind.THAT:
            tag = _that(s, i)
        elif s.words[i] in ("a", "A") and _is_letter(s, i):
            kind, tag = Kind.NOUN, "NN"
        elif s.lower[i] in LISTS["adverb_or_adjective"] and _describes(s, i):
            kind, tag = Kind.ADJECTIVE, "JJ"
        elif s.lower[i] == "her" and (s.next_kind(i) not in NOUN_AHEAD or _is_told_to_act(s, i)):
            kind, tag = Kind.OBJECT, "PRP"
        s.kinds.append(kind)
        tags.append(tag)
    return tags


def _decide(s: Context, i: int, form: str) -> Tagged:
    """Decide between noun, verb and adjective by the neighbouring words."""
    p = s.previous(i)
    if form == "past":
        return decide_past(s, i, p)
    if form == "s":
        return (Kind.VERB_S, "VBZ") if is_s_verb(s, i, p) else (Kind.PLURAL, "NNS")
    third = s.kind(p) in (Kind.NOUN, Kind.NAME, Kind.SUBJECT_THIRD)
    if third and s.lower[i] in SAME_PAST and s.next_kind(i) in OBJECT_STARTS:
        return Kind.PAST, "VBD"  # "the upset cost them dearly"
    if is_base_verb(s, i, p):
        return Kind.VERB, "VB"
    if is_adjective(s, i, p) or s.lower[i] in LISTS["no_noun"]:
        return Kind.ADJECTIVE, "JJ"
    return Kind.NOUN, "NNP" if s.words[i][0].isupper() and i > 0 else "NN"


def _that(s: Context, i: int) -> str:
    """DT for the stressed demonstrative, IN or WDT for the weak conjunction or relative."""
    following, before = s.next_kind(i), s.kind(i - 1)
    if following in ENDS:
        return "DT"
    if before in NOMINAL:
        return "WDT"
    if s.word(i + 1) == "that's":
        return "IN"
    if s.word(i - 1) in LISTS["saying"]:
        return "IN" if following is not Kind.BE else "DT"
    if following in (*DETERMINERS, *SUBJECTS):
        return "IN"
    pronoun, clitic, _ = s.word(i + 1).partition("'")
    if clitic and pronoun in CLOSED and CLOSED[pronoun][0] in SUBJECTS:
        return "IN"  # "upset that he'd left"
    if following is Kind.PLURAL or s.form(i + 1) == S_FORM:
        return "IN"  # the demonstrative would be "those"
    return "DT"


def _is_told_to_act(s: Context, i: int) -> bool:
    """Whether "her" is who does what follows: "let her record it"."""
    beyond = s.form(i + 2)[0]
    if s.word(i - 1) not in LISTS["takes_bare_verb"]:
        return False
    if s.word(i + 1) in LISTS["intransitive"]:
        return beyond in (*OBJECT_STARTS, *PHRASE_ENDS)
    return s.form(i + 1) == BASE_FORM and beyond in (*OBJECT_STARTS, Kind.TO)


def _describes(s: Context, i: int) -> bool:
    """Whether a word that is an adverb elsewhere stands between an article and a noun."""
    return s.kind(i - 1) in DETERMINERS and s.next_kind(i) in NOUN_AHEAD


def _is_letter(s: Context, i: int) -> bool:
    """Whether "a" is the name of the letter: "vitamin A", "A, B and C"."""
    following, before = s.next_kind(i), s.word(i - 1)
    opens = s.word(i + 1) in ("“", "(") and (i == 0 or s.words[i] == "a")
    return (
        (following in (Kind.PUNCTUATION, Kind.START, Kind.BE) and not opens)
        or s.word(i + 1) in LISTS["after_letter"]
        or before in ("an", "letter", "vitamin")
        or (s.words[i] == "A" and before in LISTS["before_letter"])
        or (s.words[i] == "A" and i > 0 and following in (Kind.TO, Kind.CONJUNCTION))
    )
