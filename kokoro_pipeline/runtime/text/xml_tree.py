"""XML as a tree whose elements and characters know their place in the source.

defusedxml parses it, which refuses entities of the document's own (a "billion laughs") and external
references.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax import SAXParseException, handler

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

from .tracked import Tracked

_DEEPEST = 64
_REFERENCE = re.compile(r"&#?\w+;")
_LINE_END = re.compile(r"\r\n|\r|\n")


class XmlError(InputError):
    """A text is not XML, or has an element where none can be."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line


@dataclass(frozen=True)
class Element:
    """An element with what is in it, in order."""

    name: str
    """As it is written, with its prefix."""
    attributes: Mapping[str, str]
    line: int
    start: int
    """The position of its start tag in the source, in code points."""
    children: list[Element | Tracked] = field(default_factory=list)

    @property
    def elements(self) -> list[Element]:
        """The elements in it."""
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """The text directly in it."""
        return "".join(child.text for child in self.children if isinstance(child, Tracked))


class _Handler(handler.ContentHandler):
    def __init__(self, source: str, parser: Any) -> None:
        super().__init__()
        self._parser = parser
        self.open: list[Element] = []
        self.root: Element | None = None
        self._source = source
        self.lines = [0, *(match.end() for match in _LINE_END.finditer(source))]
        """Where the lines of the source begin."""

    def position(self) -> tuple[int, int]:
        """Line and position in the source of what the parser has found."""
        line = self._parser.getLineNumber() or 1
        return line, self.lines[line - 1] + (self._parser.getColumnNumber() or 0)

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802 -- SAX's name
        line, start = self.position()
        element = Element(name, dict(attrs.items()), line, start)
        if len(self.open) == _DEEPEST:
            raise XmlError(f"elements are nested deeper than {_DEEPEST}", line)
        if self.open:
            self.open[-1].children.append(element)
        self.root = self.root or element
        self.open.append(element)

    def endElement(self, name: str) -> None:  # noqa: N802 -- SAX's name
        self.open.pop()

    def characters(self, content: str) -> None:
        _, start = self.position()
        reference = _REFERENCE.match(self._source, start) if len(content) == 1 else None
        if reference is None and self._source.startswith(content, start):
            spans = tuple((start + i, start + i + 1) for i in range(len(content)))
        else:  # a reference such as &amp;, or a line end of two characters
            end = reference.end() if reference else min(start + 2, len(self._source))
            spans = ((start, end),) * len(content)
        self.open[-1].children.append(Tracked(content, spans))


def parse(source: str) -> Element:
    """The root element of a document.

    Raises XmlError with the line for what is not well-formed, half of a character, entities that a
    document defines, and elements nested too deep; EnvironmentFault if the `text` extra is not
    installed.
    """
    try:
        reader = importlib.import_module("defusedxml.expatreader")
        forbidden = importlib.import_module("defusedxml.common").DefusedXmlException
    except ImportError as error:
        raise EnvironmentFault(
            f"reading XML needs a package that is not installed ({error}): "
            f"{install_command('text')}"
        ) from error
    parser = reader.create_parser()
    found = _Handler(source, parser)
    parser.setContentHandler(found)
    try:
        parser.feed(source)
        parser.close()
    except SAXParseException as error:
        line = error.getLineNumber() or 1
        raise XmlError(f"it is not well-formed XML ({error.getMessage()})", line) from error
    except UnicodeEncodeError as error:
        line = bisect_right(found.lines, error.start)
        wrong = f"U+{ord(source[error.start]):04X} is half of a character"
        raise XmlError(f"it is not Unicode ({wrong})", line) from error
    except forbidden as error:
        line, _ = found.position()
        raise XmlError(
            "entities and external references are not allowed in a document", line
        ) from error
    assert found.root is not None  # a document without one is not well-formed
    return found.root
