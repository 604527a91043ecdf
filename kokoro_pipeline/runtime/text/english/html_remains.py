"""Take out what is left of HTML in a text: tags, and names of characters such as "&amp;"."""

from __future__ import annotations

import html
import re

from ..tracked import Tracked

_BLOCK = "p|br|div|li|ul|ol|h[1-6]|tr|table|blockquote|pre|hr|section|article"
_INLINE = "b|i|u|s|em|strong|span|a|sup|sub|code|kbd|small|del|ins|mark|q|font|td|th|img|cite"
_ATTRIBUTES = (
    r"(?:\s+[a-z][\w:-]{0,30}(?:=(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s\"'<>]{1,200}))?){0,20}"
)
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCK}){_ATTRIBUTES}\s*/?>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE}){_ATTRIBUTES}\s*/?>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_NAMED = re.compile(r"&(?:[A-Za-z]{2,8}\d{0,2}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def without_html(text: Tracked) -> Tracked:
    """The text without tags, of which some end a paragraph, and with characters for their names.

    A tag between two spaces is what the text speaks of: "the <div> tag".
    """
    if "<" in text.text:
        text = text.sub(_COMMENT, "")
        text = text.sub(_BLOCK_TAG, lambda match: match[0] if _is_word(match) else "\n\n")
        text = text.sub(_INLINE_TAG, lambda match: match[0] if _is_word(match) else "")
    return text.sub(_NAMED, lambda match: html.unescape(match[0])) if "&" in text.text else text


def _is_word(match: re.Match[str]) -> bool:
    around = (
        match.string[max(0, match.start() - 1) : match.start()]
        + (match.string[match.end() : match.end() + 1])
    )
    return around == "  " and match[0][1:-1].isalnum() and match[0].lower() not in ("<br>", "<hr>")
