"""Remove the function parameters that are no longer read.

A packed weight replaces the parameters it was made from. Parameters removed here are not written to
the artifact.
"""

from __future__ import annotations

import tvm
from tvm import relax

from ..lowering.parameter_table import PARAMETER_NAMES


def _without_unused(function: relax.Function) -> relax.Function:
    n_inputs = int(function.attrs["num_input"])
    read = set(relax.analysis.free_vars(function.body))
    parameters = zip(function.params[n_inputs:], function.attrs[PARAMETER_NAMES], strict=True)
    kept = [(variable, str(name)) for variable, name in parameters if variable in read]
    dropped = relax.Function(
        [*function.params[:n_inputs], *(variable for variable, _ in kept)],
        function.body,
        function.ret_ty,
        function.is_pure,
        function.attrs,
    )
    return dropped.with_attr(PARAMETER_NAMES, [name for _, name in kept])


def drop_parameters(module: tvm.IRModule) -> tvm.IRModule:
    """Drop the parameters that a function does not read; inputs are kept even if unused."""
    functions = {
        global_var: _without_unused(function)
        if isinstance(function, relax.Function) and PARAMETER_NAMES in function.attrs
        else function
        for global_var, function in module.functions.items()
    }
    return tvm.IRModule(functions, attrs=module.attrs)
