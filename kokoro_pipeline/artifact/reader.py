"""Opening artifacts: nothing is loaded unless the manifest, the file sizes and the library match.

An artifact contains machine code, which runs with the permissions of the process that loads it. The
hashes detect damage, but they are not a signature: only load artifacts that you trust.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import stat
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
"""The distribution whose major.minor version must be the same as for the build."""

UNFINISHED = re.compile(r"\.(?P<output>.+)\.building-(?P<pid>\d+)-[0-9a-f]+")
"""Name of a folder that a build is writing, or that a killed build left behind."""

_REMEDY = "copy the artifact again or build it anew"

_LARGEST_MANIFEST = 64 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """An artifact folder and its manifest."""

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
        """The mapped parameters of a function, in the order of a call.

        Raises ArtifactError for an unknown function or a truncated file.
        """
        if function not in self.manifest.functions:
            raise ArtifactError(
                f"{self.path} has no function {function}; "
                f"it has {', '.join(self.manifest.functions) or 'none'}"
            )
        return map_parameters(self.parameters_file, self.manifest.functions[function].parameters)


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `detail` is the evidence, or the problem and its remedy."""

    name: str
    passed: bool
    detail: str


def read_artifact(path: Path) -> Artifact:
    """Read and check the manifest of a folder (schema, self-hash, fields), and nothing else.

    This is for inspecting artifacts, including those for other machines; to run one, use
    `open_artifact`. Raises ArtifactError.
    """
    folder = path.absolute()
    if not folder.is_dir():
        said = "is a file, not an artifact folder" if folder.exists() else "does not exist"
        raise ArtifactError(f"{path} {said}: build one with kokoro-pipeline build -o DIR")
    if UNFINISHED.fullmatch(folder.resolve().name):
        raise ArtifactError(f"{path} is an unfinished build: load the folder that it was built for")
    file = folder / MANIFEST_NAME
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe: opening it would wait
            raise ArtifactError(f"{file} is no file; build the artifact anew")
        with file.open("rb") as stream:
            raw = stream.read(_LARGEST_MANIFEST + 1)
        if len(raw) > _LARGEST_MANIFEST:
            raise ArtifactError(f"{file} is damaged: it has over {_LARGEST_MANIFEST} bytes")
        text = raw.decode("utf-8")
    except FileNotFoundError:
        raise ArtifactError(
            f"{path} is not an artifact: it has no {MANIFEST_NAME}; "
            "build one with kokoro-pipeline build -o DIR"
        ) from None
    except OSError as error:
        raise ArtifactError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{file} is damaged: {error}; build the artifact anew") from None
    return Artifact(folder, loads(text, str(file)))


def open_artifact(path: Path) -> Artifact:
    """Read the manifest of an artifact and check that it can run here.

    Checks the manifest, the sizes of all files, the hashes of the library and the configuration,
    the machine of the library, the version of TVM and the features of the CPU. The hash of the
    parameters is only checked by `verify_artifact`.

    Raises ArtifactError if a check fails, or EnvironmentFault if TVM is missing or the system does
    not report the features of the CPU.
    """
    artifact = read_artifact(path)
    for name, entry in artifact.manifest.files.items():
        check_size(artifact, name, entry)
    check_hash(artifact, artifact.manifest.library)
    if CONFIG_NAME in artifact.manifest.files:
        check_hash(artifact, CONFIG_NAME)  # whose ids are indices into a table of the parameters
    check_machine(artifact.library)
    check_tvm(artifact)
    check_target(artifact.manifest.target, str(path))
    return artifact


def verify_artifact(path: Path) -> list[CheckResult]:
    """Check everything that can be checked without running the artifact.

    This covers the manifest, the size and hash of each file, unlisted files, and whether this
    machine can run it. If the manifest is damaged, this is the only (failed) check.

    Raises ArtifactError if `path` is not an artifact folder at all.
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
    """Raise ArtifactError unless the file exists with the right size."""
    file = artifact.path / name
    try:
        size = file.stat().st_size
    except OSError as error:
        raise ArtifactError(f"{artifact.path} lacks {name}: {error.strerror}; {_REMEDY}") from error
    if not file.is_file():
        raise ArtifactError(f"{file} is not a file; {_REMEDY}")
    if size != entry.size:
        raise ArtifactError(
            f"{file} is damaged: it has {size} bytes, the manifest says {entry.size}; {_REMEDY}"
        )


def check_hash(artifact: Artifact, name: str) -> str:
    """Check that a file has the hash recorded by the build.

    Returns the evidence as text. Raises ArtifactError if it is damaged.
    """
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
            f"{_REMEDY}"
        )
    return f"{entry.size} bytes, sha256 {entry.sha256}"


def check_unlisted(artifact: Artifact) -> str:
    """Check that the folder contains nothing but the artifact.

    Returns the evidence as text. Raises ArtifactError if there are other files.
    """
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


def has_minor_of_build(artifact: Artifact, version: str) -> bool:
    """Whether a version of TVM has the major.minor version that the artifact was built with.

    That is never so if the build did not record its version. Raises ArtifactError if either is
    not a version.
    """
    built = artifact.manifest.versions.get(TVM)
    try:
        return built is not None and Version(built).release[:2] == Version(version).release[:2]
    except InvalidVersion as error:
        raise ArtifactError(
            f"{artifact.path}: cannot compare versions of {TVM}: {error}"
        ) from error


def check_tvm(artifact: Artifact) -> str:
    """Check that the installed TVM has the major.minor version of the build, without importing it.

    Returns the evidence as text. Raises ArtifactError with both versions if they differ,
    EnvironmentFault if TVM is not installed.
    """
    built = artifact.manifest.versions.get(TVM)
    try:
        here = importlib.metadata.version(TVM)
    except importlib.metadata.PackageNotFoundError:
        wanted = f"'{TVM}=={built}'" if built else TVM
        raise EnvironmentFault(f"{TVM} is not installed: pip install {wanted}") from None
    if not has_minor_of_build(artifact, here):
        raise ArtifactError(
            f"{artifact.path} was built with {TVM} {built or '(not recorded)'}, this is {TVM} "
            f"{here}: build the artifact anew, or pip install '{TVM}=={built or here}'"
        )
    return f"built with {TVM} {built}, running {here}"


def file_sha256(file: Path) -> str:
    """SHA-256 of a file, as 64 lower-case hexadecimal digits. Raises OSError."""
    digest = hashlib.sha256()
    with file.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
