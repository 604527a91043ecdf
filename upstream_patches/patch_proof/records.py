"""Which patches have been proved, by a hash of everything that their proofs depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from .patch_file import Patch, requirements

RECORDS = Path(__file__).resolve().parent.parent / "proved.json"


def digest(patch: Patch, series: tuple[Patch, ...]) -> str:
    """SHA-256 of a patch, of those that it requires, and of the versions of TVM and torch."""
    sha = hashlib.sha256()
    for package in ("apache-tvm", "torch"):
        sha.update(f"{package} {version(package).partition('+')[0]}\n".encode())
    for each in (*requirements(patch, series), patch):
        sha.update(hashlib.sha256(each.path.read_bytes()).digest())
    return sha.hexdigest()


def read_records(path: Path = RECORDS) -> dict[str, str]:
    """The hashes of the patches that have been proved, by their file names."""
    records: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return records


def unproved(
    patches: Iterable[Patch], series: tuple[Patch, ...], records: Mapping[str, str]
) -> list[Patch]:
    """The patches that no record says to be proved as they are now."""
    return [patch for patch in patches if records.get(patch.name) != digest(patch, series)]


def record(proved: Iterable[Patch], series: tuple[Patch, ...], path: Path = RECORDS) -> None:
    """Add the hashes of patches that have been proved, and drop those of patches that are gone."""
    known = read_records(path) if path.exists() else {}
    known |= {patch.name: digest(patch, series) for patch in proved}
    kept = {patch.name: known[patch.name] for patch in series if patch.name in known}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
