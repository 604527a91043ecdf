"""Words of one spelling and one part of speech that differ by sense, which their company tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .tables import word_sets

_NEAR = word_sets("homographs")
_SUBJECTS = ("i", "he", "she", "it", "we", "they", "you", "who")
_NOWHERE = 1000
_PHRASE_ENDS = (".", ",", ":", "CC", "VBZ", "VBD", "MD")
Sounds = tuple[str, str]
"""American and British phonemes."""


class _Place(NamedTuple):
    """A word in its sentence: the lower-case tokens, their Penn tags, and its index."""

    words: Sequence[str]
    tags: Sequence[str]
    i: int
    capital: bool
    """Whether it is written with a capital."""

    def at(self, distance: int) -> str:
        """The word so far away, or nothing beyond the sentence."""
        index = self.i + distance
        return self.words[index] if 0 <= index < len(self.words) else ""

    def before(self, count: int) -> Sequence[str]:
        return self.words[max(0, self.i - count) : self.i]

    def distance(self, name: str) -> int:
        """How far away the nearest word of the list is; a large number if there is none."""
        near = _NEAR[name]
        words = ((j, word.removesuffix("'s")) for j, word in enumerate(self.words))
        found = (abs(j - self.i) for j, word in words if word in near)
        return min((d for d in found if d), default=_NOWHERE)

    @property
    def finite_alone(self) -> bool:
        """Whether no other word before the next mark or conjunction and after the last is a verb
        with a subject."""
        stops = (",", ".", ":", "CC", "IN", "WRB")
        start = next((j for j in range(self.i, 0, -1) if self.tags[j] in stops), 0)
        ends = (",", ".", ":", "CC")
        end = next((j for j in range(self.i, len(self.tags)) if self.tags[j] in ends), None)
        rest = (*self.tags[start : self.i], *self.tags[self.i + 1 : end])
        return not {"VBD", "VBZ", "VBP", "MD", "VB"}.intersection(rest)

    @property
    def noun(self) -> bool:
        return self.tags[self.i].startswith("NN")


def _is_metal(place: _Place) -> bool:
    before, after, beyond = place.at(-1), place.at(1), place.at(2)
    if after in _NEAR["metal_after"] and after != "content":
        return True
    if after == "based" and beyond != "on":
        return True
    if after == "in" and beyond in ("it", "them") and before not in ("the", "a", "an", "their"):
        return True  # "paint had lead in it"
    if (
        after == "content"
        or before == "much"
        or before in _NEAR["metals"]
        or before in ("pencil", "pencil's")
    ):
        return True
    if before == "the" and after == "out":  # "get the lead out"
        return True
    if after in ("and", "or", ",") and beyond in _NEAR["metals"]:
        return True
    if before in ("and", "or", ",") and _NEAR["metals"].intersection(place.before(4)):
        return True
    if before in _NEAR["made_of"] and (
        before not in ("of", "with") or _NEAR["material"].intersection(place.before(4))
    ):
        return True
    if before == "of" and place.i + 1 < len(place.tags) and place.tags[place.i + 1] in _PHRASE_ENDS:
        return True  # "boots of lead"
    if _is_mass(place):
        return True
    first = _NEAR["lead_first"].intersection((before, place.at(-2)))
    return not first and before not in ("a", "an") and place.distance("metal_context") < 12


def _is_mass(place: _Place) -> bool:
    """Whether lead has no article where an object has one: "workers handling lead wear masks"."""
    if not 0 < place.i < len(place.tags) - 1 or place.at(-1) in _NEAR["lead_first"]:
        return False
    before, after = place.tags[place.i - 1], place.tags[place.i + 1]
    taken = before in ("VBG", "VBD", "VBZ") or place.at(-1) == "like"
    return taken and after in (*_PHRASE_ENDS, "IN", "RB", "VB")


def _lead(place: _Place) -> Sounds | None:
    tag = place.tags[place.i]
    possible = place.noun or tag == "JJ" or (place.i == 0 and _is_subject(place))
    after = place.at(1).removesuffix("'s")
    if not _NEAR["lead_things"].isdisjoint((after, after.removesuffix("s"))):
        return None
    metal = _is_tested(place) or (possible and _is_metal(place))
    return ("lˈɛd", "lˈɛd") if metal else None


def _is_tested(place: _Place) -> bool:
    """Whether somebody is exposed to it or looks for it: "tested the water for lead"."""
    before = place.at(-1)
    if before == "to":
        return place.at(-2) in ("exposure", "exposures", "exposed")
    return before == "for" and not _NEAR["tested"].isdisjoint(place.before(7))


def _is_subject(place: _Place) -> bool:
    """Whether a word that begins a sentence is not a command: "lead melts"."""
    after = place.tags[1] if len(place.tags) > 1 else ""
    return after in ("VBZ", "VBD", "MD") or place.at(1) in (
        "melts",
        "and",
        "poisoning",
        "dissolves",
    )


def _bass(place: _Place) -> Sounds | None:
    many = place.at(1) in ("are", "were", "aren't", "weren't")
    caught = not _NEAR["fish"].isdisjoint(place.before(2))
    caught = caught and _NEAR["music"].isdisjoint(place.before(2))  # "he fishes for bass"
    fish = many or caught or place.distance("fish") < place.distance("music")
    end = place.words[place.i].removeprefix("bass").replace("es", "ᵻz")
    british = end.replace("ᵻ", "ɪ")
    return (f"bˈæs{end}", f"bˈas{british}") if fish else (f"bˈAs{end}", f"bˈAs{british}")


def _does(place: _Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    tag = place.tags[place.i - 1] if place.i else ""
    seen = tag.startswith("VB") and before != "does" and place.distance("deer") < 12
    if after in ("are", "were"):
        return "dˈOz", "dˈQz"
    joined = before == "of" or (before == "and" and place.at(-2) in _NEAR["deer"])
    if joined and after not in ("not", "n't", "it", "he", "she"):
        return "dˈOz", "dˈQz"  # "bucks and does", "a pair of does"
    if not (before in _NEAR["before_deer"] or seen) or after in (
        "not",
        "n't",
        "it",
        "he",
        "she",
        "that",
    ):
        return None
    sure = before in ("the", "wild", "young", "pregnant", "female", "adult", "grazing")
    sure = sure or (place.i > 0 and place.tags[place.i - 1] == "CD")
    return ("dˈOz", "dˈQz") if sure or place.distance("deer") < 12 else None


def _bow(place: _Place) -> Sounds | None:
    if not place.noun:
        return None
    end = "z" if place.words[place.i] == "bows" else ""
    ribbon = place.distance("ribbon")
    bending = _NEAR["bending"].intersection(place.before(3))
    arrow = _NEAR["arrow"].intersection(place.words[place.i :])
    taken = not {"take", "took", "taken"}.isdisjoint(place.words[place.i : place.i + 4])
    stage = place.distance("stage") < min(ribbon, 8)
    alone = place.at(1) in _NEAR["after_bending"] or ribbon > 3
    if bending and (alone or (place.at(-1) in ("a", "his", "her") and not arrow)):
        return f"bˈW{end}", f"bˈW{end}"
    of_the_head = place.at(1) == "of" and _NEAR["bowed"].intersection((place.at(2), place.at(3)))
    alone = ribbon == _NOWHERE and _NEAR["arrow"].isdisjoint(place.words)
    bent = place.at(-1) == "a" and place.at(-2) == "with" and place.at(1) in (",", ".", "")
    aboard = place.at(-1) == "the" and place.at(-2) in ("at", "on", "over", "from", "near")
    if alone and (bent or aboard):
        return f"bˈW{end}", f"bˈW{end}"
    if place.at(1) == "to" or of_the_head or taken or stage or place.distance("ship") < ribbon:
        return f"bˈW{end}", f"bˈW{end}"
    return f"bˈO{end}", f"bˈQ{end}"


def _tear(place: _Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    end = "z" if place.words[place.i] == "tears" else ""
    objectless = place.at(2) in _NEAR["after_tear_up"] or place.at(3) == "time"
    if after == "up" and objectless and place.distance("torn") > 12:  # "tear up at a wedding"
        return f"tˈɪɹ{end}", f"tˈɪə{end}"
    if not place.noun:
        return None
    rip = after in ("in", "through", "along", "near") and before in (
        *("a", "the", "small", "large", "big", "long", "tiny", "this", "that", "huge"),
    )
    if after in _NEAR["of_tears"]:
        return None
    crying = place.distance("crying")
    holder = place.words[place.i + 2 : place.i + 5]
    if after in ("in", "on", "along") and not _NEAR["torn"].isdisjoint(holder):
        return f"tˈɛɹ{end}", f"tˈɛː{end}"
    if (
        (rip and crying > 8)
        or (not end and crying == _NOWHERE)
        or place.distance("torn") < min(crying, 8)
        or (before == "and" and place.at(-2) == "wear")
    ):
        return f"tˈɛɹ{end}", f"tˈɛː{end}"
    return None


def _row(place: _Place) -> Sounds | None:
    quarrel = place.at(1) in ("with", "over", "about", "between", "among", "broke")
    having = not {"had", "having", "have"}.isdisjoint(place.before(3)) and place.at(1) != "of"
    loud = place.at(-1) in (_NEAR["quarrel"] if having else _NEAR["quarrel"] - {"huge"})
    noise = place.at(-1) == "a" and place.at(-2) in ("heard", "hear", "such", "making", "make")
    loud = loud or (noise and place.at(1) != "of")
    had = place.at(-1) == "a" and place.at(-2) in ("had", "having")
    quarrel = quarrel or (had and place.at(1) in _NEAR["after_quarrel"])
    apart = place.at(1) == "between" and place.distance("lined_up") > 8
    quarrel = quarrel and (place.at(-1) != "the" or apart)
    subject = place.at(2) not in ("there", "here") and place.distance("lined_up") > 8
    broke_out = place.at(-1) == "the" and subject and place.at(1) in ("over", "about")
    acts = not _NEAR["quarreled"].isdisjoint((place.at(1), place.at(2)))
    broke_out = broke_out or (acts and place.at(-1) in ("the", "a", "this", "that"))
    over = place.at(-1) == "the" and place.at(-2) in ("after", "during", "since", "amid")
    broke_out = broke_out or (over and place.at(1) in ("", ".", ","))
    end = "z" if place.words[place.i] == "rows" else ""
    often = " ".join(place.words[place.i + 1 : place.i + 4]) == "all the time"
    argue = often or place.at(1) in ("about", "constantly")
    if argue and not place.noun and place.distance("rowing") == _NOWHERE:
        return f"ɹˈW{end}", f"ɹˈW{end}"
    sure = place.noun and (quarrel or loud or broke_out)
    return (f"ɹˈW{end}", f"ɹˈW{end}") if sure else None


def _use(place: _Place) -> Sounds | None:
    """A habit of the past: "I didn't use to", but not "what did you use to do it?"."""
    before = place.before(5)
    past = not {"did", "didn't"}.isdisjoint(before) and {"what", "which"}.isdisjoint(before)
    return ("jˈus", "jˈuːs") if past and place.at(1) == "to" and not place.noun else None


def _resume(place: _Place) -> Sounds | None:
    end = "z" if place.words[place.i] == "resumes" else ""
    if end and place.at(-1) in _NEAR["resumed"]:
        return "ɹəzˈumz", "ɹɪzjˈuːmz"  # "play resumes at one"
    return (f"ɹˈɛzəmˌA{end}", f"ɹˈɛzjʊmˌA{end}") if place.noun else None


def _dove(place: _Place) -> Sounds | None:
    into = place.at(1) in (
        *("into", "in", "down", "off", "under", "for", "headfirst", "deep", "from", "below"),
        *("right", "straight", "over", "toward", "towards", "to", "overboard"),
    )
    subject = place.i > 0 and place.at(-1) not in ("the", "a", "white", "mourning", "turtle")
    return ("dˈOv", "dˈQv") if into and subject else None


def _minute(place: _Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    small = not _NEAR["minute_things"].isdisjoint((after, f"{after}s", after[:-1])) or (
        (place.tags[place.i - 1].startswith("VB") if place.i else False)
        and before in _NEAR["before_minute"]
        and not place.noun
    )
    small = small or (
        before in ("a", "such", "his", "her", "its", "their")
        and place.i + 1 < len(place.tags)
        and place.tags[place.i + 1] == "NN"
        and after not in _NEAR["minute_times"]
    )
    small = small or before in ("very", "extremely", "so", "incredibly", "quite", "rather", "too")
    return ("mInˈut", "mInjˈuːt") if small else ("mˈɪnət", "mˈɪnɪt")


def _polish(place: _Place) -> Sounds | None:
    """The verb that begins a sentence is written as the nation is: "Polish the table."."""
    things = place.at(1) in _NEAR["polished_things"]
    verbless = things and not any(tag[:1] in "VM" for tag in place.tags[1:])
    command = place.i == 0 and place.capital and (verbless or place.at(1) in _NEAR["before_object"])
    return ("pˈɑlɪʃ", "pˈɒlɪʃ") if command else None


def _sow(place: _Place) -> Sounds | None:
    if place.i and place.tags[place.i - 1] == "NNS":  # "farmers sow wheat"
        return "sˈO", "sˈQ"
    pig = place.noun and (place.distance("sow_context") < 12 or place.at(-1) in ("a", "the"))
    return ("sˈW", "sˈW") if pig else None


def _adjective(
    long: str, short: str, british_long: str = "", british_short: str = ""
) -> Callable[[_Place], Sounds | None]:
    """A participle that gains a syllable as an adjective before its noun: "a crooked man".

    The British phonemes are those of American English where they are not given.
    """

    def choose(place: _Place) -> Sounds | None:
        word = place.words[place.i]
        after = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
        nouns = _NEAR.get(f"{word}_things")
        if nouns is None:
            attributive = after.startswith(("NN", "JJ")) and place.at(-1) not in _NEAR["objects"]
        else:
            attributive = place.at(1) in nouns and place.at(-1) not in _SUBJECTS
            tag = place.tags[place.i - 1] if place.i else ""
            described = tag in ("DT", "PRP$", "JJ") and after.startswith("NN")
            attributive = attributive or (word == "dogged" and described)
        if place.at(-1) == "hashtag":
            return short, british_short or short
        alone = place.at(-1) == "the" and not after.startswith(("NN", "JJ"))
        alone = alone or (place.i == 0 and place.at(1) in ("are", "is", "be"))
        graded = place.at(-1) in ("most", "very") and after.startswith("NN")
        if attributive or alone or graded:
            return long, british_long or long
        return short, british_short or short

    return choose


def _town(american: str, british: str) -> Callable[[_Place], Sounds | None]:
    """A town that is spelled as a common word, where it is written as a name: "in Nice"."""

    def choose(place: _Place) -> Sounds | None:
        near = _NEAR[f"{place.words[place.i]}_context"].intersection(place.words)
        after = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
        placed = place.i > 0 and place.at(-1) in _NEAR["before_place"] and after[:3] != "NNP"
        train = place.at(-1) == "the" and place.at(1) in _NEAR["of_town"]
        placed = placed or train or bool(near)
        return (american, british) if place.capital and placed else None

    return choose


def _crooked(place: _Place) -> Sounds | None:
    bent = place.at(1) in ("his", "her", "its", "my", "their", "a", "one") and place.i > 0
    return ("kɹˈʊkt", "kɹˈʊkt") if bent and place.at(-1) != "a" else ("kɹˈʊkᵻd", "kɹˈʊkɪd")


def _putting(place: _Place) -> Sounds | None:
    after = place.at(1)
    on_green = after in _NEAR["golf_after"]
    on_green = on_green or (after == "on" and place.at(3) in ("green", "greens"))
    ball = after not in ("the", "a") or place.at(2) == "ball"
    after_tag = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
    done = after_tag in ("VB", "VBD", "VBZ", "MD") or after in (
        "and",
        "let",
        "cost",
        ".",
        ",",
        "!",
        "?",
    )
    if after_tag in ("VBD", "VBZ", "MD"):
        return "pˈʌTɪŋ", "pˈʌtɪŋ"  # "where putting is taught"
    if done and (place.tags[place.i - 1] == "PRP$" or place.at(-1).endswith("'s")) and place.i:
        return "pˈʌTɪŋ", "pˈʌtɪŋ"  # "her putting let her down"
    near = place.distance("golf") < 9 and ball and after not in _NEAR["put_where"]
    return ("pˈʌTɪŋ", "pˈʌtɪŋ") if on_green or near else None


def _job(place: _Place) -> Sounds | None:
    """The patient man of the Bible."""
    after = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
    acts = after in ("VBD", "VBZ", "MD")
    named = place.capital and (place.i > 0 or acts or place.words[0] == "job's")
    end = "z" if place.words[place.i] == "job's" else ""
    alone = place.at(-1) in ("like", "of", "to", "as") and not after.startswith("NN")
    if not named or (place.distance("job_context") > 8 and not alone):
        return None
    return f"ʤˈOb{end}", f"ʤˈQb{end}"


def _slough(place: _Place) -> Sounds | None:
    """To shed a skin, or the town, not the bog."""
    if place.capital and place.i > 0:
        return "slˈW", "slˈW"
    shed = place.at(1) in ("off", "away", "their", "its", "his", "her", "skin", "skins")
    return ("slˈʌf", "slˈʌf") if shed else None


def _sewer(place: _Place) -> Sounds | None:
    """Somebody who sews, and not the drain."""
    fallen = place.at(-2) in ("in", "into", "down", "through", "under", "from")
    if place.at(1) in _NEAR["sewer_things"] or (fallen and place.at(-1) == "the"):
        return None
    end = "z" if place.words[place.i] == "sewers" else ""
    return (f"sˈOəɹ{end}", f"sˈQə{end}") if place.distance("sewing") < 10 else None


def _mobile(place: _Place) -> Sounds | None:
    """A hanging sculpture, or the city: a mobile phone is moved."""
    following = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
    placed = place.i > 0 and place.at(-1) in _NEAR["before_place"] and following[:2] != "NN"
    near = "alabama" in place.words and following[:2] != "NN"
    if place.capital and (placed or near or place.at(1) == "bay"):
        return "mObˈil", "mQbˈiːl"
    if place.noun and following[:2] != "NN" and place.distance("hanging") < 6:
        return "mˈObˌil", "mˈQbIl"
    return "mˈObᵊl", "mˈQbIl"


def _unionized(place: _Place) -> Sounds | None:
    """Of molecules that are not ions."""
    chemical = place.at(1) in _NEAR["ionized"]
    return ("ˌʌnˈIənˌIzd", "ʌnˈIənIzd") if chemical else None


def _beloved(place: _Place) -> Sounds | None:
    short = place.at(1) in ("by", "of")
    return ("bəlˈʌvd", "bɪlˈʌvd") if short else ("bəlˈʌvᵻd", "bɪlˈʌvɪd")


def _moped(place: _Place) -> Sounds | None:
    """The past of "mope", which the vehicle outnumbers: "so she moped"."""
    subject = place.at(-1) in _SUBJECTS or place.at(-1) in ("just", "only")
    person = place.i > 0 and place.tags[place.i - 1].startswith("NN") and place.finite_alone
    return ("mˈOpt", "mˈQpt") if subject or person else None


def _wicked(place: _Place) -> Sounds | None:
    """The past of "wick", which has an object that is wet: "it wicked the sweat away"."""
    moved = place.at(1) in ("the", "away", "up", "moisture", "sweat", "water") and place.i > 0
    return ("wˈɪkt", "wˈɪkt") if moved and place.at(-1) not in ("the", "a", "is", "was") else None


def _sake(place: _Place) -> Sounds | None:
    """The drink, but not what something is done for: "for her sake", "the sake of it"."""
    purpose = "for" in place.before(6) and place.distance("drinking") > 3
    if purpose or place.at(1) == "of" or place.at(-1).endswith(("'s", "s'")):
        return None
    return "sˈɑki", "sˈɑːki"


def _number(place: _Place) -> Sounds | None:
    """More numb than before: "my feet grew number as we walked"."""
    before, after = place.at(-1), place.at(1)
    numb = before in _NEAR["grow_number"] and after == "than"
    numb = numb or (after == "than" and place.i > 0 and place.tags[place.i - 1] == "NNS")
    numb = numb or (before == "and" and place.at(-2) == "number")
    numb = numb or (before in _NEAR["get_number"] and after in _NEAR["after_numb"])
    return ("nˈʌməɹ", "nˈʌmə") if numb else None


def _axes(place: _Place) -> Sounds | None:
    """The plural of "axe", of which that of "axis" is the more frequent."""
    letter = len(place.at(-1)) == 1 and place.at(-1).isalpha()
    of_a_graph = letter or place.at(1) == "of"
    chopping = place.distance("axe_context") < 12 and not of_a_graph
    return ("ˈæksᵻz", "ˈaksɪz") if chopping else None


def _bases(place: _Place) -> Sounds | None:
    """The plural of "base", of which that of "basis" is the more frequent."""
    near = place.distance("base_context") < 12 and place.at(1) not in ("of", "for")
    near = near or (place.at(1) == "of" and place.distance("based_things") < 5)
    near = near or place.at(-1) in _NEAR["before_base"]
    return ("bˈAsᵻz", "bˈAsɪz") if near else None


def _closer(place: _Place) -> Sounds | None:
    """Who finishes a game of baseball or a sale, and not what is more close."""
    closing = place.distance("closing") < 12 and place.at(1) not in ("to", "than")
    after = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
    closing = closing and place.noun and not after.startswith(("PRP", "NN", "JJ"))
    return ("klˈOzəɹ", "klˈQzə") if closing else ("klˈOsəɹ", "klˈQsə")


def _upset(place: _Place) -> Sounds | None:
    """The noun is stressed at the beginning, the adjective at the end: "upset by the news"."""
    after = place.tags[place.i + 1] if place.i + 1 < len(place.tags) else ""
    if place.at(1) in _NEAR["upset_things"]:
        return "ˈʌpsˌɛt", "ˈʌpsɛt"
    noun = place.at(-1) in _NEAR["before_upset"] and not after.startswith(("NN", "JJ"))
    return None if noun and place.noun else ("ˌʌpsˈɛt", "ʌpsˈɛt")


def _live(place: _Place) -> Sounds | None:
    """As it happens: "it was broadcast live", "Live from New York"."""
    announced = place.i == 0 and place.at(1) == "from" and place.at(2) != "your"
    watched = not _NEAR["watched"].isdisjoint(place.before(4)) and place.at(1) not in ("and", "in")
    watched = watched and place.at(-1) in ("it", "them", "him", "her", "this", "game", "show")
    live = announced or watched or place.at(-1) in _NEAR["live_after"]
    return ("lˈIv", "lˈIv") if live else None


_SENSES: dict[str, Callable[[_Place], Sounds | None]] = {
    "lead": _lead,
    "bass": _bass,
    "basses": _bass,
    "does": _does,
    "bow": _bow,
    "bows": _bow,
    "tear": _tear,
    "tears": _tear,
    "row": _row,
    "rows": _row,
    "use": _use,
    "resume": _resume,
    "resumes": _resume,
    "dove": _dove,
    "minute": _minute,
    "sow": _sow,
    "upset": _upset,
    "closer": _closer,
    "aged": _adjective("ˈAʤᵻd", "ˈAʤd"),
    "blessed": _adjective("blˈɛsᵻd", "blˈɛst"),
    "crooked": _crooked,
    "nice": _town("nˈis", "nˈiːs"),
    "reading": _town("ɹˈɛdɪŋ", "ɹˈɛdɪŋ"),
    "polish": _polish,
    "moped": _moped,
    "learned": _adjective("lˈɜɹnɪd", "lˈɜɹnd", "lˈɜːnɪd", "lˈɜːnd"),
    "dogged": _adjective("dˈɔɡᵻd", "dˈɔɡd", "dˈɒɡɪd", "dˈɒɡd"),
    "axes": _axes,
    "bases": _bases,
    "number": _number,
    "wicked": _wicked,
    "wind": lambda place: ("wˈɪnd", "wˈɪnd") if place.at(1) in _NEAR["wind_things"] else None,
    "sake": _sake,
    "deserts": lambda place: ("dəzˈɜɹts", "dɪzˈɜːts") if place.at(-1) == "just" else None,
    "re": lambda place: ("ɹˈi", "ɹˈiː") if place.at(1) == ":" else None,
    "content": lambda place: (
        ("kəntˈɛnt", "kəntˈɛnt") if place.at(-1) in ("heart's", "hearts'") else None
    ),
    "invalid": lambda place: (
        ("ˈɪnvəlɪd", "ˈɪnvəlɪd") if place.at(1) in _NEAR["invalid_things"] else None
    ),
    "chi": lambda place: ("ʧˈi", "ʧˈiː") if place.at(-1) == "tai" else None,
    "des": lambda place: ("də", "də") if place.at(1) == "moines" else None,
    "vie": lambda place: ("vˈi", "vˈiː") if place.at(-1) == "la" else None,
    "lima": lambda place: ("lˈImə", "lˈImə") if place.at(1) in ("bean", "beans") else None,
    "live": _live,
    "putting": _putting,
    "job": _job,
    "job's": _job,
    "slough": _slough,
    "interned": lambda place: (
        ("ˈɪntˌɜɹnd", "ˈɪntɜːnd") if place.at(1) in ("at", "with", "for", "there") else None
    ),
    "sewer": _sewer,
    "sewers": _sewer,
    "mobile": _mobile,
    "unionized": _unionized,
    "cursed": _adjective("kˈɜɹsᵻd", "kˈɜɹst", "kˈɜːsɪd", "kˈɜːst"),
    "beloved": _beloved,
}


def sense_of(
    words: Sequence[str], tags: Sequence[str], i: int, capital: bool = False
) -> Sounds | None:
    """Phonemes of word `i` where its sense and not only its part of speech decides.

    `words` are the lower-case tokens of the sentence, `tags` their Penn tags. `capital` says
    whether the word is written with one.
    """
    choose = _SENSES.get(words[i])
    return choose(_Place(words, tags, i, capital)) if choose else None


HOMOGRAPHS = frozenset(_SENSES)
"""The words whose sense is looked for."""
