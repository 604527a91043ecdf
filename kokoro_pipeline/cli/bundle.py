"""`kokoro-pipeline bundle DIR -o OUT`: everything that speaking needs in one relocatable folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments, exit_codes
from .command import Command
from .console import Console, size


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_folder(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT",
        help="the folder to write, or a file whose name ends in .tar.gz",
    )
    parser.add_argument(
        "--host",
        metavar="HOST",
        help="the system it is for: linux-x86_64, linux-aarch64, macos-arm64 (default: the "
        "artifact's, which it must be)",
    )
    parser.add_argument(
        "--program",
        type=Path,
        metavar="FILE",
        help="kokoro-say for that system (default: the one on the PATH, else that of the checkout)",
    )
    parser.add_argument(
        "--packages",
        type=Path,
        metavar="DIR",
        help="a folder that apache-tvm and apache-tvm-ffi for that system are installed in, as by "
        "pip install --target (default: this installation)",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Check the parts, then write the bundle whole or not at all."""
    from ..bundling.parts import gather
    from ..bundling.writing import write_bundle

    console.progress(f"checking {args.artifact}, the program and TVM's libraries")
    parts = gather(args.artifact, args.host, args.program, args.packages)
    console.progress(f"writing {args.output}")
    written = write_bundle(parts, args.output, force=args.force)
    if args.json:
        console.json(
            {
                "output": args.output,
                "host": parts.host,
                "bytes": written,
                "files": sorted(parts.files),
                "versions": parts.versions,
            }
        )
    else:
        console.data(f"{args.output}: {len(parts.files)} files, {size(written)}, for {parts.host}")
    return exit_codes.OK


COMMAND = Command(
    name="bundle",
    summary="put an artifact, kokoro-say and TVM's libraries into one relocatable folder",
    configure=configure,
    run=run,
    epilog="""\
The bundle runs on a machine with neither Python nor Rust: OUT/bin/kokoro-say --phonemes … -o FILE.
Build the program with cargo from a checkout first, see docs/native.md.
""",
)
