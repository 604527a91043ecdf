"""Opening an artifact: nothing is loaded of a folder whose manifest, sizes or library do not hold.

An artifact contains machine code, which runs with the rights of whoever loads it. The hashes show
damage; they are no signature: load only what you trust.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from packaging.version import InvalidVersion, Version

from ..errors import ArtifactError, EnvironmentFault
from .binary import check_machine
from .cpu import check_target
from .manifest import (
    CONFIG_NAME,
    MANIFEST_NAME,
    PARAMETERS_NAME,
    VOICES_FOLDER,
    FileEntry,
    Manifest,
    loads,
)
from .parameter_file import map_parameters

TVM = "apache-tvm"
"""The distribution whose major.minor must be the builder's."""

UNFINISHED = re.compile(r"\.(?P<output>.+)\.building-(?P<pid>\d+)-[0-9a-f]+")
"""Name of a folder that a build is writing, or that a killed one left behind."""

_LARGEST_MANIFEST = 64 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """A folder and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def library(self) -> Path:
        """The compiled library."""
        return self.path / self.manifest.library

    @property
    def parameters_file(self) -> Path:
        """The parameter file."""
        return self.path / PARAMETERS_NAME

    @property
    def config(self) -> Path:
        """The model's configuration."""
        return self.path / CONFIG_NAME

    @property
    def voices(self) -> Path:
        """The folder of voice packs, NAME.npy."""
        return self.path / VOICES_FOLDER

    def parameters(self, function: str) -> list[np.ndarray]:
        """Mapped parameters of a function, in the order of a call.

        Raises ArtifactError for a function that the artifact lacks, or a short file.
        """
        if function not in self.manifest.functions:
            raise ArtifactError(
                f"{self.path} has no function {function}; "
                f"it has {', '.join(self.manifest.functions) or 'none'}"
            )
        return map_parameters(self.parameters_file, self.manifest.functions[function].parameters)


@dataclass(frozen=True)
class CheckResult:
    """One thing that was checked; `detail` is the evidence, or what is wrong and the way out."""

    name: str
    passed: bool
    detail: str


def read_artifact(path: Path) -> Artifact:
    """Read and check a folder's manifest (schema, self-hash, fields), and nothing else.

    For looking at artifacts, of any machine; to run one use `open_artifact`. Raises ArtifactError.
    """
    folder = path.absolute()
    if not folder.is_dir():
        said = "is a file, not an artifact folder" if folder.exists() else "does not exist"
        raise ArtifactError(f"{path} {said}: build one with kokoro-pipeline build -o DIR")
    if UNFINISHED.fullmatch(folder.resolve().name):
        raise ArtifactError(f"{path} is an unfinished build: load the folder that it was built for")
    file = folder / MANIFEST_NAME
    try:
        with file.open("rb") as stream:
            raw = stream.read(_LARGEST_MANIFEST + 1)
        if len(raw) > _LARGEST_MANIFEST:
            raise ArtifactError(f"{file} is damaged: it has over {_LARGEST_MANIFEST} bytes")
        text = raw.decode("utf-8")
    except FileNotFoundError:
        raise ArtifactError(
            f"{path} is no artifact: it has no {MANIFEST_NAME}; "
            "build one with kokoro-pipeline build -o DIR"
        ) from None
    except OSError as error:
        raise ArtifactError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{file} is damaged: {error}; build the artifact anew") from None
    return Artifact(folder, loads(text, str(file)))


def open_artifact(path: Path) -> Artifact:
    """Read an artifact's manifest and check that it can run here.

    Checks the manifest, the sizes of all files, the library's hash and machine, the version of TVM
    and the CPU's features. The parameters' hash is left to `verify_artifact`. Raises ArtifactError,
    or EnvironmentFault where TVM is missing or the system hides the CPU's features.
    """
    artifact = read_artifact(path)
    for name, entry in artifact.manifest.files.items():
        check_size(artifact, name, entry)
    check_hash(artifact, artifact.manifest.library)
    check_machine(artifact.library)
    check_tvm(artifact)
    check_target(artifact.manifest.target, str(path))
    return artifact


def verify_artifact(path: Path) -> list[CheckResult]:
    """Check everything that can be checked without running: the manifest, each file's size and
    hash, files that are not listed, and whether this machine can run it.

    A damaged manifest is a failed check too, the only one then. Raises ArtifactError where `path`
    is no artifact folder at all.
    """
    if not (path / MANIFEST_NAME).is_file():
        read_artifact(path)
    results: list[CheckResult] = []

    def check(name: str, action: Callable[[], str]) -> None:
        try:
            results.append(CheckResult(name, True, action()))
        except (ArtifactError, EnvironmentFault) as error:
            results.append(CheckResult(name, False, str(error)))

    check(MANIFEST_NAME, lambda: f"sha256 {read_artifact(path).manifest.sha256}")
    if not results[0].passed:
        return results
    artifact = read_artifact(path)
    for name in artifact.manifest.files:
        check(name, lambda name=name: check_hash(artifact, name))  # type: ignore[misc]
    check("unlisted files", lambda: check_unlisted(artifact))
    check("machine", lambda: check_machine(artifact.library))
    check("TVM", lambda: check_tvm(artifact))
    check("CPU", lambda: check_target(artifact.manifest.target, str(path)))
    return results


def check_size(artifact: Artifact, name: str, entry: FileEntry) -> None:
    """Raise ArtifactError unless the file is there in its size."""
    file = artifact.path / name
    try:
        size = file.stat().st_size
    except OSError as error:
        raise ArtifactError(f"{artifact.path} lacks {name}: {error.strerror}") from error
    if not file.is_file():
        raise ArtifactError(f"{file} is not a file")
    if size != entry.size:
        raise ArtifactError(
            f"{file} is damaged: it has {size} bytes, the manifest says {entry.size}; "
            "copy the artifact again or build it anew"
        )


def check_hash(artifact: Artifact, name: str) -> str:
    """Evidence that the file's bytes are the builder's. Raises ArtifactError."""
    entry = artifact.manifest.files[name]
    check_size(artifact, name, entry)
    file = artifact.path / name
    try:
        actual = file_sha256(file)
    except OSError as error:
        raise ArtifactError(f"cannot read {file}: {error.strerror}") from error
    if actual != entry.sha256:
        raise ArtifactError(
            f"{file} is damaged: its sha256 is {actual}, the manifest says {entry.sha256}; "
            "copy the artifact again or build it anew"
        )
    return f"{entry.size} bytes, sha256 {entry.sha256}"


def check_unlisted(artifact: Artifact) -> str:
    """Evidence that the folder holds nothing but the artifact. Raises ArtifactError."""
    listed = {*artifact.manifest.files, MANIFEST_NAME}
    found = {
        file.relative_to(artifact.path).as_posix()
        for file in artifact.path.rglob("*")
        if not file.is_dir()
    }
    if extra := sorted(found - listed):
        raise ArtifactError(
            f"{artifact.path} holds files that its manifest does not list: {', '.join(extra)}; "
            "move them elsewhere"
        )
    return f"{len(listed)} files, all listed"


def check_tvm(artifact: Artifact) -> str:
    """Evidence that the running TVM's major.minor is the builder's; TVM is not imported.

    Raises ArtifactError naming both where it is not, EnvironmentFault where there is no TVM.
    """
    built = artifact.manifest.versions.get(TVM)
    try:
        here = importlib.metadata.version(TVM)
    except importlib.metadata.PackageNotFoundError:
        wanted = f"'{TVM}=={built}'" if built else TVM
        raise EnvironmentFault(f"{TVM} is not installed: pip install {wanted}") from None
    try:
        same = built is not None and Version(built).release[:2] == Version(here).release[:2]
    except InvalidVersion as error:
        raise ArtifactError(
            f"{artifact.path}: cannot compare versions of {TVM}: {error}"
        ) from error
    if not same:
        raise ArtifactError(
            f"{artifact.path} was built with {TVM} {built or '(not recorded)'}, this is {TVM} "
            f"{here}: build the artifact anew, or pip install '{TVM}=={built or here}'"
        )
    return f"built with {TVM} {built}, running {here}"


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's bytes, 64 lower-case hexadecimal digits. Raises OSError."""
    digest = hashlib.sha256()
    with file.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
