"""`kokoro-pipeline validate DIR`: compare an artifact with PyTorch in float32 and float64."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments, exit_codes
from .command import Command
from .console import Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_folder(parser)
    parser.add_argument(
        "--weights",
        metavar="SPEC",
        help="the weights to compare with (default: those the artifact was built from)",
    )
    parser.add_argument(
        "--save-dir",
        type=Path,
        metavar="D",
        help="write the report and both sides' audio into this folder",
    )
    arguments.add_device(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the built-in cases; returns 1 if a tolerance is missed."""
    from ..validation import validate

    report = validate(
        args.artifact,
        weights=args.weights,
        device=args.device,
        save_dir=args.save_dir,
        progress=console.progress,
    )
    if args.json:
        console.json(report.to_json())
    else:
        console.data(str(report))
    return exit_codes.OK if report.passed else exit_codes.FAILED_CHECK


COMMAND = Command(
    name="validate",
    summary="compare an artifact with PyTorch, step by step",
    configure=configure,
    run=run,
    epilog="""\
Needs the extra `build`: pip install 'tvm-kokoro[build]'. The exit code is 1 if a tolerance is
missed.
""",
)
