"""`python -m tvm_kokoro_ext [--op aten.cat] [--json]`: print the table of fixes and their states.

With `--op`, only the fixes of that operator are printed, with the file of each.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import tvm_kokoro_ext
from tvm_kokoro_ext import FixRecord, _fixes


def main(argv: list[str] | None = None) -> int:
    """Print the table to stdout.

    The exit code is 1 if a fix has failed, or if no fix touches the operator of `--op`; 3 if stdout
    takes no output, and 141 if its reader has closed it.
    """
    parser = argparse.ArgumentParser(prog="python -m tvm_kokoro_ext", description=__doc__)
    parser.add_argument("--op", metavar="NAME", help="an operator, such as aten.cat or relax.full")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(argv)
    records = [r for r in tvm_kokoro_ext.fixes if arguments.op is None or touches(r, arguments.op)]
    if not records:
        print(f"no fix touches {arguments.op}; without --op all are listed", file=sys.stderr)
        return 1
    rows: list[dict[str, Any]] = [dataclasses.asdict(record.status()) for record in records]
    columns = ["id", "state", "what", "why", "upstream"]
    if arguments.op is not None:
        columns = ["id", "state", "file", "what"]
        for record, row in zip(records, rows, strict=True):
            row["file"] = str(file_of(record))
    try:
        print(json.dumps(rows, indent=2) if arguments.json else _table(columns, rows), flush=True)
    except OSError as error:
        # The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"cannot write to standard output: {error.strerror}", file=sys.stderr)
        return 3
    return int(any(record.state is tvm_kokoro_ext.State.FAILED for record in records))


def _table(columns: list[str], rows: list[dict[str, Any]]) -> str:
    """The rows as text, with a column for each of `columns`."""
    table = [columns, *([str(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def touches(record: FixRecord, operator: str) -> bool:
    """Whether a fix converts the operator, with or without overload, or names it in its `op`."""
    name = operator.removeprefix("torch.ops.").removeprefix("aten.")
    converted = {spelling for key in record.fix.converters for spelling in (key, key.split(".")[0])}
    named = {word for text in re.findall(r"[\w./]+", record.op) for word in _alternatives(text)}
    return name in converted or operator in named or f"aten.{name}" in named


def _alternatives(text: str) -> list[str]:
    """`aten.conv1d/2d` names aten.conv1d; the abbreviated rest is in the fix's converters."""
    return [text, text.partition("/")[0]]


def file_of(record: FixRecord) -> Path:
    """The file that defines a fix."""
    prefix = f"{_fixes.__name__}."
    for name, module in sorted(sys.modules.items()):
        inside = name.startswith(prefix) and module.__file__ is not None
        if inside and any(value is record.fix for value in vars(module).values()):
            return Path(str(module.__file__))
    raise LookupError(f"no module defines the fix {record.id}")


if __name__ == "__main__":
    sys.exit(main())
