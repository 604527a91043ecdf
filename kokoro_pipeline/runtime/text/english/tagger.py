"""A part-of-speech tagger of rules, for the choices that English pronunciation depends on.

It decides between noun and verb ("a record", "to record"), adjective and noun ("a minute amount"),
past and present ("I have read"), demonstrative and conjunction ("that"), acronym and word ("US",
"us"). It knows the closed classes, a few hundred frequent words, word endings and the neighbours of
a word; it is no general tagger.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence


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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLASSES: tuple[tuple[Kind, str, str], ...] = (
    (
        Kind.DETERMINER,
        "DT",
        "a an the this these those every each no any some another either neither all both"
        " half such",
    ),
    (Kind.POSSESSIVE, "PRP$", "my your his our their its whose thy"),
    (Kind.SUBJECT, "PRP", "i we they you ye thou"),
    (
        Kind.SUBJECT_THIRD,
        "PRP",
        "he she it someone somebody everyone everybody anyone nobody nothing something"
        " everything one",
    ),
    (
        Kind.OBJECT,
        "PRP",
        "me him us them myself yourself himself herself itself ourselves themselves yourselves",
    ),
    (Kind.SUBJECT, "WP", "who"),
    (Kind.WH, "WDT", "which what whatever whichever whom"),
    (Kind.WH, "WRB", "when where why how whenever wherever"),
    (
        Kind.MODAL,
        "MD",
        "will would can could shall should may might must cannot can't won't couldn't"
        " wouldn't shouldn't mustn't mightn't needn't shan't",
    ),
    (Kind.MODAL, "VBP", "do don't"),
    (Kind.MODAL, "VBZ", "does doesn't"),
    (Kind.MODAL, "VBD", "did didn't"),
    (Kind.BE, "VBZ", "is isn't"),
    (Kind.BE, "VBP", "am are aren't ain't"),
    (Kind.BE, "VBD", "was were wasn't weren't"),
    (Kind.BE, "VB", "be"),
    (Kind.BE, "VBN", "been"),
    (Kind.BE, "VBG", "being"),
    (Kind.HAVE, "VBP", "have haven't"),
    (Kind.HAVE, "VBZ", "has hasn't"),
    (Kind.HAVE, "VBD", "had hadn't"),
    (Kind.HAVE, "VBG", "having"),
    (Kind.TO, "TO", "to"),
    (Kind.CONJUNCTION, "CC", "and or but nor yet"),
    (
        Kind.PREPOSITION,
        "IN",
        "of in on at by for with from into onto upon about over under between among"
        " through during before after above below against without within across along"
        " around behind beside besides beyond despite except inside near off outside past"
        " per since toward towards underneath until till unlike via than as like if"
        " because although though while whereas unless whether so versus",
    ),
    (
        Kind.ADVERB,
        "RB",
        "not never always often usually sometimes rarely seldom also just only even still"
        " already really very too quite rather almost nearly ever soon now then here there"
        " again away back forward together apart alone perhaps maybe instead well far long"
        " twice once later today tomorrow yesterday tonight please n't more most less"
        " least as ever much early hard fast straight right",
    ),
    (
        Kind.NUMBER,
        "CD",
        "zero one two three four five six seven eight nine ten eleven twelve thirteen"
        " fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty"
        " sixty seventy eighty ninety hundred thousand million billion trillion",
    ),
    (
        Kind.ADJECTIVE,
        "JJ",
        "new old good bad big small great little high low long short large own other same"
        " different next last first second third few many several most more young"
        " important public early late possible national social human local sure full free"
        " whole strong true clear recent certain open special easy real best better worst"
        " red blue green black white dark hot cold warm cool nice happy sad rich poor hard"
        " soft fast slow main major minor total final single double low cheap deep dead"
        " busy ready quick rare safe sharp sick smart tall thick thin tiny tough ugly vast"
        " weak wet wide wild wise fresh huge loud quiet strange sweet brave calm clean"
        " dirty dry empty fair false fine flat grand heavy light",
    ),
)


def _closed_classes() -> dict[str, tuple[Kind, str]]:
    closed: dict[str, tuple[Kind, str]] = {}
    for kind, tag, words in _CLASSES:
        for word in words.split():
            closed.setdefault(word, (kind, tag))
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
_S_IS_VERB = _words("he she it that there what who where here how when this everything everyone")

_VERBS = _words(
    "accept add admit agree allow announce appear apply argue arrive ask avoid become begin"
    " believe belong bring build buy call carry catch choose come compare consider contain"
    " continue cost create decide deny depend describe develop die discuss draw drive earn eat"
    " enjoy enter exist expect explain fall feel fill find finish follow forget form gain get"
    " give go grow happen hear help hide hold hope improve include introduce keep know learn"
    " leave let listen look lose love make manage mean meet mention move need obtain offer"
    " open own pay perform prefer prepare prevent prove provide pull push put raise reach read"
    " realize receive remain remember remove replace reply require return ride rise run save"
    " say see seem sell send serve show sing sit sleep speak spend stand start stay stop"
    " suggest support take talk teach tell think throw travel try turn understand visit wait"
    " walk want wear win wish work write set live lead use bow break bear beat bind bite blow"
    " burn burst cut deal dig do drink feed fight fly freeze hang hit hurt lay lend lie lock"
    " ring seek shake shine shoot shut sink slide spread steal stick strike swear sweep swim"
    " swing tear wake weep wind change play like hate refuse produce reduce"
)
_IRREGULAR_PAST = _words(
    "was were became began broke brought built bought caught chose came did drew drank drove"
    " ate fell felt fought found flew forgot gave went grew heard held kept knew laid led left"
    " lost made meant met paid put ran rang read rode rose said sang sat saw sold sent set"
    " shook shot shut slept spoke spent stood stole stuck struck swam swore swept took taught"
    " told thought threw understood woke wore won wrote hid hung hurt lay lit sank slid sought"
    " spread stung wept wound bit bent bled blew burnt clung crept dealt dug dove dreamt fed"
    " fled froze ground knelt leapt"
)
_PARTICIPLES = _words(
    "been become begun broken brought built bought caught chosen come done drawn drunk driven"
    " eaten fallen felt fought found flown forgotten given gone grown heard held kept known"
    " laid led left lost made meant met paid put run rung read ridden risen said sung sat seen"
    " sold sent set shaken shot shut slept spoken spent stood stolen stuck struck swum sworn"
    " swept taken taught told thought thrown understood woken worn won written hidden hung"
    " hurt lain lit bound wound"
)
_SAME_PAST = _words(
    "read set put cut hit let shut hurt cost spread burst split quit bet bid reread"
)
_PAST_SIGNS = _words(
    "somewhere recently yesterday ago last was were had did earlier once before then didn't wasn't"
)
_HABIT_SIGNS = _words("every always often usually sometimes never now daily rarely seldom each")

_PLURALS = _words("people children men women police data media teeth feet mice cattle folks")
_COMPOUND_HEADS = _words("sales sports news arms savings systems goods communications operations")
_TAKES_BARE_VERB = _words(
    "let let's lets make makes made help helps helped watch watched see saw hear heard"
)
_SAYING = _words(
    "say says said think thinks thought know knows knew believe believes believed hope hopes"
    " hoped feel feels felt see sees saw show shows showed suggest suggests find found fact so"
    " such sure told tell realize realized understand understood guess claim claims claimed"
    " now idea glad"
)
_INTENSIFIERS = _words("very so too quite extremely as more most less rather pretty really how")
_LINKING = _words(
    "seem seems seemed feel feels felt look looks looked become becomes became remain remains"
    " remained get gets got stay stays stayed stand come comes came sound sounds sounded"
)
_NOUN_TO = _words(
    "due thanks access according addition objection attention response relation similar contrast"
    " return answer key reference regard respect prior subject object objects objected adjacent"
    " close listen listened next opposed related subjected exposed devoted committed dedicated"
    " limited accustomed"
)
_ADJECTIVE_ENDINGS = ("ful", "less", "ous", "ive", "able", "ible", "ical", "ish", "iest", "ary")
_ADVERB_NOT = _words(
    "family only early daily weekly monthly yearly friendly lovely lonely likely ugly silly"
    " fly july reply supply apply rely ally italy belly bully jelly lily assembly elderly"
    " deadly costly lively holy"
)

# Capitals that are letters or an acronym in running text, although a word is spelled the same.
_ACRONYMS = _words(
    "US AA AD BA CIS COD DA DOE ER ETA GI ID LA LED MA MI MO MOD OS PA RIP SAT SEC SOB TA POW COO"
    " AG AM PM IT WHO"
)
_ACRONYM_IF = {
    "IT": _words("department support team staff industry manager systems services security"),
    "WHO": _words("guidelines report director official officials data chief"),
}

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
_NOUN_AHEAD = {Kind.OPEN, Kind.NOUN, Kind.PLURAL, Kind.NAME, Kind.ING, Kind.ADJECTIVE}


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
            elif self.lower[i] == "her" and self.next_kind(i) not in _NOUN_AHEAD:
                kind, tag = Kind.OBJECT, "PRP"
            self.kinds.append(kind)
            tags.append(tag)
        return tags

    def classify(self, i: int) -> tuple[Kind, str]:
        """Kind and tag as far as the word alone determines them; for OPEN the tag is the form."""
        word, lower = self.words[i], self.lower[i]
        if word in _PUNCTUATION_TAGS:
            return Kind.PUNCTUATION, _PUNCTUATION_TAGS[word]
        if "." in word or self.is_acronym(i):
            return Kind.NAME, "NNP"
        if lower in _CLOSED:
            return _CLOSED[lower]
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
        if lower.endswith("ing") and len(lower) > 4:
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
        if len(word) < 2 or not word.isupper():
            return False
        if word in _ACRONYM_IF:
            before = self.lower[i - 1] if i else ""
            after = self.lower[i + 1] if i + 1 < len(self.lower) else ""
            return before in ("the", "an", "our") or after in _ACRONYM_IF[word]
        return word in _ACRONYMS or not self.tagger.known(word.lower())

    def is_letter(self, i: int) -> bool:
        """Whether "a" is the name of the letter: "vitamin A", "A, B and C"."""
        following = self.next_kind(i)
        before = self.lower[i - 1] if i else ""
        return (
            following in (Kind.PUNCTUATION, Kind.START, Kind.BE)
            or self.next_word(i) in ("plus", "minus", "slash", "dot", "dash", "sharp")
            or before in ("an", "letter", "vitamin", "plan", "grade", "type", "group", "team")
            or (self.words[i] == "A" and i > 0 and following in (Kind.TO, Kind.CONJUNCTION))
        )

    def next_kind(self, i: int) -> Kind:
        return self.context_free[i + 1][0] if i + 1 < len(self.words) else Kind.START

    def next_word(self, i: int) -> str:
        return self.lower[i + 1] if i + 1 < len(self.words) else ""

    def previous(self, i: int) -> int:
        """Index of the nearest earlier word that is not an adverb, or -1."""
        i -= 1
        while i >= 0 and self.kinds[i] is Kind.ADVERB and self.lower[i] != "please":
            i -= 1
        return i

    def kind(self, i: int) -> Kind:
        return self.kinds[i] if i >= 0 else Kind.START

    def that(self, i: int) -> str:
        """DT for the stressed demonstrative, IN or WDT for the weak conjunction or relative."""
        following, before = self.next_kind(i), self.kind(i - 1)
        if following in (Kind.PUNCTUATION, Kind.START):
            return "DT"
        if before in _NOMINAL:
            return "WDT"
        if i and self.lower[i - 1] in _SAYING:
            return "IN" if following is not Kind.BE else "DT"
        if following in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.SUBJECT, Kind.SUBJECT_THIRD):
            return "IN"
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
        if self.is_base_verb(i, p):
            return Kind.VERB, "VB"
        if self.is_adjective(i, p):
            return Kind.ADJECTIVE, "JJ"
        return Kind.NOUN, "NNP" if self.words[i][0].isupper() and i > 0 else "NN"

    def decide_past(self, i: int, p: int) -> tuple[Kind, str]:
        before, lower = self.kind(p), self.lower[i]
        if before in (Kind.BE, Kind.HAVE) or (p >= 0 and self.lower[p] in _LINKING):
            used_to = lower == "used" and before is Kind.BE and self.next_word(i) == "to"
            if used_to and self.is_accustomed(i, p):
                return Kind.PARTICIPLE, "JJ"
            return Kind.PARTICIPLE, "VBN"
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
        if before is Kind.CONJUNCTION:
            return self.kind(self.previous(p)) is Kind.PAST
        if before not in (Kind.SUBJECT, Kind.PLURAL) or self.asks_with_modal(p):
            return False
        if _HABIT_SIGNS.intersection(self.lower) or self.next_word(i) in ("too", "more"):
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

    def asks_with_modal(self, subject: int) -> bool:
        """Whether a modal precedes the subject: "did you", "can the children"."""
        i = subject - 1
        while i >= 0 and self.kinds[i] in (Kind.DETERMINER, Kind.POSSESSIVE, Kind.ADJECTIVE):
            i -= 1
        return i >= 0 and self.kinds[i] is Kind.MODAL

    def is_base_verb(self, i: int, p: int) -> bool:
        before, lower = self.kind(p), self.lower[i]
        following = self.next_kind(i)
        if before is Kind.TO:
            return not (p > 0 and self.lower[p - 1] in _NOUN_TO and following not in _OBJECT_STARTS)
        if before is Kind.MODAL or (p >= 0 and self.lower[p] == "please"):
            return True
        if before is Kind.SUBJECT:
            return True
        if before in (Kind.SUBJECT_THIRD, Kind.OBJECT):
            return self.asks_with_modal(p) or (p > 0 and self.lower[p - 1] in _TAKES_BARE_VERB)
        if p >= 0 and self.lower[p] in ("help", "helps", "helped", "go", "come", "dare"):
            return following in _OBJECT_STARTS
        if before in (Kind.THAT, Kind.WH):
            return self.follows_plural(p) or (
                self.lower[p] not in ("what", "which", "whose") and following in _OBJECT_STARTS
            )
        if before is Kind.PLURAL:
            if self.lower[p] in _COMPOUND_HEADS:
                return False
            if self.asks_with_modal(p) or following in _OBJECT_STARTS:
                return True
            if lower in self.tagger.heteronyms and self.lacks_verb(i):
                return True
            return (lower in _VERBS and following is not Kind.BE) or following is Kind.TO
        if before in (Kind.NOUN, Kind.NAME):
            return self.asks_with_modal(p) and following is not Kind.CONJUNCTION
        if before is Kind.CONJUNCTION:
            return self.is_parallel_verb(i, p)
        if before in (Kind.START, Kind.PUNCTUATION):
            return self.is_imperative(i)
        return False

    def lacks_verb(self, i: int) -> bool:
        """Whether no other word can be the verb of the clause: "Muscles contract and relax."."""
        verbs = {Kind.VERB, Kind.VERB_S, Kind.PAST, Kind.BE, Kind.HAVE, Kind.MODAL, Kind.TO}
        for kind in reversed(self.kinds):
            if kind in (Kind.THAT, Kind.WH, Kind.PUNCTUATION):
                break
            if kind in verbs:
                return False
        return not any(kind in verbs or tag == "past" for kind, tag in self.context_free[i + 1 :])

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
        if kind in (Kind.START, Kind.PUNCTUATION):
            return self.is_imperative(i)
        return following in _OBJECT_STARTS and any(
            k in (Kind.VERB, Kind.TO, Kind.MODAL) for k in self.kinds
        )

    def is_imperative(self, i: int) -> bool:
        following = self.next_kind(i)
        if following in _OBJECT_STARTS:
            return True
        if following is Kind.PREPOSITION:
            return self.lower[i] in _VERBS and self.next_word(i) not in ("of", "for", "as", "like")
        return self.lower[i] in _VERBS and (
            following in (Kind.ADVERB, Kind.TO)
            or self.next_word(i) in ("up", "down", "out", "off")
            or (i == 0 and following in (Kind.PLURAL, Kind.ADJECTIVE))
        )

    def is_s_verb(self, i: int, p: int) -> bool:
        before, following = self.kind(p), self.next_kind(i)
        if before is Kind.SUBJECT_THIRD or (p >= 0 and self.lower[p] == "who"):
            return True
        if before is Kind.THAT:
            return self.kind(self.previous(p)) in (Kind.NOUN, Kind.NAME)
        if before in (Kind.NOUN, Kind.NAME):
            if following in _OBJECT_STARTS or following in (Kind.TO, Kind.ADVERB):
                return True
            is_subject = before is Kind.NAME or p == 0 or self.has_determiner(p)
            verb = self.lower[i].removesuffix("s")
            return is_subject and (
                (following is Kind.PREPOSITION and self.next_word(i) != "of")
                or (
                    self.lower[i] in self.tagger.heteronyms
                    and following not in (Kind.PUNCTUATION, Kind.START)
                    and self.lacks_verb(i)
                )
                or (verb in _VERBS and following not in (Kind.BE, Kind.MODAL, Kind.HAVE))
            )
        if before is Kind.CONJUNCTION:
            return self.kind(self.previous(p)) is Kind.VERB_S or (
                following in _OBJECT_STARTS and Kind.VERB_S in self.kinds
            )
        return before is Kind.WH and self.lower[p] == "which"

    def has_determiner(self, noun: int) -> bool:
        while noun >= 0 and self.kinds[noun] in (Kind.NOUN, Kind.ADJECTIVE):
            noun -= 1
        return noun >= 0 and self.kinds[noun] in (Kind.DETERMINER, Kind.POSSESSIVE)

    def is_adjective(self, i: int, p: int) -> bool:
        if self.lower[i] not in self.tagger.adjectival:
            return False
        before, following = self.kind(p), self.next_kind(i)
        if i and self.lower[i - 1] in _INTENSIFIERS:
            return True
        if before is Kind.BE or (p >= 0 and self.lower[p] in _LINKING):
            return True
        if following is Kind.OPEN and self.context_free[i + 1][1] == "past":
            return False
        if self.next_word(i) in ("to", "with"):
            return True
        if before is Kind.DETERMINER and self.next_word(i) == ",":
            return self.lower[i] not in ("content", "close", "invalid")  # "an elaborate, slow act"
        return following in _NOUN_AHEAD and self.lower[i] != "content"
