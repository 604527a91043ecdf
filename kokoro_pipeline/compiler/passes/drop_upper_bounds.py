"""Drop the bounds of symbolic sizes, so that memory is planned for the actual sizes."""

from __future__ import annotations

import tvm
from tvm import relax

_BOUNDS = ("tir_var_upper_bound", "tir_var_lower_bound")


def drop_upper_bounds(module: tvm.IRModule) -> tvm.IRModule:
    """Remove the attributes that record the ranges given to torch.export.

    TVM would plan every buffer for the upper bound: tens of gigabytes per call, which a GPU does
    not have and which the operating system may refuse to allocate on a CPU.
    """
    functions = {}
    for global_var, function in module.functions.items():
        if isinstance(function, relax.Function):
            for name in _BOUNDS:
                if function.attrs is not None and name in function.attrs:
                    function = function.without_attr(name)
        functions[global_var] = function
    return tvm.IRModule(functions, attrs=module.attrs)
