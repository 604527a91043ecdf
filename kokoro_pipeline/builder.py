"""`build`: turn weights into an artifact folder, in timed stages."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import tvm
from tvm import relax

import tvm_kokoro_ext

from .artifact.cpu import check_target, cpu_name
from .artifact.disk import writing
from .artifact.manifest import (
    CONFIG_NAME,
    GRAPH_DURATIONS,
    GRAPH_SPEECH,
    PARAMETERS_NAME,
    VOICES_FOLDER,
    Choices,
    FunctionSpec,
    Manifest,
    TensorSpec,
    WeightsInfo,
)
from .artifact.parameter_file import write_parameters
from .artifact.reader import Artifact, read_artifact
from .artifact.writer import ArtifactWriter
from .compiler.codegen.cuda_compiler import (
    CudaBinary,
    CudaCompiler,
    KernelResources,
    find_cuda_compiler,
)
from .compiler.codegen.linking import Linker, export_library, find_linker
from .compiler.codegen.packing import cuda_packer, device_code_kept_as_text
from .compiler.codegen.target import BuildTarget, resolve_target
from .compiler.exporting import export_component
from .compiler.importing import import_program
from .compiler.kernels.cpu.choose_conv1d import Candidate, ConvShape
from .compiler.lowering.cpu_backend import CpuBackend
from .compiler.lowering.find_convolutions import find_convolutions
from .compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from .compiler.model.align import ALIGN, make_alignment
from .compiler.model.align import SIGNATURE as ALIGN_SIGNATURE
from .compiler.model.components import (
    COMPONENT_NAMES,
    SIGNATURES,
    Signature,
    make_components,
)
from .compiler.onnx_file.importing import import_half
from .compiler.onnx_file.opening import OnnxFile, is_onnx, open_onnx
from .compiler.passes.merge_components import merge_components
from .compiler.passes.pipeline import (
    OPT_LEVELS,
    PlannedMemory,
    cpu_backend,
    generate_code,
    phases,
    run_phases,
)
from .compiler.tuning import MachineBench, modelled
from .compiler.tuning import tune as run_tuning
from .compiler.tuning_file import choices_of, recorded, repeated, tuned_manifest
from .compiler.weights import WeightsFolder, load_model, load_voices, resolve
from .config import load_config
from .errors import ArtifactError, CheckFailed, EnvironmentFault, InputError
from .runtime.engine.device import find_device
from .runtime.speech.synthesizer import Synthesizer
from .runtime.voices import write_voice
from .validation import ValidationReport, select_cases, validate_functions
from .validation.graph_reference import NOT_PROVED, compare_graph, onnx_runtime
from .version import __version__

if TYPE_CHECKING:
    from .compiler.onnx_file.graph import Half

Progress = Callable[[str], None]

_VERSIONED = ("apache-tvm", "apache-tvm-ffi", "torch", "kokoro", "transformers", "numpy")


class SyntheticWeightsWarning(UserWarning):
    """The real weights are unavailable; the synthetic ones in their place do not produce speech."""


@dataclass(frozen=True)
class BuildReport:
    """The result of a finished build.

    `path`: the artifact folder. `stages`: the name of each stage and its duration in seconds.
    `manifest`: the manifest as written. `kernels`: the GPU resources that each CUDA kernel uses.
    `not_validated`: why a requested validation did not take place, or None.
    """

    path: Path
    stages: tuple[tuple[str, float], ...]
    manifest: Manifest
    parameters: ParameterTable = field(repr=False, compare=False)
    """Imported and packed parameters; this report keeps their arrays alive."""
    kernels: tuple[KernelResources, ...] = ()
    not_validated: str | None = None


@dataclass
class _Stages:
    """Measures the stages of a build and reports each one when it starts."""

    progress: Progress
    finished: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        self.progress(f"{name}{': ' if detail else ''}{detail}")
        started = time.perf_counter()
        yield
        self.finished.append((name, time.perf_counter() - started))


@dataclass(frozen=True)
class _Plan:
    """The validated options of a build."""

    target: BuildTarget
    opt_level: int
    components: tuple[str, ...]
    linker: Linker
    cuda: CudaCompiler | None
    """None unless the target is CUDA."""
    tune: bool = False
    tuned: Manifest | None = None
    """The manifest whose measured choices are repeated."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of a checkpoint's library; for a device they include the alignment."""
        whole = self.components == COMPONENT_NAMES
        return (
            (*self.components, ALIGN) if self.target.kind != "llvm" and whole else self.components
        )


class _Source(Protocol):
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
    def modules(self, parameters: ParameterTable, stages: _Stages) -> list[tvm.IRModule]:
        """One Relax module for each function; weights are added to `parameters`."""
        ...

    def validate(self, artifact: Artifact, progress: Progress) -> dict[str, Any]:
        """The figures of a short comparison. Raises CheckFailed if a tolerance is missed."""
        ...


@dataclass(frozen=True)
class _Checkpoint:
    """Kokoro's six functions, by PyTorch; on a device also the alignment."""

    plan: _Plan
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

    def modules(self, parameters: ParameterTable, stages: _Stages) -> list[tvm.IRModule]:
        components = make_components(self.model, self.plan.components)
        modules = []
        for component in [*components, *([make_alignment()] if ALIGN in self.functions else [])]:
            with stages.stage(f"export {component.name}"):
                program = export_component(component)
                modules.append(import_program(program, component.name, parameters))
        return modules

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
        return {name: FunctionSpec(h.inputs, h.outputs) for name, h in self.halves.items()}

    def voices(self) -> dict[str, np.ndarray]:
        return self.file.voices()

    def modules(self, parameters: ParameterTable, stages: _Stages) -> list[tvm.IRModule]:
        modules = []
        for name, half in self.halves.items():
            with stages.stage(f"import {name}"):
                modules.append(import_half(half, name, self.weights, parameters))
        return modules

    def validate(self, artifact: Artifact, progress: Progress) -> dict[str, Any]:
        try:
            onnx_runtime()
        except EnvironmentFault as fault:
            return _not_validated(str(fault))
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


def _open(
    plan: _Plan,
    weights: str,
    seed: int,
    config: str | Path | None,
    voices: Sequence[str | Path],
) -> _Source:
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
    from .compiler.onnx_file.graph import halves  # the package onnx is an extra of its own

    arrays, timing, speech = halves(file.load(), str(file.path))
    return _Graph(file, {GRAPH_DURATIONS: timing, GRAPH_SPEECH: speech}, arrays)


def _check_graph_options(plan: _Plan) -> None:
    """Raise InputError for options that make no sense for the graph of an ONNX file."""
    target = plan.target
    wrong = [
        f"--target {target.kind}" if target.kind != "llvm" else "",
        f"--precision {target.precision}" if target.precision != "float32" else "",
        "--components" if plan.components != COMPONENT_NAMES else "",
        "--tune" if plan.tune else "",
        "--tune-from" if plan.tuned is not None else "",
    ]
    if any(wrong):
        raise InputError(
            f"an ONNX file is compiled whole, for a CPU, in float32: leave out "
            f"{', '.join(filter(None, wrong))}, or build from a checkpoint"
        )


def build(
    weights: str = "auto",
    target: str = "llvm",
    output: str | Path = "kokoro",
    *,
    mcpu: str | None = None,
    host: str | None = None,
    precision: str = "float32",
    opt: int | None = None,
    components: Sequence[str] | None = None,
    force: bool = False,
    validate: bool = True,
    debug_dump: Path | None = None,
    seed: int = 0,
    tune: bool = False,
    tune_from: str | Path | None = None,
    progress: Progress | None = None,
    config: str | Path | None = None,
    voices: Sequence[str | Path] = (),
) -> BuildReport:
    """Build an artifact folder from weights.

    `weights`: "auto" (the hub or its cache, else synthetic weights), "hexgrad/Kokoro-82M",
    "synthetic" (generated from `seed`), a folder in the hub's layout, or an ONNX file with Kokoro's
    whole graph; for that, `config` is its `config.json` and `voices` are its packs, see
    `open_onnx`. `target`: a kind ("llvm",
    "cuda", "metal"), a TVM target tag or JSON. `mcpu`: an LLVM CPU name, by default that of this
    machine. `host`: the system to link for ("linux-x86_64", "linux-aarch64", "macos-arm64"), by
    default this machine, or a Mac for Metal. `precision`: what the decoder's products are rounded
    to on CUDA's tensor cores ("tf32", "bfloat16", "float16"), or on a CPU with AMX ("bfloat16"); by
    default both multiply in parts with float32's tolerances, and "float32-fma" keeps CUDA's kernels
    off the tensor cores. `opt`:
    one of `OPT_LEVELS`, by default the highest. `components`: a subset of the six functions, by
    default all. `force`: whether to replace an existing output. `validate`: whether to finish with
    a short comparison with PyTorch, whose figures are stored in the manifest; if this machine
    cannot run the library, the manifest and `BuildReport.not_validated` give the reason.
    `debug_dump`: a folder that receives the module after every phase. `tune`: whether to choose the
    algorithms of convolutions by measuring them on this machine, which takes up to a minute.
    `tune_from`: an artifact that was built with `tune`, or its manifest, whose choices to repeat.
    `progress`: called with a line of text as each stage starts.

    Raises InputError for an unknown option or weights that do not fit the model, ArtifactError if
    the output exists (and `force` is not given) or another build is writing it, EnvironmentFault if
    the hub, the linker, the CUDA compiler or the disk fails, and CheckFailed if the validation
    misses a tolerance. A failed build leaves no artifact behind.
    """
    plan = check_options(
        target, mcpu, host, precision, opt, components, tune, tune_from, is_onnx(weights)
    )
    stages = _Stages(progress or (lambda _text: None))
    with ArtifactWriter(Path(output), force) as writer:
        if debug_dump is not None:
            with writing(debug_dump):
                debug_dump.mkdir(parents=True, exist_ok=True)
        with stages.stage("weights", weights):
            source = _open(plan, weights, seed, config, voices)
        parameters = ParameterTable()
        modules = source.modules(parameters, stages)
        functions = source.functions
        memory = _planned_memory(plan, functions)
        merged = merge_components(modules)
        chosen, choices = _choose(plan, merged, stages)
        with stages.stage("lower", OPT_LEVELS[plan.opt_level]):
            todo = phases(
                plan.opt_level,
                plan.target.tvm,
                parameters,
                list(functions),
                plan.target.precision,
                memory,
                chosen,
            )
            module = run_phases(merged, todo, plan.target.tvm, debug_dump)
        with stages.stage("compile", str(plan.target)), device_code_kept_as_text():
            executable = generate_code(module, plan.target.tvm)
        kernels = _link(plan, executable, writer.directory, stages)
        with stages.stage("write parameters"):
            functions = _write_data(writer.directory, source, module, parameters)
            for name, workspace in memory.found.items() if memory is not None else ():
                functions[name] = replace(functions[name], workspace=workspace)
        obstacle = _obstacle(plan) if validate else None
        manifest = _manifest(plan, source.info, functions, choices, _not_validated(obstacle))
        if validate and obstacle is None:
            with stages.stage("validate"):
                figures = source.validate(writer.preview(manifest), stages.progress)
                manifest = _manifest(plan, source.info, functions, choices, figures)
            obstacle = figures.get("not_validated")
        with stages.stage("hash and commit"):
            path = writer.commit(manifest)
    # The report describes the file on disk rather than what was meant to be written.
    written = read_artifact(path)
    return BuildReport(
        path, tuple(stages.finished), written.manifest, parameters, kernels, obstacle
    )


def _planned_memory(plan: _Plan, functions: Mapping[str, FunctionSpec]) -> PlannedMemory | None:
    """Where the memory of the functions is recorded: a device reserves it before the first call."""
    if plan.target.kind == "llvm":
        return None
    return PlannedMemory({name: _length(spec) for name, spec in functions.items()})


def _signature(name: str) -> Signature:
    return ALIGN_SIGNATURE if name == ALIGN else SIGNATURES[name]


def _length(function: FunctionSpec) -> tuple[int, int]:
    """(input, axis) of the last input dimension that is a plain count of tokens or frames.

    For a function with both, this is the number of frames, which is the larger one.
    """
    return [
        (index, axis)
        for index, tensor in enumerate(function.inputs)
        for axis, dimension in enumerate(tensor.shape)
        if isinstance(dimension, str) and dimension.isidentifier() and dimension != "B"
    ][-1]


def _link(
    plan: _Plan, executable: Any, directory: Path, stages: _Stages
) -> tuple[KernelResources, ...]:
    """Link the library, with compiled CUDA code, and return the resources its kernels use."""
    library = directory / plan.target.host.library_name
    cuda = plan.cuda
    if cuda is None:
        with stages.stage("link", plan.linker.name):
            export_library(executable, library, plan.linker)
        return ()

    def compile_source(source: str) -> CudaBinary:
        return cuda.compile(source, plan.target.archs)

    pack, binaries = cuda_packer(compile_source, str(plan.target.host_tvm))
    with stages.stage("compile CUDA and link", f"{cuda.name}, {plan.linker.name}"):
        export_library(executable, library, plan.linker, pack)
    return tuple(kernel for binary in binaries for kernel in binary.resources)


def _choose(
    plan: _Plan, module: tvm.IRModule, stages: _Stages
) -> tuple[dict[ConvShape, Candidate], Choices]:
    """The algorithms of the convolutions: measured, repeated, or those of the model of costs."""
    if plan.target.kind != "llvm":
        return {}, Choices()
    backend = _backend(plan)
    found = find_convolutions(module, backend)
    if plan.tuned is not None:
        choices = repeated(plan.tuned, backend.target, found)
        return choices_of(choices, backend.target, found), choices
    if not plan.tune:
        made = modelled(backend.target, backend.core, found)
        return {shape: choice.candidate for shape, choice in made.items()}, recorded(made)
    if not found:
        stages.progress(
            f"tune: nothing to measure, as {plan.target} computes every convolution in one way"
        )
        return {}, recorded({}, cpu_name())
    with (
        stages.stage("tune", f"{len(found)} shapes of convolutions"),
        MachineBench(plan.target.tvm, backend.core) as bench,
    ):
        made = run_tuning(backend.target, backend.core, found, bench, stages.progress)
    return {shape: choice.candidate for shape, choice in made.items()}, recorded(made, cpu_name())


def _backend(plan: _Plan) -> CpuBackend:
    return cpu_backend(plan.opt_level, plan.target.tvm, plan.target.precision)


def _obstacle(plan: _Plan) -> str | None:
    """Why the library cannot run on this machine; None where it can."""
    if not plan.target.host.is_here:
        return f"this machine is not {plan.target.host.name}"
    try:
        check_target(plan.target.info)
        find_device("auto", plan.target.info)
    except (EnvironmentFault, ArtifactError) as error:
        return str(error)
    return None


def _fallback(reason: str) -> str:
    return (
        f"building with SYNTHETIC weights, which do NOT SPEAK: {reason}. "
        "For speech, with the hub in reach: kokoro-pipeline build --weights hexgrad/Kokoro-82M"
    )


def check_options(
    target: str,
    mcpu: str | None,
    host: str | None,
    precision: str,
    opt: int | None,
    components: Sequence[str] | None,
    tune: bool = False,
    tune_from: str | Path | None = None,
    from_graph: bool = False,
) -> _Plan:
    """The checks that `build` makes of its options before it reads or writes anything.

    `from_graph` says that it is to build from an ONNX file.
    """
    opt_level = max(OPT_LEVELS) if opt is None else opt
    if opt_level not in OPT_LEVELS:
        known = "; ".join(f"{level}: {what}" for level, what in OPT_LEVELS.items())
        raise InputError(f"unknown --opt {opt_level}: the levels are {known}")
    wanted = COMPONENT_NAMES if components is None else tuple(components)
    unknown = [name for name in wanted if name not in COMPONENT_NAMES]
    if unknown or not wanted:
        raise InputError(
            f"unknown component {', '.join(unknown) or '(none given)'}: "
            f"the six are {', '.join(COMPONENT_NAMES)}"
        )
    # In canonical order, without duplicates.
    ordered = tuple(name for name in COMPONENT_NAMES if name in wanted)
    chosen = resolve_target(target, mcpu, host, precision).at_level(opt_level)
    cuda = find_cuda_compiler() if chosen.kind == "cuda" else None
    plan = _Plan(chosen, opt_level, ordered, find_linker(chosen.host), cuda)
    plan = _check_tuning(plan, tune, tune_from)
    if from_graph:
        _check_graph_options(plan)
    return plan


def _check_tuning(plan: _Plan, tune: bool, tune_from: str | Path | None) -> _Plan:
    """The plan with the options of tuning. Raises InputError where they make no sense."""
    if not tune and tune_from is None:
        return plan
    option = "--tune" if tune else "--tune-from"
    if tune and tune_from is not None:
        raise InputError("--tune measures, and --tune-from repeats what was measured: give one")
    if plan.target.kind != "llvm" or plan.opt_level < 2:
        raise InputError(
            f"{option} with --target {plan.target.kind} and --opt {plan.opt_level}: algorithms are "
            "chosen for the convolutions of a CPU on the highest level only; leave out one of them"
        )
    if tune_from is not None:
        return replace(plan, tuned=tuned_manifest(Path(tune_from), plan.target.info))
    obstacle = _obstacle(plan)
    if obstacle is not None:
        raise InputError(
            f"--tune measures on this machine, which cannot run what is built: {obstacle}. Build "
            "with --tune on such a machine, and repeat its choices here with: --tune-from FILE"
        )
    return replace(plan, tune=True)


def _write_data(
    directory: Path, source: _Source, module: tvm.IRModule, table: ParameterTable
) -> dict[str, FunctionSpec]:
    """Write parameters, configuration and voices, and return the functions with parameters."""
    needed = {name: _parameter_names(module[name]) for name in source.functions}
    # Without duplicates and in the order of use, so that the parameters of a function are adjacent.
    unique = dict.fromkeys(name for names in needed.values() for name in names)
    arrays: Iterator[tuple[str, np.ndarray]] = ((name, table[name]) for name in unique)
    specs = {spec.name: spec for spec in write_parameters(directory / PARAMETERS_NAME, arrays)}
    (directory / CONFIG_NAME).write_bytes(source.config_text)
    voices = directory / VOICES_FOLDER
    voices.mkdir()
    for name, pack in source.voices().items():
        write_voice(voices / f"{name}.npy", pack)
    return {
        name: replace(function, parameters=tuple(specs[p] for p in needed[name]))
        for name, function in source.functions.items()
    }


def _parameter_names(function: relax.Function) -> list[str]:
    return [str(name) for name in function.attrs[PARAMETER_NAMES]]


def _function_spec(name: str) -> FunctionSpec:
    signature = _signature(name)

    def tensors(named: dict[str, tuple[str, tuple[int | str, ...]]]) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec(tensor, dtype, shape) for tensor, (dtype, shape) in named.items())

    return FunctionSpec(tensors(signature.inputs), tensors(signature.outputs))


def _manifest(
    plan: _Plan,
    weights: WeightsInfo,
    functions: dict[str, FunctionSpec],
    choices: Choices,
    validation: dict[str, Any] | None = None,
) -> Manifest:
    versioned = (*_VERSIONED, "onnx") if GRAPH_SPEECH in functions else _VERSIONED
    return Manifest(
        package_version=__version__,
        weights=weights,
        versions={name: metadata.version(name) for name in versioned},
        target=plan.target.info,
        opt_level=plan.opt_level,
        functions=functions,
        fixes={fix.id: fix.state.value for fix in tvm_kokoro_ext.status()},
        validation=validation or {},
        choices=choices,
    )


def _not_validated(obstacle: str | None) -> dict[str, Any]:
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
