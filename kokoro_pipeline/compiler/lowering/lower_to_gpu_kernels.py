"""Rewrite a program to call the GPU kernels, in PyTorch's layout.

The traversal is that of `program_lowering`. Sequences stay [B, C, L], as the GPU kernels expect.
Operators without a rule are legalized and bound to threads by later passes.
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import relax

from ..kernels.common.operand_precision import Precision
from .gpu_kernel_rules import GPU_KERNEL_RULES
from .gpu_lowering import GpuLowering
from .parameter_table import ParameterTable
from .program_lowering import KernelLibrary, Rule


def lower_to_gpu_kernels(
    module: tvm.IRModule,
    parameters: ParameterTable,
    target: tvm.target.Target,
    fused: bool = False,
    precisions: Mapping[str, Precision] | None = None,
    rules: Mapping[str, Rule] = GPU_KERNEL_RULES,
) -> tvm.IRModule:
    """Lower every Relax function of a module and add the packed weights to `parameters`.

    With `fused`, a convolution also computes the norm and activation before it and adds the
    residual after it; otherwise each of these is a separate kernel. `precisions` gives, by function
    name, the precision of functions that do not compute in float32 throughout.

    Raises NotImplementedError for control flow inside a function.
    """
    others = {
        global_var: function
        for global_var, function in module.functions.items()
        if not isinstance(function, relax.Function)
    }
    builder = relax.BlockBuilder(tvm.IRModule(others))
    library = KernelLibrary(builder)
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            lowering = GpuLowering(builder, library, function, parameters, [rules])
            lowering.fused = fused
            lowering.precision = (precisions or {}).get(
                str(function.attrs["global_symbol"]), Precision.FLOAT32
            )
            lowering.max_threads = int(target.attrs["max_threads_per_block"])
            lowering.run()
    return builder.get()
