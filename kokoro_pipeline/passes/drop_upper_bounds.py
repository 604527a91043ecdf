"""Forget how large a symbolic size could ever be, so that memory is planned for what it is."""

from __future__ import annotations

import tvm
from tvm import relax

_BOUNDS = ("tir_var_upper_bound", "tir_var_lower_bound")


def drop_upper_bounds(module: tvm.IRModule) -> tvm.IRModule:
    """Without the attributes of torch.export's ranges. TVM plans every buffer for the upper bound:
    tens of gigabytes for one call. A CPU's system hands out untouched memory for nothing, a GPU's
    does not."""
    functions = {}
    for global_var, function in module.functions.items():
        if isinstance(function, relax.Function):
            for name in _BOUNDS:
                if function.attrs is not None and name in function.attrs:
                    function = function.without_attr(name)
        functions[global_var] = function
    return tvm.IRModule(functions, attrs=module.attrs)
