"""Sums, products and extrema of bool tensors are logical; stock emits arithmetic on bools."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding

_LOGICAL = {
    "relax.add": topi.logical_or,
    "relax.maximum": topi.logical_or,
    "relax.multiply": topi.logical_and,
    "relax.minimum": topi.logical_and,
}


def _logical(function: Any) -> Override:
    """Use the logical operator for bools, and the legalization below for everything else."""

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        if not all(_compat.dtype_of(argument) == "bool" for argument in call.args):
            return below(builder, call)
        return builder.call_te(function, *call.args, primfunc_name_hint=function.__name__)

    return legalize


def _still_wrong() -> bool:
    """Whether the product of two bools becomes a multiplication, which LLVM lacks for bools."""
    x = relax.Var("x", _compat.tensor_type([1], "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.multiply(x, x)))
    module = relax.transform.LegalizeOps()(builder.get())
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return any(" * " in line.split("=", 1)[1] for text in kernels for line in _writes(text))


def _writes(text: str) -> list[str]:
    """The lines of a printed kernel that assign elements."""
    return [line for line in text.splitlines() if "] =" in line]


FIX = Fix(
    id="bool_arithmetic",
    what="add, multiply, maximum and minimum of bool tensors do not compile",
    op="relax.add, relax.multiply, relax.maximum, relax.minimum",
    affected="",
    install=overriding({op: _logical(function) for op, function in _LOGICAL.items()}),
    probe=_still_wrong,
    needs_torch=False,
)
