"""Letters that an apostrophe stands for: "press'd", "'ouse", "'twas"."""

from __future__ import annotations

from collections.abc import Iterator

_ELIDED = (
    "tis|tisn|twas|twere|twill|twould|em|cause|til|till|round|bout|n|neath|cept|midst|gainst"
    "|sblood|swounds|zounds|sdeath"
)
# Words without their "h", which are no quotation unless it ends with them; those that are words
# without it as well are in small letters, behind a word and before another one.
_WITHOUT_H = (
    "im|imself|erself|ere|ave|aven|ome|ouse|eart|arder|alf|ope|orses?|ello|arry|enry|eard|eaven"
    "|elp|igh|igher|undred|ungry|urt|usband|appy|orrible|andsome"
    r"|e(?= |'(?:s|d|ll)\b)|ow(?= [a-z]|'s\b)"
    r"|(?-i:(?<=[a-z] ')(?:er|is|ad|ard|ead)(?= (?:[a-z]|I\b)))"
)
ELISION = rf"(?!(?:{_ELIDED})\b|(?:{_WITHOUT_H})\b(?!'(?!\w)))"
"""Pattern, without regard to case, that does not match where an apostrophe belongs to a word."""


def written_out(word: str) -> Iterator[str]:
    """What a word with an apostrophe may be in full: "pressed" for "press'd"."""
    stem = word.removesuffix("'d")
    if stem != word:
        yield f"{stem}ed"
        yield f"{stem}d"
        if stem.endswith("y"):
            yield f"{stem[:-1]}ied"
