"""Clip the indices of embedding look-ups to the table.

The importer translates embeddings to `take(mode="fast")`, which reads out of bounds for an invalid
index. The runtime rejects such ids, but a library that is called by other code should not crash
either. A minimum and a maximum cost next to nothing compared with reading a row of channels.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


@mutator
class _TakeClipper(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        if call.op == tvm.ir.Op.get("relax.take") and call.attrs.mode == "fast":
            return relax.op.take(*call.args, axis=call.attrs.axis, mode="clip")
        return call


def clip_takes(module: tvm.IRModule) -> tvm.IRModule:
    """Replace `take(mode="fast")` by `take(mode="clip")` in every Relax function of a module."""
    clipper = _TakeClipper(module)
    for global_var, function in module.functions.items():
        if isinstance(function, relax.Function):
            clipper.builder_.update_func(global_var, clipper.visit_expr(function))
    return clipper.builder_.get()
