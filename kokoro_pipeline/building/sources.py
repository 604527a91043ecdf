"""What an artifact is built from: a checkpoint by PyTorch, or the graph of an ONNX file."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import tvm

from ..artifact.manifest import (
    GRAPH_DURATIONS,
    GRAPH_SPEECH,
    FunctionSpec,
    TensorSpec,
    WeightsInfo,
)
from ..artifact.reader import Artifact
from ..compiler.exporting import export_component
from ..compiler.importing import import_program
from ..compiler.lowering.parameter_table import ParameterTable
from ..compiler.model.align import ALIGN, make_alignment
from ..compiler.model.align import SIGNATURE as ALIGN_SIGNATURE
from ..compiler.model.components import (
    SIGNATURES,
    Component,
    Signature,
    make_components,
)
from ..compiler.model.noise import NOISE, make_noise
from ..compiler.model.noise import SIGNATURE as NOISE_SIGNATURE
from ..compiler.onnx_file.importing import import_half
from ..compiler.onnx_file.opening import OnnxFile, is_onnx, open_onnx
from ..compiler.weights import WeightsFolder, load_model, load_voices, resolve
from ..config import load_config
from ..errors import CheckFailed, EnvironmentFault, InputError
from ..runtime.speech.synthesizer import Synthesizer
from ..validation import ValidationReport, select_cases, validate_functions
from ..validation.graph_reference import NOT_PROVED, compare_graph, onnx_runtime
from .options import BuildPlan

if TYPE_CHECKING:
    from ..compiler.onnx_file.graph import Half

Progress = Callable[[str], None]


class SyntheticWeightsWarning(UserWarning):
    """The real weights are unavailable; the synthetic ones in their place do not produce speech."""


@dataclass
class Stages:
    """Measures the stages of a build and reports each one when it starts."""

    progress: Progress
    finished: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        self.progress(f"{name}{': ' if detail else ''}{detail}")
        started = time.perf_counter()
        yield
        self.finished.append((name, time.perf_counter() - started))


class Source(Protocol):
    """What an artifact is built from."""

    @property
    def info(self) -> WeightsInfo: ...
    @property
    def config_text(self) -> bytes: ...
    @property
    def functions(self) -> dict[str, FunctionSpec]:
        """The functions of the library, without parameters."""
        ...

    def voices(self) -> dict[str, np.ndarray]: ...
    def modules(self, parameters: ParameterTable, stages: Stages) -> list[tvm.IRModule]:
        """One Relax module for each function; weights are added to `parameters`."""
        ...

    def validate(self, artifact: Artifact, progress: Progress) -> dict[str, Any]:
        """The figures of a short comparison. Raises CheckFailed if a tolerance is missed."""
        ...


@dataclass(frozen=True)
class _Checkpoint:
    """Kokoro's six functions by PyTorch, its noise, and on a device the alignment."""

    plan: BuildPlan
    folder: WeightsFolder
    model: Any

    @property
    def info(self) -> WeightsInfo:
        return self.folder.info

    @property
    def config_text(self) -> bytes:
        return (self.folder.path / "config.json").read_bytes()

    @property
    def functions(self) -> dict[str, FunctionSpec]:
        return {name: _function_spec(name) for name in self.plan.functions}

    def voices(self) -> dict[str, np.ndarray]:
        return load_voices(self.folder)

    def modules(self, parameters: ParameterTable, stages: Stages) -> list[tvm.IRModule]:
        components = make_components(self.model, self.plan.components)
        for name, make in ((NOISE, make_noise), (ALIGN, make_alignment)):
            if name in self.functions:
                components.append(make())
        return [_exported(component, parameters, stages) for component in components]

    def validate(self, artifact: Artifact, progress: Progress) -> dict[str, Any]:
        return _validate(artifact, self.folder, progress)


@dataclass(frozen=True)
class _Graph:
    """The graph of an ONNX file, as its two halves."""

    file: OnnxFile
    halves: dict[str, Half]
    weights: dict[str, np.ndarray] = field(repr=False)

    @property
    def info(self) -> WeightsInfo:
        return self.file.info

    @property
    def config_text(self) -> bytes:
        return self.file.config_text

    @property
    def functions(self) -> dict[str, FunctionSpec]:
        found = {name: FunctionSpec(h.inputs, h.outputs) for name, h in self.halves.items()}
        return {**found, NOISE: _function_spec(NOISE)}

    def voices(self) -> dict[str, np.ndarray]:
        return self.file.voices()

    def modules(self, parameters: ParameterTable, stages: Stages) -> list[tvm.IRModule]:
        modules = []
        for name, half in self.halves.items():
            with stages.stage(f"import {name}"):
                modules.append(import_half(half, name, self.weights, parameters))
        return [*modules, _exported(make_noise(), parameters, stages)]

    def validate(self, artifact: Artifact, progress: Progress) -> dict[str, Any]:
        try:
            onnx_runtime()
        except EnvironmentFault as fault:
            return not_validated(str(fault))
        with Synthesizer(artifact) as synthesizer:
            report = compare_graph(
                synthesizer.functions,
                self.file,
                load_config(artifact.config),
                self.file.voices(),
                select_cases(artifact.manifest.opt_level, "short"),
                artifact=str(artifact.path),
                opt_level=artifact.manifest.opt_level,
                progress=progress,
            )
        return {**_require_passed(report), "not_proved": NOT_PROVED}


def open_source(
    plan: BuildPlan,
    weights: str,
    seed: int,
    config: str | Path | None,
    voices: Sequence[str | Path],
) -> Source:
    """What to build from: a checkpoint, or the graph of an ONNX file."""
    if not is_onnx(weights):
        if config is not None or voices:
            raise InputError(
                f"--config and --voices are for an ONNX file, and --weights {weights} names "
                "weights with a configuration and voices of their own: leave them out"
            )
        # Show progress bars only on a terminal.
        folder = resolve(weights, seed=seed, progress=sys.stderr.isatty())
        if folder.fallback_reason is not None:
            warnings.warn(_fallback(folder.fallback_reason), SyntheticWeightsWarning, stacklevel=3)
        return _Checkpoint(plan, folder, load_model(folder))
    file = open_onnx(weights, config, voices)
    from ..compiler.onnx_file.graph import halves  # the package onnx is an extra of its own

    arrays, timing, speech = halves(file.load(), str(file.path))
    return _Graph(file, {GRAPH_DURATIONS: timing, GRAPH_SPEECH: speech}, arrays)


def _fallback(reason: str) -> str:
    return (
        f"building with SYNTHETIC weights, which do NOT SPEAK: {reason}. "
        "For speech, with the hub in reach: kokoro-pipeline build --weights hexgrad/Kokoro-82M"
    )


def _function_spec(name: str) -> FunctionSpec:
    signature = _signature(name)

    def tensors(named: dict[str, tuple[str, tuple[int | str, ...]]]) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec(tensor, dtype, shape) for tensor, (dtype, shape) in named.items())

    return FunctionSpec(tensors(signature.inputs), tensors(signature.outputs))


def _signature(name: str) -> Signature:
    return {**SIGNATURES, ALIGN: ALIGN_SIGNATURE, NOISE: NOISE_SIGNATURE}[name]


def _exported(component: Component, parameters: ParameterTable, stages: Stages) -> tvm.IRModule:
    with stages.stage(f"export {component.name}"):
        program = export_component(component)
        return import_program(program, component.name, parameters)


def not_validated(obstacle: str | None) -> dict[str, Any]:
    return {} if obstacle is None else {"not_validated": obstacle}


def _validate(artifact: Artifact, folder: WeightsFolder, progress: Progress) -> dict[str, Any]:
    """Validate an artifact that is not committed yet, with the short cases.

    Returns the figures for the manifest. Raises CheckFailed if a tolerance is missed.
    """
    level = artifact.manifest.opt_level
    with Synthesizer(artifact) as synthesizer:
        report = validate_functions(
            synthesizer.functions,
            folder,
            select_cases(level, "short"),
            artifact=str(artifact.path),
            opt_level=level,
            precision=artifact.manifest.target.precision,
            progress=progress,
        )
    return _require_passed(report)


def _require_passed(report: ValidationReport) -> dict[str, Any]:
    """The figures of a validation. Raises CheckFailed if a tolerance is missed."""
    if not report.passed:
        raise CheckFailed(
            f"the compiled functions miss a tolerance, and nothing was written:\n{report}\n"
            "bisect with --opt 0, or keep the artifact for a look with --no-validate"
        )
    return report.summary()
