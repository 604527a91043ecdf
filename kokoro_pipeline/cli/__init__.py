"""The command `kokoro-pipeline`: one file per command, one frame around them.

Importing this package imports argparse and nothing heavy: each command brings in what it needs when
it runs, so `--help` costs no numpy and `say --phonemes` neither torch nor tvm.
"""

from __future__ import annotations

from .frame import main

__all__ = ["main"]
