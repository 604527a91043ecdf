"""`build`: turn weights into an artifact folder, in timed stages."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

import tvm_kokoro_ext

from .artifact.cpu import check_target
from .artifact.disk import writing
from .artifact.manifest import (
    CONFIG_NAME,
    PARAMETERS_NAME,
    VOICES_FOLDER,
    FunctionSpec,
    Manifest,
    ParameterSpec,
    TensorSpec,
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
from .compiler.kernels.common.operand_precision import Precision
from .compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from .compiler.model.align import ALIGN, make_alignment
from .compiler.model.align import SIGNATURE as ALIGN_SIGNATURE
from .compiler.model.components import (
    COMPONENT_NAMES,
    SIGNATURES,
    Component,
    Signature,
    make_components,
)
from .compiler.passes.merge_components import merge_components
from .compiler.passes.pipeline import (
    OPT_LEVELS,
    PlannedMemory,
    generate_code,
    phases,
    run_phases,
)
from .compiler.weights import WeightsFolder, load_model, load_voices, resolve
from .errors import ArtifactError, CheckFailed, EnvironmentFault, InputError
from .runtime.engine.device import find_device
from .runtime.voices import write_voice
from .version import __version__

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

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the library; for a device they include the alignment."""
        whole = self.components == COMPONENT_NAMES
        return (
            (*self.components, ALIGN) if self.target.kind != "llvm" and whole else self.components
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
    progress: Progress | None = None,
) -> BuildReport:
    """Build an artifact folder from weights.

    `weights`: "auto" (the hub or its cache, else synthetic weights), "hexgrad/Kokoro-82M",
    "synthetic" (generated from `seed`), or a folder in the hub's layout. `target`: a kind ("llvm",
    "cuda", "metal"), a TVM target tag or JSON. `mcpu`: an LLVM CPU name, by default that of this
    machine. `host`: the system to link for ("linux-x86_64", "linux-aarch64", "macos-arm64"), by
    default this machine, or a Mac for Metal. `precision`: the dtype that CUDA's tensor cores
    multiply in the decoder ("tf32", "bfloat16", "float16"), by default they are not used; with
    "bfloat16" a CPU with AMX takes one product for the three of "float32". `opt`:
    one of `OPT_LEVELS`, by default the highest. `components`: a subset of the six functions, by
    default all. `force`: whether to replace an existing output. `validate`: whether to finish with
    a short comparison with PyTorch, whose figures are stored in the manifest; if this machine
    cannot run the library, the manifest and `BuildReport.not_validated` give the reason.
    `debug_dump`: a folder that receives the module after every phase. `progress`: called with a
    line of text as each stage starts.

    Raises InputError for an unknown option or weights that do not fit the model, ArtifactError if
    the output exists (and `force` is not given) or another build is writing it, EnvironmentFault if
    the hub, the linker, the CUDA compiler or the disk fails, and CheckFailed if the validation
    misses a tolerance. A failed build leaves no artifact behind.
    """
    plan = _check(target, mcpu, host, precision, opt, components)
    stages = _Stages(progress or (lambda _text: None))
    with ArtifactWriter(Path(output), force) as writer:
        if debug_dump is not None:
            with writing(debug_dump):
                debug_dump.mkdir(parents=True, exist_ok=True)
        with stages.stage("weights", weights):
            # Show progress bars only on a terminal.
            folder = resolve(weights, seed=seed, progress=sys.stderr.isatty())
            if folder.fallback_reason is not None:
                warnings.warn(
                    _fallback(folder.fallback_reason), SyntheticWeightsWarning, stacklevel=2
                )
            model = load_model(folder)
        parameters = ParameterTable()
        modules = []
        for component in _components(plan, model):
            with stages.stage(f"export {component.name}"):
                program = export_component(component)
                modules.append(import_program(program, component.name, parameters))
        memory = _planned_memory(plan)
        with stages.stage("lower", OPT_LEVELS[plan.opt_level]):
            todo = phases(
                plan.opt_level,
                plan.target.tvm,
                parameters,
                plan.functions,
                Precision(plan.target.precision),
                memory,
            )
            module = run_phases(merge_components(modules), todo, plan.target.tvm, debug_dump)
        with stages.stage("compile", str(plan.target)), device_code_kept_as_text():
            executable = generate_code(module, plan.target.tvm)
        kernels = _link(plan, executable, writer.directory, stages)
        with stages.stage("write parameters"):
            functions = _write_data(writer.directory, folder, module, parameters, plan.functions)
            for name, workspace in memory.found.items() if memory is not None else ():
                functions[name] = replace(functions[name], workspace=workspace)
        obstacle = _obstacle(plan) if validate else None
        manifest = _manifest(plan, folder, functions, _not_validated(obstacle))
        if validate and obstacle is None:
            with stages.stage("validate"):
                figures = _validate(writer.preview(manifest), folder, stages.progress)
                manifest = _manifest(plan, folder, functions, figures)
        with stages.stage("hash and commit"):
            path = writer.commit(manifest)
    # The report describes the file on disk rather than what was meant to be written.
    written = read_artifact(path)
    return BuildReport(
        path, tuple(stages.finished), written.manifest, parameters, kernels, obstacle
    )


def _components(plan: _Plan, model: Any) -> list[Component]:
    found = make_components(model, plan.components)
    return [*found, make_alignment()] if ALIGN in plan.functions else found


def _planned_memory(plan: _Plan) -> PlannedMemory | None:
    """Where the memory of the functions is recorded: a device reserves it before the first call."""
    if plan.target.kind == "llvm":
        return None
    return PlannedMemory({name: _length(_signature(name)) for name in plan.functions})


def _signature(name: str) -> Signature:
    return ALIGN_SIGNATURE if name == ALIGN else SIGNATURES[name]


def _length(signature: Signature) -> tuple[int, int]:
    """(input, axis) of the last input dimension that is a plain count of tokens or frames.

    For a function with both, this is the number of frames, which is the larger one.
    """
    return [
        (index, axis)
        for index, (_, shape) in enumerate(signature.inputs.values())
        for axis, dimension in enumerate(shape)
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


def _check(
    target: str,
    mcpu: str | None,
    host: str | None,
    precision: str,
    opt: int | None,
    components: Sequence[str] | None,
) -> _Plan:
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
    return _Plan(chosen, opt_level, ordered, find_linker(chosen.host), cuda)


def _write_data(
    directory: Path,
    folder: WeightsFolder,
    module: tvm.IRModule,
    table: ParameterTable,
    components: Sequence[str],
) -> dict[str, FunctionSpec]:
    """Write parameters, configuration and voices, and return the signature of each function."""
    needed = {name: _parameter_names(module[name]) for name in components}
    # Without duplicates and in the order of use, so that the parameters of a function are adjacent.
    unique = dict.fromkeys(name for names in needed.values() for name in names)
    arrays: Iterator[tuple[str, np.ndarray]] = ((name, table[name]) for name in unique)
    specs = {spec.name: spec for spec in write_parameters(directory / PARAMETERS_NAME, arrays)}
    (directory / CONFIG_NAME).write_bytes((folder.path / "config.json").read_bytes())
    voices = directory / VOICES_FOLDER
    voices.mkdir()
    for name, pack in load_voices(folder).items():
        write_voice(voices / f"{name}.npy", pack)
    return {
        name: _function_spec(name, [specs[parameter] for parameter in names])
        for name, names in needed.items()
    }


def _parameter_names(function: relax.Function) -> list[str]:
    return [str(name) for name in function.attrs[PARAMETER_NAMES]]


def _function_spec(name: str, parameters: list[ParameterSpec]) -> FunctionSpec:
    signature = _signature(name)

    def tensors(named: dict[str, tuple[str, tuple[int | str, ...]]]) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec(tensor, dtype, shape) for tensor, (dtype, shape) in named.items())

    return FunctionSpec(tensors(signature.inputs), tensors(signature.outputs), tuple(parameters))


def _manifest(
    plan: _Plan,
    folder: WeightsFolder,
    functions: dict[str, FunctionSpec],
    validation: dict[str, Any] | None = None,
) -> Manifest:
    return Manifest(
        package_version=__version__,
        weights=folder.info,
        versions={name: metadata.version(name) for name in _VERSIONED},
        target=plan.target.info,
        opt_level=plan.opt_level,
        functions=functions,
        fixes={fix.id: fix.state.value for fix in tvm_kokoro_ext.status()},
        validation=validation or {},
    )


def _not_validated(obstacle: str | None) -> dict[str, Any]:
    return {} if obstacle is None else {"not_validated": obstacle}


def _validate(artifact: Artifact, folder: WeightsFolder, progress: Progress) -> dict[str, Any]:
    """Validate an artifact that is not committed yet, with the short cases.

    Returns the figures for the manifest. Raises CheckFailed if a tolerance is missed.
    """
    from .runtime.speech.synthesizer import Synthesizer
    from .validation import select_cases, validate_functions

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
    if not report.passed:
        raise CheckFailed(
            f"the compiled functions miss a tolerance, and nothing was written:\n{report}\n"
            "bisect with --opt 0, or keep the artifact for a look with --no-validate"
        )
    return report.summary()
