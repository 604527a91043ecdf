"""misaki's English lexicon and morphology, with our own tokens, tags and fallback.

This module imports misaki, which imports spaCy: import it through `english.load_english`.
"""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

from misaki import en

from ..espeak import WordReader
from . import drawn_out
from .affixes import inflected_letters, is_one_name, is_scottish, split_prefix
from .capitals import is_spoken_name
from .compounds import has_article, split_compound, split_stammer
from .elisions import written_out
from .headlines import letters_in_headline
from .letters import LETTER_A
from .normalize import PRONOUNCED, Markup
from .senses.homographs import HOMOGRAPHS, sense_of
from .tables import table
from .tagging.context import Vocabulary
from .tagging.kinds import CLOSED, IRREGULAR_PAST, VERBS
from .tagging.strands import strands
from .tagging.tagger import RuleTagger
from .tagging.word_forms import ACRONYMS

_TOKEN = re.compile(
    rf"[{PRONOUNCED}{LETTER_A}]|(?:[A-Za-z]\.)+[A-Za-z](?![A-Za-z])"
    r"|'?[^\W\d_]+(?:(?:'-|['-])[^\W\d_]+)*'?|[^\w\s]"
)
# Words whose adjective is pronounced differently, although the lexicon only marks the noun.
_UNMARKED_ADJECTIVES = {"close", "content", "invalid", "upset"}
# "PlayStation", but not "MacArthur".
_CAMEL = re.compile(r"(?!(?:Mac|Van|Von|Fitz|San)[A-Z])([A-Z][a-z]{2,})([A-Z][a-z]{2,})")
# "useState", a name in a program.
_CODE = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+)+")
_PARTS = re.compile("[A-Z]?[a-z]+")
# The end that eSpeak takes for that of a plural: "Lucas", "Hollis".
_PLURAL_END = re.compile("(i?)z$")
# The end of "Oldham", but not of "Nottingham".
_HAM = re.compile("(?<!ˈ)(?<!ŋ)(?<!ŋˌ)(?<!ŋh)(?<!ŋhˌ)ˌ?h?æm$")
_ACCENTS = re.compile("[\u0300-\u036f]")
# What stands before a hyphen, and names of one syllable, in capitals.
_PREFIXES = frozenset({"anti", "co", "ex", "mid", "non", "pre", "pro", "re", "semi", "un"})
_VOWELS = re.compile("[AEIOUY]+")
_SYLLABLE = re.compile("(?=.{4})[^AEIOU]{1,2}[AEIOUY]{1,2}[^AEIOU]{1,2}")
# "dont", "im", "theyre": contractions whose apostrophe is left out.
_CONTRACTED = re.compile(
    r"(?:(.+n)(t)|(i|you|we|they|s?he|it|that|there|what|who|where|how)(m|ve|re|ll|d|s))",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word or punctuation mark, its place in the sentence, and the space after it."""

    text: str
    start: int
    end: int
    space: str


class ReadWord(NamedTuple):
    """A word or punctuation mark, its place in the sentence, its phonemes, and the space after."""

    text: str
    start: int
    end: int
    phonemes: str
    """Empty if it cannot be read."""
    space: str


def tokenize(sentence: str) -> list[Token]:
    """Split into words, with their hyphens and apostrophes, and single marks, dropping spaces."""
    return [
        Token(match[0], *match.span(), " " if sentence.startswith(" ", match.end()) else "")
        for match in _TOKEN.finditer(sentence)
    ]


Entry = str | dict[str, str]
"""What misaki's lexicon has of a word: phonemes, or phonemes by part of speech with a DEFAULT."""


def supplement(british: bool) -> dict[str, Entry]:
    """What the lexicon lacks or has wrong."""
    entries: dict[str, dict[str, str]] = {}
    for word, part, *phonemes in table("supplement"):
        entries.setdefault(word, {})[part] = phonemes[british]
    for name, *phonemes in table("names"):
        entries[name] = {"DEFAULT": phonemes[british]}
    return {word: parts if len(parts) > 1 else parts["DEFAULT"] for word, parts in entries.items()}


def _without_stammer(token: Token) -> Iterator[Token]:
    """The beginnings of a stammered word, "b-" of "b-but", and the word, or any other token."""
    begun, _ = split_stammer(token.text)
    middle = token.start + len(begun)
    if begun:
        yield Token(begun, token.start, middle, "")
    yield Token(token.text[len(begun) :], middle, token.end, token.space)


def _misaki_token(word: Token, tag: str, phonemes: str | None, stress: float | None) -> Any:
    """The fields for times hold where the token begins and ends."""
    return en.MToken(
        text=word.text,
        tag=tag,
        whitespace=word.space,
        phonemes=phonemes,
        start_ts=word.start,
        end_ts=word.end,
        _=en.MToken.Underscore(is_head=True, num_flags="", prespace=False, stress=stress),
    )


def _name_end(match: re.Match[str]) -> str:
    return "ɪs" if match[1] else "s"


def _no_markup(start: int, end: int) -> None:
    """There is no markup."""


def misaki_lexicon(british: bool) -> en.Lexicon:
    """misaki's lexicon, as its constructor makes it.

    The constructor is not called, since it then looks at every character of all pronunciations,
    which takes longer than all the rest.
    """
    lexicon = en.Lexicon.__new__(en.Lexicon)
    lexicon.british = british
    lexicon.cap_stresses = (0.5, 2)
    for kind in ("gold", "silver"):
        name = f"{'gb' if british else 'us'}_{kind}.json"
        words = json.loads(resources.files(en.data).joinpath(name).read_bytes())
        setattr(lexicon, f"{kind}s", en.Lexicon.grow_dictionary(words))
    return lexicon


class EnglishG2P(en.G2P):
    """Reads normalised sentences. It has no state between calls, so threads can share it."""

    def __init__(
        self,
        british: bool,
        reader: WordReader,
        entries: Mapping[str, Entry],
    ) -> None:
        """Load the lexicon, without network access.

        `entries` are added to this reader's lexicon, where they replace what it has. Possessives
        and plurals of them are read as those of any word.

        misaki's own constructor is not called, since it downloads a spaCy model.
        """
        self.version = None
        self.british = british
        self.lexicon = misaki_lexicon(british)
        capitals = {word.capitalize(): entry for word, entry in entries.items() if word.islower()}
        self.lexicon.golds.update({**capitals, **entries})
        self.fallback = self._read_unknown
        self.unk = ""
        self._reader = reader
        self._markup: Callable[[int, int], Markup | None] = _no_markup
        self._shouted = False
        self._own: frozenset[str] = frozenset()
        self._tagger = self._rule_tagger()

    def _rule_tagger(self) -> RuleTagger:
        split = {
            word: set(tags) & {"NOUN", "VERB", "ADJ", "VBD", "VBN"}
            for word, tags in self.lexicon.golds.items()
            if isinstance(tags, dict)
        }
        heteronyms = frozenset(word for word, tags in split.items() if tags)
        adjectival = frozenset(word for word, tags in split.items() if "ADJ" in tags)
        return RuleTagger(
            Vocabulary(
                heteronyms=heteronyms | HOMOGRAPHS,
                adjectival=adjectival | _UNMARKED_ADJECTIVES,
                known=self._is_ordinary,
            )
        )

    def _is_spelled(self, word: str) -> bool:
        """Whether capitals are letters although the lexicon has a word of the same spelling."""
        return word in ACRONYMS and word not in self.lexicon.golds

    def with_words(self, words: Mapping[str, Mapping[str, str]]) -> EnglishG2P:
        """The same with words that differ by part of speech: from "NOUN", "VERB", "ADJ", "ADV", or
        "DEFAULT" for all others, to phonemes. What `words` does not say is as it was, but the
        plurals follow."""
        golds: dict[str, dict[str, Any]] = {}
        for word, parts in words.items():
            known = self.lexicon.golds.get(word, self.lexicon.silvers.get(word))
            as_it_was = known if isinstance(known, dict) else {"DEFAULT": known}
            golds[word] = {**as_it_was, **parts}
            if golds[word]["DEFAULT"] is None:
                golds[word]["DEFAULT"] = next(iter(parts.values()))
        other = copy.copy(self)
        other.lexicon = copy.copy(self.lexicon)
        changed = en.Lexicon.grow_dictionary(golds)
        plurals = {f"{word}s" for word in changed}
        for name in ("golds", "silvers"):
            known = getattr(self.lexicon, name)
            kept = {word: known[word] for word in known if word not in plurals}
            setattr(other.lexicon, name, kept)
        other.lexicon.golds.update(changed)
        other._own = frozenset(changed)
        other.fallback = other._read_unknown
        other._tagger = other._rule_tagger()
        return other

    def _is_written(self, word: str) -> bool:
        return word in self.lexicon.golds or word in self.lexicon.silvers

    def _is_ordinary(self, word: str) -> bool:
        lexicon = self.lexicon
        return word in lexicon.golds or any(
            stem(word, None, None, None)[0] is not None
            for stem in (lexicon.stem_s, lexicon.stem_ed, lexicon.stem_ing)
            if len(word) > 3
        )

    def _read_unknown(self, token: Any) -> tuple[str, int]:
        text = token.text
        if text.endswith("ied"):  # the only ending that misaki does not handle
            stem = text.removesuffix("ied") + "y"
            if self._is_ordinary(stem):
                phonemes, rating = self.lexicon.lookup(stem, token.tag, None, None)
                return en.apply_stress(phonemes + "d", token._.stress), rating
        if text.lower().endswith("in'"):  # "singin'"
            ing = text.lower().lstrip("-")[:-1] + "g"
            phonemes, rating = self.lexicon.get_word(ing, token.tag, None, en.TokenContext())
            if phonemes:
                return en.apply_stress(phonemes.removesuffix("ŋ") + "n", token._.stress), rating
        for past in written_out(text):
            if self._is_written(past):
                phonemes, rating = self.lexicon.lookup(past, "VBD", None, None)
                return en.apply_stress(phonemes, token._.stress), rating
        prefix, rest = split_prefix(text, self.british)
        if prefix and self._is_ordinary(rest):
            phonemes, rating = self.lexicon.get_word(rest, token.tag, None, en.TokenContext())
            return en.apply_stress(prefix + phonemes, token._.stress), rating
        return en.apply_stress(self._by_espeak(text), token._.stress), 2

    def read(
        self,
        sentence: str,
        markup: Callable[[int, int], Markup | None] = _no_markup,
        shouted: bool = False,
    ) -> list[ReadWord]:
        """Read the words and marks of one normalised sentence, in order.

        `markup` tells what the input says of the characters from one position to another. For a
        placeholder this is where the phonemes come from. `shouted` tells that all words were
        written in capitals, which then make no letters of ordinary words.
        """
        reader = copy.copy(self)  # misaki hands nothing but the text to `tokenize`
        reader._markup = markup
        reader._shouted = shouted
        _, tokens = reader(sentence, preprocess=False)
        return [
            ReadWord(tk.text, tk.start_ts, tk.end_ts, tk.phonemes or "", tk.whitespace)
            for tk in tokens
        ]

    def tokenize(self, text: str, tokens: Any, features: Any) -> list[Any]:
        """Overrides misaki's method: the tagged tokens of a sentence.

        The fields for times hold where a token begins and ends, since they alone survive when
        misaki splits tokens and joins them.
        """
        words, tags = self._tagged(text)
        phrase_of: dict[int, tuple[list[str], list[str], int]] = {}
        for strand in strands([word.text for word in words]):
            lower, its_tags = [words[i].text.lower() for i in strand], [tags[i] for i in strand]
            phrase_of.update((i, (lower, its_tags, at)) for at, i in enumerate(strand))
        result: list[Any] = []
        for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
            markup = self._markup(word.start, word.end)
            phonemes = markup.phonemes if markup else None
            stress = markup.stress if markup else None
            if word.text.endswith("-") and word.text != "-":
                phonemes = self._begun(word.text, words[i + 1].text)
            elif word.text == LETTER_A:
                phonemes = en.apply_stress("ˈA", stress)
            elif phonemes is None and i in phrase_of and word.text not in self._own:
                read = self._read_specially(*phrase_of[i], word.text)
                if read is None and self._is_compound(word.text):
                    result += self._compound(word, tag, stress)
                    continue
                phonemes = en.apply_stress(read, stress) if read else None
            if word.text in (PRONOUNCED, LETTER_A):
                tag = "NNP"
            result.append(_misaki_token(word, tag, phonemes, stress))
        return result

    def _read_specially(self, lower: list[str], tags: list[str], i: int, word: str) -> str | None:
        """The phonemes of a word that misaki would read otherwise, or None."""
        if self._is_spelled(word):
            return str(self.lexicon.get_NNP(word)[0])
        if sense := sense_of(lower, tags, i, word[:1].isupper()):
            return sense[self.british]
        if self._is_one_name(word, lower, i):
            return _PLURAL_END.sub(_name_end, self._by_espeak(word))
        if name := self._name_of_parts(word):
            return name
        if stem := self._name_before_s(word):
            return self.lexicon._s(self.lexicon.lookup(stem, tags[i], None, None)[0])
        if whole := self._without_h(word, tags[i]):
            return whole
        if "'-" in word and self._is_written(lower[i]):
            return str(self.lexicon.lookup(lower[i], tags[i], None, None)[0])
        if letters := inflected_letters(word):
            return self._inflected(*letters)
        return self._camel(word)

    def _name_before_s(self, word: str) -> str | None:
        """The name in a possessive or plural, if the lexicon has the name as it is written.

        misaki looks for the word in small letters first, and may know another of that spelling.
        """
        if word.islower() or self._is_written(word) or self._is_written(word.lower()):
            return None
        stems = (word.removesuffix(ending) for ending in ("'s", "s") if word.endswith(ending))
        return next((stem for stem in stems if stem in self.lexicon.golds), None)

    def _is_one_name(self, word: str, lower: list[str], i: int) -> bool:
        """Whether a name that no lexicon has ends as a plural does and is none."""
        if self._is_written(word) or self._is_written(word.lower()):
            return False
        before, after = lower[i - 1] if i else "", lower[i + 1] if i + 1 < len(lower) else ""
        return is_one_name(word, before, after)

    def _name_of_parts(self, word: str) -> str | None:
        """A name with a particle or of a Scottish family: "DeWitt", "l'Université", "McQueen"."""
        if self._is_written(word):
            return None
        if is_scottish(word):
            return self._by_espeak(f"Mc{word.partition('c')[2].lower()}").replace("kk", "k")
        particle, rest = split_prefix(word, self.british)
        if not particle or (word.islower() and "'" not in word):
            return None
        known, _ = self.lexicon.get_word(rest, "NNP", None, en.TokenContext())
        return particle + (known or self._by_espeak(rest))

    def _by_espeak(self, word: str) -> str:
        """What eSpeak makes of a word, with the "r" and the "-ham" of names as they are spoken."""
        read = self._reader(word).replace("ɹɹ", "ɹ")
        return _HAM.sub("əm", read) if word.endswith("ham") else read

    def _without_h(self, word: str, tag: str) -> str | None:
        """A word whose "h" is left out: "'ouse", "'Ere"."""
        whole = f"h{word[1:].lower()}"
        if word[0] != "'" or self._is_written(word) or not self._is_ordinary(whole):
            return None
        phonemes: str = self.lexicon.get_word(whole, tag, None, en.TokenContext())[0]
        return phonemes.removeprefix("h")

    def _inflected(self, letters: str, ending: str) -> str:
        """The past or the participle of letters: "OK'd", "DMing"."""
        read, _ = self.lexicon.get_word(letters, "NN", None, en.TokenContext())
        if ending == "ing":  # misaki adds none behind a long vowel of British English
            return str(self.lexicon._ing(read) or f"{read}ɪŋ")
        return str(self.lexicon._ed(read))

    def _camel(self, word: str) -> str | None:
        """A name of words without spaces: of two, the first of which is stressed ("PlayStation"),
        or in a program, where the first is a verb if it can be one ("useState")."""
        if self._is_written(word):
            return None
        if _CODE.fullmatch(word):
            tags = ("VB", *["NN"] * len(word))
            names = zip(_PARTS.findall(word), tags, strict=False)
            context = en.TokenContext()
            code = [self.lexicon.get_word(n.lower(), tag, None, context)[0] for n, tag in names]
            return " ".join(code) if all(code) else None
        parts = _CAMEL.fullmatch(word)
        if parts is None:
            return None
        read = (
            self.lexicon.get_word(p.lower(), "NN", None, en.TokenContext()) for p in parts.groups()
        )
        first, second = (phonemes for phonemes, _ in read)
        return first + en.apply_stress(second, -0.5) if first and second else None

    def _begun(self, beginnings: str, word: str) -> str:
        """The first sound of a stammered word, once for each of its beginnings."""
        known, _ = self.lexicon.get_word(word.lower(), "NN", None, en.TokenContext())
        first = (known or self._reader(word)).lstrip("ˈˌ")[:1]
        return (first if first in en.VOWELS else f"{first}ə") * beginnings.count("-")

    def _is_compound(self, word: str) -> bool:
        """Whether a word with hyphens, one of whose parts is a heteronym, letters or the article,
        is not in the lexicon."""
        if "-" not in word or word.lower() in self.lexicon.golds:
            return False
        if not ACRONYMS.isdisjoint(word.split("-")):
            return True
        parts = word.lower().split("-")
        return has_article(parts) or not self._tagger.heteronyms.isdisjoint(parts)

    def _compound(self, word: Token, tag: str, stress: float | None) -> list[Any]:
        """The parts of a compound, each with a tag and a sense of its own."""
        parts = list(split_compound(word.text, tag))
        lower, tags = [part.text.lower() for part in parts], [part.tag for part in parts]
        spoken = [i for i, part in enumerate(parts) if part.text != "-"]
        result = []
        start = word.start
        for i, part in enumerate(parts):
            end = start + len(part.text)
            space = word.space if i + 1 == len(parts) else ""
            phonemes = "ɐ" if part.tag == "DT" else None
            if part.text in ACRONYMS:
                phonemes = en.apply_stress(self.lexicon.get_NNP(part.text)[0], -0.5)
            elif i in spoken:
                at = spoken.index(i)
                sense = sense_of([lower[j] for j in spoken], [tags[j] for j in spoken], at)
                if sense:
                    secondary = -0.5 if i + 1 < len(parts) else None
                    phonemes = en.apply_stress(sense[self.british], secondary)
            token = Token(part.text, start, end, space)
            result.append(_misaki_token(token, part.tag, phonemes, stress))
            start = end
        return result

    def _tagged(self, sentence: str) -> tuple[list[Token], list[str]]:
        shouted = self._shouted
        parts = [part for token in tokenize(sentence) for part in _without_stammer(token)]
        letters = letters_in_headline([part.text for part in parts]) if shouted else set()
        tokens = [self._spelled(p, shouted and i not in letters) for i, p in enumerate(parts)]
        return tokens, self._tagger([token.text for token in tokens])

    def _spelled(self, token: Token, shouted: bool) -> Token:
        """The spelling of the lexicon: without accents, with the apostrophes of contractions, and
        without the letters and capitals that only give emphasis."""
        text = drawn_out.joined(token.text)
        if text.lower() not in self.lexicon.golds:
            shorter = list(drawn_out.shortened(text))
            known = (self.lexicon.golds, self.lexicon.silvers)
            text = next((w for words in known for w in shorter if w.lower() in words), text)
        contracted = _CONTRACTED.fullmatch(text)
        if contracted and text.lower() not in self.lexicon.golds:
            with_apostrophe = "'".join(part for part in contracted.groups() if part)
            if contracted[3] or with_apostrophe.lower() in self.lexicon.golds:
                text = with_apostrophe
        if not text.isascii() and text.removesuffix("'s") not in self.lexicon.golds:
            plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
            stem = plain.removesuffix("'s")
            if self._is_ordinary(stem.lower()) or stem in self.lexicon.golds:
                text = plain
        if shouted and len(text) > 1:
            parts = text.split("-")
            text = "-".join(p if p == "US" != text else self._calm(p) for p in parts)
        elif text.isupper() and len(text) > 4 and self._is_inflected(text):
            text = text.lower()
        elif self._is_name_in_capitals(text):
            text = text.capitalize()
        return token._replace(text=text)

    def _is_name_in_capitals(self, text: str) -> bool:
        """Whether capitals are the name of somebody in a play, or what he is called: "SIR TOBY"."""
        stem = text.removesuffix("'S").removesuffix("'s")
        if not (stem.isalpha() and stem.isupper()) or stem in ACRONYMS or self._is_written(stem):
            return False
        known = self.lexicon.golds.get(stem.lower())
        if known is None and stem.lower() in self.lexicon.silvers:
            return len(stem) > 4 or is_spoken_name(stem)
        if known is None:
            return not self._is_ordinary(stem.lower()) and is_spoken_name(stem)
        called = isinstance(known, str) and stem.lower() not in (*CLOSED, *VERBS, *IRREGULAR_PAST)
        return called and len(stem) > 2 and en.PRIMARY_STRESS not in known

    def _is_inflected(self, text: str) -> bool:
        """Whether capitals are a form of an ordinary word, which misaki would spell: "MILES"."""
        lower = text.lower()
        return (
            not self._is_written(text)
            and lower not in self.lexicon.golds
            and self._is_ordinary(lower)
        )

    def _calm(self, word: str) -> str:
        """A word of a headline in capitals as it is written elsewhere, unless it is letters.

        An unknown word of five letters and more, or one such as CRUZ, is taken for a name.
        """
        stem = word.removesuffix("'S")
        lower = word.lower()
        if self._is_ordinary(lower) or self._is_ordinary(stem.lower()) or lower in _PREFIXES:
            return lower
        if stem in self.lexicon.golds or stem in ACRONYMS or not stem.isalpha():
            return word
        known = self._is_written(stem.capitalize())
        unknown = len(stem) > 4 and len(_VOWELS.findall(stem)) > 1
        unknown |= bool(_SYLLABLE.fullmatch(stem)) and not self._is_written(stem[:-1])
        unknown |= is_spoken_name(stem)
        return stem.capitalize() + "'s" * (stem != word) if known or unknown else word
