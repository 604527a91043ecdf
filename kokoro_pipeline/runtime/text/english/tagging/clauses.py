"""Clauses: whether they have a verb, relative clauses, questions, asides between commas."""

from __future__ import annotations

from collections.abc import Set

from .context import Context
from .kinds import DETERMINERS, ENDS, LISTS, NOMINAL, SUBJECTS, VERBAL, Kind
from .phrases import phrase_start

_CLAUSE_ENDS = frozenset(";:—.!?“(") | LISTS["clause_starts"]


def lacks_verb(s: Context, i: int, infinitives: bool = True) -> bool:
    """Whether no other word can be the verb of the clause: "Muscles contract and relax."."""
    verbs = VERBAL | {Kind.TO} if infinitives else VERBAL
    for j in range(len(s.kinds) - 1, -1, -1):
        begins = s.kinds[j] in (Kind.THAT, Kind.WH, Kind.PUNCTUATION)
        if begins or s.lower[j] in LISTS["clause_starts"]:
            break
        if s.kinds[j] in verbs:
            return False
    says = s.lower[i] in LISTS["take_that"] and s.next_kind(i) is Kind.THAT
    return says or lacks_verb_after(s, i, verbs)


def lacks_verb_after(s: Context, i: int, verbs: Set[Kind] = VERBAL) -> bool:
    """Whether no word after word `i` can be the verb of its clause."""
    for j in range(i + 1, len(s.words)):
        kind, tag = s.forms[j]
        if s.words[j] in _CLAUSE_ENDS or _joins_clause(s, j):
            break
        past = tag == "past" and s.form(j - 1)[0] not in DETERMINERS  # but "in the shed"
        if kind in verbs or past:
            return False
    return True


def _joins_clause(s: Context, i: int) -> bool:
    """Whether a comma, a conjunction and a subject begin another clause: ", and she left"."""
    starts = s.form(i + 2)[0] in (*SUBJECTS, *DETERMINERS, Kind.ADJECTIVE)
    return s.word(i) == "," and s.form(i + 1)[0] is Kind.CONJUNCTION and starts


def is_heteronym(s: Context, i: int) -> bool:
    """Whether the word is a heteronym with "s"."""
    stems = (s.lower[i], s.lower[i][:-1], s.lower[i].removesuffix("es"))
    return not s.vocabulary.heteronyms.isdisjoint(stems)


def is_heteronym_verb(s: Context, i: int) -> bool:
    """Whether a heteronym stands in a clause that has no other verb."""
    return s.lower[i] in s.vocabulary.heteronyms and lacks_verb(s, i, infinitives=False)


def _is_relative(s: Context, i: int) -> bool:
    return s.lower[i] in ("that", "who", "which") and s.kinds[i - 1] in NOMINAL


def follows_plural(s: Context, relative: int) -> bool:
    """Whether a relative pronoun tells of a plural."""
    return s.kind(s.previous(relative)) is Kind.PLURAL


def is_verb_after_relative(s: Context, i: int, head: Kind, following: Kind) -> bool:
    """Whether a heteronym is the verb after a relative clause: "Farms that grow wheat produce
    little."."""
    relative = next((j for j, k in enumerate(s.kinds) if j and _is_relative(s, j)), i)
    if relative >= i or s.kinds[relative - 1] is not head or not is_heteronym(s, i):
        return False
    verbs = [k for k in s.kinds[relative:] if k in VERBAL]
    ends = following in ENDS and s.kind(i - 1) is not Kind.ADVERB
    before = VERBAL.isdisjoint(s.kinds[:relative])
    return len(verbs) == 1 and before and not ends and lacks_verb_after(s, i)


def is_verb_of_object_relative(s: Context, i: int, p: int) -> bool:
    """Whether a heteronym is the verb of a clause without an object: "The oil that the wells
    produce is heavy."."""
    first = phrase_start(s, p)
    auxiliary = s.next_kind(i) in (Kind.BE, Kind.MODAL, Kind.HAVE)
    if not auxiliary or first < 1 or s.kinds[first] not in DETERMINERS:
        return False
    relative = first - (s.lower[first - 1] in ("that", "which"))
    clause = s.kind(relative - 1) in NOMINAL and s.kinds[relative - 1] is not Kind.NAME
    return clause and is_heteronym(s, i) and VERBAL.isdisjoint(s.kinds)


def ends_contact_clause(s: Context, p: int, head: Kind) -> bool:
    """Whether a clause whose object is left out ends at `p`, and what it tells of is a noun of
    kind `head` that begins the sentence: "the people I know", "the tools that we use"."""
    subject = s.previous(p)
    noun = s.previous(subject) if subject >= 0 else -1
    if noun > 0 and s.lower[noun] in ("that", "which", "who", "whom"):
        noun -= 1
    return (
        s.kind(p) in (Kind.VERB, Kind.VERB_S, Kind.PAST)
        and s.kind(subject) in SUBJECTS
        and s.kind(noun) is head
        and VERBAL.isdisjoint(s.kinds[:noun])
    )


def asks_with_modal(s: Context, subject: int) -> bool:
    """Whether a modal precedes the subject: "did you", "can the children"."""
    return s.kind(s.skip_back(subject - 1, (*DETERMINERS, Kind.ADJECTIVE))) is Kind.MODAL


def is_asked_of_state(s: Context, i: int, p: int) -> bool:
    """Whether a question asks if the subject, which ends at `p`, is as word `i` says: "Are they
    close?", "Is the shop close to here?"."""
    if s.lower[i] not in s.vocabulary.adjectival and s.lower[i] != "live":
        return False
    first = p if s.kind(p) in SUBJECTS else phrase_start(s, p)
    asks = s.kind(first - 1) is Kind.BE and s.lower[first - 1] not in ("be", "been", "being")
    opens = s.kind(first - 2) in (*ENDS, Kind.WH, Kind.CONJUNCTION, Kind.ADVERB)
    opens = opens or s.lower[first - 2] == "who"
    follows = (*ENDS, Kind.PREPOSITION, Kind.TO, Kind.CONJUNCTION, Kind.ADVERB)
    ends = s.next_kind(i) in follows and s.word(i + 1) != "of"
    return first > 0 and asks and opens and ends


def opens_question(s: Context, modal: int) -> bool:
    """Whether a subject follows the auxiliary: "Does demand increase?"."""
    asked = modal == 0 or s.lower[modal - 1] in ("why", "how", "when", "where", "what")
    return asked and s.lower[modal] in LISTS["asking"]


def is_aside(s: Context, i: int, p: int) -> bool:
    """Whether word `i` begins what is told of the subject between commas: "The letter, read
    aloud in court, was long."."""
    if p < 1 or s.lower[p] != "," or "," not in s.lower[i:]:
        return False
    subject = s.kinds[0] in (*DETERMINERS, Kind.NAME) and s.kinds[p - 1] in NOMINAL
    return subject and VERBAL.isdisjoint(s.kinds)
