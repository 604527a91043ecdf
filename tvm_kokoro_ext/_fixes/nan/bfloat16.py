"""Casts of NaN to bfloat16, which stock rounds like a number.

Its cast adds half a unit to the bits of a float32. The carry turns a NaN whose low bits are set
into -0, and one that has only low bits set becomes infinity. Optimized code makes such NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.legalization import overriding

_FLOATS = ("float16", "float32", "float64")


def _word(value: int) -> Any:
    return tirx.const(value, "uint32")


def astype(below: Any, builder: Any, call: Any) -> Any:
    x = call.args[0]
    if _compat.dtype_of(call) != "bfloat16" or _compat.dtype_of(x) not in _FLOATS:
        return below(builder, call)

    def element(value: Any) -> Any:
        bits = tirx.reinterpret("uint32", tirx.Cast("float32", value))
        odd = tirx.bitwise_and(tirx.shift_right(bits, _word(16)), _word(1))
        rounded = tirx.shift_right(bits + _word(0x7FFF) + odd, _word(16))
        is_nan = tirx.bitwise_and(bits, _word(0x7FFFFFFF)) > _word(0x7F800000)
        word = tirx.Cast("uint16", tirx.Select(is_nan, _word(0x7FC0), rounded))
        return tirx.reinterpret("bfloat16", word)

    def compute(data: Any) -> Any:
        return te.compute(data.shape, lambda *at: element(data(*at)), name="cast", tag="elemwise")

    return builder.call_te(compute, x, primfunc_name_hint="cast")


def _still_wrong() -> bool:
    """Whether TVM's kernel for the cast makes a number of a NaN with all bits set."""
    module = _probe.legalized(lambda x: relax.op.astype(x, "bfloat16"), _probe.Input((2,)))
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    out = tvm.runtime.empty((2,), "bfloat16")
    built = tvm.tirx.build(kernel.with_attr("global_symbol", "kernel"), {"kind": "llvm"})
    built["kernel"](tvm.runtime.tensor(np.full(2, 0x7FFFFFFF, "uint32").view("float32")), out)
    return bool(((out.numpy().view("uint16") & 0x7FFF) <= 0x7F80).any())


FIX = Fix(
    id="bfloat16_nan",
    what="a NaN with low bits set becomes -0 or infinity in bfloat16",
    op="relax.astype to bfloat16",
    affected="",
    install=overriding({"relax.astype": astype}),
    probe=_still_wrong,
    needs_torch=False,
)
