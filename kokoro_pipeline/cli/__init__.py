"""The command `kokoro-pipeline`: one file per command, and a common frame.

Importing this package only imports argparse and other light modules. Each command imports what it
needs when it runs, so `--help` does not import numpy, and `say --phonemes` imports neither torch
nor tvm.
"""

from __future__ import annotations

from .frame import main

__all__ = ["main"]
