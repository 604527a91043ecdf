"""Rewrite a program to call the kernels of a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
from tvm import relax

from .backend import Backend
from .custom_operators import operator_name
from .parameter_table import ParameterTable
from .program_lowering import FunctionLowering, KernelLibrary, Rule
from .rules import RULES


def lower_to_kernels(
    module: tvm.IRModule,
    parameters: ParameterTable,
    backend: Backend,
    rules: Mapping[str, Sequence[Rule]] = RULES,
) -> tvm.IRModule:
    """Lower the Relax functions of a module and add the packed weights to `parameters`.

    Functions that call no operator of `rules` stay as they are.

    Raises NotImplementedError for control flow inside a function.
    """
    lowered = {
        global_var: function
        for global_var, function in module.functions.items()
        if isinstance(function, relax.Function) and _calls(function, rules)
    }
    rest = {name: function for name, function in module.functions.items() if name not in lowered}
    builder = relax.BlockBuilder(tvm.IRModule(rest, attrs=module.attrs))
    library = KernelLibrary(builder)
    for function in lowered.values():
        FunctionLowering(builder, library, function, parameters, backend, rules).run()
    return builder.get()


def _calls(function: relax.Function, rules: Mapping[str, Sequence[Rule]]) -> bool:
    found = False

    def visit(expression: relax.Expr) -> None:
        nonlocal found
        found = found or operator_name(expression) in rules

    relax.analysis.post_order_visit(function, visit)
    return found
