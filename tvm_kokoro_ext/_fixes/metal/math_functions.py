"""Functions of MSL for which TVM's Metal target has no rule, or a wrong one.

Without a rule, an intrinsic becomes the C function for float, such as `atan2f`, which does not
exist in MSL; and `nearbyint` keeps its name, although it is `rint` in MSL. Such a library builds,
but fails on a Mac.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import intrinsics

_NAMES = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atan2": "atan2",
    "atanh": "atanh",
    "copysign": "copysign",
    "nearbyint": "rint",
    "tan": "tan",
}
"""The names in MSL of the intrinsics that stock TVM does not handle."""


def _rule(name: str, stock: Any) -> Callable[[Any], Any]:
    def lower(call: Any) -> Any:
        return tirx.call_pure_extern(_compat.prim_dtype(call), name, *call.args)

    return lower


def install() -> Callable[[], None]:
    return intrinsics.overridden(
        "metal.FLowerIntrinsic",
        {intrinsic: partial(_rule, name) for intrinsic, name in _NAMES.items()},
    )


def _still_wrong() -> bool:
    x = te.placeholder((8,), name="x")
    kernel = te.create_prim_func([x, te.compute((8,), lambda i: tirx.atan2(x[i], x[i]))])
    target = tvm.target.Target({"kind": "metal"}, host={"kind": "llvm"})
    module = tvm.IRModule({"kernel": kernel.with_attr("target", target)})
    return "atan2f" in tirx.transform.LowerIntrin()(module).script()


FIX = Fix(
    id="metal_math",
    what="atan, atan2, nearbyint and seven more lower to names that Metal does not have",
    op="tirx.atan2, tirx.nearbyint, … for the target metal",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
