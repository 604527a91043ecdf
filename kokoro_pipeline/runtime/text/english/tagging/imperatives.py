"""Whether a word that begins a clause is a command: "Record what you hear."."""

from __future__ import annotations

from .clauses import lacks_verb
from .context import Context
from .kinds import BASE_FORM, ENDS, LISTS, OBJECT_STARTS, PHRASE_ENDS, S_FORM, VERBS, Kind


def is_imperative(s: Context, i: int) -> bool:
    """Whether word `i`, with which a clause or what is joined to it begins, is a command."""
    following = s.next_kind(i)
    if _begins_subject(s, i):
        return False
    if following is Kind.WH and s.word(i + 1) in ("what", "whatever", "how", "whichever"):
        return s.lower[i] not in s.vocabulary.adjectival  # "Record what you hear."
    warned = s.word(i - 1) in ("never", "always", "simply")
    if warned and s.lower[i] not in s.vocabulary.adjectival:
        return following not in ENDS  # "Never consort with spies."
    if (s.lower[i], s.word(i + 1), s.word(i + 2)) == ("close", "up", ","):
        return False  # "Close up, it looks rough."
    if following in OBJECT_STARTS:
        return True
    if s.lower[i] == "use" and following in (Kind.OPEN, Kind.NAME, Kind.PLURAL, Kind.ING):
        return s.word(i + 1) not in ("case", "cases")
    if i == 0 and _is_on_sign(s):
        return False
    if i == 0 and s.lower[i] == "record" and s.word(i + 1) in LISTS["recorded"]:
        return s.form(i + 2)[0] in PHRASE_ENDS and lacks_verb(s, i)  # "Record audio."
    if i == 0 and s.word(i + 1) in ("and", ",") and s.word(i + 2) in VERBS:
        return s.lower[i] in LISTS["objectless"]  # "Live and learn!"
    if following is Kind.PREPOSITION:
        if i == 0 and s.lower[i] in LISTS.get(f"commands_{s.word(i + 1)}", ()):
            described = S_FORM in s.forms[i + 2 :] and s.lower[i] == "graduate"
            return lacks_verb(s, i, infinitives=False) and not described
        if s.lower[i] in LISTS["imperatives"] and s.word(i + 1) in LISTS["into"]:
            return lacks_verb(s, i, infinitives=False)
        return s.lower[i] in VERBS and s.word(i + 1) not in ("of", "for", "as", "like")
    if s.lower[i] in VERBS:
        if following in (Kind.ADVERB, Kind.TO) or s.word(i + 1) in ("up", "down", "out", "off"):
            return True
        if i == 0 and following in (Kind.PLURAL, Kind.ADJECTIVE):
            return True
        object_follows = following in (Kind.OPEN, Kind.ING, Kind.NAME)
        if i == 0 and object_follows and s.lower[i] not in LISTS["objectless"] and lacks_verb(s, i):
            return True
    return i == 0 and s.lower[i] in LISTS["imperatives"] and _commands(s, i)


def _is_on_sign(s: Context) -> bool:
    """Whether the first two words name people or a use: "Permit holders only.", "Associate members
    with voting rights"."""
    if s.lower[0] in LISTS["rarely_commands"]:
        return s.word(1) in LISTS["associated"]
    ends = s.word(2) == "only" and s.form(3)[0] in ENDS
    return ends and s.word(1) in LISTS["allowed"] and s.lower[0] in LISTS["allowing"]


def _begins_subject(s: Context, i: int) -> bool:
    """Whether a verb follows two words: "Refuse trucks block the alley.", "Export prices rise
    when we sell."."""
    many = s.form(i + 1) == S_FORM or s.form(i + 1)[0] is Kind.PLURAL
    beyond = s.form(i + 3)[0]
    ends = beyond in (*PHRASE_ENDS, Kind.WH, Kind.ADVERB)
    verb = beyond in OBJECT_STARTS or (ends and s.word(i + 2) in VERBS)
    return many and s.form(i + 2) == BASE_FORM and verb


def _commands(s: Context, i: int) -> bool:
    """Whether a word at the beginning, a verb or a noun, has an object without an article."""
    following, tag = s.form(i + 1)
    if not lacks_verb(s, i, infinitives=False):
        return False
    beyond = s.form(i + 2)[0]
    if following is Kind.NAME:  # "Convert Fahrenheit to Celsius.", "Export PDF."
        if s.word(i + 1) in LISTS["compass"]:
            return False  # "Wind SW 15 kt."
        return s.words[i + 1].isupper() or s.word(i + 2) in LISTS["into"]
    if s.word(i + 1) in LISTS["commanded"] and beyond in PHRASE_ENDS:
        return True  # "Conduct research."
    if s.lower[i] in LISTS["rarely_commands"]:
        return s.word(i + 1) in LISTS["alternated"] or s.word(i + 2) in LISTS["into"]
    named = beyond is Kind.NAME or s.words[i + 2 : i + 3] == ["A"]  # "Insert tab A"
    with_more = beyond in (Kind.ADVERB, Kind.CONJUNCTION)  # "Combine flour and salt."
    placed = named or with_more or s.word(i + 2) in LISTS["into"]
    return following is Kind.PLURAL or tag == "s" or (tag == "base" and placed)
