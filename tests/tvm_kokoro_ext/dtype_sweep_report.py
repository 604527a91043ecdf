"""Print what became of each operator of the dtype sweep, as Markdown tables.

python tests/tvm_kokoro_ext/dtype_sweep_report.py [group or row …]

A cell is one operator in one dtype over its variants (static or symbolic, decomposed or raw):
"right" with the worst error in ulp, and that of eager torch; other outcomes by variant. Reasons
follow the tables. The exit status is 1 where anything is wrong, or fails without a name.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

import torch
import tvm
from dtype_sweep import Outcome, Row, Variant, Verdict, judge, name_of, variants
from dtype_sweep_rows import GROUPS

import tvm_kokoro_ext

Judged = list[tuple[Variant, Verdict]]


def cell(judged: Judged) -> str:
    """The outcomes of one row in one dtype."""
    kinds: dict[Outcome, list[tuple[str, Verdict]]] = {}
    for variant, verdict in judged:
        kinds.setdefault(verdict.outcome, []).append((variant.kind, verdict))
    return "; ".join(_part(outcome, found, len(kinds) > 1) for outcome, found in kinds.items())


def _part(outcome: Outcome, found: list[tuple[str, Verdict]], several: bool) -> str:
    worst = max((verdict for _, verdict in found), key=lambda verdict: verdict.ours)
    text = outcome.value if outcome in (Outcome.RIGHT, Outcome.NO_EAGER) else f"**{outcome.value}**"
    if worst.ours or worst.eager:
        text += f" {worst.ours:.2g} ({worst.eager:.2g})"
    return f"{text}: {', '.join(kind for kind, _ in found)}" if several else text


def table(rows: Sequence[Row], reasons: list[str], counts: Counter[Outcome]) -> list[str]:
    """The lines of one group's table; what isn't right is noted, and all is counted."""
    dtypes = list(dict.fromkeys(dtype for row in rows for dtype in row.dtypes))
    lines = [f"| operator | {' | '.join(map(name_of, dtypes))} |", "|---" * (len(dtypes) + 1) + "|"]
    for row in rows:
        cells = []
        for dtype in dtypes:
            judged = [(v, judge(v)) for v in variants([row]) if v.dtype is dtype]
            counts.update(verdict.outcome for _, verdict in judged)
            reasons += [
                f"- `{variant.id}` {verdict.outcome.value}: {verdict.reason}"
                for variant, verdict in judged
                if verdict.outcome is not Outcome.RIGHT
            ]
            cells.append(cell(judged))
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    return lines


def main(names: Sequence[str]) -> int:
    """Judge the rows of these groups or names, or all, and print the tables."""
    reasons: list[str] = []
    counts: Counter[Outcome] = Counter()
    active = sum(status.state is tvm_kokoro_ext.State.APPLIED for status in tvm_kokoro_ext.status())
    print(f"apache-tvm {tvm.__version__}, torch {torch.__version__}, {active} fixes\n")
    for group, rows in GROUPS.items():
        chosen = [row for row in rows if not names or group in names or row.name in names]
        if chosen:
            print(f"## {group}\n", *table(chosen, reasons, counts), "", sep="\n", flush=True)
    print("## Variants\n")
    print(*(f"- {outcome.value}: {counts[outcome]}" for outcome in Outcome), sep="\n")
    if reasons:
        print("\n## Reasons\n", *reasons, sep="\n")
    return 1 if counts[Outcome.WRONG] + counts[Outcome.BARE] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a group or a row; all by default")
    sys.exit(main(parser.parse_args().names))
