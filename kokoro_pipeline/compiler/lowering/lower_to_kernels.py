"""Rewrite a program to call the direct kernels, in channels-last layout.

Where a kernel exists, its operands are converted to the layout that it expects (`kernel_rules`).
Elementwise and shape operators keep the layout of their operands, so that the transposes between
the two layouts cancel out (`layout_rules`). The traversal itself is that of `program_lowering`.
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import relax

from ..kernels.cpu.vector import VectorTarget
from .cpu_lowering import FunctionLowering
from .fast_rules import FAST_RULES
from .kernel_rules import KERNEL_RULES
from .layout_rules import LAYOUT_RULES
from .parameter_table import ParameterTable
from .program_lowering import KernelLibrary, Rule

RULES: Mapping[str, Rule] = {**LAYOUT_RULES, **KERNEL_RULES}


def lower_to_kernels(
    module: tvm.IRModule, parameters: ParameterTable, target: VectorTarget, fast: bool = False
) -> tvm.IRModule:
    """Lower every Relax function of a module and add the packed weights to `parameters`.

    With `fast`, the fast algorithms are used where they apply, and the direct kernels elsewhere.

    Raises NotImplementedError for control flow inside a function.
    """
    others = {
        global_var: function
        for global_var, function in module.functions.items()
        if not isinstance(function, relax.Function)
    }
    builder = relax.BlockBuilder(tvm.IRModule(others))
    library = KernelLibrary(builder)
    rules = [FAST_RULES, RULES] if fast else [RULES]
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            FunctionLowering(builder, library, function, parameters, target, rules).run()
    return builder.get()
