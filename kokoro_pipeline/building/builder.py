"""`build`: turn weights into an artifact folder, in timed stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

import tvm_kokoro_ext

from ..artifact.cpu import cpu_name
from ..artifact.disk import writing
from ..artifact.manifest import (
    CONFIG_NAME,
    GRAPH_SPEECH,
    PARAMETERS_NAME,
    VOICES_FOLDER,
    Choices,
    FunctionSpec,
    Manifest,
    WeightsInfo,
)
from ..artifact.parameter_file import write_parameters
from ..artifact.reader import read_artifact
from ..artifact.writer import ArtifactWriter
from ..compiler.codegen.cuda_compiler import (
    CudaBinary,
    KernelResources,
)
from ..compiler.codegen.linking import export_library
from ..compiler.codegen.packing import cuda_packer, device_code_kept_as_text
from ..compiler.kernels.cpu.choose_conv1d import Candidate, ConvShape
from ..compiler.lowering.cpu_backend import CpuBackend
from ..compiler.lowering.find_convolutions import find_convolutions
from ..compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from ..compiler.onnx_file.opening import is_onnx
from ..compiler.passes.merge_components import merge_components
from ..compiler.passes.pipeline import (
    OPT_LEVELS,
    PlannedMemory,
    cpu_backend,
    generate_code,
    phases,
    run_phases,
)
from ..compiler.tuning import MachineBench, modelled
from ..compiler.tuning import tune as run_tuning
from ..compiler.tuning_file import choices_of, recorded, repeated
from ..runtime.voices import write_voice
from ..version import __version__
from .options import BuildPlan, check_options, obstacle_here
from .sources import Progress, Source, Stages, not_validated, open_source

_VERSIONED = ("apache-tvm", "apache-tvm-ffi", "torch", "kokoro", "transformers", "numpy")


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
    """Build an artifact folder from weights, as `kokoro-pipeline build` does.

    A failed build leaves no artifact behind.

    Parameters
    ----------
    weights
        "auto" (the hub or its cache, else synthetic weights), "hexgrad/Kokoro-82M", "synthetic"
        (generated from `seed`), a folder in the hub's layout, or an ONNX file with Kokoro's whole
        graph.
    target
        What to compile for: a kind ("llvm", "cuda", "metal"), a TVM target tag or JSON.
    output
        The folder to write.
    mcpu
        An LLVM CPU name, by default that of this machine.
    host
        The system to link for ("linux-x86_64", "linux-aarch64", "macos-arm64"), by default this
        machine, or a Mac for Metal.
    precision
        What the decoder's products are rounded to on CUDA's tensor cores ("tf32", "bfloat16",
        "float16"), or on a CPU with AMX ("bfloat16"). By default both multiply in parts with
        float32's tolerances, and "float32-fma" keeps CUDA's kernels off the tensor cores.
    opt
        One of `OPT_LEVELS`, by default the highest.
    components
        A subset of the six functions, by default all.
    force
        Whether to replace an existing output.
    validate
        Whether to finish with a short comparison with PyTorch, whose figures are stored in the
        manifest. If this machine cannot run the library, the manifest and
        `BuildReport.not_validated` give the reason.
    debug_dump
        A folder that receives the module after every phase of the passes.
    seed
        The seed of synthetic weights.
    tune
        Whether to choose the algorithms of convolutions by measuring them on this machine, which
        takes up to a minute.
    tune_from
        An artifact that was built with `tune`, or its manifest, whose choices to repeat.
    progress
        Called with a line of text as each stage starts.
    config, voices
        The `config.json` and the voice packs of an ONNX file, see `open_onnx`.

    Raises
    ------
    InputError
        For an unknown option, or weights that do not fit the model.
    ArtifactError
        If the output exists (and `force` is not given) or another build is writing it.
    EnvironmentFault
        If the hub, the linker, the CUDA compiler or the disk fails.
    CheckFailed
        If the validation misses a tolerance.
    """
    plan = check_options(
        target, mcpu, host, precision, opt, components, tune, tune_from, is_onnx(weights)
    )
    stages = Stages(progress or (lambda _text: None))
    with ArtifactWriter(Path(output), force) as writer:
        if debug_dump is not None:
            with writing(debug_dump):
                debug_dump.mkdir(parents=True, exist_ok=True)
        with stages.stage("weights", weights):
            source = open_source(plan, weights, seed, config, voices)
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
        obstacle = obstacle_here(plan) if validate else None
        manifest = _manifest(plan, source.info, functions, choices, not_validated(obstacle))
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


def _planned_memory(plan: BuildPlan, functions: Mapping[str, FunctionSpec]) -> PlannedMemory | None:
    """Where the memory of the functions is recorded: a device reserves it before the first call."""
    if plan.target.kind == "llvm":
        return None
    return PlannedMemory({name: _length(spec) for name, spec in functions.items()})


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
    plan: BuildPlan, executable: Any, directory: Path, stages: Stages
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
    plan: BuildPlan, module: tvm.IRModule, stages: Stages
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


def _backend(plan: BuildPlan) -> CpuBackend:
    return cpu_backend(plan.opt_level, plan.target.tvm, plan.target.precision)


def _write_data(
    directory: Path, source: Source, module: tvm.IRModule, table: ParameterTable
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


def _manifest(
    plan: BuildPlan,
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
