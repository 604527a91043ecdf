"""`kokoro-pipeline verify DIR`: check every file of an artifact against its manifest."""

from __future__ import annotations

import argparse

from . import arguments, exit_codes
from .command import Command
from .console import Console, table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_folder(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Check the whole folder and show all checks; returns 1 if one fails."""
    from ..artifact.reader import verify_artifact

    console.progress(f"checking every file of {args.artifact}")
    results = verify_artifact(args.artifact)
    passed = all(result.passed for result in results)
    if args.json:
        console.json({"artifact": args.artifact, "passed": passed, "checks": results})
    else:
        console.data(
            table(
                ("ok" if result.passed else "FAILED", result.name, result.detail)
                for result in results
            )
        )
        console.data(
            f"{args.artifact}: whole"
            if passed
            else f"{args.artifact}: damaged or not for this machine; build it anew with "
            f"`kokoro-pipeline build -o {args.artifact} --force`"
        )
    return exit_codes.OK if passed else exit_codes.FAILED_CHECK


COMMAND = Command(
    name="verify",
    summary="check every file of an artifact against its manifest",
    configure=configure,
    run=run,
)
