"""The options of a build: what is checked before anything is read or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..artifact.cpu import check_target
from ..artifact.manifest import (
    Manifest,
)
from ..compiler.codegen.cuda_compiler import (
    CudaCompiler,
    find_cuda_compiler,
)
from ..compiler.codegen.linking import Linker, find_linker
from ..compiler.codegen.target import BuildTarget, resolve_target
from ..compiler.model.align import ALIGN
from ..compiler.model.components import (
    COMPONENT_NAMES,
)
from ..compiler.model.noise import NOISE
from ..compiler.passes.pipeline import (
    OPT_LEVELS,
)
from ..compiler.tuning_file import tuned_manifest
from ..errors import ArtifactError, EnvironmentFault, InputError
from ..runtime.engine.device import find_device


@dataclass(frozen=True)
class BuildPlan:
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
        """The functions of a checkpoint's library.

        A whole one also draws its noise, and aligns on a device.
        """
        if self.components != COMPONENT_NAMES:
            return self.components
        return (*self.components, NOISE, *([ALIGN] if self.target.kind != "llvm" else []))


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
) -> BuildPlan:
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
    plan = BuildPlan(chosen, opt_level, ordered, find_linker(chosen.host), cuda)
    plan = _check_tuning(plan, tune, tune_from)
    if from_graph:
        _check_graph_options(plan)
    return plan


def _check_tuning(plan: BuildPlan, tune: bool, tune_from: str | Path | None) -> BuildPlan:
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
    obstacle = obstacle_here(plan)
    if obstacle is not None:
        raise InputError(
            f"--tune measures on this machine, which cannot run what is built: {obstacle}. Build "
            "with --tune on such a machine, and repeat its choices here with: --tune-from FILE"
        )
    return replace(plan, tune=True)


def _check_graph_options(plan: BuildPlan) -> None:
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


def obstacle_here(plan: BuildPlan) -> str | None:
    """Why the library cannot run on this machine; None where it can."""
    if not plan.target.host.is_here:
        return f"this machine is not {plan.target.host.name}"
    try:
        check_target(plan.target.info)
        find_device("auto", plan.target.info)
    except (EnvironmentFault, ArtifactError) as error:
        return str(error)
    return None
