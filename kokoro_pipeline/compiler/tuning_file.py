"""What a tuned build keeps in its manifest, and how another build repeats it (`--tune-from`)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from kokoro_pipeline.artifact.manifest import (
    MANIFEST_NAME,
    Choices,
    ConvolutionChoice,
    Manifest,
    TargetInfo,
    loads,
)
from kokoro_pipeline.errors import ArtifactError, InputError
from kokoro_pipeline.version import __version__

from .kernels.cpu.choose_conv1d import Candidate, ConvShape, named
from .kernels.cpu.vector import VectorTarget
from .lowering.find_convolutions import Found
from .tuning import Choice

TVM = "apache-tvm"


def recorded(choices: Mapping[ConvShape, Choice], measured_on: str = "") -> Choices:
    """The choices for a manifest, in the order of the program."""
    return Choices(
        measured_on,
        {
            str(shape): ConvolutionChoice(
                choice.candidate.name,
                {name: round(1e6 * seconds, 1) for name, seconds in choice.seconds.items()},
            )
            for shape, choice in choices.items()
        },
    )


def tuned_manifest(path: Path, target: TargetInfo) -> Manifest:
    """The manifest of a tuned artifact, given as its folder or a copy of `manifest.json`.

    Raises InputError if there is no such file, ArtifactError if it is damaged, of another version
    of this package or of TVM, for another target, or without measured choices.
    """
    file = path / MANIFEST_NAME if path.is_dir() else path
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{file} is damaged: {error}; {_ANEW}") from None
    except OSError as error:
        raise InputError(
            f"--tune-from {path}: {error.strerror or error}; give an artifact that was built with "
            f"--tune, or its {MANIFEST_NAME}"
        ) from None
    manifest = loads(text, str(file))
    here = {"tvm-kokoro": __version__, TVM: metadata.version(TVM)}
    there = {"tvm-kokoro": manifest.package_version, TVM: manifest.versions.get(TVM, "unknown")}
    for name, version in here.items():
        if there[name] != version:
            raise ArtifactError(
                f"{file} was measured with {name} {there[name]}, this build uses {version}, whose "
                f"kernels may differ; {_ANEW}"
            )
    if manifest.target != target:
        raise ArtifactError(
            f"{file} was measured for {_words(manifest.target)}, this build is for "
            f"{_words(target)}; give the same --mcpu, --host and --precision, or {_ANEW}"
        )
    if not manifest.choices.measured_on:
        raise ArtifactError(
            f"{file} holds no measured choices: it was built without --tune; {_ANEW}"
        )
    return manifest


def repeated(manifest: Manifest, target: VectorTarget, found: Found) -> Choices:
    """The choices of a tuned artifact for the convolutions of a program.

    Raises ArtifactError for a convolution that it does not have, or an algorithm that this version
    does not have for it.
    """
    known = manifest.choices.convolutions
    for shape in found:
        if str(shape) not in known:
            raise ArtifactError(
                f"the tune file has no choice for the convolution {shape}: it is of another model, "
                f"or of a build with --components; {_ANEW}"
            )
    kept = Choices(manifest.choices.measured_on, {str(shape): known[str(shape)] for shape in found})
    choices_of(kept, target, found)
    return kept


def choices_of(choices: Choices, target: VectorTarget, found: Found) -> dict[ConvShape, Candidate]:
    """The candidates that a manifest names. Raises ArtifactError for an unknown one."""
    try:
        return {
            shape: named(target, shape, choices.convolutions[str(shape)].algorithm)
            for shape in found
        }
    except InputError as error:
        raise ArtifactError(f"the tune file is not for this version: {error}; {_ANEW}") from None


_ANEW = "measure anew with: kokoro-pipeline build --tune -o DIR"


def _words(target: TargetInfo) -> str:
    features = " ".join(target.features) or "no vector features"
    return f"{target.kind} on {target.host}, {target.mcpu}, {target.precision} ({features})"
