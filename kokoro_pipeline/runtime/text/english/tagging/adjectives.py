"""Whether a word that sounds different as an adjective is one: "close", "content"."""

from __future__ import annotations

from .clauses import is_aside, is_asked_of_state
from .context import Context
from .kinds import (
    ENDS,
    LISTS,
    NOMINAL,
    NOUN_AHEAD,
    OBJECT_STARTS,
    PAST_FORM,
    PHRASE_ENDS,
    SAME_PAST,
    Kind,
)


def is_adjective(s: Context, i: int, p: int) -> bool:
    """Whether word `i`, before which `p` is the last that is no adverb, is an adjective."""
    if s.lower[i] not in s.vocabulary.adjectival:
        return False
    before, following = s.kind(p), s.next_kind(i)
    if s.word(i - 1) in LISTS["intensifiers"]:
        return True
    if before is Kind.BE or s.word(p) in LISTS["linking"]:
        return True
    listed = before is Kind.CONJUNCTION or s.word(p) == ","
    if listed and s.kind(p - 1) is Kind.ADJECTIVE and following not in OBJECT_STARTS:
        return True  # "deliberate, elaborate and intimate"
    if s.word(i - 1) == s.word(i + 1) == ",":
        return s.next_kind(i + 1) is Kind.PREPOSITION  # "He stared, content, at the fire."
    near = s.lower[i] == "close" and _is_near(s, i, p)
    if near or _is_complement(s, i) or is_aside(s, i, p):
        return True
    if is_asked_of_state(s, i, p) or _is_judged(s, i, p):
        return True
    if s.word(i + 1) in ("one", "ones") and before is Kind.DETERMINER:
        return True  # "a close one"
    hits = s.word(i + 1) in SAME_PAST and s.next_kind(i + 1) in OBJECT_STARTS
    if hits or s.form(i + 1) == PAST_FORM:
        return False
    if s.word(i + 1) in ("to", "with"):
        return True
    if before is Kind.DETERMINER and s.word(i + 1) == "being":
        return True
    if before in (Kind.DETERMINER, Kind.VERB) and s.word(i + 1) == ",":
        return s.lower[i] not in ("content", "close", "invalid")  # "an elaborate, slow act"
    if s.lower[i] == "content":
        return s.word(i + 1) in LISTS["contented"]
    return following in NOUN_AHEAD


def _is_near(s: Context, i: int, p: int) -> bool:
    """Whether "close" tells where: "sit close together", "keep your friends close"."""
    done = s.kind(p) in (Kind.VERB, Kind.VERB_S, Kind.PAST, Kind.ING, Kind.OBJECT)
    held = s.kind(p) in NOMINAL and not LISTS["keeping"].isdisjoint(s.clause(i))
    beside = s.word(i + 1) in ("by", "together", "behind")
    beside = beside or s.word(i - 1) in LISTS["how_near"]
    beside = beside or (s.word(i + 1) == "up" and s.word(i + 2) == ",")
    return done or held or beside or s.word(p) == "it"


def _is_judged(s: Context, i: int, p: int) -> bool:
    """Whether a word says what something was declared to be: "they ruled the law invalid"."""
    if s.lower[i] not in LISTS["judged"] or s.next_kind(i) not in PHRASE_ENDS:
        return False
    object_before = s.kind(p) in (*NOMINAL, Kind.OBJECT, Kind.CONJUNCTION)
    told = s.clause(i)[: s.clause(i).index(s.lower[i])] if object_before else [s.word(p)]
    return not LISTS["judging"].isdisjoint(told)


def _is_complement(s: Context, i: int) -> bool:
    """Whether a word says what somebody was made: "it made her content"."""
    ends = s.next_kind(i) in ENDS
    if ends and s.lower[i] == "content":
        many_kept = s.kind(i - 1) is Kind.PLURAL and not LISTS["keeping"].isdisjoint(s.clause(i))
        if many_kept or not LISTS["parting"].isdisjoint(s.clause(i)):
            return True  # "it keeps readers content", "they went home content"
    made = s.word(i - 2) in ("make", "makes", "made", "keep", "keeps", "kept", "leave", "left")
    somebody = s.word(i - 1) in ("her", "him", "them", "me", "us", "you", "it")
    return made and somebody and (ends or s.next_kind(i) is Kind.CONJUNCTION)
