"""The chapters of an EPUB, in the order of reading."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
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


def chapters(path: Path) -> Iterator[tuple[str, str, str]]:
    """The file, a name such as "003-chapter2" and the text of each chapter that has text.

    The navigation page and what is not part of the order of reading are left out. Raises
    EnvironmentFault without the extra `batch`, InputError for what is no EPUB.
    """
    try:
        from ebooklib import epub
        from lxml import html
    except ImportError as error:
        raise EnvironmentFault(
            f"reading an EPUB needs a package that is not installed ({error}): "
            f"{install_command('batch')}"
        ) from error
    if not path.is_file():
        raise InputError(f"cannot read {path}: no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = epub.read_epub(str(path), {"ignore_ncx": True})
        documents = [
            (item.file_name, html.document_fromstring(item.content))
            for identifier, linear in book.spine
            if linear != "no"
            and (item := book.get_item_with_id(identifier)) is not None
            and not isinstance(item, epub.EpubNav)
            and item.content.strip()
        ]
    except Exception as error:
        raise InputError(f"{path} is not an EPUB, or is damaged: {error}") from error
    for number, (name, tree) in enumerate(documents, 1):
        text = _text(tree)
        if text:
            stem = re.sub(r"[^\w-]+", "_", PurePosixPath(name).stem)[:40]
            yield name, f"{number:03d}-{stem}", text


def _text(tree: Any) -> str:
    """The text of a page: an empty line between blocks, one blank for every other white space."""
    blocks = [""]

    def walk(node: Any) -> None:
        block = node.tag in _BLOCKS
        if block:
            blocks.append("")
        if isinstance(node.tag, str) and node.tag not in _SILENT:  # else a comment
            blocks[-1] += node.text or ""
            for child in node:
                walk(child)
                blocks[-1] += child.tail or ""
        if block:
            blocks.append("")

    walk(tree)
    return "\n\n".join(filter(None, (_BLANKS.sub(" ", block).strip() for block in blocks)))
