"""Nouns that sound different by what they name: lead of a pencil, bass that swim."""

from __future__ import annotations

from .place import NEAR, NOWHERE, PHRASE_ENDS, Choose, Place, Sounds


def _lead(place: Place) -> Sounds | None:
    tag = place.tag(0)
    begins = place.i == 0 and _is_subject(place)
    possible = place.noun or tag == "JJ" or begins
    after = place.at(1).removesuffix("'s")
    if not NEAR["lead_things"].isdisjoint((after, after.removesuffix("s"))):
        return None
    poisons = place.at(1) == "poisoning"  # "lead pipes lead to lead poisoning"
    metal = poisons or _is_tested(place) or (possible and _is_metal(place))
    metal = metal or _is_reported(place)
    return ("lˈɛd", "lˈɛd") if metal else None


def _is_metal(place: Place) -> bool:
    before, after, beyond = place.at(-1), place.at(1), place.at(2)
    if after in NEAR["metal_after"] and after != "content":
        return True
    if after == "based" and beyond != "on":
        return True
    if after == "in" and beyond in ("it", "them") and before not in ("the", "a", "an", "their"):
        return True  # "paint had lead in it"
    if after == "content" or before in (*NEAR["metals"], "much", "pencil", "pencil's"):
        return True
    if before == "the" and after == "out":  # "get the lead out"
        return True
    if after in ("and", "or", ",") and beyond in NEAR["metals"]:
        return True
    if before in ("and", "or", ",") and NEAR["metals"].intersection(place.before(4)):
        return True
    if before in NEAR["made_of"] and (
        before not in ("of", "with") or NEAR["material"].intersection(place.before(4))
    ):
        return True
    if before == "of" and place.tag(1) in PHRASE_ENDS:
        return True  # "boots of lead"
    if _is_mass(place) or _is_present_somewhere(place):
        return True
    first = NEAR["lead_first"].intersection((before, place.at(-2)))
    return not first and before not in ("a", "an") and place.distance("metal_context") < 12


def _is_present_somewhere(place: Place) -> bool:
    """Whether lead is said to be in something or begins what is said of it: "there may be lead in
    your water", "Lead can harm children."."""
    if not NEAR["lead_contests"].isdisjoint(place.words):
        return False
    if place.i:
        there = "there" in place.before(4) or "there's" in place.before(1)
        found = there and place.at(-1) in NEAR["before_lead"]
        return found and place.at(1) in ("in", "on", "under", "inside")
    told = any(tag in ("VBZ", "VBD", "MD") for tag in place.tags[1:])
    return place.tag(1) in ("VBZ", "VBD", "MD") or (told and place.at(1) == "in")


def _is_mass(place: Place) -> bool:
    """Whether lead has no article where an object has one: "workers handling lead wear masks"."""
    if not 0 < place.i < len(place.tags) - 1 or place.at(-1) in NEAR["lead_first"]:
        return False
    before, after = place.tag(-1), place.tag(1)
    taken = before in ("VBG", "VBD", "VBZ") or place.at(-1) == "like"
    return taken and after in (*PHRASE_ENDS, "IN", "RB", "VB")


def _is_tested(place: Place) -> bool:
    """Whether somebody is exposed to it or looks for it: "tested the water for lead"."""
    before = place.at(-1)
    if before == "to":
        exposed = not NEAR["exposed"].isdisjoint(place.before(6))
        return exposed and (place.at(-2) in NEAR["exposed"] or place.tag(1) in PHRASE_ENDS)
    return before == "for" and not NEAR["tested"].isdisjoint(place.before(7))


def _wind(place: Place) -> Sounds | None:
    """What blows, in reports that have no verb, "wind 20 kt", or as a subject, "wind in trees"."""
    blows = place.i == 0 and place.at(1) in ("in", "from", "off", "on", "across")
    clause = place.tags[: place.words.index("and")] if "and" in place.words else place.tags
    blows = blows and not {"VBZ", "VBD", "MD"}.isdisjoint(clause)
    return ("wˈɪnd", "wˈɪnd") if blows or _is_reported(place) else None


def _is_reported(place: Place) -> bool:
    """Whether the word begins a phrase of itself and of an amount in one of its units.

    A length is a speed before "per", and else what a command measures out: "wind 20 meters of
    yarn", but "wind 20 meters per second".
    """
    word = place.words[place.i]
    if place.i and place.at(-1) not in NEAR["before_report"]:
        return False
    for j in range(place.i + 1, min(place.i + 16, len(place.words))):
        unit = place.words[j]
        if unit in NEAR[f"{word}_units"]:
            return True
        if unit in NEAR[f"{word}_rates"]:
            return "per" in place.words[j + 1 : j + 2]
        if place.tags[j] != "CD" and unit not in NEAR["reported"]:
            return False
    return False


def _is_subject(place: Place) -> bool:
    """Whether a word that begins a sentence is not a command: "lead melts"."""
    melts = place.at(1) in ("melts", "and", "poisoning", "dissolves")
    in_something = place.at(1) == "in" and not {"VBZ", "VBD", "MD"}.isdisjoint(place.tags)
    return melts or in_something or place.tag(1) in ("VBZ", "VBD", "MD")


def _bass(place: Place) -> Sounds | None:
    many = place.at(1) in ("are", "were", "aren't", "weren't")
    caught = not NEAR["fish"].isdisjoint(place.before(2))
    caught = caught and NEAR["music"].isdisjoint(place.before(2))  # "he fishes for bass"
    fish = many or caught or place.distance("fish") < place.distance("music")
    end = place.words[place.i].removeprefix("bass").replace("es", "ᵻz")
    british = end.replace("ᵻ", "ɪ")
    return (f"bˈæs{end}", f"bˈas{british}") if fish else (f"bˈAs{end}", f"bˈAs{british}")


def _does(place: Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    seen = place.tag(-1).startswith("VB") and before != "does" and place.distance("deer") < 12
    if after in ("are", "were"):
        return "dˈOz", "dˈQz"
    joined = before == "of" or (before == "and" and place.at(-2) in NEAR["deer"])
    if joined and after not in ("not", "n't", "it", "he", "she"):
        return "dˈOz", "dˈQz"  # "bucks and does", "a pair of does"
    asks = after in ("not", "n't", "it", "he", "she", "that")
    if asks or not (before in NEAR["before_deer"] or seen):
        return None
    sure = before in ("the", "wild", "young", "pregnant", "female", "adult", "grazing")
    sure = sure or (place.tag(-1) == "CD")
    return ("dˈOz", "dˈQz") if sure or place.distance("deer") < 12 else None


def _bow(place: Place) -> Sounds | None:
    if not place.noun:
        return None
    end = "z" if place.words[place.i] == "bows" else ""
    ribbon = place.distance("ribbon")
    bending = NEAR["bending"].intersection(place.before(3))
    arrow = NEAR["arrow"].intersection(place.words[place.i :])
    later = place.words[place.i + 1 : place.i + 6]
    # "the bow that she took", but not "tied a bow and took a bow"
    taken = (
        not {"take", "took", "taken"}.isdisjoint(later[:3]) and place.words[place.i] not in later
    )
    stage = place.distance("stage") < min(ribbon, 8)
    alone = place.at(1) in NEAR["after_bending"] or ribbon > 3
    if bending and (alone or (place.at(-1) in ("a", "his", "her") and not arrow)):
        return f"bˈW{end}", f"bˈW{end}"
    of_the_head = place.at(1) == "of" and NEAR["bowed"].intersection((place.at(2), place.at(3)))
    alone = ribbon == NOWHERE and NEAR["arrow"].isdisjoint(place.words)
    bent = place.at(-1) == "a" and place.at(-2) == "with" and place.at(1) in (",", ".", "")
    aboard = place.at(-1) == "the" and place.at(-2) in ("at", "on", "over", "from", "near")
    if alone and (bent or aboard):
        return f"bˈW{end}", f"bˈW{end}"
    if place.at(1) == "to" or of_the_head or taken or stage or place.distance("ship") < ribbon:
        return f"bˈW{end}", f"bˈW{end}"
    return f"bˈO{end}", f"bˈQ{end}"


def _tear(place: Place) -> Sounds | None:
    before, after = place.at(-1), place.at(1)
    end = "z" if place.words[place.i] == "tears" else ""
    objectless = place.at(2) in NEAR["after_tear_up"] or place.at(3) == "time"
    objectless = objectless or (not place.at(2) and place.at(-2) in ("made", "make", "makes"))
    if after == "up" and objectless and place.distance("torn") > 12:  # "tear up at a wedding"
        return f"tˈɪɹ{end}", f"tˈɪə{end}"
    if not place.noun:
        return None
    rip = after in ("in", "through", "along", "near") and before in (
        *("a", "the", "small", "large", "big", "long", "tiny", "this", "that", "huge"),
    )
    if after in NEAR["of_tears"]:
        return None
    crying = place.distance("crying")
    holder = place.words[place.i + 2 : place.i + 5]
    if after in ("in", "on", "along") and not NEAR["torn"].isdisjoint(holder):
        return f"tˈɛɹ{end}", f"tˈɛː{end}"
    if (
        (rip and crying > 8)
        or (not end and crying == NOWHERE)
        or place.distance("torn") < min(crying, 8)
        or (before == "and" and place.at(-2) == "wear")
    ):
        return f"tˈɛɹ{end}", f"tˈɛː{end}"
    return None


def _tearing(place: Place) -> Sounds | None:
    """To fill with tears: "I'm tearing up just thinking of it", "his eyes were tearing"."""
    objectless = place.at(2) in NEAR["after_tear_up"] or not place.at(2)
    moved = place.at(1) == "up" and objectless and place.distance("torn") > 12
    eyes = not {"eyes", "eye"}.isdisjoint(place.before(4)) and place.at(1) in ("", ".", ",", "up")
    if not (moved or eyes):
        return None
    end = {"tearing": "ɪŋ", "teared": "d"}[place.words[place.i]]
    return f"tˈɪɹ{end}", f"tˈɪəɹ{end}" if end == "ɪŋ" else f"tˈɪə{end}"


def _row(place: Place) -> Sounds | None:
    quarrel = place.at(1) in ("with", "over", "about", "between", "among", "broke")
    having = not {"had", "having", "have"}.isdisjoint(place.before(3)) and place.at(1) != "of"
    loud = place.at(-1) in (NEAR["quarrel"] if having else NEAR["quarrel"] - {"huge"})
    noise = place.at(-1) == "a" and place.at(-2) in ("heard", "hear", "such", "making", "make")
    loud = loud or (noise and place.at(1) != "of")
    had = place.at(-1) == "a" and place.at(-2) in ("had", "having")
    quarrel = quarrel or (had and place.at(1) in NEAR["after_quarrel"])
    apart = place.at(1) == "between" and place.distance("lined_up") > 8
    quarrel = quarrel and (place.at(-1) != "the" or apart)
    subject = place.at(2) not in ("there", "here") and place.distance("lined_up") > 8
    broke_out = place.at(-1) == "the" and subject and place.at(1) in ("over", "about")
    acts = not NEAR["quarreled"].isdisjoint((place.at(1), place.at(2)))
    broke_out = broke_out or (acts and place.at(-1) in ("the", "a", "this", "that"))
    over = place.at(-1) == "the" and place.at(-2) in ("after", "during", "since", "amid")
    broke_out = broke_out or (over and place.at(1) in ("", ".", ","))
    end = {"rows": "z", "rowing": "ɪŋ", "rowed": "d"}.get(place.words[place.i], "")
    often = " ".join(place.words[place.i + 1 : place.i + 4]) == "all the time"
    argue = often or place.at(1) in ("about", "constantly")
    if argue and not place.noun and place.distance("rowing") > 4:
        return f"ɹˈW{end}", f"ɹˈW{end}"
    sure = place.noun and (quarrel or loud or broke_out)
    return (f"ɹˈW{end}", f"ɹˈW{end}") if sure else None


def _sow(place: Place) -> Sounds | None:
    seeds = place.tag(1)[:2] in ("NN", "RB", "JJ", "CD", "IN")
    seeds = seeds or place.at(1) in NEAR["sown"]
    command = (
        place.i == 0
        and seeds
        and place.distance("sow_context") > 12
        and place.at(1) not in NEAR["of_sows"]
    )
    if place.tag(-1) == "NNS" or command:  # "farmers sow wheat", "Sow indoors."
        return "sˈO", "sˈQ"
    pig = place.noun and (place.distance("sow_context") < 12 or place.at(-1) in ("a", "the"))
    return ("sˈW", "sˈW") if pig else None


def _sewer(place: Place) -> Sounds | None:
    """Somebody who sews, and not the drain."""
    fallen = place.at(-2) in ("in", "into", "down", "through", "under", "from")
    blocked = not NEAR["sewer_acts"].isdisjoint((place.at(1), place.at(2)))
    if blocked or place.at(1) in NEAR["sewer_things"] or (fallen and place.at(-1) == "the"):
        return None
    end = "z" if place.words[place.i] == "sewers" else ""
    return (f"sˈOəɹ{end}", f"sˈQə{end}") if place.distance("sewing") < 10 else None


def _sake(place: Place) -> Sounds | None:
    """The drink, but not what something is done for: "for her sake", "the sake of it"."""
    purpose = "for" in place.before(6) and place.distance("drinking") > 3
    if purpose or place.at(1) == "of" or place.at(-1).endswith(("'s", "s'")):
        return None
    return "sˈɑki", "sˈɑːki"


def _axes(place: Place) -> Sounds | None:
    """The plural of "axe", of which that of "axis" is the more frequent."""
    letter = len(place.at(-1)) == 1 and place.at(-1).isalpha()
    of_a_graph = letter or place.at(1) == "of"
    chopping = place.distance("axe_context") < 12 and not of_a_graph
    return ("ˈæksᵻz", "ˈaksɪz") if chopping else None


def _bases(place: Place) -> Sounds | None:
    """The plural of "base", of which that of "basis" is the more frequent."""
    near = place.distance("base_context") < 12 and place.at(1) not in ("of", "for")
    near = near or (place.at(1) == "of" and place.distance("based_things") < 5)
    near = near or place.at(-1) in NEAR["before_base"]
    return ("bˈAsᵻz", "bˈAsɪz") if near else None


THINGS: dict[str, Choose] = {
    "lead": _lead,
    "wind": _wind,
    "bass": _bass,
    "basses": _bass,
    "does": _does,
    "bow": _bow,
    "bows": _bow,
    "tear": _tear,
    "tears": _tear,
    "tearing": _tearing,
    "teared": _tearing,
    "row": _row,
    "rows": _row,
    "rowing": _row,
    "rowed": _row,
    "sow": _sow,
    "axes": _axes,
    "bases": _bases,
    "sake": _sake,
    "sewer": _sewer,
    "sewers": _sewer,
}
