"""Compare the retired fixes listed in the README with those of tvm_kokoro_ext on a patched tree.

A fix that is retired by patches has to turn itself off there. A fix that repairs more than the
patches must stay on; otherwise users of the extension would lose the other repairs with a release
that includes the patches.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patch_proof.test_run import environment, loading
from patch_proof.wheel_tree import TreeError

_REPOSITORY = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| \[(?P<folder>cpp/)?\d{4}\]\(\S+\) \|[^|]*\| (?P<fixes>[^|]*) \|", re.M)
_FIX = re.compile(r"(?P<part>part of )?`(?P<id>\w+)`")
_BALANCE = Path(__file__).resolve().parents[1] / "balance.json"
_TIMEOUT = 300.0  # seconds; takes six on an idle machine


@dataclass(frozen=True)
class Claims:
    """The fixes that patches retire: completely (`whole`) or partially (`part`)."""

    whole: frozenset[str]
    part: frozenset[str]


def read_claims(readme: str, *, cpp: bool) -> Claims:
    """Read the tables of the README, for the C++ patches or for the others."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for row in _ROW.finditer(readme):
        if bool(row["folder"]) == cpp:
            for fix in _FIX.finditer(row["fixes"]):
                found[bool(fix["part"])].add(fix["id"])
    return Claims(frozenset(found[False]), frozenset(found[True]))


@dataclass(frozen=True)
class Balance:
    """How many fixes are on, and how many of them the patches retire in whole, in part, or not."""

    on: int
    retired: int
    partly: int
    open: int

    def __str__(self) -> str:
        return (
            f"{self.on} fixes are on: {self.retired} retired, {self.partly} partly, "
            f"{self.open} open"
        )


def balance(readme: str, stock: Mapping[str, str]) -> Balance:
    """The balance of both tables of the README, for the states of the fixes on stock TVM."""
    both = [read_claims(readme, cpp=cpp) for cpp in (False, True)]
    on = {fix for fix, state in stock.items() if state == "applied"}
    whole = on & frozenset[str]().union(*(claims.whole for claims in both))
    part = (on & frozenset[str]().union(*(claims.part for claims in both))) - whole
    return Balance(len(on), len(whole), len(part), len(on - whole - part))


def committed_balance() -> Balance:
    """The balance that is held: whoever changes it has to change this file as well."""
    return Balance(**json.loads(_BALANCE.read_text(encoding="utf-8")))


def states(python: Path, libraries: Sequence[Path] = ()) -> dict[str, str]:
    """The state of every fix of the extension, imported on the tree after the libraries."""
    program = (
        f"{loading(libraries)}import json, tvm_kokoro_ext\n"
        "print(json.dumps({row.id: row.state for row in tvm_kokoro_ext.status()}))"
    )
    inherited = environment(python)
    inherited.pop("TVM_KOKORO_EXT_DISABLE", None)
    inherited["PYTHONPATH"] += os.pathsep + str(_REPOSITORY)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    if done.returncode != 0:
        raise TreeError(f"tvm_kokoro_ext cannot be imported:\n{done.stderr[-4000:]}")
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def contradictions(
    claims: Claims, stock: Mapping[str, str], patched: Mapping[str, str]
) -> list[str]:
    """The differences between the tables and the extension on the stock and the patched tree."""
    problems = [f"{fix} is retired in whole and in part" for fix in claims.whole & claims.part]
    problems += [
        f"no fix is called {fix}" for fix in claims.whole | claims.part if fix not in stock
    ]
    for fix, before in stock.items():
        after = patched[fix]
        if fix in claims.whole:
            if (before, after) != ("applied", "not_needed"):
                problems.append(f"{fix} is to be retired, and is {before}, with the series {after}")
        elif after != before:
            problems.append(
                f"{fix} is not retired in whole, and is {before}, with the series {after}"
            )
    return sorted(problems)
