"""What a past form is: past, participle, adjective, or a noun: "read", "used", "wound"."""

from __future__ import annotations

from .base_form import is_base_verb
from .clauses import asks_with_modal, follows_plural, is_aside
from .context import Context
from .kinds import (
    DETERMINERS,
    IRREGULAR_PAST,
    LISTS,
    NOMINAL,
    OBJECT_STARTS,
    PAST_FORM,
    PHRASE_ENDS,
    S_FORM,
    SAME_PAST,
    SUBJECTS,
    VERBAL,
    VERBS,
    Kind,
    Tagged,
)
from .phrases import has_determiner, phrase_start

_TOLD_NEXT = (*DETERMINERS, Kind.SUBJECT_THIRD, Kind.THAT, Kind.PREPOSITION)
_SENTENCE_MARKS = frozenset(";:—.!?“”(")
_TOLD_IN_FRONT = {"wrote", "said", "noted", "observed", "remarked", "argued"}


def decide_past(s: Context, i: int, p: int) -> Tagged:
    """What word `i`, before which `p` is the last that is no adverb, is."""
    if s.word(p) in ("best", "better"):
        p = s.previous(p)  # "is best read slowly"
    before, lower = s.kind(p), s.lower[i]
    if before is Kind.NUMBER and s.kind(p - 1) in SUBJECTS:
        p, before = p - 1, s.kind(p - 1)  # "have you two read it?"
    had = before is Kind.MODAL and s.lower[p].endswith("'d")
    signs = s.form(i + 1) == PAST_FORM or not LISTS["had_signs"].isdisjoint(s.clause(i))
    signs = signs or not LISTS["wishing"].isdisjoint(s.lower[:p]) or _is_told_before(s, i)
    if had and signs and lower in SAME_PAST:
        return Kind.PARTICIPLE, "VBN"
    if lower in LISTS["past_of_read"] and _is_marked(s, i, p):
        return Kind.PARTICIPLE, "VBN"
    asked = before in SUBJECTS and s.kind(s.previous(p)) in (Kind.HAVE, Kind.BE)
    if asked or before in (Kind.BE, Kind.HAVE) or s.word(p) in LISTS["linking"]:
        used_to = lower == "used" and s.word(i + 1) == "to" and before is not Kind.HAVE
        linked = before is not Kind.BE and not asked  # "get used to"
        if used_to and (linked or _is_accustomed(s, i, p)):
            return Kind.PARTICIPLE, "JJ"
        return Kind.PARTICIPLE, "VBN"
    if lower == "used" and _is_instrument(s, i, p):
        return Kind.PAST, "VBN"
    if lower == "wound" and (kind := _injures(s, i, p)):
        return kind
    if lower == "wound" and s.word(i + 1) in ("him", "me", "us", "you", "others"):
        return Kind.VERB, "VB"  # to injure
    if lower in SAME_PAST and not _is_past_of_same_form(s, i, p):
        return (Kind.VERB, "VB") if is_base_verb(s, i, p) else (Kind.NOUN, "NN")
    if lower in ("wound", "ground", "saw", "left", "felt", "found", "lay", "dove") and (
        before in (*DETERMINERS, Kind.ADJECTIVE, Kind.PREPOSITION)
    ):
        return Kind.NOUN, "NN"
    if before in (Kind.TO, Kind.MODAL):
        base = lower not in IRREGULAR_PAST or lower in VERBS or lower == "wound"
        return (Kind.VERB, "VB") if base else (Kind.PAST, "VBD")
    if before in (*DETERMINERS, Kind.ADJECTIVE, Kind.PREPOSITION):
        return Kind.ADJECTIVE, "VBN" if lower not in s.vocabulary.adjectival else "JJ"
    return Kind.PAST, "VBD"


def _is_told_before(s: Context, i: int) -> bool:
    """Whether "'d" is "had" by what was read: "I'd read about it", "by then she'd read it"."""
    clause = " ".join(s.lower[:i])
    if clause.startswith(("by then", "by the time")):
        return True
    wished = {"if", "would", "could", "rather", "unless", "tomorrow", "gladly"}
    told = s.word(i + 1) in ("about", "of", "somewhere", "so", "enough")
    return told and wished.isdisjoint(s.lower)


def _injures(s: Context, i: int, p: int) -> Tagged | None:
    """What "wound" is where neighbours tell: "a flesh wound", "did you wound him?"."""
    if s.kind(p) is Kind.MODAL and s.word(i + 1) in LISTS["winding"]:
        return Kind.PARTICIPLE, "VBN"  # "they'd wound down the firm"
    if s.kind(p) in SUBJECTS and asks_with_modal(s, p):
        return Kind.VERB, "VB"
    ends = (Kind.PUNCTUATION, Kind.START, Kind.BE, Kind.MODAL, Kind.HAVE, Kind.CONJUNCTION)
    done = s.next_kind(i) in ends or s.form(i + 1) == PAST_FORM
    harm = s.word(p) in LISTS["harm"]
    kind = s.kind(p) is Kind.NOUN and (harm or (done and has_determiner(s, p)))
    return (Kind.NOUN, "NN") if kind else None


def _is_instrument(s: Context, i: int, p: int) -> bool:
    """Whether something was used for a purpose: "the tools we used to open the crate"."""
    if s.kind(p) in (Kind.NOUN, Kind.PLURAL):
        return s.word(i + 1) == "to" and _is_told_use(s, i, p)
    if s.kind(p) in SUBJECTS and s.form(i + 2) == (Kind.DETERMINER, "DT"):
        return s.word(i + 1) == "to"  # "We used to the full what we had."
    thing = s.previous(p) if s.kind(p) in SUBJECTS else -1
    that = thing > 0 and (s.kinds[thing] is Kind.THAT or s.lower[thing] == "which")
    head = thing - 1 if that else thing
    known = head >= 0 and s.lower[head].removesuffix("s") not in LISTS["adverbial"]
    after = s.form(i + 3)[0]
    return known and s.kinds[head] in NOMINAL and after in (*DETERMINERS, Kind.OBJECT)


def _is_told_use(s: Context, i: int, noun: int) -> bool:
    """Whether a noun is told by what it serves for: "a tool used to cut glass", "the methods used
    to find it are new"."""
    if s.lower[noun].removesuffix("s") not in LISTS["instruments"] or s.word(i + 2) in (
        "be",
        "have",
    ):
        return False
    first = phrase_start(s, noun)
    is_thing = s.kind(first - 1) is Kind.BE or s.word(first - 1) in ("of", "as", "with", "by", "is")
    later = s.kinds_ahead(i + 3)
    alone = s.word(first) in ("a", "an") and s.lower[noun] in LISTS["tools"]
    goes_on = s.word(i + 4) in ("costs", "works", "needs", "looks")  # nouns as well
    goes_on = (goes_on and s.word(i + 3) in ("it", "them")) or not VERBAL.isdisjoint(later)
    return is_thing or alone or goes_on


def _is_accustomed(s: Context, i: int, p: int) -> bool:
    """Whether "used" means accustomed: "am used to it", but not "is used to cut"."""
    person = s.word(p - 1) in ("i", "you", "he", "she", "we", "they", "people")
    contracted = "'" in s.word(p) and not s.word(p).startswith("it")
    return s.form(i + 2)[0] is not Kind.OPEN or person or contracted


def _is_past_of_same_form(s: Context, i: int, p: int) -> bool:
    """Whether "read" and similar words are in the past, by the subject and the adverbs."""
    before = s.kind(p)
    if before in (Kind.SUBJECT_THIRD, Kind.NAME) or (
        before is Kind.NOUN and s.next_kind(i) in OBJECT_STARTS
    ):
        # The third person present would be "reads", except in a question with "does".
        return not asks_with_modal(s, p)
    if before is Kind.NOUN and has_determiner(s, p) and s.next_kind(i) is not Kind.BE:
        return not asks_with_modal(s, p)
    if before is Kind.NOUN and i == 1 and s.lower[i] in LISTS["past_of_read"]:
        return s.next_kind(i) is Kind.PREPOSITION  # "Trump read from a card."
    if before is Kind.PUNCTUATION:
        return is_aside(s, i, p) or (s.lower[p] == "," and _continues_series(s, i, p))
    if before is Kind.CONJUNCTION:
        return _continues_past(s, p) or bool({"yesterday", "ago", "last"}.intersection(s.lower[i:]))
    if before not in (Kind.SUBJECT, Kind.PLURAL) or asks_with_modal(s, p):
        return False
    later = range(i + 1, min(i + 4, len(s.lower)))
    if s.word(p - 1) == "what" and any(
        s.forms[j] == PAST_FORM or s.lower[j] in ("was", "were") for j in later
    ):
        return True  # "What I read there surprised me."
    if s.lower[p] == "who" and follows_plural(s, p):
        return _tells_of_past(s, i, p)
    clause = s.clause(i)
    if "last" in clause or LISTS["past_signs"].intersection(clause):
        return not LISTS["habit_signs"].intersection(clause)
    habit = LISTS["habit_signs"].intersection(s.lower) or f"{s.lower[i]}s" in s.lower
    habit = habit or "these days" in " ".join(clause)
    if habit or s.word(i + 1) in ("too", "more"):
        return False
    if s.lower[0] == "as" and _TOLD_IN_FRONT.intersection(s.lower[:p]):
        return False  # what somebody said is true in general: "As he once wrote, we read to learn."
    if LISTS["past_signs"].intersection(s.lower) or Kind.PAST in s.kinds:
        return True
    return before is Kind.SUBJECT and s.next_kind(i) in _TOLD_NEXT


def _continues_past(s: Context, joint: int) -> bool:
    """Whether the last verb before a conjunction or comma is past: "I went home and read it."."""
    if s.kind(0) is Kind.VERB or s.lower[0] == "please":
        return False  # "Open the file named below and read it."
    for j in range(joint - 1, -1, -1):
        kind = s.kinds[j]
        if s.lower[j] in _SENTENCE_MARKS or kind in (Kind.VERB, Kind.VERB_S, Kind.MODAL, Kind.TO):
            return False
        if kind is Kind.HAVE and Kind.PARTICIPLE in s.kinds[j:joint]:
            return True  # "Have you finished and read it?"
        if kind is Kind.BE or kind is Kind.HAVE:
            return s.lower[j] in ("was", "were", "had")
        if kind is Kind.PAST:
            described = s.kind(j - 1) in NOMINAL and (
                s.kind(phrase_start(s, j - 1) - 1) in (*NOMINAL, Kind.ADJECTIVE)
                or {Kind.VERB, Kind.VERB_S, Kind.MODAL, Kind.TO}.intersection(s.kinds[:j])
            )
            if not described:  # "You may open the file named below and read it."
                return True
    return False


def _continues_series(s: Context, i: int, comma: int) -> bool:
    """Whether a verb after a comma is one of several of the same subject in the past: "She logged
    in, read it, and replied."."""
    begins = s.kind(0) in (*SUBJECTS, *NOMINAL, *DETERMINERS)
    more = any(s.word(j) in ("and", ",") for j in range(i + 1, len(s.words)))
    return begins and more and _continues_past(s, comma)


def _is_marked(s: Context, i: int, p: int) -> bool:
    """Whether "read" tells the state of messages or how much was done: "mark as read", "12 read
    messages", "Bytes read: 512"."""
    following = s.next_kind(i)
    if s.word(p) in ("as", "on"):
        return following in PHRASE_ENDS
    if s.word(i + 1) == ":" and s.kind(p) in NOMINAL:
        return p == 0
    many = following is Kind.PLURAL or s.form(i + 1) == S_FORM
    return s.kind(i - 1) is Kind.NUMBER and many and s.next_kind(i + 1) not in OBJECT_STARTS


def _tells_of_past(s: Context, i: int, who: int) -> bool:
    """Whether what people do in a relative clause is past: "boys who read it were quick"."""
    since = who - s.kinds[who::-1].index(Kind.THAT) if Kind.THAT in s.kinds else 0
    later = PAST_FORM in s.forms[i + 1 :]
    signs = not LISTS["sure_past"].isdisjoint(s.lower[i:])
    return later or signs or Kind.PAST in s.kinds[since:]
