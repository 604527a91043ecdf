"""The command `kokoro-pipeline`: one file per command, and a common frame.

Importing this package only imports argparse and other light modules. Each command imports what it
needs when it runs, so `--help` does not import numpy, and `say --phonemes` imports neither torch
nor tvm.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import exit_codes


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of the process) and return its exit code."""
    try:
        from .frame import main as run

        return run(argv)
    except KeyboardInterrupt:  # before the command runs; afterwards the frame says so
        print("kokoro-pipeline: error: interrupted", file=sys.stderr, flush=True)
        return exit_codes.INTERRUPTED
