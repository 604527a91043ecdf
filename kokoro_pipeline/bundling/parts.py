"""The parts of a bundle, found and checked to belong together."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artifact.binary import library_machine
from ..artifact.manifest import MANIFEST_NAME
from ..artifact.reader import Artifact, check_hash, has_minor_of_build, read_artifact
from ..errors import ArtifactError, EnvironmentFault, InputError
from ..runtime.engine.ffi_compatibility import FFI, TVM, judge_pair
from ..version import __version__

HOSTS: Mapping[str, tuple[str, str]] = {
    "linux-x86_64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "macos-arm64": ("darwin", "aarch64"),
}
"""Systems by name, with what `library_machine` says of their libraries."""

ARTIFACT, LIBRARIES, PROGRAM = "kokoro", "lib", "bin/kokoro-say"
"""Where the parts are in a bundle."""

BUNDLE_NAME = "bundle.json"
VERSIONS_NAME = "tvm-versions.json"

_BUILD_PROGRAM = "build it in a checkout with: cd native && cargo build --release"


@dataclass(frozen=True)
class Parts:
    """What a bundle of `artifact` consists of.

    `files` maps paths in it to the file or the text that goes there.
    """

    artifact: Path
    host: str
    versions: dict[str, str]
    files: dict[str, Path | str]


def gather(artifact: Path, host: str | None, program: Path | None, packages: Path | None) -> Parts:
    """Find all parts, and check that they are whole and for the same system.

    Raises ArtifactError for a damaged artifact or one for another system or TVM, EnvironmentFault
    for a missing or foreign program or library, InputError for an unknown host or another program.
    """
    opened = read_artifact(artifact)
    for name in opened.manifest.files:
        check_hash(opened, name)
    if opened.manifest.target.device != "cpu":
        raise ArtifactError(
            f"{artifact} was compiled for {opened.manifest.target.device}, and the native runtime "
            "runs on the CPU: build one with: kokoro-pipeline build --target llvm -o DIR"
        )
    if opened.manifest.is_graph:
        raise ArtifactError(
            f"{artifact} was built from the graph in an ONNX file, which the native runtime does "
            "not speak with: build one from a checkpoint with: kokoro-pipeline build -o DIR"
        )
    chosen = _check_host(opened, host)
    installed = {name: _distribution(name, packages) for name in (TVM, FFI)}
    versions = {name: found.version for name, found in installed.items()}
    _check_versions(opened, versions)
    suffix = "dylib" if chosen.startswith("macos") else "so"
    binaries = {
        PROGRAM: _find_program(program),
        f"{LIBRARIES}/libtvm_ffi.{suffix}": _library(installed[FFI], "tvm_ffi", suffix),
        f"{LIBRARIES}/libtvm_runtime.{suffix}": _library(installed[TVM], "tvm", suffix),
    }
    for file in binaries.values():
        _check_binary(file, chosen)
    _check_program(binaries[PROGRAM])
    files: dict[str, Path | str] = {**binaries}
    for name in (*opened.manifest.files, MANIFEST_NAME):
        files[f"{ARTIFACT}/{name}"] = opened.path / name
    for name, found in installed.items():
        files |= _licenses(name, found)
    data = Path(__file__).parents[1] / "data"
    files["licenses/kokoro-say/LICENSE"] = data / "native-licenses.txt"
    files[f"{LIBRARIES}/{VERSIONS_NAME}"] = _json(versions)
    files[BUNDLE_NAME] = _json(
        {
            "artifact": ARTIFACT,
            "libraries": LIBRARIES,
            "package_version": __version__,
            "host": chosen,
        }
    )
    return Parts(artifact, chosen, versions, files)


def _check_host(artifact: Artifact, host: str | None) -> str:
    machine = library_machine(artifact.library)
    built = next((name for name, found in HOSTS.items() if found == machine), None)
    if host is not None and host not in HOSTS:
        raise InputError(f"unknown host {host!r}: the known are {', '.join(HOSTS)}")
    if built is None or host not in (None, built):
        wanted = host or "a known host"
        raise ArtifactError(
            f"{artifact.path} is for {built or ' on '.join(reversed(machine))}, not for {wanted}: "
            f"build one with: kokoro-pipeline build --host {host or next(iter(HOSTS))} -o DIR"
        )
    return built


def _check_versions(artifact: Artifact, versions: dict[str, str]) -> None:
    built = artifact.manifest.versions.get(TVM)
    here = versions[TVM]
    if not has_minor_of_build(artifact, here):
        raise ArtifactError(
            f"{artifact.path} was built with {TVM} {built or '(not recorded)'}, the libraries are "
            f"of {TVM} {here}: build the artifact anew, or name others with --packages"
        )
    pair = judge_pair(here, versions[FFI])
    if pair.verdict == "broken" or not pair.supported:
        raise EnvironmentFault(f"{pair} do not run together: {pair.remedy}")


def _distribution(name: str, packages: Path | None) -> importlib.metadata.Distribution:
    if packages is None:
        try:
            return importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise EnvironmentFault(f"{name} is not installed: pip install {name}") from None
    found = next(iter(importlib.metadata.distributions(name=name, path=[str(packages)])), None)
    if found is None:
        raise EnvironmentFault(
            f"{packages} has no {name}: pip install --target {packages} --no-deps "
            f"--only-binary :all: --platform PLATFORM {name}"
        )
    return found


def _library(distribution: importlib.metadata.Distribution, package: str, suffix: str) -> Path:
    name = f"lib{'tvm_runtime' if package == 'tvm' else package}.{suffix}"
    file = Path(str(distribution.locate_file(f"{package}/lib/{name}")))
    if not file.is_file():
        raise EnvironmentFault(
            f"{file} is not there: {distribution.metadata['Name']} {distribution.version} is for "
            "another system, or damaged; name another installation with --packages"
        )
    return file


def _find_program(program: Path | None) -> Path:
    if program is not None:
        if not program.is_file():
            raise InputError(f"{program} is not a file: {_BUILD_PROGRAM}")
        return program
    on_path = shutil.which("kokoro-say")
    if on_path is not None:
        return Path(on_path)
    native = Path(__file__).parents[2] / "native" / "target" / "release" / "kokoro-say"
    if native.is_file():
        return native
    raise EnvironmentFault(
        f"kokoro-say is neither on the PATH nor at {native}: {_BUILD_PROGRAM}, or name it with "
        "--program"
    )


def _check_program(file: Path) -> None:
    """Check, without running what may be for another system, that the program names itself."""
    if b"kokoro-say" not in file.read_bytes():
        raise InputError(f"{file} is another program than kokoro-say: {_BUILD_PROGRAM}")


def _check_binary(file: Path, host: str) -> None:
    machine = library_machine(file)
    if machine != HOSTS[host]:
        raise EnvironmentFault(
            f"{file} is for {' on '.join(reversed(machine))}, and the artifact for {host}: name "
            "one for that system with --program, and TVM's libraries with --packages"
        )


def _licenses(name: str, distribution: importlib.metadata.Distribution) -> dict[str, Path | str]:
    found: dict[str, Path | str] = {}
    for entry in distribution.files or ():
        if ".dist-info/" in str(entry) and entry.name.upper().startswith(("LICENSE", "NOTICE")):
            found[f"licenses/{name}/{entry.name}"] = Path(str(distribution.locate_file(entry)))
    if f"licenses/{name}/LICENSE" not in found:
        raise EnvironmentFault(
            f"the installation of {name} {distribution.version} has no LICENSE: reinstall it"
        )
    return found


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
