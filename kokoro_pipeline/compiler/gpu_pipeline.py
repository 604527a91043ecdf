"""The visible list of passes from the imported module to an executable for CUDA or Metal."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from ..passes.bind_operators import bind_operators
from ..passes.bind_threads import bind_threads
from ..passes.clip_takes import clip_takes
from ..passes.drop_parameters import drop_parameters
from ..passes.gpu_operators import GPU_OPERATORS, gpu_lstm_recurrence
from .parameters import ParameterTable
from .pipeline import Phase, final_phases


def gpu_phases(
    opt_level: int, target: tvm.target.Target, parameters: ParameterTable, entry: Sequence[str]
) -> list[Phase]:
    """The phases of a build for a GPU. Of the Relax functions `entry` are kept.

    `parameters` gains the packed weights while they run.
    """
    clean = [
        relax.transform.CanonicalizeBindings(),
        relax.transform.EliminateCommonSubexpr(),
        relax.transform.DeadCodeElimination(list(entry)),
        drop_parameters,
    ]
    return [
        Phase(
            "bind_operators", [clip_takes, lambda m: bind_operators(m, gpu_lstm_recurrence), *clean]
        ),
        Phase("legalize", [relax.transform.LegalizeOps(dict(GPU_OPERATORS))]),
        Phase("bind_threads", [bind_threads]),
        *final_phases(),
    ]
