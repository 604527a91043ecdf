"""The roles that words have for their neighbours, the closed classes, and the lists of words."""

from __future__ import annotations

import enum

from ..tables import table, word_sets


class Kind(enum.Enum):
    """The role of a word in its sentence, as far as it matters for neighbouring words."""

    START = enum.auto()
    PUNCTUATION = enum.auto()
    DETERMINER = enum.auto()
    POSSESSIVE = enum.auto()
    NUMBER = enum.auto()
    ADJECTIVE = enum.auto()
    ADVERB = enum.auto()
    NOUN = enum.auto()
    PLURAL = enum.auto()
    NAME = enum.auto()
    SUBJECT = enum.auto()  # I we they you who: a base form follows
    SUBJECT_THIRD = enum.auto()  # he she it: an s-form follows
    OBJECT = enum.auto()
    MODAL = enum.auto()  # will, can, do, don't: a base form follows
    TO = enum.auto()
    BE = enum.auto()
    HAVE = enum.auto()
    PREPOSITION = enum.auto()
    CONJUNCTION = enum.auto()
    VERB = enum.auto()
    VERB_S = enum.auto()
    PAST = enum.auto()
    PARTICIPLE = enum.auto()
    ING = enum.auto()
    WH = enum.auto()
    THAT = enum.auto()
    OPEN = enum.auto()  # not decided without context


Tagged = tuple[Kind, str]
"""A kind and a Penn Treebank tag; of an OPEN word the ending: "base", "s" or "past"."""

BASE_FORM: Tagged = (Kind.OPEN, "base")
S_FORM: Tagged = (Kind.OPEN, "s")
PAST_FORM: Tagged = (Kind.OPEN, "past")

CLOSED: dict[str, Tagged] = {}
"""The words of the closed classes; of a word in several the first holds."""
for _kind, _tag, _words in table("closed_classes"):
    for _word in _words.split():
        CLOSED.setdefault(_word, (Kind[_kind], _tag))

LISTS = word_sets("tagger")
VERBS = LISTS["verbs"]
IRREGULAR_PAST = LISTS["irregular_past"]
SAME_PAST = LISTS["same_past"]
"""Verbs whose past is spelled as the base form is: "read"."""

NOMINAL = (Kind.NOUN, Kind.PLURAL, Kind.NAME)
DETERMINERS = (Kind.DETERMINER, Kind.POSSESSIVE)
PHRASE = (*NOMINAL, Kind.ADJECTIVE, *DETERMINERS)
"""What a noun phrase consists of."""
SUBJECTS = (Kind.SUBJECT, Kind.SUBJECT_THIRD)
OBJECT_STARTS = (*DETERMINERS, *SUBJECTS, Kind.OBJECT, Kind.NUMBER, Kind.THAT)
VERBAL = frozenset({Kind.VERB, Kind.VERB_S, Kind.PAST, Kind.BE, Kind.HAVE, Kind.MODAL})
NOUN_AHEAD = (Kind.OPEN, *NOMINAL, Kind.ING, Kind.ADJECTIVE)
ENDS = (Kind.START, Kind.PUNCTUATION)
PHRASE_ENDS = (*ENDS, Kind.PREPOSITION, Kind.CONJUNCTION, Kind.TO)
AFTER_VERB = (*OBJECT_STARTS, Kind.PREPOSITION, Kind.ADVERB, Kind.TO)
