"""Plan memory with tensors that `match_cast` declares anew.

The memory planner of stock follows `relax.reshape` to the memory of its operand, and `match_cast`
not: it gives the memory of the tensor to another one as soon as it is written. Here the declared
tensor is a reshape of the other, beside the `match_cast` that checks it.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, tirx, topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import compiler_pass
from tvm_kokoro_ext._fixes._shared.match_casts import match_casts


def _planned(stock: Any, module: Any) -> Any:
    return stock(_with_reshapes(module))


def _with_reshapes(module: Any) -> Any:
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Reshaping(PyExprMutator):
        def visit_match_cast_(self, binding: Any) -> None:
            value, declared = self.visit_expr(binding.value), _compat.type_of(binding.var)
            checked = self.builder_.match_cast(value, declared)
            if isinstance(getattr(declared, "shape", None), relax.ShapeExpr):
                checked = self.builder_.emit(relax.op.reshape(value, declared.shape))
            self.set_var_remap(_identity(binding.var), checked)

    result = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function) and _declares(function):
            result[variable] = Reshaping(result).visit_expr(function)
    return result


def _identity(variable: Any) -> Any:
    """What a mutator knows a variable by: an id of its own, or in 0.27 the variable."""
    return getattr(variable, "vid", variable)


def _declares(function: Any) -> bool:
    return any(_compat.is_tensor(binding.var) for binding in match_casts(function))


def _still_wrong() -> bool:
    """Whether exp(x) loses its memory to sin(x) where it is declared to have m elements."""
    m = _compat.tir_var("m")
    x = relax.Var("x", _compat.tensor_type([4], "float32"))
    y = relax.Var("y", _compat.tensor_type([m], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        declared = _compat.tensor_type([tirx.Add(m, tirx.IntImm("int64", 0))], "float32")
        first = builder.match_cast(builder.emit_te(topi.exp, x), declared)
        second = builder.emit_te(topi.sin, x)
        read = [builder.emit_te(topi.add, first, y), builder.emit_te(topi.cos, second)]
        builder.emit_func_output(relax.Tuple(read))
    module = relax.transform.CallTIRRewrite()(builder.get())
    planned = relax.transform.StaticPlanBlockMemory()(module)
    return _probe.operators_of(planned["main"]).count("relax.memory.alloc_storage") < 2


FIX = Fix(
    id="match_cast_memory",
    what="a tensor that match_cast gives other sizes is overwritten before it is read",
    op="match_cast, StaticPlanBlockMemory",
    affected="<0.27",
    install=compiler_pass.replacing(relax.transform, "StaticPlanBlockMemory", _planned),
    probe=_probe.wrong(_still_wrong),
    needs_torch=False,
)
