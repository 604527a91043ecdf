"""Constants that reach a Metal compiler as they are.

TVM writes a float32 for Metal with seven digits, which is not every float32: 2^58 becomes
2.882304e+17, wrong by a third of a unit in the last place. What seven digits would change goes by
its bits.
"""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx


def _exact(constant: tirx.FloatImm) -> tvm.ir.Expr:
    if str(constant.ty) != "float32":
        return constant
    single = np.float32(constant.value)
    if np.isnan(single) or np.float32(f"{single:.6e}") == single:
        return constant
    return tirx.reinterpret("float32", tirx.const(int(single.view(np.int32)), "int32"))


def exact_constants(module: tvm.IRModule) -> tvm.IRModule:
    """Say the float32 constants of every PrimFunc so that seven digits lose nothing."""
    functions = {
        global_var: function.with_body(
            tvm_ffi.structural_map(function.body, (tirx.FloatImm, _exact))
        )
        if isinstance(function, tirx.PrimFunc)
        else function
        for global_var, function in module.functions.items()
    }
    return tvm.IRModule(functions, attrs=module.attrs)
