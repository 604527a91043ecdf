"""The visible list of passes from the imported module to an executable for CUDA or Metal."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from .kernels.common.operand_precision import Precision
from .lowering.lower_source import lower_sources
from .lowering.lower_to_gpu_kernels import lower_to_gpu_kernels
from .lowering.parameter_table import ParameterTable
from .passes.bind_operators import bind_operators
from .passes.bind_threads import bind_threads
from .passes.clip_takes import clip_takes
from .passes.drop_parameters import drop_parameters
from .passes.exact_constants import exact_constants
from .passes.gpu_operators import GPU_OPERATORS, gpu_lstm_recurrence
from .passes.metal_functions import METAL_FUNCTIONS
from .passes.pipeline import Phase, final_phases

REDUCED = ("decoder_forward",)
"""Functions that `precision` is for. Before them lie decisions (durations) and a chaotic source
(phases), where a rounding is no noise: what is said would change, not how it sounds."""


def gpu_phases(
    opt_level: int,
    target: tvm.target.Target,
    parameters: ParameterTable,
    entry: Sequence[str],
    precision: Precision = Precision.FLOAT32,
) -> list[Phase]:
    """The phases of a build for a GPU. Of the Relax functions `entry` are kept.

    The levels: 0 legalizes every operator, one thread an element, but for the source on Metal,
    which has no float64; 1 has the explicit kernels; 2
    fuses norms, activations and residuals into the convolutions. `parameters` gains the packed
    weights while they run. A reduced `precision` is that of the products in `REDUCED`, on levels 1
    and 2.
    """
    clean = [
        relax.transform.CanonicalizeBindings(),
        relax.transform.EliminateCommonSubexpr(),
        relax.transform.DeadCodeElimination(list(entry)),
        drop_parameters,
    ]

    def bind_rest(module: tvm.IRModule) -> tvm.IRModule:
        return bind_operators(module, gpu_lstm_recurrence)

    metal = target.kind.name == "metal"
    functions = {**GPU_OPERATORS, **(METAL_FUNCTIONS if metal else {})}
    legalize = relax.transform.LegalizeOps(functions)

    def without_float64(module: tvm.IRModule) -> tvm.IRModule:
        return lower_sources(module, parameters) if metal else module

    if opt_level == 0:
        middle = [
            Phase("bind_operators", [clip_takes, without_float64, bind_rest, *clean]),
            Phase("legalize", [legalize]),
            Phase("bind_threads", [bind_threads]),
        ]
    else:
        middle = [
            Phase(
                "lower_to_gpu_kernels",
                [
                    clip_takes,
                    lambda module: lower_to_gpu_kernels(
                        module,
                        parameters,
                        target,
                        opt_level >= 2,
                        dict.fromkeys(REDUCED, precision),
                    ),
                    bind_rest,
                    *clean,
                ],
            ),
            Phase(
                "legalize",
                [
                    legalize,
                    relax.transform.AnnotateTIROpPattern(),
                    relax.transform.FoldConstant(),
                ],
            ),
            Phase("fuse", [relax.transform.FuseOps(), relax.transform.FuseTIR()]),
            Phase("bind_threads", [relax.transform.DeadCodeElimination(list(entry)), bind_threads]),
        ]
    if metal:
        middle.append(Phase("exact_constants", [exact_constants]))
    return [*middle, *final_phases()]
