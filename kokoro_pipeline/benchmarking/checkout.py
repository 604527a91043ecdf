"""The comparison with peers, which is in the folder benchmarks of a checkout and not installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from ..errors import EnvironmentFault


def checkout() -> Path:
    """The root of the checkout whose `benchmarks` folder has the peers, which are not installed.

    It is the one that this package is imported from, else the current folder. Raises
    EnvironmentFault if neither is a checkout.
    """
    installed = Path(__file__).resolve().parents[2]
    for root in (installed, Path.cwd()):
        if (root / "benchmarks" / "peers" / "contender.py").is_file():
            return root
    raise EnvironmentFault(
        "peers are in the folder benchmarks of this project's repository, which is not installed "
        f"(looked in {installed} and {Path.cwd()}): run this command in the root folder of a "
        "checkout"
    )


def comparison() -> ModuleType:
    """The module `benchmarks.peers.comparison` of the checkout. Raises as `checkout`."""
    root = str(checkout())
    if root not in sys.path:
        sys.path.append(root)
    return importlib.import_module("benchmarks.peers.comparison")
