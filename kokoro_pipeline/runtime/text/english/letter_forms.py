"""Letters and digits that Unicode has in other forms as well: "𝐛𝐨𝐥𝐝", "ᴄᴀᴘs", "4ᵗʰ", "①", "㎏"."""

from __future__ import annotations

import re
import unicodedata

from ..tracked import Tracked

_COMPATIBLE = re.compile(
    r"[\u2100-\u214f\u2160-\u217f\u2460-\u24ff\u3371-\u33df\ufb00-\ufb06\uff01-\uff5e"
    r"\U0001d400-\U0001d7ff\U0001f130-\U0001f149]+"
)
_ENCLOSED = "[\u2460-\u249b]"
_ENCLOSED_NUMBERS = re.compile(f"{_ENCLOSED}(?={_ENCLOSED})")
_RAISED = "[ʰ-ʸˡ-ˣᴬ-ᵪᶜ-ᶿⁱⁿ]"
# Raised letters that are an exponent: those of one letter or of what is in parentheses.
_EXPONENT = re.compile(rf"(?<=[a-z)])(?<![^\W\d_][a-z])(?!ⁿ|ᵗʰ)({_RAISED}+)(?![\w])")
# Those that belong to a word or to an ordinal number: "Mᶜ", "4ᵗʰ".
_RAISED_LETTERS = re.compile(
    rf"(?<=\d)(?:ˢᵗ|ⁿᵈ|ʳᵈ|ᵗʰ)|(?<=[A-Za-z])ᵗʰ|(?<=\b[DMNS]){_RAISED}{{1,3}}"
    rf"|(?<![^\W_])(?<!\)){_RAISED}{{2,}}"
)
_NAMED = re.compile(r"[ᴀ-ᴢɢɪɴʀʏʙʜʟꜰꜱ]{2,}|[\U0001f150-\U0001f169\U0001f170-\U0001f189]\ufe0f?")
_LETTER_NAME = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|(?:NEGATIVE )?(?:SQUARED|CIRCLED) LATIN CAPITAL LETTER) ([A-Z])"
)


def plain_letters(text: Tracked) -> Tracked:
    """The text with the usual forms of its letters and digits."""
    text = text.sub(_ENCLOSED_NUMBERS, lambda m: f"{_compatible(m)} ").sub(_COMPATIBLE, _compatible)
    text = text.sub(_EXPONENT, _exponent)
    return text.sub(_RAISED_LETTERS, _compatible).sub(_NAMED, _named)


def _compatible(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0])


def _exponent(match: re.Match[str]) -> str:
    letters = _compatible(match)
    return f"^{letters}" if len(letters) == 1 else f"^({' '.join(letters)})"


def _named(match: re.Match[str]) -> str:
    """The letters that characters are named after, small as small capitals are."""
    names = [_LETTER_NAME.fullmatch(unicodedata.name(c, "")) for c in match[0]]
    letters = "".join(name[1] for name in names if name)
    return letters if len(match[0].rstrip("\ufe0f")) == 1 else letters.lower()
