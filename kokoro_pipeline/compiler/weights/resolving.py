"""From what a user asks for to a folder of weights."""

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
    """The weights that `spec` names:

    - `auto`: the hub's, from the network or the client's cache; where neither has them the
      synthetic stand-in, and
      `fallback_reason` says why;
    - `hexgrad/Kokoro-82M`: the hub's, nothing else;
    - `synthetic`: the stand-in of `seed`, written into the cache once;
    - anything else: a local folder in the hub's layout.

    `progress` lets the hub's client show its bars on stderr. Raises EnvironmentFault where the hub
    was insisted on and cannot be had, InputError where a folder is none or is damaged.
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
    """The stand-in of `seed` from the cache; written there first if it is missing or damaged."""
    name = f"synthetic-{seed}-{stored_constants().digest[:12]}"
    path = cache_root() / "weights" / name
    with locked_file(path.with_name(f".{name}.lock")):
        if path.exists():
            try:
                return open_folder(path)
            except InputError:  # our own copy: cheaper to draw again than to ask for help
                with writing(path):
                    shutil.rmtree(path)
        return write_synthetic(path, seed)


def _from_hub(progress: bool) -> WeightsFolder:
    snapshot = hub.fetch(progress)
    return open_folder(snapshot.path, source=hub.REPOSITORY, revision=snapshot.revision)
