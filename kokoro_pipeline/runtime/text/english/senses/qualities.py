"""Adjectives and participles that sound different by what they say of their noun."""

from __future__ import annotations

from itertools import pairwise

from .place import NEAR, SUBJECTS, Choose, Place, Sounds


def _minute(place: Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    small = not NEAR["minute_things"].isdisjoint((after, f"{after}s", after[:-1])) or (
        place.tag(-1).startswith("VB") and before in NEAR["before_minute"] and not place.noun
    )
    small = small or (
        before in ("a", "such", "his", "her", "its", "their")
        and place.i + 1 < len(place.tags)
        and place.tags[place.i + 1] == "NN"
        and after not in NEAR["minute_times"]
    )
    small = small or before in ("very", "extremely", "so", "incredibly", "quite", "rather", "too")
    return ("mInˈut", "mInjˈuːt") if small else ("mˈɪnət", "mˈɪnɪt")


def _adjective(long: str, short: str, british_long: str = "", british_short: str = "") -> Choose:
    """A participle that gains a syllable as an adjective before its noun: "a crooked man".

    The British phonemes are those of American English where they are not given.
    """

    def choose(place: Place) -> Sounds | None:
        word = place.words[place.i]
        after = place.tag(1)
        nouns = NEAR.get(f"{word}_things")
        if nouns is None:
            attributive = after.startswith(("NN", "JJ")) and place.at(-1) not in NEAR["objects"]
        else:
            attributive = place.at(1) in nouns and place.at(-1) not in SUBJECTS
            described = place.tag(-1) in ("DT", "PRP$", "JJ") and after.startswith("NN")
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


def _crooked(place: Place) -> Sounds | None:
    bent = place.at(1) in ("his", "her", "its", "my", "their", "a", "one") and place.i > 0
    return ("kɹˈʊkt", "kɹˈʊkt") if bent and place.at(-1) != "a" else ("kɹˈʊkᵻd", "kɹˈʊkɪd")


def _unionized(place: Place) -> Sounds | None:
    """Of molecules that are not ions."""
    chemical = place.at(1) in NEAR["ionized"]
    return ("ˌʌnˈIənˌIzd", "ʌnˈIənIzd") if chemical else None


def _beloved(place: Place) -> Sounds | None:
    short = place.at(1) in ("by", "of")
    return ("bəlˈʌvd", "bɪlˈʌvd") if short else ("bəlˈʌvᵻd", "bɪlˈʌvɪd")


def _number(place: Place) -> Sounds | None:
    """More numb than before: "my feet grew number as we walked"."""
    return ("nˈʌməɹ", "nˈʌmə") if _is_more_numb(place) else None


def _is_more_numb(place: Place) -> bool:
    before, after = place.at(-1), place.at(1)
    if before == "and" and place.at(-2) == "number":  # "number and number"
        return _is_more_numb(place._replace(i=place.i - 2))
    if after == "and" and place.at(2) == "number":
        after = place.at(3)
    ends = after in ("", ".", ",", "!", ";", "?")
    more = ends or after in NEAR["after_numb"]
    body = before in NEAR["numb_parts"]
    if after == "than" and (before in NEAR["grow_number"] or body or place.tag(-1) == "NNS"):
        return True
    if before in NEAR["get_number"] and more:
        return True
    if before in NEAR["be_number"] and more:  # "my arm is number now"
        return "," not in place.before(3) and not NEAR["numb_parts"].isdisjoint(place.before(3))
    if body and more and _is_made(place):
        return True
    made = not {"made", "makes", "make"}.isdisjoint(place.before(4))
    return made and after in ("", ".", ",", "!") and place.tag(-1) == "NNS"


def _is_made(place: Place) -> bool:
    """Whether somebody's part of the body becomes something: "made my left arm number"."""
    return any(
        word in NEAR["made_numb"] and owner in NEAR["numb_owners"]
        for word, owner in pairwise(place.before(5))
    )


def _closer(place: Place) -> Sounds | None:
    """Who finishes a game of baseball or a sale, and not what is more close."""
    closing = place.distance("closing") < 12 and place.at(1) not in ("to", "than")
    after = place.tag(1)
    closing = closing and place.noun and not after.startswith(("PRP", "NN", "JJ"))
    return ("klˈOzəɹ", "klˈQzə") if closing else ("klˈOsəɹ", "klˈQsə")


def _upset(place: Place) -> Sounds | None:
    """The noun is stressed at the beginning, the adjective at the end: "upset by the news"."""
    after = place.tag(1)
    if place.at(1) in NEAR["upset_things"]:
        return "ˈʌpsˌɛt", "ˈʌpsɛt"
    noun = place.at(-1) in NEAR["before_upset"] and not after.startswith(("NN", "JJ"))
    noun = noun and after != "PRP"  # "his stomach upset him"
    return None if noun and place.noun else ("ˌʌpsˈɛt", "ʌpsˈɛt")


QUALITIES: dict[str, Choose] = {
    "minute": _minute,
    "upset": _upset,
    "closer": _closer,
    "aged": _adjective("ˈAʤᵻd", "ˈAʤd"),
    "blessed": _adjective("blˈɛsᵻd", "blˈɛst"),
    "crooked": _crooked,
    "learned": _adjective("lˈɜɹnɪd", "lˈɜɹnd", "lˈɜːnɪd", "lˈɜːnd"),
    "dogged": _adjective("dˈɔɡᵻd", "dˈɔɡd", "dˈɒɡɪd", "dˈɒɡd"),
    "number": _number,
    "unionized": _unionized,
    "cursed": _adjective("kˈɜɹsᵻd", "kˈɜɹst", "kˈɜːsɪd", "kˈɜːst"),
    "beloved": _beloved,
}
