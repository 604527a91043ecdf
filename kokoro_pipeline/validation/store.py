"""The store of references on disk, keyed by weights, case and package versions."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
import zipfile
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np

from .case_reference import CaseInputs, CaseReference, ReferenceArrays

FORMAT = 1
"""Format version, to be increased when the meaning of a stored array changes."""
MAX_BYTES = 300 * 2**20
"""Maximum size of the store on disk; the least recently used files are deleted first.

The full list takes about a third.
"""
_WRITING = ".writing-"
_ABANDONED = 3600.0  # seconds after which the writer of an unfinished file is assumed dead
_PACKAGES = ("kokoro", "torch", "transformers")


def package_versions() -> dict[str, str]:
    """Installed versions of the packages that compute a reference."""
    return {package: metadata.version(package) for package in _PACKAGES}


class DamagedReferenceError(Exception):
    """A stored file is not a reference for this case; the message says why."""


class ReferenceStore:
    """A folder of references for one set of weights (`weights_sha256`), one .npz per case."""

    def __init__(self, root: Path, weights_sha256: str, max_bytes: int = MAX_BYTES) -> None:
        self.root = root
        self.weights_sha256 = weights_sha256
        self.max_bytes = max_bytes

    def path(self, inputs: CaseInputs) -> Path:
        """The path of the reference for a case, which may not exist."""
        return self.root / f"{self._key(inputs)}.npz"

    def load(self, inputs: CaseInputs) -> CaseReference | None:
        """The stored reference, or None.

        Raises DamagedReferenceError for a file that is truncated, modified, or for something else.
        """
        path = self.path(inputs)
        try:
            with np.load(path, allow_pickle=False) as stored:
                content = {name: stored[name] for name in stored.files}
            os.utime(path)  # for the order of deletion
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise DamagedReferenceError(f"{path}: {error}") from error
        return CaseReference(inputs, self._checked(content, inputs, path))

    def save(self, reference: CaseReference) -> None:
        """Write a reference atomically, then delete old ones if necessary. Raises OSError."""
        path = self.path(reference.inputs)
        self.root.mkdir(parents=True, exist_ok=True)
        arrays = {name: getattr(reference.arrays, name) for name in ReferenceArrays.names()}
        descriptor, temporary = tempfile.mkstemp(dir=self.root, prefix=_WRITING)
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(
                    file,
                    key=np.array(path.stem),
                    noise=np.array(_noise_digest(reference)),
                    **arrays,
                )
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._make_room(keep=path)

    def _key(self, inputs: CaseInputs) -> str:
        fields = [FORMAT, self.weights_sha256, package_versions(), inputs.digest]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def _checked(
        self, content: dict[str, np.ndarray], inputs: CaseInputs, path: Path
    ) -> ReferenceArrays:
        expected = {"key", "noise", *ReferenceArrays.names()}
        if content.keys() != expected:
            raise DamagedReferenceError(f"{path}: holds {sorted(content)}, not {sorted(expected)}")
        if str(content.pop("key")) != path.stem:
            raise DamagedReferenceError(f"{path}: was written for another case")
        noise = str(content.pop("noise"))
        arrays = ReferenceArrays(**content)
        if arrays.durations.shape != inputs.input_ids.shape[1:]:
            raise DamagedReferenceError(
                f"{path}: {arrays.durations.shape} durations for {inputs.case.name}"
            )
        for name, shape in arrays.expected_shapes().items():
            if content[name].shape != shape:
                raise DamagedReferenceError(
                    f"{path}: {name} has shape {content[name].shape}, not {shape}"
                )
        reference = CaseReference(inputs, arrays)
        # numpy does not guarantee the same random numbers forever.
        if noise != _noise_digest(reference):
            raise DamagedReferenceError(f"{path}: was computed with other noise")
        return arrays

    def _make_room(self, keep: Path) -> None:
        files = []
        for path in self.root.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process deleted it
                status = path.stat()
                if path.suffix == ".npz":
                    files.append((status.st_mtime_ns, status.st_size, path))
                elif path.name.startswith(_WRITING) and time.time() - status.st_mtime > _ABANDONED:
                    path.unlink()
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.max_bytes:
                break
            if path != keep:
                path.unlink(missing_ok=True)
                total -= size


def _noise_digest(reference: CaseReference) -> str:
    return hashlib.sha256(reference.noise.tobytes()).hexdigest()
