"""`kokoro-pipeline lexicon check FILE`: check a user's lexicon line by line."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments, exit_codes
from .command import Command
from .console import Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="check the lines of lexicon files",
        description="Check the lines of lexicon files. Exit code 1 if one is wrong.",
    )
    check.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a lexicon: .tsv, .json, .pls or .xml"
    )
    arguments.add_json(check)
    arguments.add_debug(check)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print what is wrong, with its line, and how many entries are right; 1 for a mistake."""
    from ..runtime.text import check_lexicon

    entries = []
    problems = []
    for file in args.files:
        found, wrong = check_lexicon(file)
        entries += found
        problems += wrong
    if args.json:
        console.json({"entries": entries, "problems": problems, "passed": not problems})
    else:
        for problem in problems:
            console.data(str(problem))
        right = "1 entry is right" if len(entries) == 1 else f"{len(entries)} entries are right"
        console.data(f"{right}, {len(problems)} wrong" if problems else right)
    return exit_codes.FAILED_CHECK if problems else exit_codes.OK


COMMAND = Command(
    name="lexicon",
    summary="check a lexicon of your own",
    configure=configure,
    run=run,
    epilog="PLS needs the extra `text`: pip install 'tvm-kokoro[text]'.",
)
