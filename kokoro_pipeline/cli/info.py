"""`kokoro-pipeline info DIR`: show the manifest of an artifact."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from . import arguments, exit_codes
from .command import Command
from .console import Console, size, table

if TYPE_CHECKING:
    from ..artifact.manifest import Manifest, TargetInfo, TensorSpec


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_folder(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print a summary of the manifest, or with `--json` the whole manifest."""
    from ..artifact.reader import read_artifact

    manifest = read_artifact(args.artifact).manifest
    if args.json:
        console.json(manifest.to_json())
    else:
        console.data(describe(manifest))
    return exit_codes.OK


def describe(manifest: Manifest) -> str:
    """A summary of a manifest."""
    weights = manifest.weights
    origin = weights.source + (f" at {weights.revision}" if weights.revision else "")
    if weights.synthetic:
        origin = f"synthetic, seed {weights.seed} (random numbers: its output is not speech)"
    if manifest.is_graph:
        origin += " (the graph of an ONNX file, compiled as two functions)"
    target = manifest.target
    files = list(manifest.files.values())
    states = Counter(manifest.fixes.values())
    rows = [
        ("package", f"tvm-kokoro {manifest.package_version}, schema {manifest.schema_version}"),
        ("weights", origin),
        ("", f"sha256 {weights.sha256}"),
        ("target", f"{_target(target)}, opt level {manifest.opt_level}"),
        ("features", " ".join(target.features) or "none beyond the architecture's own"),
        ("versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())),
        ("fixes", ", ".join(f"{count} {state}" for state, count in states.items()) or "none"),
        ("voices", " ".join(manifest.voices) or "none"),
        ("files", f"{len(files)}, {size(sum(entry.size for entry in files))}"),
        ("validation", _validation(manifest)),
        ("convolutions", _choices(manifest)),
        ("manifest", f"sha256 {manifest.sha256}"),
    ]
    functions = [
        (
            name,
            f"{_tensors(spec.inputs)} -> {_tensors(spec.outputs)}",
            f"{len(spec.parameters)} parameters",
        )
        for name, spec in manifest.functions.items()
    ]
    return f"{table(rows)}\n\n{table(functions)}"


def _target(target: TargetInfo) -> str:
    archs = f" ({' '.join(target.archs)})" if target.archs else ""
    host = f" on {target.host}" if target.host else ""
    reduced = "" if target.precision == "float32" else f" in {target.precision}"
    return f"{target.kind}{archs}{reduced}, {target.mcpu}{host}"


def _validation(manifest: Manifest) -> str:
    if "not_validated" in manifest.validation:
        return f"none was run: {manifest.validation['not_validated']}"
    if not manifest.validation:
        return "none was run (see `kokoro-pipeline validate`)"
    passed = manifest.validation.get("passed")
    if passed is None:
        return "stored (see --json)"
    verdict = "passed when built" if passed else "FAILED when built"
    not_proved = manifest.validation.get("not_proved")
    return verdict if not_proved is None else f"{verdict}; {not_proved}"


def _choices(manifest: Manifest) -> str:
    choices = manifest.choices
    if not choices.convolutions:
        return "one way each"
    counts = Counter(choice.algorithm for choice in choices.convolutions.values())
    algorithms = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    how = f"measured on {choices.measured_on}" if choices.measured_on else "chosen by the model"
    return f"{algorithms} ({how})"


def _tensors(tensors: tuple[TensorSpec, ...]) -> str:
    return ", ".join(
        f"{tensor.name}[{','.join(str(dimension) for dimension in tensor.shape)}]"
        + ("" if tensor.dtype == "float32" else f" {tensor.dtype}")
        for tensor in tensors
    )


COMMAND = Command(
    name="info",
    summary="describe an artifact by its manifest",
    configure=configure,
    run=run,
)
