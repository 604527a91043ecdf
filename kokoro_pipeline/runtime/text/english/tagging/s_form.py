"""Whether a word that ends in "s" is a verb of the third person or a plural."""

from __future__ import annotations

from .base_form import is_modified_verb
from .clauses import (
    ends_contact_clause,
    is_heteronym,
    is_heteronym_verb,
    is_verb_after_relative,
    is_verb_of_object_relative,
    lacks_verb,
    lacks_verb_after,
)
from .context import Context
from .kinds import (
    AFTER_VERB,
    BASE_FORM,
    ENDS,
    LISTS,
    NOMINAL,
    OBJECT_STARTS,
    PAST_FORM,
    S_FORM,
    SUBJECTS,
    VERBS,
    Kind,
)
from .phrases import begins_clause, ends_phrase_after, is_condition


def is_s_verb(s: Context, i: int, p: int) -> bool:
    """Whether word `i`, before which `p` is the last that is no adverb, is a verb."""
    before, following = s.kind(p), s.next_kind(i)
    if is_modified_verb(s, i, p) and is_heteronym(s, i):
        return True
    if before is Kind.SUBJECT_THIRD or s.word(p) == "who":
        return True
    pronoun = s.word(p) in ("this", "that", "each", "neither")
    if pronoun and following in OBJECT_STARTS:
        return is_heteronym_verb(s, i)
    if before is Kind.THAT:
        return s.kind(s.previous(p)) in (Kind.NOUN, Kind.NAME)
    if before in (*NOMINAL, Kind.PAST) and is_verb_after_relative(s, i, Kind.NOUN, following):
        return True
    if before is Kind.NOUN and is_verb_of_object_relative(s, i, p):
        return True
    if before is Kind.NOUN and following is Kind.PUNCTUATION and is_condition(s, p):
        return is_heteronym(s, i)
    if ends_contact_clause(s, p, Kind.NOUN) and following in AFTER_VERB:
        return is_heteronym(s, i) and lacks_verb_after(s, i)
    if before in (Kind.NOUN, Kind.NAME):
        return _is_verb_of_noun(s, i, p)
    if before is Kind.CONJUNCTION:
        many = following is Kind.PLURAL or s.form(i + 1) == S_FORM
        object_follows = following in OBJECT_STARTS or (many and is_heteronym(s, i))
        joined = s.kind(s.previous(p)) is Kind.VERB_S
        return joined or (object_follows and Kind.VERB_S in s.kinds)
    if before is Kind.ING:  # "the cost of housing increases"
        object_follows = following in (*OBJECT_STARTS, Kind.ADVERB)
        return is_heteronym_verb(s, i) and (object_follows or following is Kind.PREPOSITION)
    if before is Kind.PLURAL:  # "every rebel in the hills rebels"
        return is_heteronym_verb(s, i) and ends_phrase_after(s, p, Kind.NOUN)
    return before is Kind.WH and _is_verb_of_relative(s, i, p)


def _is_verb_of_noun(s: Context, i: int, noun: int) -> bool:
    """Whether the word after a noun or a name is its verb: "The rock records the past."."""
    following = s.next_kind(i)
    if following in (*OBJECT_STARTS, Kind.TO, Kind.ADVERB):
        return True
    if s.form(i + 1) == PAST_FORM:
        return False  # "mass protests erupted"
    verb = s.lower[i].removesuffix("s")
    object_ahead = s.next_kind(i + 1) not in OBJECT_STARTS  # "winds wind their way"
    has_object = object_ahead and verb in VERBS and s.word(i + 1) in s.vocabulary.heteronyms
    if _is_bare_verb(s, i + 1) and not has_object:
        return False
    is_subject = s.kind(noun) is Kind.NAME or noun == 0 or begins_clause(s, noun)
    return is_subject and (
        (following is Kind.PREPOSITION and s.word(i + 1) != "of")
        or (
            not s.vocabulary.heteronyms.isdisjoint((s.lower[i], verb))
            and following not in ENDS
            and lacks_verb(s, i)
        )
        or (verb in VERBS and following not in (Kind.BE, Kind.MODAL, Kind.HAVE))
    )


def _is_verb_of_relative(s: Context, i: int, wh: int) -> bool:
    """Whether the word after "what" or "which" is its verb: "what ails you"."""
    following = s.next_kind(i)
    if s.word(wh) == "what" and is_heteronym_verb(s, i):
        return following in (Kind.WH, Kind.PREPOSITION, Kind.ADVERB, Kind.DETERMINER)
    if s.word(wh) != "which":
        return False
    relative = wh > 0 and s.kind(wh - 1) in (*NOMINAL, Kind.PUNCTUATION)
    if relative and following in SUBJECTS:
        return s.next_kind(i + 1) is not Kind.OPEN  # "knows which records it keeps"
    auxiliary = following in (*SUBJECTS, Kind.MODAL, Kind.BE, Kind.HAVE)
    return relative or (is_heteronym(s, i) and not auxiliary)


def _is_bare_verb(s: Context, i: int) -> bool:
    """Whether the word can only be the verb of a plural subject: "graduates earn more"."""
    if s.form(i) != BASE_FORM:
        return False
    after = s.next_kind(i)
    if after is Kind.PREPOSITION:
        return s.lower[i] in LISTS["happening"]
    return s.lower[i] in VERBS and after not in (Kind.BE, Kind.MODAL)
