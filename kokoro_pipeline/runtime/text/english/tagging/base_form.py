"""Whether a word without an ending is a verb: "to record", "Few graduate on time."."""

from __future__ import annotations

from .clauses import (
    asks_with_modal,
    ends_contact_clause,
    follows_plural,
    is_aside,
    is_asked_of_state,
    is_heteronym,
    is_heteronym_verb,
    is_verb_after_relative,
    is_verb_of_object_relative,
    lacks_verb,
    lacks_verb_after,
    opens_question,
)
from .context import Context
from .imperatives import is_imperative
from .kinds import (
    AFTER_VERB,
    BASE_FORM,
    DETERMINERS,
    ENDS,
    LISTS,
    NOMINAL,
    OBJECT_STARTS,
    PAST_FORM,
    PHRASE_ENDS,
    S_FORM,
    VERBS,
    Kind,
)
from .phrases import ends_phrase_of_many, has_determiner, is_joined_subject


def is_base_verb(s: Context, i: int, p: int) -> bool:
    """Whether word `i`, before which `p` is the last that is no adverb, is a verb."""
    before, lower = s.kind(p), s.lower[i]
    following = s.next_kind(i)
    if is_modified_verb(s, i, p):
        return True
    if _begins_with_some(s, i):  # "Few graduate on time."
        ends = following in (*AFTER_VERB, Kind.PUNCTUATION)
        ends = ends or (following is Kind.OPEN and lower not in s.vocabulary.adjectival)
        return ends and is_heteronym_verb(s, i)
    if before is Kind.TO:
        return not (s.word(p - 1) in LISTS["noun_to"] and following not in OBJECT_STARTS)
    if before is Kind.MODAL and opens_question(s, p):
        return False
    if before is Kind.SUBJECT and is_asked_of_state(s, i, p):
        return False  # "Are they close?"
    if before in (Kind.MODAL, Kind.SUBJECT) or s.word(p) == "please":
        return True
    if before in (Kind.SUBJECT_THIRD, Kind.OBJECT):
        return asks_with_modal(s, p) or s.word(p - 1) in LISTS["takes_bare_verb"]
    if s.word(p) == "let" and lower in VERBS and following in ENDS:
        return True  # "Live and let live."
    if s.word(p) in LISTS["takes_bare_object"]:
        return following in OBJECT_STARTS
    if p == 0 and s.lower[p] == "why" and is_heteronym_verb(s, i):
        return True  # "Why rebel now?"
    if before in (Kind.THAT, Kind.WH):
        return follows_plural(s, p) or (
            s.lower[p] not in LISTS["which"] and following in OBJECT_STARTS
        )
    if before in NOMINAL and is_verb_after_relative(s, i, Kind.PLURAL, following):
        return True
    if before is Kind.PLURAL:
        return _is_verb_of_plural(s, i, p)
    if before in (Kind.NOUN, Kind.NAME):
        return _is_verb_of_noun(s, i, p)
    if before is Kind.CONJUNCTION:
        return _is_parallel_verb(s, i, p)
    if s.word(p) in LISTS["rich"] and s.word(p - 1) == "the":
        ends = following in (*AFTER_VERB, Kind.PUNCTUATION, Kind.START)
        return ends and is_heteronym_verb(s, i)  # "where the rich live"
    if s.word(p) in LISTS["nations"] and s.word(p - 1) == "the":
        acts = following in (*AFTER_VERB, Kind.OPEN, Kind.PLURAL, Kind.NAME)
        return (acts or lower == "live") and is_heteronym_verb(s, i)  # "the British produce tea"
    if ends_contact_clause(s, p, Kind.PLURAL) and following in AFTER_VERB:
        return (lower in VERBS or lower in s.vocabulary.heteronyms) and lacks_verb_after(s, i)
    if s.word(p) in ("this", "that", "these", "those"):
        asked = s.kind(p - 1) is Kind.MODAL  # "Will this present a problem?"
        plural = s.lower[p].endswith("se") and is_heteronym_verb(s, i)
        if s.lower[p].endswith("se") and lower not in s.vocabulary.adjectival:
            single = following is Kind.NOUN or s.form(i + 1) == BASE_FORM
            single = single and s.form(i + 2)[0] in PHRASE_ENDS  # "Those use gas."
            plural &= single or following in (*OBJECT_STARTS, Kind.PREPOSITION, Kind.ADVERB)
            return plural or (asked and following in OBJECT_STARTS)  # "These conflict with it."
        return (asked or plural) and following in OBJECT_STARTS
    after_so = s.word(p) == "so" and s.kind(p - 1) is Kind.PUNCTUATION
    if before in ENDS or after_so:
        return is_imperative(s, i) and not is_aside(s, i, p)
    return False


def _is_verb_of_plural(s: Context, i: int, p: int) -> bool:
    """Whether the word after a plural is its verb: "Muscles contract."."""
    following = s.next_kind(i)
    if is_verb_of_object_relative(s, i, p):
        return True
    if s.lower[p] in LISTS["compound_heads"]:
        return False
    if asks_with_modal(s, p) or following in OBJECT_STARTS or _is_made_to(s, i, p):
        return True
    if s.lower[i] in s.vocabulary.heteronyms and (lacks_verb(s, i) or _governs(s, i)):
        return True
    caused = s.word(i + 1) in LISTS["causing"] and s.word(i + 2) == "to"
    if caused and is_heteronym_verb(s, i):
        return True  # "Schools close due to snow."
    return (s.lower[i] in VERBS and following is not Kind.BE) or following is Kind.TO


def _is_verb_of_noun(s: Context, i: int, p: int) -> bool:
    """Whether the word after a noun or a name is a verb: "the crew refuse to go"."""
    following = s.next_kind(i)
    if asks_with_modal(s, p):
        return following is not Kind.CONJUNCTION
    if _acts_together(s, i, p) or _is_watched(s, i, p):
        return True
    object_follows = following in (*OBJECT_STARTS, Kind.ADVERB, Kind.OPEN, Kind.PLURAL, Kind.NAME)
    # "Sales in the US increase by a tenth." but "changes in land use by farms"
    known = s.kind(p) is Kind.NAME or has_determiner(s, p)
    object_follows |= known and following in (Kind.PREPOSITION, Kind.TO)
    ends = following in (*OBJECT_STARTS, Kind.ADVERB, Kind.PUNCTUATION)
    if ends and is_joined_subject(s, p):
        return is_heteronym_verb(s, i)
    return object_follows and is_heteronym_verb(s, i) and ends_phrase_of_many(s, p)


def is_modified_verb(s: Context, i: int, p: int) -> bool:
    """Whether an adverb tells how an object is acted on: "rarely console each other"."""
    if i - p < 2 or not s.lower[i - 1].endswith("ly"):
        return False
    return s.lower[i] not in s.vocabulary.adjectival and s.next_kind(i) in OBJECT_STARTS


def _begins_with_some(s: Context, i: int) -> bool:
    """Whether "some" or "few" stands before word `i` and begins the clause."""
    clause = (Kind.START, Kind.PUNCTUATION, Kind.THAT, Kind.CONJUNCTION)
    return s.word(i - 1) in LISTS["some"] and s.kind(i - 2) in clause


def _governs(s: Context, i: int) -> bool:
    """Whether an object or clause begins after a word that is no adjective: "police suspect
    more are hiding"."""
    if s.lower[i] in s.vocabulary.adjectival or s.lower[i] == "present":
        return False
    cancelled = s.form(i + 1) == PAST_FORM
    if i == 1 and cancelled and s.form(i + 2) == S_FORM:
        return True  # "Airlines refund cancelled flights."
    return s.next_kind(i) in (Kind.ADVERB, Kind.ADJECTIVE, Kind.PLURAL, Kind.NAME)


def _acts_together(s: Context, i: int, p: int) -> bool:
    """Whether the subject is a group: "the crew refuse to go"."""
    acts = s.next_kind(i) in (*OBJECT_STARTS, Kind.TO) and is_heteronym_verb(s, i)
    return acts and s.lower[p] in LISTS["collective"] and has_determiner(s, p)


def _is_watched(s: Context, i: int, p: int) -> bool:
    """Whether somebody is seen or let to act: "we watched the farmer sow barley"."""
    first = s.skip_back(p, (Kind.NOUN, Kind.ADJECTIVE, Kind.NAME))
    watched = s.kind(first) in DETERMINERS and s.word(first - 1) in LISTS["watching"]
    acts = s.next_kind(i) in (*OBJECT_STARTS, Kind.OPEN, Kind.PLURAL, Kind.ADVERB)
    return watched and acts and is_heteronym(s, i)


def _is_made_to(s: Context, i: int, p: int) -> bool:
    """Whether the clause ends with what many are made to do: "it made the troops desert"."""
    before = s.skip_back(p, (Kind.PLURAL, Kind.ADJECTIVE, Kind.DETERMINER))
    makes = s.word(before) in ("make", "makes", "made", "let", "lets")
    return makes and s.next_kind(i) in ENDS


def _is_parallel_verb(s: Context, i: int, conjunction: int) -> bool:
    """Whether a word after "and" is a verb: if the joined word is one, or an object follows."""
    partner = s.previous(conjunction)
    while partner >= 0 and s.kinds[partner] is Kind.PUNCTUATION:
        partner = s.previous(partner)
    kind, following = s.kind(partner), s.next_kind(i)
    if kind in (Kind.VERB, Kind.MODAL):
        return True
    if kind is Kind.NOUN and s.kind(partner - 1) is Kind.PLURAL and is_heteronym_verb(s, i):
        return s.lower[i] not in s.vocabulary.adjectival  # "metals bend and conduct less"
    if kind in ENDS:
        return is_imperative(s, i)
    able = s.lower[i] in LISTS["imperatives"] or s.lower[i] == "use"
    if able and Kind.VERB in s.kinds:
        return following in (Kind.OPEN, Kind.PLURAL, Kind.NAME, *OBJECT_STARTS)
    begun = not {Kind.VERB, Kind.TO, Kind.MODAL}.isdisjoint(s.kinds)
    return begun and following in OBJECT_STARTS
