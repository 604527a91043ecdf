"""What a command is, to the frame that finds and runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from .console import Console


class UsageError(Exception):
    """Options that parse one by one and make no sense together: exit code 2."""


@dataclass(frozen=True)
class Command:
    """One word after `kokoro-pipeline`.

    `configure` declares the options; `run` does the work and returns the exit code. A failure is
    raised, never printed: KokoroError carries its own exit code, UsageError gives 2.
    """

    name: str
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], int]
    description: str = ""
    epilog: str = ""
