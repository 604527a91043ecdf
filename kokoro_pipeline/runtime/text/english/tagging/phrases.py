"""Noun phrases that end before a word: where they begin and what stands before them."""

from __future__ import annotations

from .context import Context
from .kinds import DETERMINERS, LISTS, NOMINAL, PHRASE, Kind


def phrase_start(s: Context, noun: int) -> int:
    """Where the phrase of the noun begins: at its determiner, if it has one."""
    before = s.skip_back(noun - 1, (*NOMINAL, Kind.ADJECTIVE))
    return before if s.kind(before) in DETERMINERS else before + 1


def has_determiner(s: Context, noun: int) -> bool:
    """Whether the noun and the adjectives before it stand after a determiner."""
    return s.kind(s.skip_back(noun, (Kind.NOUN, Kind.ADJECTIVE))) in DETERMINERS


def begins_clause(s: Context, noun: int) -> bool:
    """Whether the noun and what describes it stand after a determiner or begin the clause."""
    before = s.kind(s.skip_back(noun, (Kind.NOUN, Kind.ADJECTIVE, Kind.NAME)))
    return before in (*DETERMINERS, Kind.PUNCTUATION, Kind.START)


def ends_phrase_after(s: Context, noun: int, head: Kind) -> bool:
    """Whether a phrase with a preposition ends at `noun`, and a noun of kind `head` stands
    before it: "the men in the house"."""
    before = s.skip_back(noun, PHRASE)
    return s.kind(before) in (Kind.PREPOSITION, Kind.TO) and s.kind(before - 1) is head


def ends_phrase_of_many(s: Context, noun: int) -> bool:
    """Whether a phrase with a preposition ends at `noun`, and a plural or a group stands before it:
    "the men in the house", "the staff at the airport"."""
    before = s.skip_back(noun, PHRASE)
    many = s.kind(before - 1) is Kind.PLURAL or s.word(before - 1) in LISTS["collective"]
    return s.kind(before) in (Kind.PREPOSITION, Kind.TO) and many


def is_joined_subject(s: Context, noun: int) -> bool:
    """Whether the noun is the last of those that begin the sentence: "oil and water"."""
    joint = s.skip_back(noun, PHRASE)
    joined = joint > 0 and s.word(joint) == "and"
    return joined and s.skip_back(joint - 1, PHRASE) < 0


def is_condition(s: Context, noun: int) -> bool:
    """Whether the subject follows "when" or "if": "when the load increases, it stops"."""
    return s.word(phrase_start(s, noun) - 1) in (*LISTS["clause_starts"], "as")
