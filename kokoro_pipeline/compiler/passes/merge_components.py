"""Merge the imported components into one module that shares equal kernels."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


@mutator
class _GlobalVarReplacer(PyExprMutator):
    def __init__(self, replacements: dict[tvm.ir.GlobalVar, tvm.ir.GlobalVar]) -> None:
        super().__init__()
        self.replacements = replacements

    def visit_global_var_(self, op: tvm.ir.GlobalVar) -> tvm.ir.GlobalVar:
        return self.replacements.get(op, op)


def merge_components(modules: Sequence[tvm.IRModule]) -> tvm.IRModule:
    """Put the functions of several modules into one.

    Relax functions keep their names. A PrimFunc that equals one already in the module is shared;
    a different one of the same name is renamed.

    Raises ValueError if two Relax functions have the same name.
    """
    builder = relax.BlockBuilder()
    relax_functions: dict[str, relax.Function] = {}
    for module in modules:
        replacements = {
            global_var: builder.add_func(function, global_var.name_hint)
            for global_var, function in module.functions.items()
            if not isinstance(function, relax.Function)
        }
        for global_var, function in module.functions.items():
            if isinstance(function, relax.Function):
                if global_var.name_hint in relax_functions:
                    raise ValueError(f"two components are called {global_var.name_hint!r}")
                merged = _GlobalVarReplacer(replacements).visit_expr(function)
                relax_functions[global_var.name_hint] = merged
    merged_module = builder.get()
    for name, function in relax_functions.items():
        merged_module[tvm.ir.GlobalVar(name)] = function
    return merged_module
