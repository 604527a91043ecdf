"""Artifacts that `say` builds for itself, under one folder, found by what went into them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArtifactError, EnvironmentFault
from .locks import locked_file
from .manifest import Manifest
from .reader import Artifact, check_size, open_artifact, read_artifact

CACHE_VARIABLE = "KOKORO_PIPELINE_CACHE"

_KEY_DIGITS = 16


@dataclass(frozen=True)
class CachedArtifact:
    """A folder of the cache. `size` is in bytes; `manifest` is None where `problem` says why."""

    path: Path
    size: int
    manifest: Manifest | None
    problem: str | None


def cache_root() -> Path:
    """The folder of everything cached: $KOKORO_PIPELINE_CACHE, else `kokoro-pipeline` in
    $XDG_CACHE_HOME, else in ~/.cache. It need not exist.

    Raises EnvironmentFault where the system knows no home folder.
    """
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification has relative paths ignored
        try:
            base = Path.home() / ".cache"
        except RuntimeError as error:
            raise EnvironmentFault(f"no cache folder: {error}; set {CACHE_VARIABLE}") from error
    return base / "kokoro-pipeline"


def artifact_cache_path(
    weights_sha256: str,
    target: str,
    mcpu: str,
    tvm: str,
    tvm_ffi: str,
    opt_level: int,
    package_version: str,
) -> Path:
    """Where the artifact made of these belongs; it need not exist.

    `target` is the target's kind or its canonical text, `tvm` and `tvm_ffi` are versions.
    """
    key = [weights_sha256, target, mcpu, tvm, tvm_ffi, opt_level, package_version]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:_KEY_DIGITS]
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", f"{target}-{mcpu}")[:64].strip("-.")
    return _artifacts() / f"{readable}-opt{opt_level}-{digest}"


def open_or_build(
    path: Path,
    build: Callable[[Path, ArtifactError | None], object],
    on_wait: Callable[[], None] | None = None,
) -> tuple[Artifact, bool]:
    """Open the cached artifact at `path`, or have `build(path, problem)` make it.

    Returns the artifact and whether it was built now. `problem` is None where there was nothing,
    else what is wrong with the artifact that is there and that `build` is to replace. A lock lasts
    throughout, so of two processes one builds and the other waits (`on_wait` is called first) and
    opens what the first has built.

    Raises what `build` raises, ArtifactError where what it built does not open, EnvironmentFault
    where the cache cannot be locked.
    """
    with locked_file(path.with_name(f".{path.name}.lock"), on_wait):
        problem = None
        if path.exists():
            try:
                return open_artifact(path), False
            except ArtifactError as error:
                problem = error
        build(path, problem)
        return open_artifact(path), True


def list_cached() -> list[CachedArtifact]:
    """Every artifact of the cache, by name, with its size and what is wrong with it.

    Raises EnvironmentFault where the cache cannot be read.
    """
    root = _artifacts()
    if not root.is_dir():
        return []
    try:
        folders = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise EnvironmentFault(f"cannot read the cache {root}: {error.strerror}") from error
    return [_describe(folder) for folder in folders if folder.is_dir()]


def _artifacts() -> Path:
    return cache_root() / "artifacts"


def _describe(folder: Path) -> CachedArtifact:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    try:
        artifact = read_artifact(folder)
        for name, entry in artifact.manifest.files.items():
            check_size(artifact, name, entry)
    except ArtifactError as error:
        return CachedArtifact(folder, size, None, str(error))
    return CachedArtifact(folder, size, artifact.manifest, None)
