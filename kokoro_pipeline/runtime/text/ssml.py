"""SSML 1.1 as runs: what is spoken, in which manner, with which pauses and marks.

Known are `speak p s break phoneme sub say-as voice prosody lang mark emphasis`; `emphasis` is
ignored and reported. Whatever else is in a document is refused with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import InputError

from .ipa import from_ipa
from .languages import find_language, language_of_voice
from .pauses import seconds
from .runs import Manner, Mark, Pause, Run, TextRun
from .say_as import KINDS, say_as
from .tracked import Tracked
from .vocabulary import Vocabulary, has_sound
from .xml_tree import Element, XmlError, parse

_STRENGTHS = {
    "none": 0.0,
    "x-weak": 0.0,
    "weak": 0.2,
    "medium": 0.4,
    "strong": 0.7,
    "x-strong": 1.2,
}
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5}
_RATE = re.compile(r"([+-]?)(\d{1,4}(?:\.\d{1,4})?)(%?)")
_SLOWEST, _FASTEST = 0.25, 4.0
_SPACES = re.compile(r"\s+")

# The attributes of each element that mean something here, or that may be there and mean nothing.
_ATTRIBUTES = {
    "speak": {"version", "xml:lang", "xml:base", "xsi:schemaLocation"},
    "p": {"xml:lang", "xml:id"},
    "s": {"xml:lang", "xml:id"},
    "break": {"time", "strength"},
    "phoneme": {"ph", "alphabet", "xml:lang"},
    "sub": {"alias"},
    "say-as": {"interpret-as", "format", "detail"},
    "voice": {"name", "xml:lang"},
    "prosody": {"rate"},
    "lang": {"xml:lang", "onlangfailure"},
    "mark": {"name"},
    "emphasis": {"level"},
}
_EMPTY = {"break", "mark"}
_ONLY_TEXT = {"phoneme", "sub", "say-as"}
_FORBIDDEN_INSIDE = {"s": {"p", "s"}, "p": {"p"}}


@dataclass(frozen=True)
class Ignored:
    """Markup that changes nothing."""

    element: str
    line: int


@dataclass(frozen=True)
class Ssml:
    """A document in the order in which it is spoken."""

    source: str
    runs: tuple[Run, ...]
    ignored: tuple[Ignored, ...]


def parse_ssml(source: str, lang: str = "en-us") -> Ssml:
    """The runs of a document; `lang` is the language where it names none.

    A voice brings the language of its name (`ff_siwis` French), which `lang` or `xml:lang` inside
    overrides. White space counts as one space.

    Raises InputError for a source that is no string, and with its line for what is not well-formed,
    an unknown element, attribute or value, elements nested in the wrong way, phonemes that the
    model does not know, and a pause that is too long; EnvironmentFault if the `text` extra is not
    installed.
    """
    if not isinstance(source, str):
        raise InputError(f"source is {type(source).__name__}, expected a document as a string")
    text = source.removeprefix("\ufeff")
    root = parse(text)
    if root.name != "speak":
        raise XmlError(f"<{root.name}> is not the <speak> of an SSML document", root.line)
    builder = _Builder(text)
    builder.element(root, Manner(find_language(lang).code), ())
    builder.close("nothing")
    return Ssml(text, tuple(builder.runs), tuple(builder.ignored))


class _Builder:
    """Runs that are complete, and the text and marks of the one that is not."""

    def __init__(self, source: str) -> None:
        self.runs: list[Run] = []
        self.ignored: list[Ignored] = []
        self._source = source
        self._vocabulary = Vocabulary(default_config().vocab)
        self._parts: list[Tracked] = []
        self._has_words = False
        """Whether the parts are more than white space."""
        self._marks: list[Mark] = []
        self._manner: Manner | None = None

    def element(self, element: Element, manner: Manner, around: tuple[str, ...]) -> None:
        _check(element, around)
        inside = self._manner_of(element, manner)
        name = element.name
        if name in ("p", "s"):
            self.close("sentence")
        elif name == "break":
            self._break(element)
        elif name == "mark":
            self._marks.append(Mark(_required(element, "name"), element.start))
        elif name == "emphasis":
            self.ignored.append(Ignored(name, element.line))
        if name in _ONLY_TEXT:
            self._add(self._written(element, inside), inside)
        else:
            for child in element.children:
                if isinstance(child, Element):
                    self.element(child, inside, (*around, name))
                else:
                    self._add(child, inside)
        if name in ("p", "s"):
            self.close("paragraph" if name == "p" else "sentence")

    def close(self, ends: str) -> None:
        """Complete a run; what only repeats the end of the last one changes that."""
        text = _collapsed(Tracked.joined(self._parts))
        marks, manner = self._marks, self._manner
        self._parts, self._has_words, self._marks, self._manner = [], False, [], None
        if text.text and manner is not None:
            self.runs.append(TextRun(text, manner, tuple(marks), ends))  # type: ignore[arg-type]
            return
        self.runs += marks
        if ends == "paragraph" and self.runs:
            for position in range(len(self.runs) - 1, -1, -1):
                run = self.runs[position]
                if isinstance(run, TextRun):
                    self.runs[position] = replace(run, ends="paragraph")
                    break

    def _add(self, text: Tracked, manner: Manner) -> None:
        has_words = bool(text.text.strip())
        if manner != self._manner and has_words:
            if self._has_words:
                self.close("nothing")
            self._manner = manner
        self._has_words = self._has_words or has_words
        self._parts.append(text)

    def _break(self, element: Element) -> None:
        given = element.attributes.get("time")
        strength = element.attributes.get("strength", "medium")
        if strength not in _STRENGTHS:
            raise _bad_value(element, "strength", _STRENGTHS)
        length = _STRENGTHS[strength]
        if given is not None:
            length = _with_line(element, lambda: seconds(given))
        if length:
            self.close("nothing")
            end = self._source.find(">", element.start) + 1
            self.runs.append(Pause(length, element.start, end))

    def _manner_of(self, element: Element, manner: Manner) -> Manner:
        attributes = element.attributes
        if element.name == "voice":
            voice = _required(element, "name")
            own = language_of_voice(voice)
            manner = replace(manner, voice=voice, lang=own.code if own else manner.lang)
        if element.name == "lang":
            _required(element, "xml:lang")
        if (lang := attributes.get("xml:lang")) is not None:
            manner = replace(manner, lang=_with_line(element, lambda: find_language(lang).code))
        if element.name == "prosody":
            manner = replace(manner, speed=_speed(element, manner.speed))
        return manner

    def _written(self, element: Element, manner: Manner) -> Tracked:
        """The text of an element that holds nothing else, as it is to be read."""
        text = Tracked.joined(child for child in element.children if isinstance(child, Tracked))
        written = " ".join(text.text.split())
        if not written:
            raise XmlError(f"<{element.name}> is empty", element.line)
        if element.name == "sub":
            new = _required(element, "alias")
        elif element.name == "phoneme":
            new = _marked(element, written, self._phonemes(element, manner))
        else:
            kind = _required(element, "interpret-as")
            if kind not in KINDS:
                raise _bad_value(element, "interpret-as", KINDS)
            form = element.attributes.get("format", "")
            new = _with_line(element, lambda: say_as(written, kind, form, manner.lang))
        edges = len(text.text) - len(text.text.lstrip()), len(text.text.rstrip())
        return text.edit([(*edges, new)])

    def _phonemes(self, element: Element, manner: Manner) -> str:
        given = _required(element, "ph")
        alphabet = element.attributes.get("alphabet", "ipa")
        if alphabet not in ("ipa", "x-kokoro"):
            raise _bad_value(element, "alphabet", ("ipa", "x-kokoro"))
        phonemes = from_ipa(given, manner.lang) if alphabet == "ipa" else given.strip()
        if unknown := self._vocabulary.encode(phonemes).unknown:
            symbols = ", ".join(str(symbol) for symbol in unknown[:3])
            raise XmlError(f"ph={given!r} has symbols that the model does not know: {symbols}",
                           element.line)  # fmt: skip
        if not has_sound(phonemes) or set(phonemes) & set("()"):
            raise XmlError(f"ph={given!r} is no pronunciation", element.line)
        return phonemes


def _marked(element: Element, written: str, phonemes: str) -> str:
    if set(written) & set("[]"):
        raise XmlError(f"the text of <{element.name}> has a bracket", element.line)
    return f"[{written}](/{phonemes}/)"


def _collapsed(text: Tracked) -> Tracked:
    return text.sub(_SPACES, " ").strip()


def _check(element: Element, around: tuple[str, ...]) -> None:
    name, line = element.name, element.line
    if name not in _ATTRIBUTES:
        known = ", ".join(_ATTRIBUTES)
        raise XmlError(f"<{name}> is not supported; known are {known}", line)
    unknown = [
        attribute
        for attribute in element.attributes
        if attribute not in _ATTRIBUTES[name] and not attribute.startswith("xmlns")
    ]
    if unknown:
        raise XmlError(f"<{name}> with {unknown[0]}= is not supported", line)
    if name == "speak" and around:
        raise XmlError("<speak> is the outermost element only", line)
    for outer in around:
        if name in _FORBIDDEN_INSIDE.get(outer, ()):
            raise XmlError(f"<{name}> cannot be inside <{outer}>", line)
    if name in _ONLY_TEXT and element.elements:
        inner = element.elements[0]
        raise XmlError(f"<{inner.name}> cannot be inside <{name}>", inner.line)
    if name in _EMPTY and (element.elements or element.text.strip()):
        raise XmlError(f"<{name}> has to be empty", line)


def _required(element: Element, attribute: str) -> str:
    value = element.attributes.get(attribute, "").strip()
    if not value:
        raise XmlError(f"<{element.name}> needs {attribute}=", element.line)
    return value


def _speed(element: Element, speed: float) -> float:
    rate = _required(element, "rate")
    match = _RATE.fullmatch(rate)
    if rate in _RATES:
        factor = _RATES[rate]
    elif match is None or (match[1] and not match[3]):
        raise XmlError(
            f"rate={rate!r} is neither a percentage, nor a factor, nor one of {', '.join(_RATES)}",
            element.line,
        )
    else:
        value = float(match[2]) / (100 if match[3] else 1)
        factor = {"": value, "+": 1 + value, "-": 1 - value}[match[1]]
    if not _SLOWEST <= speed * factor <= _FASTEST:
        raise XmlError(
            f"rate={rate!r} makes the speed {speed * factor:g} times the normal one, which is not "
            f"between {_SLOWEST} and {_FASTEST:g}",
            element.line,
        )
    return speed * factor


def _bad_value(element: Element, attribute: str, known: Iterable[str]) -> XmlError:
    value = element.attributes[attribute]
    return XmlError(f"{attribute}={value!r} is not one of {', '.join(known)}", element.line)


def _with_line(element: Element, make: Callable[[], str | float]) -> Any:
    try:
        return make()
    except XmlError:
        raise
    except InputError as error:
        raise XmlError(str(error), element.line) from error
