"""The artifact that `say` uses by default: built once, and then found in the cache."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError
from ..version import __version__
from . import arguments
from .console import Console

if TYPE_CHECKING:
    from ..artifact.manifest import Manifest

AUTO = "auto"
SYNTHETIC = "synthetic"

Builder = Callable[[str, Path, Console], object]
"""(weights, output, console): build an artifact at output, replacing a damaged one."""


def cached_artifact(weights: str, console: Console, build: Builder | None = None) -> Path:
    """The folder of the cached artifact for these weights, which is built if there is none.

    There is no fallback to synthetic weights: `auto` means the real ones. An artifact of the hub's
    weights is found by its manifest, so that later runs need neither network nor torch.

    Raises EnvironmentFault if the weights are unavailable or the tools for building are missing.
    """
    wanted = arguments.HUB_WEIGHTS if weights == AUTO else weights
    known = _find(wanted)
    if known is not None:
        return known
    from ..artifact.cache import artifact_cache_path, open_or_build
    from ..compiler.codegen.target import host_cpu
    from ..compiler.passes.pipeline import OPT_LEVELS
    from ..compiler.weights import resolve

    console.progress(f"looking for the weights {wanted}")
    folder = resolve(wanted, progress=console.watched)
    path = artifact_cache_path(
        weights_sha256=folder.content_sha256(),
        target="llvm",
        mcpu=host_cpu(),
        tvm=metadata.version("apache-tvm"),
        tvm_ffi=metadata.version("apache-tvm-ffi"),
        opt_level=max(OPT_LEVELS),
        package_version=__version__,
    )
    builder = build or build_into_cache

    def build_here(output: Path, damage: ArtifactError | None) -> None:
        if damage is not None:
            console.warn(f"the cached artifact cannot be used and is built anew: {damage}")
        builder(wanted, output, console)

    artifact, built = open_or_build(
        path,
        build_here,
        on_wait=lambda: console.progress("another process is building this artifact: waiting"),
    )
    if built:
        console.progress(f"cached {artifact.path}")
    return artifact.path


def build_into_cache(weights: str, output: Path, console: Console) -> None:
    """Build the artifact that `say` needs, for this machine."""
    from ..building.builder import build

    build(weights=weights, output=output, force=output.exists(), progress=console.progress)


def _find(weights: str) -> Path | None:
    """A cached artifact of these weights that opens here; the one with the most CPU features."""
    if weights not in (arguments.HUB_WEIGHTS, SYNTHETIC):
        return None  # the content of a folder may have changed, so it must be hashed
    from ..artifact.cache import list_cached
    from ..artifact.reader import open_artifact

    candidates = [
        (len(cached.manifest.target.features), cached.path)
        for cached in list_cached()
        if cached.manifest is not None and _made_here(cached.manifest, weights)
    ]
    for _, path in sorted(candidates, reverse=True):
        try:
            return open_artifact(path).path
        except ArtifactError:
            continue  # damaged, or for another machine that shares this cache
    return None


def _made_here(manifest: Manifest, weights: str) -> bool:
    """Whether this package, with the installed TVM, built the artifact from these weights."""
    if weights == SYNTHETIC:
        same_weights = manifest.weights.synthetic and manifest.weights.seed == 0
    else:
        same_weights = manifest.weights.source == weights and not manifest.weights.synthetic
    return (
        same_weights
        and manifest.package_version == __version__
        and all(
            manifest.versions.get(name) == _installed(name)
            for name in ("apache-tvm", "apache-tvm-ffi")
        )
    )


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
