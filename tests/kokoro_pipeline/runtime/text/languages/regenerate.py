"""Write what stock kokoro reads into the tables beside this file: `python regenerate.py [CODE]…`.

Each `CODE.tsv` has a sentence in a row: the text, kokoro's phonemes, and, where ours are better on
purpose, our phonemes and the reason. Only the second column is written; new sentences are added
with nothing but their text. The first line names the versions that kokoro's phonemes come from.
`--check` writes nothing and exits with 1 if a row would change.

Needs `tvm-kokoro[test]`, and for Japanese pyopenjtalk-plus and mojimoji, which kokoro imports.
"""

from __future__ import annotations

import csv
import importlib.metadata
import sys
from pathlib import Path

HERE = Path(__file__).parent
CODES = {
    "es": "es",
    "fr": "fr-fr",
    "hi": "hi",
    "it": "it",
    "pt-br": "pt-br",
    "ja": "ja",
    "zh": "zh",
}
"""Our code and kokoro's."""
PACKAGES = {
    "ja": ("kokoro", "misaki", "fugashi", "unidic-lite", "jaconv", "mojimoji"),
    "zh": ("kokoro", "misaki", "jieba", "pypinyin", "cn2an", "ordered-set"),
}
_ESPEAK = ("kokoro", "misaki", "phonemizer-fork", "espeakng-loader")


def stock_phonemes(code: str, texts: list[str]) -> list[str]:
    """kokoro's phonemes of each text, its chunks joined by a space."""
    from kokoro import KPipeline

    pipeline = KPipeline({"fr": "fr-fr"}.get(code, code), repo_id="hexgrad/Kokoro-82M", model=False)
    return [" ".join(result.phonemes for result in pipeline(text)) for text in texts]


def main(words: list[str]) -> int:
    check = "--check" in words
    changed = False
    for code in [word for word in words if word != "--check"] or CODES:
        path = HERE / f"{code}.tsv"
        _, *lines = path.read_text("utf-8").splitlines()
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        read = stock_phonemes(code, [row[0] for row in rows])
        versions = [
            f"{name} {importlib.metadata.version(name)}" for name in PACKAGES.get(code, _ESPEAK)
        ]
        text = "".join(
            "\t".join([row[0], phonemes, *row[2:]]) + "\n"
            for row, phonemes in zip(rows, read, strict=True)
        )
        text = f"# {', '.join(versions)}; text, kokoro, ours where better, why\n{text}"
        if text.partition("\n")[2] != path.read_text("utf-8").partition("\n")[2]:
            changed = True
            print(f"{path.name} differs" if check else f"{path.name} written")
        if not check:
            path.write_text(text, "utf-8")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
