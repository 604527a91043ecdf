"""What state a fix should have while the extension is active, and why."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.version import Version

from tvm_kokoro_ext import _compat, _probing
from tvm_kokoro_ext._fix import Fix, State

ENVIRONMENT = "TVM_KOKORO_EXT_DISABLE"


def chosen_ids(ids: Iterable[str], known: frozenset[str], source: str) -> frozenset[str]:
    """The named ids, of which "all" means every known one.

    Raises
    ------
    ValueError
        For an unknown id; the message begins with the source of the names.
    """
    chosen = frozenset(ids)
    if "all" in chosen:
        return known
    unknown = sorted(chosen - known)
    if unknown:
        raise ValueError(f"{source}: no fix is called {', '.join(unknown)}; see {sorted(known)}")
    return chosen


def disabled_by_environment(known: frozenset[str]) -> frozenset[str]:
    """The ids that the environment variable names; a warning tells of unknown ones."""
    names = [name.strip() for name in os.environ.get(ENVIRONMENT, "").split(",")]
    try:
        return chosen_ids(filter(None, names), known, ENVIRONMENT)
    except ValueError as error:
        warnings.warn(str(error), stacklevel=2)
        return known.intersection(names)


@dataclass(frozen=True)
class Circumstances:
    """What the decisions about all fixes depend on."""

    version: Version
    known: bool  # whether this version of TVM has been measured
    frontend: bool  # whether the PyTorch frontend is loaded
    by_environment: frozenset[str]  # ids of fixes that the environment disables
    scoped_out: frozenset[str]  # and of those that a `disabled(...)` context does


def without_probe(fix: Fix, circumstances: Circumstances) -> tuple[State, str] | None:
    """The state that a fix should have while the extension is active, and the reason.

    None if its probe has to decide.
    """
    version = circumstances.version
    if fix.id in circumstances.scoped_out:
        return State.DISABLED, "inside disabled()"
    if fix.id in circumstances.by_environment:
        return State.DISABLED, f"{ENVIRONMENT} names it"
    if circumstances.known and not fix.affects(version):
        where = "never wrong on a supported version" if fix.affected == "<0" else fix.affected
        return State.NOT_NEEDED, f"apache-tvm {version} is right (affected: {where})"
    if fix.needs_torch and not circumstances.frontend:
        if not circumstances.known:
            return State.UNKNOWN_VERSION, f"apache-tvm {version} is unknown and torch is missing"
        return State.APPLIED, "waits for torch: takes effect when the PyTorch frontend is imported"
    if fix.probe is not None:
        return None
    if circumstances.known:
        return State.APPLIED, f"apache-tvm {version} is affected"
    newest = Version(_compat.PAIRS[-1].tested[0])
    known_to_be = "has the defect" if fix.affects(newest) else "is right"
    return State.UNKNOWN_VERSION, (
        f"apache-tvm {version} is unknown and no probe can decide; "
        f"the newest known, {newest}, {known_to_be}"
    )


def decided(fix: Fix, circumstances: Circumstances) -> tuple[State, str]:
    """The state and the reason, by the answer of the probe if it has to decide and has run."""
    without = without_probe(fix, circumstances)
    if without is not None:
        return without
    version, known = circumstances.version, circumstances.known
    prefix = "" if known else f"apache-tvm {version} is unknown; "
    try:
        still_wrong = _probing.answer(fix)
    except Exception as error:  # noqa: BLE001 - what the probe has raised
        return State.FAILED, f"probe: {type(error).__name__}: {error}"
    if still_wrong:
        return State.APPLIED, prefix + "the probe finds the defect here"
    return State.NOT_NEEDED, prefix + "the probe finds it right here"


def presumed(circumstances: Circumstances) -> tuple[State, str]:
    """The state until the probe runs; nothing is presumed of a version that is not known."""
    reason = "its probe runs at the first use of TVM"
    return (State.APPLIED if circumstances.known else State.UNKNOWN_VERSION), reason
