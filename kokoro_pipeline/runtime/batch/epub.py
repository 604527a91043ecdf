"""The chapters of an EPUB, in the order of reading."""

from __future__ import annotations

import codecs
import html
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt"),
        *("figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
        *("li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr", "ul"),
    )
)
_SILENT = frozenset(("head", "script", "style", "rt", "rp", "svg", "math"))
_BLANKS = re.compile(r"\s+")
_STARTS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    "<?".encode("utf-16-le"): "utf-16-le",
    "<?".encode("utf-16-be"): "utf-16-be",
}
"""How pages of two bytes a character, and pages that say that they are UTF-8, begin."""
_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_HEAD = 4096
"""Bytes in which a page declares its encoding."""
_DECLARED = re.compile(
    rb"(?:<\?xml[^>]*?\bencoding|<meta[^>]*?\bcharset)\s*=\s*[\"']?([\w.:-]+)",
    re.IGNORECASE,
)
# A parser of HTML does not know the declarations in brackets, and takes their end for text.
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class EpubChapter:
    """A page of an EPUB that has text."""

    file: str
    id: str
    """Its number and the name of its file, such as "003-chapter2"."""
    title: str | None
    """Its first heading."""
    text: str


def chapters(path: Path) -> Iterator[EpubChapter]:
    """The chapters of an EPUB that have text.

    The navigation page and what is not part of the order of reading are left out. Raises
    EnvironmentFault without the extra `batch`, InputError for what is no EPUB.
    """
    epub, etree = _modules()
    book = _load(path, epub)
    try:
        pages = [
            (item.file_name, *_heading_and_text(_parsed(item, etree)))
            for identifier, linear in book.spine
            if linear != "no"
            and (item := book.get_item_with_id(identifier)) is not None
            and _is_page(item, epub)
            and item.content.strip()
        ]
    except Exception as error:
        raise _damaged(path, error) from error
    for number, (name, heading, text) in enumerate(pages, 1):
        if text:
            stem = re.sub(r"[^\w-]+", "_", PurePosixPath(name).stem)[:40]
            yield EpubChapter(name, f"{number:03d}-{stem}", heading, text)


def title_and_author(path: Path) -> tuple[str | None, str | None]:
    """The title and the author of an EPUB, as far as it says them. Raises like `chapters`."""
    epub, _ = _modules()
    book = _load(path, epub)
    return book.title or None, book.author or None


def _modules() -> tuple[Any, Any]:
    try:
        from ebooklib import epub
        from lxml import etree
    except ImportError as error:
        raise EnvironmentFault(
            f"reading an EPUB needs a package that is not installed ({error}): "
            f"{install_command('batch')}"
        ) from error
    return epub, etree


def _load(path: Path, epub: Any) -> Any:
    if not path.is_file():
        raise InputError(f"cannot read {path}: no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _reader(epub)(str(path), {"ignore_ncx": True}).load()
    except Exception as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} is not an EPUB, or is damaged: {error}")


def _reader(epub: Any) -> Any:
    """ebooklib's reader without what no chapter needs, where it stops at books that lack it."""

    class Reader(epub.EpubReader):
        def _load_metadata(self) -> None:
            """Only the title and the author, which may be missing."""
            self.book.title, self.book.author = self._said("title"), self._said("creator")

        def _said(self, name: str) -> str:
            found = self.container.find(f".//{{{_DUBLIN_CORE}}}{name}")
            return "" if found is None else _line("".join(found.itertext()))

        def _parse_nav(self, *arguments: Any, **options: Any) -> None:
            """The spine has the order of the chapters."""

        def _load_manifest(self) -> None:
            self._part("manifest")
            super()._load_manifest()

        def _load_spine(self) -> None:
            self.book.spine = [
                (each.get("idref"), each.get("linear", "yes")) for each in self._part("spine")
            ]

        def _part(self, name: str) -> Any:
            part = self.container.find(f"{{{epub.NAMESPACES['OPF']}}}{name}")
            if part is None:
                raise InputError(f"{self.opf_file} has no <{name}>")
            return part

    return Reader


def _is_page(item: Any, epub: Any) -> bool:
    """Whether it is XHTML or HTML, and not the table of contents."""
    if isinstance(item, epub.EpubNav):
        return False
    return isinstance(item, epub.EpubHtml) or item.media_type == "text/html"


def _parsed(item: Any, etree: Any) -> Any:
    """The tree of a page, None for one without elements. Raises InputError if it is too deep."""
    text = _without_cdata(_DOCTYPE.sub("", _decoded(item.content), count=1))
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    tree = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise InputError(f"the elements of {item.file_name} are nested too deep")
    return tree


def _decoded(content: bytes) -> str:
    """The text of a page, in UTF-8 unless it says otherwise."""
    for start, encoding in _STARTS.items():
        if content.startswith(start):
            return content.decode(encoding, "replace")
    declared = _declared(content)
    for encoding in filter(None, (declared, "utf-8")):
        try:
            return content.decode(encoding)
        except UnicodeError:
            continue
    return content.decode(declared or "cp1252", "replace")


def _declared(content: bytes) -> str | None:
    """The encoding that a page declares, if it is known and can be that of the declaration."""
    found = _DECLARED.search(content, 0, _HEAD)
    if found is None:
        return None
    name = found[1].decode()
    try:
        b"<".decode(name)
    except (LookupError, UnicodeError):
        return None
    return name


def _without_cdata(page: str) -> str:
    """The page with its CDATA sections as text, since a parser of HTML takes them for comments."""
    first, *rest = page.split("<![CDATA[")
    parts = [first]
    for part in rest:
        inside, closing, after = part.partition("]]>")
        parts += (html.escape(inside), after) if closing else ("<![CDATA[", part)
    return "".join(parts)


def _heading_and_text(tree: Any) -> tuple[str | None, str]:
    """The first heading that has text, and the text of a page."""
    found = () if tree is None else tree.iter("h1", "h2", "h3")
    headings = (_line("".join(each.itertext())) for each in found)
    return next(filter(None, headings), None), _text(tree)


def _line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _text(tree: Any) -> str:
    """The text of a page: an empty line between blocks, one blank for every other white space."""
    blocks: list[list[str]] = [[]]
    waiting = [] if tree is None else [(tree, True)]
    while waiting:  # a page may be nested deeper than Python calls functions
        node, begins = waiting.pop()
        if node.tag in _BLOCKS:
            blocks.append([])
        if not begins:
            blocks[-1].append(node.tail or "")
            continue
        waiting.append((node, False))
        if isinstance(node.tag, str) and node.tag not in _SILENT:  # else a comment
            blocks[-1].append(node.text or "")
            waiting += ((child, True) for child in reversed(node))
    lines = (_line("".join(block)) for block in blocks)
    return "\n\n".join(filter(None, lines))
