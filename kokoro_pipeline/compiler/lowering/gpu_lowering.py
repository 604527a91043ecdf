"""The walk over one function on its way to GPU kernels."""

from __future__ import annotations

from ..kernels.common.operand_precision import Precision
from .program_lowering import ProgramLowering


class GpuLowering(ProgramLowering):
    """Lowers one function to GPU kernels.

    `fused`: whether norms and activations become part of the kernels that read them.
    `max_threads`: the largest number of threads in a block. `precision`: the precision of the
    operands of convolutions that are large enough.
    """

    fused: bool = False
    max_threads: int = 256
    precision: Precision = Precision.FLOAT32
