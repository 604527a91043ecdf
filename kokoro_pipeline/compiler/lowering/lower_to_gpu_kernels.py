"""Say a program again in the GPU kernels, as torch lays it out.

The walk is `program_lowering`'s. Sequences stay [B, C, L], which is what the GPU kernels want. What
no rule knows is legalized and bound to threads later.
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import relax

from ..kernels.common.operand_precision import Precision
from .gpu_kernel_rules import GPU_KERNEL_RULES
from .lower_source import is_source, lower_source
from .parameter_table import ParameterTable
from .program_lowering import KernelLibrary, ProgramLowering


class GpuLowering(ProgramLowering):
    """One function on its way to GPU kernels.

    `fused`: norms and activations go into the kernels that read them. `max_threads`: of a block.
    `precision`: of the operands of convolutions large enough.
    """

    fused: bool = False
    max_threads: int = 256
    precision: Precision = Precision.FLOAT32


def lower_to_gpu_kernels(
    module: tvm.IRModule,
    parameters: ParameterTable,
    target: tvm.target.Target,
    fused: bool = False,
    precisions: Mapping[str, Precision] | None = None,
) -> tvm.IRModule:
    """Lower every Relax function of a module; `parameters` gains the packed weights.

    `fused` lets a convolution compute the norm and activation before it and add the residual after
    it; else each is a kernel of its own. `precisions`: of the functions by name that are not
    computed in float32 throughout.

    Raises NotImplementedError on control flow inside a function.
    """
    others = {
        global_var: function
        for global_var, function in module.functions.items()
        if not isinstance(function, relax.Function)
    }
    builder = relax.BlockBuilder(tvm.IRModule(others))
    library = KernelLibrary(builder)
    for function in module.functions.values():
        if isinstance(function, relax.Function) and is_source(function):
            lower_source(builder, library, function, parameters)
        elif isinstance(function, relax.Function):
            lowering = GpuLowering(builder, library, function, parameters, [GPU_KERNEL_RULES])
            lowering.fused = fused
            lowering.precision = (precisions or {}).get(
                str(function.attrs["global_symbol"]), Precision.FLOAT32
            )
            lowering.max_threads = int(target.attrs["max_threads_per_block"])
            lowering.run()
    return builder.get()
