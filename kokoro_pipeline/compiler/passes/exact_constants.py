"""Pass float32 constants to the Metal compiler exactly.

TVM prints a float32 for Metal with seven digits, which cannot represent every float32: 2^58 becomes
2.882304e+17, an error of a third of a unit in the last place. Constants that seven digits would
change are written as their bit pattern.
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
    """Rewrite the float32 constants of every PrimFunc that seven digits do not represent."""
    functions = {
        global_var: function.with_body(
            tvm_ffi.structural_map(function.body, (tirx.FloatImm, _exact))
        )
        if isinstance(function, tirx.PrimFunc)
        else function
        for global_var, function in module.functions.items()
    }
    return tvm.IRModule(functions, attrs=module.attrs)
