"""Names that are spelled as a common word is: Nice, Reading, Job."""

from __future__ import annotations

from .place import NEAR, Choose, Place, Sounds


def _town(american: str, british: str) -> Choose:
    """A town that is spelled as a common word, where it is written as a name: "in Nice"."""

    def choose(place: Place) -> Sounds | None:
        near = NEAR[f"{place.words[place.i]}_context"].intersection(place.words)
        after = place.tag(1)
        placed = place.i > 0 and place.at(-1) in NEAR["before_place"] and after[:3] != "NNP"
        train = place.at(-1) == "the" and place.at(1) in NEAR["of_town"]
        placed = placed or train or bool(near)
        return (american, british) if place.capital and placed else None

    return choose


def _job(place: Place) -> Sounds | None:
    """The patient man of the Bible."""
    after = place.tag(1)
    acts = after in ("VBD", "VBZ", "MD")
    named = place.capital and (place.i > 0 or acts or place.words[0] == "job's")
    end = "z" if place.words[place.i] == "job's" else ""
    numbers = place.tag(2) == "CD" or place.at(2).partition("-")[0].endswith("ty")
    verse = place.tag(1) == "CD" and numbers  # "Job 3:4"
    if place.capital and verse and place.at(-1) not in ("a", "the", "this", "that"):
        return f"ʤˈOb{end}", f"ʤˈQb{end}"
    alone = place.at(-1) in ("like", "of", "to", "as") and not after.startswith("NN")
    if not named or (place.distance("job_context") > 8 and not alone):
        return None
    return f"ʤˈOb{end}", f"ʤˈQb{end}"


def _herb(place: Place) -> Sounds | None:
    """The man, who is named before his surname or without an article: "Herb Brooks"."""
    named = place.tag(1).startswith("NNP") if place.i == 0 else not place.tag(1).startswith("NN")
    named = named or (place.i > 0 and place.tag(1).startswith("NNP"))
    plant = place.at(1) in NEAR["herb_things"] or place.tag(-1) in ("DT", "JJ")
    return ("hˈɜɹb", "hˈɜːb") if place.capital and named and not plant else None


def _mobile(place: Place) -> Sounds | None:
    """A hanging sculpture, or the city: a mobile phone is moved."""
    following = place.tag(1)
    placed = place.i > 0 and place.at(-1) in NEAR["before_place"] and following[:2] != "NN"
    near = "alabama" in place.words and following[:2] != "NN"
    if place.capital and (placed or near or place.at(1) == "bay"):
        return "mObˈil", "mQbˈiːl"
    if place.noun and following[:2] != "NN" and place.distance("hanging") < 6:
        return "mˈObˌil", "mˈQbIl"
    return "mˈObᵊl", "mˈQbIl"


NAMES: dict[str, Choose] = {
    "nice": _town("nˈis", "nˈiːs"),
    "reading": _town("ɹˈɛdɪŋ", "ɹˈɛdɪŋ"),
    "herb": _herb,
    "job": _job,
    "job's": _job,
    "mobile": _mobile,
}
