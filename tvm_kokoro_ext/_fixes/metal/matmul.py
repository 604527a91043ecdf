"""dlight's matrix product for Metal, which is written for float16 but accepts any dtype.

Tensorizing a float32 product with float16 intrinsics terminates the process. The calling rule tries
the general schedule if this rule raises, so it is made to raise.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._compat import te, tirx, tvm
from tvm_kokoro_ext._fix import Fix

_MODULE = "tvm.s_tir.dlight.gpu.matmul"
_DTYPE = "float16"


class _OtherDtypeError(ValueError):
    """Caught by dlight, which then uses another schedule."""


def _dtypes(function: Any) -> set[str]:
    # From 0.27 on, a parameter is the buffer; before, there is a map from parameters to buffers.
    buffers = getattr(function, "buffer_map", None)
    return {str(buffer.dtype) for buffer in (buffers.values() if buffers else function.params)}


def install() -> Callable[[], None]:
    cls = importlib.import_module(_MODULE).MetalMatmul
    original = cls.__dict__["apply"]

    @functools.wraps(original)
    def apply(self: Any, func: Any, target: Any, *rest: Any) -> Any:
        if isinstance(func, tirx.PrimFunc) and _dtypes(func) != {_DTYPE}:
            raise _OtherDtypeError(f"MetalMatmul is for {_DTYPE}, not {sorted(_dtypes(func))}")
        return original(self, func, target, *rest)

    cls.apply = apply

    def restore() -> None:
        cls.apply = original

    return restore


def _still_wrong() -> bool:
    """Whether a float32 product is passed to the rule for float16.

    The rule itself is not run: its intrinsics take many seconds to import, and then terminate the
    process.
    """
    x, y = (te.placeholder((64, 64), name=name) for name in "xy")
    k = te.reduce_axis((0, 64), name="k")
    product = te.compute((64, 64), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k))
    target = tvm.target.Target({"kind": "metal"}, host={"kind": "llvm"})
    module = importlib.import_module(_MODULE)
    reached = []

    def refuse(*_arguments: Any) -> None:
        reached.append(True)
        raise _OtherDtypeError("asked by a probe")

    apply = module.MetalMatmul.apply
    module.MetalMatmul.apply = refuse
    try:
        module.Matmul().apply(te.create_prim_func([x, y, product]), target, False)
    finally:
        module.MetalMatmul.apply = apply
    return bool(reached)


FIX = Fix(
    id="metal_matmul",
    what="a float32 matrix product on Metal ends the process in dlight's schedule",
    op="dlight.gpu.Matmul for the target metal",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
