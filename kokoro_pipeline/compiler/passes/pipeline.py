"""The visible list of passes from the imported module to an executable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tvm
from tvm import relax

from ..kernels.cpu.vector import VectorTarget
from ..lowering.lower_to_kernels import lower_to_kernels
from ..lowering.parameter_table import ParameterTable
from .bind_operators import bind_operators
from .clip_takes import clip_takes
from .drop_parameters import drop_parameters
from .elementary_functions import ELEMENTARY_FUNCTIONS
from .schedule_loops import schedule_loops

OPT_LEVELS: dict[int, str] = {
    0: "plain legalization: slow, the reference for bisecting",
    1: "direct convolution and matrix kernels, channels last, vectorized",
    2: "fast convolutions (real FFT, Winograd) with norm, activation and residual fused",
}
"""What `--opt` can be. The default is the highest."""

Pass = Callable[[tvm.IRModule], tvm.IRModule]


@dataclass(frozen=True)
class Phase:
    """Passes that belong together; `--debug-dump` writes the module after each phase."""

    name: str
    passes: Sequence[Pass]


def phases(
    opt_level: int, target: tvm.target.Target, parameters: ParameterTable, entry: Sequence[str]
) -> list[Phase]:
    """The phases of a build. Of the Relax functions `entry` are kept.

    `parameters` gains the packed weights while they run.
    """
    clean = [
        relax.transform.CanonicalizeBindings(),
        relax.transform.EliminateCommonSubexpr(),
        relax.transform.DeadCodeElimination(list(entry)),
        drop_parameters,
    ]
    if opt_level == 0:
        middle = [
            Phase("bind_operators", [clip_takes, bind_operators, *clean]),
            Phase("legalize", [relax.backend.DispatchSortScan(), relax.transform.LegalizeOps()]),
        ]
    else:
        vectors = VectorTarget.of(target)
        middle = [
            Phase(
                "lower_to_kernels",
                [
                    clip_takes,
                    lambda module: lower_to_kernels(module, parameters, vectors, opt_level >= 2),
                    bind_operators,
                    *clean,
                ],
            ),
            Phase(
                "legalize",
                [
                    relax.backend.DispatchSortScan(),
                    relax.transform.LegalizeOps(dict(ELEMENTARY_FUNCTIONS)),
                    relax.transform.AnnotateTIROpPattern(),
                    relax.transform.FoldConstant(),
                ],
            ),
            Phase("fuse", [relax.transform.FuseOps(), relax.transform.FuseTIR()]),
            Phase(
                "schedule",
                [
                    relax.transform.DeadCodeElimination(list(entry)),
                    lambda module: schedule_loops(module, vectors.lanes),
                ],
            ),
        ]
    return [
        *middle,
        *final_phases(),
    ]


def final_phases() -> list[Phase]:
    """From call_tir over scheduled functions to the virtual machine's own operations."""
    return [
        Phase(
            "lower_dataflow",
            [
                relax.transform.RewriteDataflowReshape(),
                relax.transform.ToNonDataflow(),
                relax.transform.RemovePurityChecking(),
                relax.transform.CallTIRRewrite(),
            ],
        ),
        Phase(
            "lower_runtime",
            [
                relax.transform.StaticPlanBlockMemory(),
                relax.transform.LowerAllocTensor(),
                relax.transform.KillAfterLastUse(),
                relax.transform.LowerRuntimeBuiltin(),
                relax.transform.ComputePrimValue(),
                relax.transform.VMShapeLower(),
                relax.transform.AttachGlobalSymbol(),
            ],
        ),
    ]


def run_phases(
    module: tvm.IRModule,
    todo: Sequence[Phase],
    target: tvm.target.Target,
    debug_dump: Path | None = None,
) -> tvm.IRModule:
    """Run the phases in order; `debug_dump` gets `NN_name.py` after each, without the weights."""
    dump(module, debug_dump, 0, "imported")
    with target:
        for number, phase in enumerate(todo, start=1):
            for transform in phase.passes:
                module = transform(module)
            dump(module, debug_dump, number, phase.name)
    return module


def dump(module: tvm.IRModule, folder: Path | None, number: int, name: str) -> None:
    """Write a module as TVMScript into a folder, if there is one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        text = module.script(show_meta=False)
        (folder / f"{number:02d}_{name}.py").write_text(text, encoding="utf-8")


def generate_code(module: tvm.IRModule, target: tvm.target.Target) -> tvm.runtime.Executable:
    """Machine code of a module that has gone through every phase."""
    # The kernels ask for exactly what they use: looking for less takes most of the compile time.
    with tvm.transform.PassContext(disabled_pass=["s_tir.CompactBufferAllocation"]):
        return relax.build(module, target=target, relax_pipeline=None)
