"""How numbers, amounts and abbreviations of the languages that eSpeak reads are said.

A language's forms are the file `data/CODE.tsv`: a kind, what is written, and what is said for it.

| kind | written | said |
|---|---|---|
| `word` | what the word is for | the word |
| `abbreviation` | anywhere | the words; those before a feminine name |
| `abbreviation name`, `title`, `number` | before a capital, a letter, a digit | the same |
| `ordinal` | suffixes of digits | the one suffix that eSpeak knows; none: the words of num2words |
| `ordinal before` | words that a Roman numeral before them counts | |
| `counted` | nouns behind which every Roman numeral is a number | |
| `feminine`, `masculine` | words that their endings do not tell | |
| `feminine ending`, `masculine ending` | endings of nouns beside a; masculine ones win | |
| `either gender` | adjectives before a noun that do not tell its gender | |
| `no noun` | words behind a number that are no nouns | |
| `number of` | words behind which a number counts nothing | |
| `before one` | words behind which 1 counts a noun | |
| `tens` | names of rulers behind which an X is a number | |
| `unit` | the sign | one, several, and f if they are feminine |
| `currency` | the sign | one, several, a hundredth, hundredths, and f |
| `scale` | a word or sign of thousands or millions | the word, and what joins it to a currency |
| `fraction` | digits | before a masculine noun, before a feminine one |
| `mixed` | the fraction behind a whole number, which is `{}`; none: any other | the same |
| `hours` | hours and minutes | whole hours; hours and fewer than ten minutes |
| `clock` | a time of twelve hours, or its minutes | how it is said |
| `hour word` | words before "14.30" that make it a time | |
| `hours spoken` | a word behind a time that its reading already has | |
| `sign` | a sign that eSpeak drops or misreads | the words |
| `address` | a sign in an address | the word |

The words of the kind `word` are for: the point and the comma of decimals (a language without the
latter has commas between groups of digits), a minus, a range (of years), a fraction (`over`), the
x of products and of scores, units `per` others, the cents of a price, and what joins "million" to
a noun. `telephone` is a pattern of numbers that are read digit by digit, `spelled capitals` the
length up to which words in capitals are spelled, and `singular below two` a mark of languages
with "1.5 litre".
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import resources

SPACE = "[ \u00a0\u202f]"
_FOLDER = resources.files(__package__) / "data"


@dataclass(frozen=True)
class Forms:
    """The rows of one language by kind."""

    code: str
    rows: dict[str, dict[str, tuple[str, ...]]]

    def of(self, kind: str) -> dict[str, tuple[str, ...]]:
        """What is said, by what is written."""
        return self.rows.get(kind, {})

    def named(self, kind: str, sign: str) -> tuple[str, ...]:
        """What is said for a sign of a text, which may have other spaces inside than the table."""
        return self._by_sign[kind, squeezed(sign)]

    @functools.cached_property
    def _by_sign(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {
            (kind, squeezed(written)): said
            for kind, rows in self.rows.items()
            for written, said in rows.items()
        }

    def word(self, name: str) -> str:
        """A word of the language; empty if it has none."""
        return self.of("word").get(name, ("",))[0]

    def words(self, kind: str) -> frozenset[str]:
        """The words of a kind whose rows are lists of words."""
        return self._words_of.get(kind, frozenset())

    @functools.cached_property
    def _words_of(self) -> dict[str, frozenset[str]]:
        return {
            kind: frozenset(word for row in rows for word in row.split())
            for kind, rows in self.rows.items()
        }


def squeezed(written: str) -> str:
    """A sign without the spaces inside."""
    return re.sub(SPACE, "", written)


@functools.cache
def load_forms(code: str) -> Forms:
    """The forms of a language by its code."""
    rows: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in (_FOLDER / f"{code}.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("# "):
            kind, written, *said = line.split("\t")
            rows.setdefault(kind, {})[written] = (*said,)
    return Forms(code, rows)
