"""Functions that TVM's LLVM target computes from exponentials and logarithms, and loses digits.

`log1p(x)` is `log(1 + x)` and `tanh(x)` a quotient of exponentials: near zero both lose the digits
of x, at 1e-6 already the second one. The C library has each of them to within an ulp or two, and is
what TVM's LLVM target calls for functions that it has no rule of its own for. The elements of a
vector are computed one by one. `tanh`, `atanh` and `log1p` in float32 are written out instead, as
the C library's take three or four times as long as stock's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementary, intrinsics

_NAMES = ("asinh", "atanh", "cosh", "log1p", "sinh", "tanh")


def _scalar(name: str, x: Any, dtype: str) -> Any:
    if dtype == "float64":
        return tirx.call_pure_extern(dtype, name, x)
    called = tirx.call_pure_extern("float32", f"{name}f", tirx.Cast("float32", x))
    return tirx.Cast(dtype, called)


#: tanh(x) = x + x · z · P(z) with z = x² for |x| < 0.625, from the highest power on (S. Moshier,
#: Cephes, tanhf.c).
_TANH = (
    -5.70498872745e-3,
    2.06390887954e-2,
    -5.37397155531e-2,
    1.33314422036e-1,
    -3.33332819422e-1,
)
_TANH_NEAR = 0.625


def _tanh(x: Any) -> Any:
    """tanh of a float32 expression or vector within two units in the last place.

    Far from zero it is 1 - 2 / (exp(2 |x|) + 1), of which nothing cancels, and exactly 1 from 9 on.
    """

    dtype = _compat.prim_dtype(x)

    def number(value: float) -> Any:
        _, _, lanes = dtype.partition("x")
        made = tirx.const(value, "float32")
        return tirx.Broadcast(made, int(lanes)) if lanes else made

    variable = tirx.Var("x", dtype)
    square, size = variable * variable, tirx.abs(variable)
    series = number(_TANH[0])
    for factor in _TANH[1:]:
        series = series * square + number(factor)
    near = variable * (series * square + number(1))  # not x + …, which has no -0
    far = number(1) - number(2) / (tirx.exp(size + size) + number(1))
    far = tirx.Select(variable < number(0), number(0) - far, far)
    return tirx.Let(variable, x, tirx.Select(size < number(_TANH_NEAR), near, far))


_WRITTEN_OUT: dict[str, Callable[[Any], Any]] = {
    "tanh": _tanh,
    "atanh": elementary.atanh,
    "log1p": elementary.log1p,
}


def _rule(name: str, stock: Any) -> Callable[[Any], Any]:
    """The rule of one function; `stock` is the rule before, or None."""

    def lower(call: Any) -> Any:
        dtype = _compat.prim_dtype(call)
        if "vscale" in dtype:  # a scalable vector has no elements to call a function for
            return call if stock is None else stock(call)
        element, _, lanes = dtype.partition("x")
        if name in _WRITTEN_OUT and element in ("float32", "float16", "bfloat16"):
            wide = dtype.replace(element, "float32")
            return tirx.Cast(dtype, _WRITTEN_OUT[name](tirx.Cast(wide, call.args[0])))
        if not lanes:
            return _scalar(name, call.args[0], dtype)
        # Bound to a variable, as an argument that stood in each element would be computed for each.
        vector, order = tirx.Var("vector", dtype), range(int(lanes))
        each = [_scalar(name, tirx.Shuffle([vector], [lane]), element) for lane in order]
        return tirx.Let(vector, call.args[0], tirx.Shuffle(each, list(order)))

    return lower


def install() -> Callable[[], None]:
    return intrinsics.overridden(
        "llvm.FLowerIntrinsic", {name: partial(_rule, name) for name in _NAMES}
    )


def _still_wrong() -> bool:
    """Whether tanh or log1p of 1e-6 is off by more than one in ten thousand."""
    x = te.placeholder((2,), name="x")
    made = te.compute((2,), lambda i: tirx.if_then_else(i == 0, tirx.tanh(x[i]), tirx.log1p(x[i])))
    kernel = te.create_prim_func([x, made]).with_attr("global_symbol", "kernel")
    out = tvm.runtime.tensor(np.zeros(2, "float32"))
    built = tvm.tirx.build(kernel, {"kind": "llvm"})
    built["kernel"](tvm.runtime.tensor(np.full(2, 1e-6, "float32")), out)
    return bool(np.abs(out.numpy() / 1e-6 - 1).max() > 1e-4)


FIX = Fix(
    id="llvm_math",
    what="tanh, log1p, atanh, asinh and sinh lose their digits near zero",
    op="tirx.tanh, tirx.log1p, … for the target llvm",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
