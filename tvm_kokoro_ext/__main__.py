"""`python -m tvm_kokoro_ext [--json]`: the table of fixes and where each stands here."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

import tvm_kokoro_ext


def main(argv: list[str] | None = None) -> int:
    """Print the table to stdout; the exit code is 1 when a fix has failed."""
    parser = argparse.ArgumentParser(prog="python -m tvm_kokoro_ext", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(argv)
    rows = tvm_kokoro_ext.status()
    if arguments.json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
    else:
        columns = ("id", "state", "what", "why", "upstream")
        table = [columns, *(tuple(str(getattr(row, c)) for c in columns) for row in rows)]
        widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
        for line in table:
            print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())
    return int(any(row.state is tvm_kokoro_ext.State.FAILED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
