"""Functions of MSL for which TVM's Metal target has no rule, or a wrong one.

Without a rule, an intrinsic becomes the C function for float, such as `atan2f`, which does not
exist in MSL; and `nearbyint` keeps its name, although it is `rint` in MSL. Such a library builds,
but fails on a Mac.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._compat import te, tirx, tvm
from tvm_kokoro_ext._fix import Fix

_ATTRIBUTE = "metal.FLowerIntrinsic"
_STOCK_LEVEL = 10

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


def _rule(name: str) -> Callable[[Any], Any]:
    def lower(call: Any) -> Any:
        dtype = str(call.ty.dtype) if hasattr(call, "ty") else str(call.dtype)
        return tirx.call_pure_extern(dtype, name, *call.args)

    return lower


def _set(op: Any, rule: Any) -> None:
    """Set a rule, after a reset, since registering at an existing level is an error in TVM."""
    op.reset_attr(_ATTRIBUTE)
    if rule is not None:
        op.set_attr(_ATTRIBUTE, rule, _STOCK_LEVEL)


def install() -> Callable[[], None]:
    before = []
    for intrinsic, name in _NAMES.items():
        op = tvm.ir.Op.get(f"tirx.{intrinsic}")
        before.append((op, op.get_attr(_ATTRIBUTE)))
        _set(op, _rule(name))

    def restore() -> None:
        for op, rule in before:
            _set(op, rule)

    return restore


def _still_wrong() -> bool:
    x = te.placeholder((8,), name="x")
    kernel = te.create_prim_func([x, te.compute((8,), lambda i: tirx.atan2(x[i], x[i]))])
    target = tvm.target.Target({"kind": "metal"}, host={"kind": "llvm"})
    module = tvm.IRModule({"kernel": kernel.with_attr("target", target)})
    return "atan2f" in tirx.transform.LowerIntrin()(module).script()


FIX = Fix(
    id="metal_math",
    what="atan, atan2, nearbyint and six more lower to names that Metal does not have",
    op="tirx.atan2, tirx.nearbyint, … for the target metal",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
