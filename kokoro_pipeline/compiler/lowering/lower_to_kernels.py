"""Say a program again in the direct kernels, channels last.

Where a kernel exists its operands are taken in the layout that the kernel wants (`kernel_rules`).
Elementwise and shape operators follow the layout of their operands, so that the transposes which
torch's layout would need cancel (`layout_rules`). The walk itself is `program_lowering`'s. The
harmonic source is known as a whole (`lower_source`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import tvm
from tvm import relax, tirx

from ..kernels.cpu.vector import VectorTarget
from .fast_rules import FAST_RULES
from .kernel_rules import KERNEL_RULES
from .layout_rules import LAYOUT_RULES
from .lower_source import lower_source_in_float64, match_source
from .parameter_table import ParameterTable
from .program_lowering import KernelLibrary, ProgramLowering, Rule

RULES: Mapping[str, Rule] = {**LAYOUT_RULES, **KERNEL_RULES}


class FunctionLowering(ProgramLowering):
    """One function on its way to the vector kernels of a CPU."""

    def __init__(
        self,
        builder: relax.BlockBuilder,
        library: KernelLibrary,
        function: relax.Function,
        parameters: ParameterTable,
        target: VectorTarget,
        rules: Sequence[Mapping[str, Rule]],
    ) -> None:
        super().__init__(builder, library, function, parameters, rules)
        self.target = target

    def packed(
        self, names: list[str | None], recipe: str, pack: Callable[..., np.ndarray]
    ) -> relax.Var:
        """As `ProgramLowering` has it; the recipe gains this target's vectors, for another target
        packs differently.
        """
        full_recipe = f"{recipe}.v{self.target.lanes}r{self.target.registers}"
        return super().packed(names, full_recipe, pack)

    def kernel(self, make: Callable[..., tirx.PrimFunc], *static: Hashable) -> tvm.ir.GlobalVar:
        """The kernel `make(target, *static)`; made once for all functions of the module."""
        return super().kernel(make, self.target, *static)


def lower_to_kernels(
    module: tvm.IRModule, parameters: ParameterTable, target: VectorTarget, fast: bool = False
) -> tvm.IRModule:
    """Lower every Relax function of a module; `parameters` gains the packed weights.

    `fast` takes the fast algorithms where one fits, and the direct kernels elsewhere.

    Raises NotImplementedError on control flow inside a function.
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
        if not isinstance(function, relax.Function):
            continue
        source = match_source(function, parameters)
        if source is not None:
            lower_source_in_float64(builder, library, function, parameters, source, target)
        else:
            FunctionLowering(builder, library, function, parameters, target, rules).run()
    return builder.get()
