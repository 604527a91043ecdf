"""The interface between a command and the frame that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from .console import Console


class UsageError(Exception):
    """Options that are valid individually but not together: exit code 2."""


@dataclass(frozen=True)
class Command:
    """A subcommand of `kokoro-pipeline`.

    `configure` declares the options; `run` does the work and returns the exit code. Failures are
    raised and not printed: a KokoroError has its own exit code, a UsageError leads to 2.
    """

    name: str
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], int]
    description: str = ""
    epilog: str = ""
