"""A part-of-speech tagger of rules, for the choices that English pronunciation depends on.

It decides between noun and verb ("a record", "to record"), adjective and noun ("a minute amount"),
past and present ("I have read"), demonstrative and conjunction ("that"), acronym and word ("US",
"us"). It knows the closed classes, a few hundred frequent words, word endings and the neighbours of
a word; it is no general tagger.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence, Set

from .tables import table, word_sets


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


_LISTS = word_sets("tagger")


def _closed_classes() -> dict[str, tuple[Kind, str]]:
    closed: dict[str, tuple[Kind, str]] = {}
    for kind, tag, words in table("closed_classes"):
        for word in words.split():
            closed.setdefault(word, (Kind[kind], tag))
    for word in ("mine", "yours", "hers", "ours", "theirs"):
        closed[word] = (Kind.SUBJECT_THIRD, "PRP")
    closed["one"] = (Kind.NUMBER, "CD")
    closed["that"] = (Kind.THAT, "IN")
    closed["her"] = (Kind.POSSESSIVE, "PRP$")
    return closed


_CLOSED = _closed_classes()
_PUNCTUATION_TAGS = {
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
_S_IS_VERB = _LISTS["s_is_verb"]

_VERBS = _LISTS["verbs"]
_IRREGULAR_PAST = _LISTS["irregular_past"]
_PARTICIPLES = _LISTS["participles"]
_SAME_PAST = _LISTS["same_past"]
_PAST_SIGNS = _LISTS["past_signs"]
_HAD_SIGNS = _LISTS["had_signs"]
_HABIT_SIGNS = _LISTS["habit_signs"]
_CLAUSE_MARKS = frozenset(",;:—")

_PLURALS = _LISTS["plurals"]
_COMPOUND_HEADS = _LISTS["compound_heads"]
_TAKES_BARE_VERB = _LISTS["takes_bare_verb"]
_SAYING = _LISTS["saying"]
_IMPERATIVES = _LISTS["imperatives"]
_CONTENTED = _LISTS["contented"]
_INTENSIFIERS = _LISTS["intensifiers"]
_LINKING = _LISTS["linking"]
_NOUN_TO = _LISTS["noun_to"]
_ADJECTIVE_ENDINGS = ("ful", "less", "ous", "ive", "able", "ible", "ical", "ish", "iest", "ary")
_ADVERB_NOT = _LISTS["adverb_not"]

# Capitals that are letters or an acronym in running text, although a word is spelled the same.
ACRONYMS = _LISTS["acronyms"]
_ACRONYM_IF = {"IT": _LISTS["acronym_it"], "WHO": _LISTS["acronym_who"]}

_NOMINAL = {Kind.NOUN, Kind.PLURAL, Kind.NAME}
_OBJECT_STARTS = {
    Kind.DETERMINER,
    Kind.POSSESSIVE,
    Kind.OBJECT,
    Kind.SUBJECT_THIRD,
    Kind.SUBJECT,
    Kind.NUMBER,
    Kind.THAT,
}
_VERBAL = frozenset({Kind.VERB, Kind.VERB_S, Kind.PAST, Kind.BE, Kind.HAVE, Kind.MODAL})
_SUBJECTS = {Kind.SUBJECT, Kind.SUBJECT_THIRD}
_SUBJECT_OR_AUXILIARY = {Kind.SUBJECT, Kind.SUBJECT_THIRD, Kind.MODAL, Kind.BE, Kind.HAVE}
_PHRASE_ENDS = {Kind.START, Kind.PUNCTUATION, Kind.PREPOSITION, Kind.CONJUNCTION, Kind.TO}
_AFTER_VERB = {*_OBJECT_STARTS, Kind.PREPOSITION, Kind.ADVERB, Kind.TO}
_DETERMINERS = {Kind.DETERMINER, Kind.POSSESSIVE}
_NOUN_AHEAD = {Kind.OPEN, Kind.NOUN, Kind.PLURAL, Kind.NAME, Kind.ING, Kind.ADJECTIVE}


_VOWELS = frozenset("aeiouy")
_ING_NOUNS = _LISTS["ing_nouns"]
_KEEPING = _LISTS["keeping"]
_BEFORE_WONT = _LISTS["before_wont"]
_CLAUSE_ENDS = frozenset(";:—.!?“(") | _LISTS["clause_starts"]


class RuleTagger:
    """Assigns a Penn Treebank tag to each token of a sentence.

    `heteronyms` are the lower-case words whose pronunciation depends on the tag, `adjectival` those
    among them that sound different as adjectives; `known` tells whether a lower-case word is an
    ordinary one, which marks capitals as emphasis and not as an acronym.
    """

    def __init__(
        self,
        heteronyms: frozenset[str],
        adjectival: frozenset[str],
        known: Callable[[str], bool],
    ) -> None:
        self.heteronyms = heteronyms
        self.adjectival = adjectival
        self.known = known

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The tags for the tokens of one sentence, including punctuation marks."""
        return _Sentence(words, self).tags()


class _Sentence:
    def __init__(self, words: Sequence[str], tagger: RuleTagger) -> None:
        self.words = words
        self.lower = [word.lower() for word in words]
        self.tagger = tagger
        self.context_free = [self.classify(i) for i in range(len(words))]
        self.kinds: list[Kind] = []

    def tags(self) -> list[str]:
        tags = []
        for i, (kind, tag) in enumerate(self.context_free):
            if kind is Kind.OPEN:
                kind, tag = self.decide(i, tag)
            elif kind is Kind.THAT:
                tag = self.that(i)
            elif self.words[i] in ("a", "A") and self.is_letter(i):
                kind, tag = Kind.NOUN, "NN"
            elif self.lower[i] == "her" and (
                self.next_kind(i) not in _NOUN_AHEAD or self.is_told_to_act(i)
            ):
                kind, tag = Kind.OBJECT, "PRP"
            self.kinds.append(kind)
            tags.append(tag)
        return tags

    def is_told_to_act(self, i: int) -> bool:
        """Whether "her" is who does what follows: "let her record it"."""
        following = (*self.context_free[i + 1 : i + 3], (Kind.START, ""))
        told = i > 0 and self.lower[i - 1] in _TAKES_BARE_VERB
        if self.next_word(i) in _LISTS["intransitive"]:
            return told and following[1][0] in (*_OBJECT_STARTS, *_PHRASE_ENDS)
        base = following[0] == (Kind.OPEN, "base")
        return told and base and following[1][0] in (*_OBJECT_STARTS, Kind.TO)

    def classify(self, i: int) -> tuple[Kind, str]:
        """Kind and tag as far as the word alone determines them; for OPEN the tag is the form."""
        word, lower = self.words[i], self.lower[i]
        if word in _PUNCTUATION_TAGS:
            return Kind.PUNCTUATION, _PUNCTUATION_TAGS[word]
        if "." in word or self.is_acronym(i):
            return Kind.NAME, "NNP"
        if word in ("May", "Will") and i > 0 and self.words[i - 1].islower():
            return Kind.NAME, "NNP"  # the month or the man, but not in a headline's capitals
        if lower == "wont" and (i == 0 or self.lower[i - 1] not in _BEFORE_WONT):
            return _CLOSED["won't"]
        if lower in _CLOSED:
            none = lower == "one" and i > 0 and self.lower[i - 1] == "no"
            return _CLOSED["nobody" if none else lower]
        if lower.endswith("-"):  # the beginning of a stammered word, which changes nothing
            return Kind.ADVERB, "RB"
        head, apostrophe, _ = lower.rpartition("'")
        if apostrophe:
            clitic = lower[len(head) :]
            if clitic in _CLITICS:
                return _CLITICS[clitic]
            if lower == "let's":
                return Kind.MODAL, "VB"
            if clitic == "'s" and head in _S_IS_VERB:
                return Kind.BE, "VBZ"
            return (Kind.POSSESSIVE if clitic in ("'s", "'") else Kind.NOUN), "NN"
        if lower in _PLURALS:
            return Kind.PLURAL, "NNS"
        if lower.endswith("ly") and lower not in _ADVERB_NOT:
            return Kind.ADVERB, "RB"
        if (
            lower.endswith(_ADJECTIVE_ENDINGS)
            and len(lower) > 5
            and lower not in self.tagger.adjectival
        ):
            return Kind.ADJECTIVE, "JJ"
        if lower.endswith("ing") and not _VOWELS.isdisjoint(lower[:-3]) and lower not in _ING_NOUNS:
            return Kind.ING, "VBG"
        if lower in _IRREGULAR_PAST or lower in _PARTICIPLES or self.is_regular_past(lower):
            return Kind.OPEN, "past"
        if word[0].isupper() and i > 0 and not self.is_split(lower) and self.words[i - 1] != "“":
            return Kind.NAME, "NNP"
        if len(lower) > 3 and lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
            return Kind.OPEN, "s"
        return Kind.OPEN, "base"

    def is_split(self, lower: str) -> bool:
        return lower in _VERBS or lower in self.tagger.heteronyms

    def is_regular_past(self, lower: str) -> bool:
        return lower.endswith("ed") and len(lower) > 3 and not lower.endswith(("eed", "hundred"))

    def is_acronym(self, i: int) -> bool:
        word = self.words[i]
        if word.endswith(("'s", "’s")) and word[:-2] in _ACRONYM_IF:
            word = word[:-2]
        if len(word) < 2 or not word.isupper():
            return False
        if (self.lower[i - 1 : i], word) in ((["i"], "AM"), (["let"], "US")):
            return False  # "I AM here."
        if word == "US" and i and self.lower[i - 1] in _LISTS["before_us"] and self.shouts(i):
            return False  # "Why do THIS to US?"
        if word in _ACRONYM_IF:
            before = self.lower[i - 1] if i else ""
            after = self.lower[i + 1] if i + 1 < len(self.lower) else ""
            return before in ("the", "an", "our", "in", "from") or after in _ACRONYM_IF[word]
        return word in ACRONYMS or not self.tagger.known(word.lower())

    def shouts(self, i: int) -> bool:
        """Whether another word than word `i` is in capitals for emphasis."""
        return any(
            len(word) > 1
            and word.isupper()
            and word not in ACRONYMS
            and self.tagger.known(word.lower())
            for word in (*self.words[:i], *self.words[i + 1 :])
        )

    def is_letter(self, i: int) -> bool:
        """Whether "a" is the name of the letter: "vitamin A", "A, B and C"."""
        following = self.next_kind(i)
        before = self.lower[i - 1] if i else ""
        return (
            following in (Kind.PUNCTUATION, Kind.START, Kind.BE)
            or self.next_word(i) in _LISTS["after_letter"]
            or before in ("an", "letter", "vitamin")
            or (self.words[i] == "A" and before in _LISTS["before_letter"])
            or (self.words[i] == "A" and i > 0 and following in (Kind.TO, Kind.CONJUNCTION))
        )

    def next_kind(self, i: int) -> Kind:
        return self.context_free[i + 1][0] if i + 1 < len(self.words) else Kind.START

    def next_word(self, i: int) -> str:
        return self.lower[i + 1] if i + 1 < len(self.words) else ""

    def previous(self, i: int) -> int:
        """Index of the nearest earlier word that is not an adverb, or -1."""
        i -= 1
        while i >= 0 and (
            (self.kinds[i] is Kind.ADVERB and self.lower[i] != "please")
            or (self.lower[i] in ("last", "first", "next") and self.is_pronoun(i - 1))
            or self.lower[i - 1 : i + 1] == ["no", "longer"]
            or self.lower[i : i + 2] == ["no", "longer"]
        ):
            i -= 1
        return i

    def is_pronoun(self, i: int) -> bool:
        return self.kind(i) in _SUBJECTS

    def kind(self, i: int) -> Kind:
        return self.kinds[i] if i >= 0 else Kind.START

    def that(self, i: int) -> str:
        """DT for the stressed demonstrative, IN or WDT for the weak conjunction or relative."""
        following, before = self.next_kind(i), self.kind(i - 1)
        if following in (Kind.PUNCTUATION, Kind.START):
            return "DT"
        if before in _NOMINAL:
            return "WDT"
        if self.next_word(i) == "that's":
            return "IN"
        if i and self.lower[i - 1] in _SAYING:
            return "IN" if following is not Kind.BE else "DT"
        if following in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.SUBJECT, Kind.SUBJECT_THIRD):
            return "IN"
        pronoun, clitic, _ = self.next_word(i).partition("'")
        if clitic and _CLOSED.get(pronoun, (Kind.OPEN,))[0] in (Kind.SUBJECT, Kind.SUBJECT_THIRD):
            return "IN"  # "upset that he'd left"
        if following is Kind.PLURAL or self.context_free[i + 1] == (Kind.OPEN, "s"):
            return "IN"  # the demonstrative would be "those"
        return "DT"

    def decide(self, i: int, form: str) -> tuple[Kind, str]:
        """Decide between noun, verb and adjective by the neighbouring words."""
        p = self.previous(i)
        if form == "past":
            return self.decide_past(i, p)
        if form == "s":
            return (Kind.VERB_S, "VBZ") if self.is_s_verb(i, p) else (Kind.PLURAL, "NNS")
        third = self.kind(p) in (Kind.NOUN, Kind.NAME, Kind.SUBJECT_THIRD)
        if third and self.lower[i] in _SAME_PAST and self.next_kind(i) in _OBJECT_STARTS:
            return Kind.PAST, "VBD"  # "the upset cost them dearly"
        if self.is_base_verb(i, p):
            return Kind.VERB, "VB"
        if self.is_adjective(i, p) or self.lower[i] in _LISTS["no_noun"]:
            return Kind.ADJECTIVE, "JJ"
        return Kind.NOUN, "NNP" if self.words[i][0].isupper() and i > 0 else "NN"

    def decide_past(self, i: int, p: int) -> tuple[Kind, str]:
        if p >= 0 and self.lower[p] in ("best", "better"):
            p = self.previous(p)  # "is best read slowly"
        before, lower = self.kind(p), self.lower[i]
        had = before is Kind.MODAL and self.lower[p].endswith("'d")
        if had and lower in _SAME_PAST:
            before_past = i + 1 < len(self.words) and self.context_free[i + 1][1] == "past"
            if before_past or _HAD_SIGNS.intersection(self.clause(i)):
                return Kind.PARTICIPLE, "VBN"
        asked = before in _SUBJECTS and self.kind(self.previous(p)) in (Kind.HAVE, Kind.BE)
        if asked or before in (Kind.BE, Kind.HAVE) or (p >= 0 and self.lower[p] in _LINKING):
            used_to = lower == "used" and self.next_word(i) == "to" and before is not Kind.HAVE
            linked = before is not Kind.BE and not asked  # "get used to"
            if used_to and (linked or self.is_accustomed(i, p)):
                return Kind.PARTICIPLE, "JJ"
            return Kind.PARTICIPLE, "VBN"
        if lower == "used" and self.is_instrument(i, p):
            return Kind.PAST, "VBN"
        if lower == "wound" and (kind := self.injures(i, p)):
            return kind
        if lower == "wound" and self.next_word(i) in ("him", "me", "us", "you", "others"):
            return Kind.VERB, "VB"  # to injure
        if lower in _SAME_PAST and not self.is_past_of_same(i, p):
            if self.is_base_verb(i, p):
                return Kind.VERB, "VB"
            return Kind.NOUN, "NN"
        if lower in ("wound", "ground", "saw", "left", "felt", "found", "lay", "dove") and (
            before in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.ADJECTIVE, Kind.PREPOSITION)
        ):
            return Kind.NOUN, "NN"
        if before in (Kind.TO, Kind.MODAL) and lower not in _IRREGULAR_PAST:
            return Kind.VERB, "VB"
        if before in (Kind.TO, Kind.MODAL):
            return (Kind.VERB, "VB") if lower in _VERBS or lower == "wound" else (Kind.PAST, "VBD")
        if before in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.ADJECTIVE, Kind.PREPOSITION):
            return Kind.ADJECTIVE, "VBN" if lower not in self.tagger.adjectival else "JJ"
        return Kind.PAST, "VBD"

    def injures(self, i: int, p: int) -> tuple[Kind, str] | None:
        """What "wound" is where neighbours tell: "a flesh wound", "did you wound him?"."""
        if self.kind(p) is Kind.MODAL and self.next_word(i) in _LISTS["winding"]:
            return Kind.PARTICIPLE, "VBN"  # "they'd wound down the firm"
        if self.kind(p) in _SUBJECTS and self.asks_with_modal(p):
            return Kind.VERB, "VB"
        ends = (Kind.PUNCTUATION, Kind.START, Kind.BE, Kind.MODAL, Kind.HAVE, Kind.CONJUNCTION)
        done = self.next_kind(i) in ends or (Kind.OPEN, "past") in self.context_free[i + 1 : i + 2]
        harm = p >= 0 and self.lower[p] in _LISTS["harm"]
        kind = self.kind(p) is Kind.NOUN and (harm or (done and self.has_determiner(p)))
        return (Kind.NOUN, "NN") if kind else None

    def is_instrument(self, i: int, p: int) -> bool:
        """Whether something was used for a purpose: "the tools we used to open the crate"."""
        if self.kind(p) in _SUBJECTS and self.context_free[i + 2 : i + 3] == [
            (Kind.DETERMINER, "DT")
        ]:
            return self.next_word(i) == "to"  # "We used to the full what we had."
        thing = self.previous(p) if self.kind(p) in _SUBJECTS else -1
        that = thing > 0 and (self.kinds[thing] is Kind.THAT or self.lower[thing] == "which")
        head = thing - 1 if that else thing
        known = head >= 0 and self.lower[head].removesuffix("s") not in _LISTS["adverbial"]
        after = self.context_free[i + 3][0] if i + 3 < len(self.words) else Kind.START
        return known and self.kinds[head] in _NOMINAL and after in (*_DETERMINERS, Kind.OBJECT)

    def is_accustomed(self, i: int, p: int) -> bool:
        """Whether "used" means accustomed: "am used to it", but not "is used to cut"."""
        after = self.lower[i + 2] if i + 2 < len(self.lower) else ""
        kind = self.context_free[i + 2][0] if after else Kind.START
        person = p > 0 and self.lower[p - 1] in ("i", "you", "he", "she", "we", "they", "people")
        contracted = p >= 0 and "'" in self.lower[p] and not self.lower[p].startswith("it")
        return kind is not Kind.OPEN or person or contracted

    def is_past_of_same(self, i: int, p: int) -> bool:
        """Whether "read" and similar words are in the past, by the subject and the adverbs."""
        before = self.kind(p)
        if before in (Kind.SUBJECT_THIRD, Kind.NAME) or (
            before is Kind.NOUN and self.next_kind(i) in _OBJECT_STARTS
        ):
            # The third person present would be "reads", except in a question with "does".
            return not self.asks_with_modal(p)
        if before is Kind.NOUN and self.has_determiner(p) and self.next_kind(i) is not Kind.BE:
            return not self.asks_with_modal(p)
        if before is Kind.PUNCTUATION:
            return self.is_aside(i, p)
        if before is Kind.CONJUNCTION:
            return self.kind(self.previous(p)) is Kind.PAST or bool(
                {"yesterday", "ago", "last"}.intersection(self.lower[i:])
            )
        if before not in (Kind.SUBJECT, Kind.PLURAL) or self.asks_with_modal(p):
            return False
        if self.lower[p] == "who" and self.follows_plural(p):
            return self.tells_of_past(i, p)
        clause = self.clause(i)
        if "last" in clause or _PAST_SIGNS.intersection(clause):
            return not _HABIT_SIGNS.intersection(clause)
        habit = _HABIT_SIGNS.intersection(self.lower) or f"{self.lower[i]}s" in self.lower
        habit = habit or "these days" in " ".join(clause)
        if habit or self.next_word(i) in ("too", "more"):
            return False
        if _PAST_SIGNS.intersection(self.lower) or Kind.PAST in self.kinds:
            return True
        return before is Kind.SUBJECT and self.next_kind(i) in (
            Kind.DETERMINER,
            Kind.POSSESSIVE,
            Kind.SUBJECT_THIRD,
            Kind.THAT,
            Kind.PREPOSITION,
        )

    def tells_of_past(self, i: int, who: int) -> bool:
        """Whether what people do in a relative clause is past: "boys who read it were quick"."""
        since = who - self.kinds[who::-1].index(Kind.THAT) if Kind.THAT in self.kinds else 0
        later = any(tag == "past" for _, tag in self.context_free[i + 1 :])
        signs = not _LISTS["sure_past"].isdisjoint(self.lower[i:])
        return later or signs or Kind.PAST in self.kinds[since:]

    def is_aside(self, i: int, p: int) -> bool:
        """Whether word `i` begins what is told of the subject between commas: "The letter, read
        aloud in court, was long."."""
        if p < 1 or self.lower[p] != "," or "," not in self.lower[i:]:
            return False
        subject = self.kinds[0] in (*_DETERMINERS, Kind.NAME) and self.kinds[p - 1] in _NOMINAL
        return subject and _VERBAL.isdisjoint(self.kinds)

    def clause(self, i: int) -> list[str]:
        """The words between the marks around word `i`."""
        start = next((j + 1 for j in range(i, -1, -1) if self.lower[j] in _CLAUSE_MARKS), 0)
        marks = (j for j in range(i, len(self.lower)) if self.lower[j] in _CLAUSE_MARKS)
        return self.lower[start : next(marks, len(self.lower))]

    def asks_with_modal(self, subject: int) -> bool:
        """Whether a modal precedes the subject: "did you", "can the children"."""
        i = subject - 1
        while i >= 0 and self.kinds[i] in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.ADJECTIVE):
            i -= 1
        return i >= 0 and self.kinds[i] is Kind.MODAL

    def is_base_verb(self, i: int, p: int) -> bool:
        before, lower = self.kind(p), self.lower[i]
        following = self.next_kind(i)
        if self.is_modified_verb(i, p):
            return True
        if self.begins_with_some(i):  # "Few graduate on time."
            ends = following in (*_AFTER_VERB, Kind.PUNCTUATION)
            ends = ends or (following is Kind.OPEN and lower not in self.tagger.adjectival)
            return ends and self.is_split_verb(i)
        if before is Kind.TO:
            return not (p > 0 and self.lower[p - 1] in _NOUN_TO and following not in _OBJECT_STARTS)
        if before is Kind.MODAL and self.opens_question(p):
            return False
        if before is Kind.MODAL or (p >= 0 and self.lower[p] == "please"):
            return True
        if before is Kind.SUBJECT:
            return True
        if before in (Kind.SUBJECT_THIRD, Kind.OBJECT):
            return self.asks_with_modal(p) or (p > 0 and self.lower[p - 1] in _TAKES_BARE_VERB)
        if p >= 0 and self.lower[p] in _LISTS["takes_bare_object"]:
            return following in _OBJECT_STARTS
        if p == 0 and self.lower[p] == "why" and self.is_split_verb(i):
            return True  # "Why rebel now?"
        if before in (Kind.THAT, Kind.WH):
            return self.follows_plural(p) or (
                self.lower[p] not in _LISTS["which"] and following in _OBJECT_STARTS
            )
        if before in _NOMINAL and self.follows_relative(i, Kind.PLURAL, following):
            return True
        if before is Kind.PLURAL and self.ends_object_relative(i, p):
            return True
        if before is Kind.PLURAL:
            if self.lower[p] in _COMPOUND_HEADS:
                return False
            if self.asks_with_modal(p) or following in _OBJECT_STARTS or self.is_made_to(i, p):
                return True
            if lower in self.tagger.heteronyms and (self.lacks_verb(i) or self.governs(i)):
                return True
            return (lower in _VERBS and following is not Kind.BE) or following is Kind.TO
        if before in (Kind.NOUN, Kind.NAME):
            if self.asks_with_modal(p):
                return following is not Kind.CONJUNCTION
            if self.acts_together(i, p) or self.is_watched(i, p):
                return True
            object_follows = following in (*_OBJECT_STARTS, Kind.ADVERB, Kind.OPEN, Kind.PLURAL)
            ends = following in (*_OBJECT_STARTS, Kind.ADVERB, Kind.PUNCTUATION)
            if ends and self.is_joined_subject(p):
                return self.is_split_verb(i)
            return (
                object_follows and self.is_split_verb(i) and self.ends_phrase_after(p, Kind.PLURAL)
            )
        if before is Kind.CONJUNCTION:
            return self.is_parallel_verb(i, p)
        if p > 0 and self.lower[p] in _LISTS["rich"] and self.lower[p - 1] == "the":
            ends = following in (*_AFTER_VERB, Kind.PUNCTUATION, Kind.START)
            return ends and self.is_split_verb(i)  # "where the rich live"
        if self.ends_contact_clause(p, Kind.PLURAL) and following in _AFTER_VERB:
            return self.lower[i] in (self.tagger.heteronyms | _VERBS) and self.lacks_verb_after(i)
        if p >= 0 and self.lower[p] in ("this", "that", "these", "those"):
            asked = self.kind(p - 1) is Kind.MODAL  # "Will this present a problem?"
            plural = self.lower[p].endswith("se") and self.is_split_verb(i)
            return (asked or plural) and following in _OBJECT_STARTS
        after_so = p > 0 and self.lower[p] == "so" and self.kinds[p - 1] is Kind.PUNCTUATION
        if before in (Kind.START, Kind.PUNCTUATION) or after_so:
            return self.is_imperative(i) and not self.is_aside(i, p)
        return False

    def governs(self, i: int) -> bool:
        """Whether an object or clause begins after a word that is no adjective: "police suspect
        more are hiding"."""
        if self.lower[i] in self.tagger.adjectival or self.lower[i] == "present":
            return False
        cancelled = (Kind.OPEN, "past") in self.context_free[i + 1 : i + 2]
        if i == 1 and cancelled and (Kind.OPEN, "s") in self.context_free[i + 2 : i + 3]:
            return True  # "Airlines refund cancelled flights."
        return self.next_kind(i) in (Kind.ADVERB, Kind.ADJECTIVE, Kind.PLURAL, Kind.NAME)

    def begins_with_some(self, i: int) -> bool:
        """Whether "some" or "few" stands before word `i` and begins the clause."""
        clause = (Kind.START, Kind.PUNCTUATION, Kind.THAT, Kind.CONJUNCTION)
        return i > 0 and self.lower[i - 1] in _LISTS["some"] and self.kind(i - 2) in clause

    def follows_relative(self, i: int, head: Kind, following: Kind) -> bool:
        """Whether a heteronym is the verb after a relative clause: "Farms that grow wheat produce
        little."."""
        relative = next((j for j, k in enumerate(self.kinds) if j and self.is_relative(j)), i)
        if relative >= i or self.kinds[relative - 1] is not head or not self.is_split_s(i):
            return False
        verbs = [k for k in self.kinds[relative:] if k in _VERBAL]
        ends = following in (Kind.PUNCTUATION, Kind.START) and self.kind(i - 1) is not Kind.ADVERB
        before = _VERBAL.isdisjoint(self.kinds[:relative])
        return len(verbs) == 1 and before and not ends and self.lacks_verb_after(i)

    def ends_object_relative(self, i: int, p: int) -> bool:
        """Whether a heteronym is the verb of a clause without an object: "The oil that the wells
        produce is heavy."."""
        first = self.phrase_start(p)
        auxiliary = self.next_kind(i) in (Kind.BE, Kind.MODAL, Kind.HAVE)
        if not auxiliary or first < 1 or self.kinds[first] not in _DETERMINERS:
            return False
        relative = first - (self.lower[first - 1] in ("that", "which"))
        clause = self.kind(relative - 1) in _NOMINAL and self.kinds[relative - 1] is not Kind.NAME
        return clause and self.is_split_s(i) and _VERBAL.isdisjoint(self.kinds)

    def phrase_start(self, noun: int) -> int:
        """Where the phrase of the noun begins: at its determiner, if it has one."""
        while noun > 0 and self.kinds[noun - 1] in (*_NOMINAL, Kind.ADJECTIVE):
            noun -= 1
        return noun - (noun > 0 and self.kinds[noun - 1] in _DETERMINERS)

    def is_condition(self, p: int) -> bool:
        """Whether the subject follows "when" or "if": "when the load increases, it stops"."""
        first = self.phrase_start(p)
        return first > 0 and self.lower[first - 1] in (*_LISTS["clause_starts"], "as")

    def opens_question(self, modal: int) -> bool:
        """Whether a subject follows the auxiliary: "Does demand increase?"."""
        asked = modal == 0 or self.lower[modal - 1] in ("why", "how", "when", "where", "what")
        return asked and self.lower[modal] in _LISTS["asking"]

    def is_relative(self, i: int) -> bool:
        return self.lower[i] in ("that", "who", "which") and self.kinds[i - 1] in _NOMINAL

    def acts_together(self, i: int, p: int) -> bool:
        """Whether the subject is a group: "the crew refuse to go"."""
        acts = self.next_kind(i) in (*_OBJECT_STARTS, Kind.TO) and self.is_split_verb(i)
        return acts and self.lower[p] in _LISTS["collective"] and self.has_determiner(p)

    def is_watched(self, i: int, p: int) -> bool:
        """Whether somebody is seen or let to act: "we watched the farmer sow barley"."""
        first = p
        while first > 0 and self.kinds[first] in (Kind.NOUN, Kind.ADJECTIVE, Kind.NAME):
            first -= 1
        seen = first > 0 and self.kinds[first] in _DETERMINERS
        watched = seen and self.lower[first - 1] in _LISTS["watching"]
        acts = self.next_kind(i) in (*_OBJECT_STARTS, Kind.OPEN, Kind.PLURAL, Kind.ADVERB)
        return watched and acts and self.is_split_s(i)

    def is_modified_verb(self, i: int, p: int) -> bool:
        """Whether an adverb tells how an object is acted on: "rarely console each other"."""
        if i - p < 2 or not self.lower[i - 1].endswith("ly"):
            return False
        return self.lower[i] not in self.tagger.adjectival and self.next_kind(i) in _OBJECT_STARTS

    def is_made_to(self, i: int, p: int) -> bool:
        """Whether the clause ends with what many are made to do: "it made the troops desert"."""
        while p >= 0 and self.kinds[p] in (Kind.PLURAL, Kind.ADJECTIVE, Kind.DETERMINER):
            p -= 1
        makes = p >= 0 and self.lower[p] in ("make", "makes", "made", "let", "lets")
        return makes and self.next_kind(i) in (Kind.PUNCTUATION, Kind.START)

    def lacks_verb(self, i: int, infinitives: bool = True) -> bool:
        """Whether no other word can be the verb of the clause: "Muscles contract and relax."."""
        verbs = _VERBAL | {Kind.TO} if infinitives else _VERBAL
        for j in range(len(self.kinds) - 1, -1, -1):
            kind = self.kinds[j]
            begins = kind in (Kind.THAT, Kind.WH, Kind.PUNCTUATION)
            if begins or self.lower[j] in _LISTS["clause_starts"]:
                break
            if kind in verbs:
                return False
        says = self.lower[i] in _LISTS["take_that"] and self.next_kind(i) is Kind.THAT
        return says or self.lacks_verb_after(i, verbs)

    def lacks_verb_after(self, i: int, verbs: Set[Kind] = _VERBAL) -> bool:
        """Whether no word after word `i` can be the verb of its clause."""
        for j in range(i + 1, len(self.words)):
            kind, tag = self.context_free[j]
            if self.words[j] in _CLAUSE_ENDS or self.joins_clause(j):
                break
            if kind in verbs or tag == "past":
                return False
        return True

    def joins_clause(self, i: int) -> bool:
        """Whether a comma, a conjunction and a subject begin another clause: ", and she left"."""
        _, joined, subject, *_ = (*self.context_free[i : i + 3], *[(Kind.START, "")] * 3)
        starts = subject[0] in (*_SUBJECTS, *_DETERMINERS, Kind.ADJECTIVE)
        return self.lower[i] == "," and joined[0] is Kind.CONJUNCTION and starts

    def ends_contact_clause(self, p: int, head: Kind) -> bool:
        """Whether a clause without a relative pronoun ends at `p`, and what it tells of is a noun
        of kind `head` that begins the sentence: "the people I know"."""
        subject = self.previous(p)
        noun = self.previous(subject) if subject >= 0 else -1
        return (
            self.kind(p) in (Kind.VERB, Kind.VERB_S, Kind.PAST)
            and self.kind(subject) in _SUBJECTS
            and self.kind(noun) is head
            and _VERBAL.isdisjoint(self.kinds[:noun])
        )

    def follows_plural(self, relative: int) -> bool:
        return self.kind(self.previous(relative)) is Kind.PLURAL

    def is_parallel_verb(self, i: int, conjunction: int) -> bool:
        """Whether a word after "and" is a verb: if the joined word is one, or an object follows."""
        partner = self.previous(conjunction)
        while partner >= 0 and self.kinds[partner] is Kind.PUNCTUATION:
            partner = self.previous(partner)
        kind, following = self.kind(partner), self.next_kind(i)
        if kind in (Kind.VERB, Kind.MODAL):
            return True
        if kind is Kind.NOUN and self.kind(partner - 1) is Kind.PLURAL and self.is_split_verb(i):
            return self.lower[i] not in self.tagger.adjectival  # "metals bend and conduct less"
        if kind in (Kind.START, Kind.PUNCTUATION):
            return self.is_imperative(i)
        able = self.lower[i] in _IMPERATIVES or self.lower[i] == "use"
        if able and Kind.VERB in self.kinds:
            return following in (Kind.OPEN, Kind.PLURAL, Kind.NAME, *_OBJECT_STARTS)
        return following in _OBJECT_STARTS and any(
            k in (Kind.VERB, Kind.TO, Kind.MODAL) for k in self.kinds
        )

    def is_imperative(self, i: int) -> bool:
        following = self.next_kind(i)
        if self.begins_subject(i):
            return False
        if following is Kind.WH and self.next_word(i) in ("what", "whatever", "how", "whichever"):
            return self.lower[i] not in self.tagger.adjectival  # "Record what you hear."
        warned = i > 0 and self.lower[i - 1] in ("never", "always", "simply")
        if warned and self.lower[i] not in self.tagger.adjectival:
            return following not in (Kind.PUNCTUATION, Kind.START)  # "Never consort with spies."
        if following in _OBJECT_STARTS:
            return True
        if self.lower[i] == "use" and following in (Kind.OPEN, Kind.NAME, Kind.PLURAL, Kind.ING):
            return self.next_word(i) not in ("case", "cases")
        if following is Kind.PREPOSITION:
            if self.lower[i] in _IMPERATIVES and self.next_word(i) in _LISTS["into"]:
                return self.lacks_verb(i, infinitives=False)
            return self.lower[i] in _VERBS and self.next_word(i) not in ("of", "for", "as", "like")
        return (
            self.lower[i] in _VERBS
            and (
                following in (Kind.ADVERB, Kind.TO)
                or self.next_word(i) in ("up", "down", "out", "off")
                or (i == 0 and following in (Kind.PLURAL, Kind.ADJECTIVE))
                or (
                    i == 0
                    and following in (Kind.OPEN, Kind.ING, Kind.NAME)
                    and self.lower[i] not in _LISTS["objectless"]
                    and self.lacks_verb(i)
                )
            )
        ) or (i == 0 and self.lower[i] in _IMPERATIVES and self.commands(i))

    def begins_subject(self, i: int) -> bool:
        """Whether a verb follows two words: "Refuse trucks block the alley.", "Export prices rise
        when we sell."."""
        _, *following = (*self.context_free[i : i + 4], *[(Kind.START, "")] * 3)
        many = following[0] == (Kind.OPEN, "s") or following[0][0] is Kind.PLURAL
        ends = following[2][0] in (*_PHRASE_ENDS, Kind.WH, Kind.ADVERB)
        verb = following[2][0] in _OBJECT_STARTS or (ends and self.next_word(i + 1) in _VERBS)
        return many and following[1] == (Kind.OPEN, "base") and verb

    def commands(self, i: int) -> bool:
        """Whether a word at the beginning, a verb or a noun, has an object without an article."""
        following, tag = self.context_free[i + 1] if i + 1 < len(self.words) else (Kind.START, "")
        if not self.lacks_verb(i, infinitives=False):
            return False
        beyond = self.context_free[i + 2][0] if i + 2 < len(self.words) else Kind.START
        named = beyond is Kind.NAME or self.words[i + 2 : i + 3] == ["A"]  # "Insert tab A"
        with_more = beyond in (Kind.ADVERB, Kind.CONJUNCTION)  # "Combine flour and salt."
        placed = named or with_more or self.next_word(i + 1) in _LISTS["into"]
        return following is Kind.PLURAL or tag == "s" or (tag == "base" and placed)

    def is_s_verb(self, i: int, p: int) -> bool:
        before, following = self.kind(p), self.next_kind(i)
        if self.is_modified_verb(i, p) and self.is_split_s(i):
            return True
        if before is Kind.SUBJECT_THIRD or (p >= 0 and self.lower[p] == "who"):
            return True
        pronoun = p >= 0 and self.lower[p] in ("this", "that", "each", "neither")
        if pronoun and following in _OBJECT_STARTS:
            return self.is_split_verb(i)
        if before is Kind.THAT:
            return self.kind(self.previous(p)) in (Kind.NOUN, Kind.NAME)
        if before in _NOMINAL and self.follows_relative(i, Kind.NOUN, following):
            return True
        if before is Kind.NOUN and self.ends_object_relative(i, p):
            return True
        if before is Kind.NOUN and following is Kind.PUNCTUATION and self.is_condition(p):
            return self.is_split_s(i)
        if self.ends_contact_clause(p, Kind.NOUN) and following in _AFTER_VERB:
            return self.is_split_s(i) and self.lacks_verb_after(i)
        if before in (Kind.NOUN, Kind.NAME):
            if following in _OBJECT_STARTS or following in (Kind.TO, Kind.ADVERB):
                return True
            if (Kind.OPEN, "past") in self.context_free[i + 1 : i + 2]:
                return False  # "mass protests erupted"
            verb = self.lower[i].removesuffix("s")
            object_ahead = self.next_kind(i + 1) not in _OBJECT_STARTS  # "winds wind their way"
            has_object = verb in _VERBS and self.next_word(i) in self.tagger.heteronyms
            has_object = has_object and object_ahead
            if self.is_bare_verb(i + 1) and not has_object:
                return False
            is_subject = before is Kind.NAME or p == 0 or self.begins_clause(p)
            return is_subject and (
                (following is Kind.PREPOSITION and self.next_word(i) != "of")
                or (
                    not self.tagger.heteronyms.isdisjoint((self.lower[i], verb))
                    and following not in (Kind.PUNCTUATION, Kind.START)
                    and self.lacks_verb(i)
                )
                or (verb in _VERBS and following not in (Kind.BE, Kind.MODAL, Kind.HAVE))
            )
        if before is Kind.CONJUNCTION:
            many = following is Kind.PLURAL or self.context_free[i + 1 : i + 2] == [
                (Kind.OPEN, "s")
            ]
            object_follows = following in _OBJECT_STARTS or (many and self.is_split_s(i))
            joined = self.kind(self.previous(p)) is Kind.VERB_S
            return joined or (object_follows and Kind.VERB_S in self.kinds)
        if before is Kind.ING:  # "the cost of housing increases"
            object_follows = following in (*_OBJECT_STARTS, Kind.ADVERB)
            return self.is_split_verb(i) and (object_follows or following is Kind.PREPOSITION)
        if before is Kind.PLURAL:  # "every rebel in the hills rebels"
            return self.is_split_verb(i) and self.ends_phrase_after(p, Kind.NOUN)
        if before is Kind.WH and self.lower[p] == "what" and self.is_split_verb(i):
            return following in (Kind.WH, Kind.PREPOSITION, Kind.ADVERB, Kind.DETERMINER)
        if before is not Kind.WH or self.lower[p] != "which":
            return False
        relative = self.kind(p - 1) in (*_NOMINAL, Kind.PUNCTUATION) and p > 0
        if relative and following in (Kind.SUBJECT, Kind.SUBJECT_THIRD):
            return self.next_kind(i + 1) is not Kind.OPEN  # "knows which records it keeps"
        return relative or (self.is_split_s(i) and following not in _SUBJECT_OR_AUXILIARY)

    def is_split_s(self, i: int) -> bool:
        """Whether the word is a heteronym with "s"."""
        stems = (self.lower[i], self.lower[i][:-1], self.lower[i].removesuffix("es"))
        return not self.tagger.heteronyms.isdisjoint(stems)

    def is_split_verb(self, i: int) -> bool:
        """Whether a heteronym stands in a clause that has no other verb."""
        return self.lower[i] in self.tagger.heteronyms and self.lacks_verb(i, infinitives=False)

    def ends_phrase_after(self, noun: int, head: Kind) -> bool:
        """Whether a phrase with a preposition ends at `noun`, and a noun of kind `head` stands
        before it: "the men in the house"."""
        while noun >= 0 and self.kinds[noun] in (*_NOMINAL, Kind.ADJECTIVE, *_DETERMINERS):
            noun -= 1
        preposition = noun >= 0 and self.kinds[noun] in (Kind.PREPOSITION, Kind.TO)
        return preposition and self.kind(noun - 1) is head

    def is_joined_subject(self, noun: int) -> bool:
        """Whether the noun is the last of those that begin the sentence: "oil and water"."""
        phrase = (*_NOMINAL, Kind.ADJECTIVE, *_DETERMINERS)
        while noun >= 0 and self.kinds[noun] in phrase:
            noun -= 1
        joined = noun > 0 and self.lower[noun] == "and"
        return joined and all(kind in phrase for kind in self.kinds[:noun])

    def is_bare_verb(self, i: int) -> bool:
        """Whether the word can only be the verb of a plural subject: "graduates earn more"."""
        if i >= len(self.words) or self.context_free[i] != (Kind.OPEN, "base"):
            return False
        after = self.next_kind(i)
        if after is Kind.PREPOSITION:
            return self.lower[i] in _LISTS["happening"]
        return self.lower[i] in _VERBS and after not in (Kind.BE, Kind.MODAL)

    def begins_clause(self, noun: int) -> bool:
        """Whether the noun and what describes it stand after a determiner or begin the clause."""
        while noun >= 0 and self.kinds[noun] in (Kind.NOUN, Kind.ADJECTIVE, Kind.NAME):
            noun -= 1
        return noun < 0 or self.kinds[noun] in (
            Kind.DETERMINER,
            Kind.POSSESSIVE,
            Kind.PUNCTUATION,
        )

    def has_determiner(self, noun: int) -> bool:
        while noun >= 0 and self.kinds[noun] in (Kind.NOUN, Kind.ADJECTIVE):
            noun -= 1
        return noun >= 0 and self.kinds[noun] in (Kind.DETERMINER, Kind.POSSESSIVE)

    def is_complement(self, i: int) -> bool:
        """Whether a word says what somebody was made: "it made her content"."""
        ends = self.next_kind(i) in (Kind.PUNCTUATION, Kind.START)
        if ends and self.lower[i] == "content" and not _LISTS["parting"].isdisjoint(self.clause(i)):
            return True  # "they went home content"
        kept = self.kind(i - 1) is Kind.PLURAL and not _KEEPING.isdisjoint(self.clause(i))
        if ends and self.lower[i] == "content" and kept:
            return True  # "it keeps readers content"
        return (
            i > 1
            and self.lower[i - 1] in ("her", "him", "them", "me", "us", "you", "it")
            and self.lower[i - 2]
            in ("make", "makes", "made", "keep", "keeps", "kept", "leave", "left")
            and self.next_kind(i) in (Kind.PUNCTUATION, Kind.START, Kind.CONJUNCTION)
        )

    def is_near(self, i: int, p: int) -> bool:
        """Whether "close" tells where: "sit close together", "keep your friends close"."""
        done = self.kind(p) in (Kind.VERB, Kind.VERB_S, Kind.PAST, Kind.ING, Kind.OBJECT)
        held = self.kind(p) in _NOMINAL and not _KEEPING.isdisjoint(self.clause(i))
        beside = self.next_word(i) in ("by", "together", "behind")
        return done or held or beside or self.lower[p] == "it"

    def is_adjective(self, i: int, p: int) -> bool:
        if self.lower[i] not in self.tagger.adjectival:
            return False
        before, following = self.kind(p), self.next_kind(i)
        if i and self.lower[i - 1] in _INTENSIFIERS:
            return True
        if before is Kind.BE or (p >= 0 and self.lower[p] in _LINKING):
            return True
        listed = before is Kind.CONJUNCTION or (p >= 0 and self.lower[p] == ",")
        if listed and self.kind(p - 1) is Kind.ADJECTIVE and following not in _OBJECT_STARTS:
            return True  # "deliberate, elaborate and intimate"
        if i and [self.lower[i - 1], self.next_word(i)] == [",", ","]:
            return self.next_kind(i + 1) is Kind.PREPOSITION  # "He stared, content, at the fire."
        near = self.lower[i] == "close" and self.is_near(i, p)
        if near or self.is_complement(i) or self.is_aside(i, p):
            return True
        hits = self.next_word(i) in _SAME_PAST and self.next_kind(i + 1) in _OBJECT_STARTS
        if hits or (following is Kind.OPEN and self.context_free[i + 1][1] == "past"):
            return False
        if self.next_word(i) in ("to", "with"):
            return True
        if before is Kind.DETERMINER and self.next_word(i) == "being":
            return True
        if before in (Kind.DETERMINER, Kind.VERB) and self.next_word(i) == ",":
            return self.lower[i] not in ("content", "close", "invalid")  # "an elaborate, slow act"
        if self.lower[i] == "content":
            return self.next_word(i) in _CONTENTED
        return following in _NOUN_AHEAD
