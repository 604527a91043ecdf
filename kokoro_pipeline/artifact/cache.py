"""The cache of artifacts that `say` builds for itself, keyed by what they were built from."""

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
    """A folder of the cache, with its size in bytes.

    If the artifact cannot be used, `manifest` is None and `problem` gives the reason.
    """

    path: Path
    size: int
    manifest: Manifest | None
    problem: str | None


def cache_root() -> Path:
    """The root folder of the cache, which may not exist yet.

    This is $KOKORO_PIPELINE_CACHE, else `kokoro-pipeline` in $XDG_CACHE_HOME, else in ~/.cache.

    Raises EnvironmentFault if the home folder cannot be determined.
    """
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification says to ignore relative paths
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
    """The folder of the artifact that is built from these inputs; it may not exist yet.

    `target` is the kind of the target or its canonical text; `tvm` and `tvm_ffi` are versions.
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
    """Open the cached artifact at `path`, or build it with `build(path, problem)`.

    Returns the artifact and whether it was built by this call. `problem` is None if there was no
    artifact, else the error of the existing artifact, which `build` has to replace. A lock is held
    throughout: of two processes, one builds, and the other waits (after calling `on_wait`) and
    opens the same artifact.

    Raises the exceptions of `build`, ArtifactError if the built artifact cannot be opened, and
    EnvironmentFault if the cache cannot be locked.
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
    """All artifacts of the cache, sorted by name, with their sizes and problems.

    Raises EnvironmentFault if the cache cannot be read.
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
