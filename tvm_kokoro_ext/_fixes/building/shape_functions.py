"""Programs of symbolic sizes whose kernels LLVM compiles as if their buffers overlapped.

A PrimFunc with the attribute "tirx.noalias" promises that its buffers do not overlap, which LLVM
needs to hoist loads out of loops and to vectorize them. The LLVM code generator of TVM takes this
attribute of the last function of a module, by name, for every function in it. `VMShapeLower` makes
functions that compute symbolic sizes, `shape_func`, without the attribute, so that a program whose
kernels all sort before that name loses it altogether: a copy of rows takes three times as long.

Here functions that have only one buffer get the attribute, of which it is true by itself.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import compiler_pass

_NO_ALIAS = "tirx.noalias"


def _lowered(stock: Any, module: Any) -> Any:
    result = stock(module)
    for variable, function in result.functions_items():
        if isinstance(function, tirx.PrimFunc) and _cannot_overlap(function):
            result.update_func(variable, function.with_attr(_NO_ALIAS, True))
    return result


def _cannot_overlap(function: Any) -> bool:
    return sum(map(_compat.is_buffer, function.params)) < 2 and not _promises(function)


def _promises(function: Any) -> bool:
    return bool(function.attrs) and _NO_ALIAS in function.attrs.keys()  # noqa: SIM118


def _still_wrong() -> bool:
    return not all(map(_promises, _shape_functions())) and _last_one_decides()


def _shape_functions() -> list[Any]:
    """What `VMShapeLower` makes of x.reshape(n * 2, 2) for x [n, 4]."""
    n, two = _compat.tir_var("n"), tirx.IntImm("int64", 2)
    x = relax.Var("x", _compat.tensor_type([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(relax.op.reshape(x, relax.ShapeExpr([n * 2, two])))
    lowered = relax.transform.VMShapeLower()(builder.get())
    return [f for _, f in lowered.functions_items() if isinstance(f, tirx.PrimFunc)]


def _last_one_decides() -> bool:
    """Whether a kernel loses its promise where the last one of the module makes none."""
    x = te.placeholder((1,), name="x")
    kernel = te.create_prim_func([x, te.compute((1,), lambda i: x[i] + x[i])])
    kernels = {"a": kernel, "b": kernel.without_attr(_NO_ALIAS)}
    module = tvm.IRModule({k: f.with_attr("global_symbol", k) for k, f in kernels.items()})
    built = tvm.tirx.build(module, tvm.target.Target({"kind": "llvm"}))
    heads = [line for line in built.inspect_source("ll").splitlines() if "@a_compute_(" in line]
    return not any("noalias" in head for head in heads)


FIX = Fix(
    id="shape_functions",
    what="kernels of a program of symbolic sizes are compiled as if their buffers overlapped",
    op="VMShapeLower",
    affected="",
    install=compiler_pass.replacing(relax.transform, "VMShapeLower", _lowered),
    probe=_still_wrong,
    needs_torch=False,
)
