"""Verbs that sound different from a noun or another verb of their spelling."""

from __future__ import annotations

from .place import NEAR, SUBJECTS, Choose, Place, Sounds


def _use(place: Place) -> Sounds | None:
    """A habit of the past: "I didn't use to", but not "what did you use to do it?"."""
    before = place.before(5)
    past = not {"did", "didn't"}.isdisjoint(before) and {"what", "which"}.isdisjoint(before)
    return ("jˈus", "jˈuːs") if past and place.at(1) == "to" and not place.noun else None


def _resume(place: Place) -> Sounds | None:
    end = "z" if place.words[place.i] == "resumes" else ""
    if end and place.at(-1) in NEAR["resumed"]:
        return "ɹəzˈumz", "ɹɪzjˈuːmz"  # "play resumes at one"
    return (f"ɹˈɛzəmˌA{end}", f"ɹˈɛzjʊmˌA{end}") if place.noun else None


def _dove(place: Place) -> Sounds | None:
    into = place.at(1) in (
        *("into", "in", "down", "off", "under", "for", "headfirst", "deep", "from", "below"),
        *("right", "straight", "over", "toward", "towards", "to", "overboard"),
    )
    if not into and place.at(-1) in ("turtle", "stock", "rock", "mourning", "collared"):
        return "dˈʌv", "dˈʌv"
    subject = place.i > 0 and place.at(-1) not in ("the", "a", "white", "mourning", "turtle")
    return ("dˈOv", "dˈQv") if into and subject else None


def _polish(place: Place) -> Sounds | None:
    """The verb that begins a sentence is written as the nation is: "Polish the table."."""
    things = place.at(1) in NEAR["polished_things"]
    verbless = things and not any(tag[:1] in "VM" for tag in place.tags[1:])
    command = place.i == 0 and place.capital and (verbless or place.at(1) in NEAR["before_object"])
    return ("pˈɑlɪʃ", "pˈɒlɪʃ") if command else None


def _putting(place: Place) -> Sounds | None:
    after = place.at(1)
    on_green = after in NEAR["golf_after"]
    on_green = on_green or (after == "on" and place.at(3) in ("green", "greens"))
    ball = after not in ("the", "a") or place.at(2) == "ball"
    after_tag = place.tag(1)
    ends = after in ("and", "let", "cost", ".", ",", "!", "?")
    done = ends or after_tag in ("VB", "VBD", "VBZ", "MD")
    if after_tag in ("VBD", "VBZ", "MD"):
        return "pˈʌTɪŋ", "pˈʌtɪŋ"  # "where putting is taught"
    if done and (place.tag(-1) == "PRP$" or place.at(-1).endswith("'s")):
        return "pˈʌTɪŋ", "pˈʌtɪŋ"  # "her putting let her down"
    near = place.distance("golf") < 9 and ball and after not in NEAR["put_where"]
    return ("pˈʌTɪŋ", "pˈʌtɪŋ") if on_green or near else None


def _slough(place: Place) -> Sounds | None:
    """To shed a skin, or the town, not the bog."""
    if place.capital and place.i > 0:
        return "slˈW", "slˈW"
    shed = place.at(1) in ("off", "away", "their", "its", "his", "her", "skin", "skins")
    return ("slˈʌf", "slˈʌf") if shed else None


def _moped(place: Place) -> Sounds | None:
    """The past of "mope", which the vehicle outnumbers: "so she moped"."""
    subject = place.at(-1) in SUBJECTS or place.at(-1) in ("just", "only")
    person = place.tag(-1).startswith("NN") and place.finite_alone
    return ("mˈOpt", "mˈQpt") if subject or person else None


def _wicked(place: Place) -> Sounds | None:
    """The past of "wick", which has an object that is wet: "it wicked the sweat away"."""
    moved = place.at(1) in ("the", "away", "up", "moisture", "sweat", "water") and place.i > 0
    return ("wˈɪkt", "wˈɪkt") if moved and place.at(-1) not in ("the", "a", "is", "was") else None


def _live(place: Place) -> Sounds | None:
    """As it happens: "it was broadcast live", "Live from New York"."""
    announced = place.i == 0 and place.at(1) == "from" and place.at(2) != "your"
    watched = not NEAR["watched"].isdisjoint(place.before(4)) and place.at(1) not in ("and", "in")
    watched = watched and place.at(-1) in ("it", "them", "him", "her", "this", "game", "show")
    live = announced or watched or place.at(-1) in NEAR["live_after"]
    return ("lˈIv", "lˈIv") if live else None


def _resent(place: Place) -> Sounds | None:
    """The past of "resend", which has a letter or the like as its object or is in the passive."""
    again = place.at(-1) in ("be", "been", "was", "were", "is", "are", "has", "have", "had")
    if again or not NEAR["sent_again"].isdisjoint(place.words[place.i + 1 : place.i + 5]):
        return "ɹisˈɛnt", "ɹiːsˈɛnt"
    return "ɹəzˈɛnt", "ɹɪzˈɛnt"


ACTIONS: dict[str, Choose] = {
    "use": _use,
    "resume": _resume,
    "resumes": _resume,
    "resent": _resent,
    "dove": _dove,
    "polish": _polish,
    "moped": _moped,
    "wicked": _wicked,
    "live": _live,
    "putting": _putting,
    "slough": _slough,
}
