"""The walk over one function on its way to the vector kernels of a CPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import tvm
from tvm import relax, tirx

from ..kernels.cpu.vector import VectorTarget
from .parameter_table import ParameterTable
from .program_lowering import KernelLibrary, ProgramLowering, Rule


class FunctionLowering(ProgramLowering):
    """Lowers one function to the vector kernels of a CPU."""

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
        """Like `ProgramLowering.packed`, with the target's vectors as part of the recipe.

        Targets with different vectors pack weights differently.
        """
        full_recipe = f"{recipe}.v{self.target.lanes}r{self.target.registers}"
        return super().packed(names, full_recipe, pack)

    def kernel(self, make: Callable[..., tirx.PrimFunc], *static: Hashable) -> tvm.ir.GlobalVar:
        """The kernel `make(target, *static)`, created once for all functions of the module."""
        return super().kernel(make, self.target, *static)
