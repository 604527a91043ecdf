"""Find the folder of weights that a user asks for."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

from kokoro_pipeline.artifact.cache import cache_root
from kokoro_pipeline.artifact.disk import writing
from kokoro_pipeline.artifact.locks import locked_file
from kokoro_pipeline.errors import EnvironmentFault, InputError

from . import hub
from .constants import stored_constants
from .folder import WeightsFolder, open_folder
from .synthetic import write_synthetic

AUTO = "auto"
SYNTHETIC = "synthetic"


def resolve(
    spec: str | os.PathLike[str] = AUTO, *, seed: int = 0, progress: bool = True
) -> WeightsFolder:
    """The weights that `spec` selects:

    - `auto`: those of the hub, from the network or the client's cache; if neither has them,
      synthetic weights, and `fallback_reason` says why;
    - `hexgrad/Kokoro-82M`: those of the hub, without a fallback;
    - `synthetic`: synthetic weights for `seed`, which are written to the cache once;
    - anything else: a local folder in the hub's layout.

    `progress` lets the client of the hub show its progress bars on stderr.

    Raises EnvironmentFault if weights of the hub are required but not available, InputError if a
    folder holds no weights or is damaged.
    """
    text = os.fspath(spec)
    if text == SYNTHETIC:
        return cached_synthetic(seed)
    if text == hub.REPOSITORY:
        return _from_hub(progress)
    if text == AUTO:
        try:
            return _from_hub(progress)
        except EnvironmentFault as fault:
            return dataclasses.replace(cached_synthetic(seed), fallback_reason=str(fault))
    path = Path(text).expanduser()
    if not path.exists():
        raise InputError(
            f"no weights {text!r}: say {AUTO}, {hub.REPOSITORY}, {SYNTHETIC}, or name an existing "
            "folder in the hub's layout"
        )
    return open_folder(path)


def cached_synthetic(seed: int = 0) -> WeightsFolder:
    """The synthetic weights for `seed` in the cache, written there if missing or damaged."""
    name = f"synthetic-{seed}-{stored_constants().digest[:12]}"
    path = cache_root() / "weights" / name
    with locked_file(path.with_name(f".{name}.lock")):
        if path.exists():
            try:
                return open_folder(path)
            except InputError:  # our own copy, which can be drawn again
                with writing(path):
                    shutil.rmtree(path)
        return write_synthetic(path, seed)


def _from_hub(progress: bool) -> WeightsFolder:
    snapshot = hub.fetch(progress)
    return open_folder(snapshot.path, source=hub.REPOSITORY, revision=snapshot.revision)
