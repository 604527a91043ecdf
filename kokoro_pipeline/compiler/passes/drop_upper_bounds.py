"""Forget how large a symbolic size could ever be, so that memory is planned for what it is."""

from __future__ import annotations

import tvm
from tvm import relax

_BOUNDS = ("tir_var_upper_bound", "tir_var_lower_bound")


def drop_upper_bounds(module: tvm.IRModule) -> tvm.IRModule:
    """Without the attributes of torch.export's ranges. TVM plans every buffer for the upper bound:
    tens of gigabytes for one call, which a GPU never has and a CPU's system may refuse."""
    functions = {}
    for global_var, function in module.functions.items():
        if isinstance(function, relax.Function):
            for name in _BOUNDS:
                if function.attrs is not None and name in function.attrs:
                    function = function.without_attr(name)
        functions[global_var] = function
    return tvm.IRModule(functions, attrs=module.attrs)
