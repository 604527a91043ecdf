"""Compile programs with extents such as n - 2 next to two others: x[:, :, 2:], unsqueeze, squeeze.

`RewriteDataflowReshape` looks for kernels that only reshape. Its analysis raises for some symbolic
extents instead of returning false. In this case the pass runs again without those kernels.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import compiler_pass


def _guarded(stock: Any, module: Any) -> Any:
    try:
        return stock(module)
    except Exception:  # the exception of the analysis depends on the version
        hidden = {
            variable: function
            for variable, function in module.functions_items()
            if isinstance(function, tirx.PrimFunc) and not _analyzable(function)
        }
        if not hidden:
            raise
        return _without_bodies(stock, module, hidden)


def _without_bodies(stock: Any, module: Any, hidden: dict[Any, Any]) -> Any:
    """Run the pass with empty bodies for the `hidden` kernels, which are restored afterwards."""
    emptied = tvm.IRModule(dict(module.functions_items()), attrs=module.attrs)
    for variable, function in hidden.items():
        emptied[variable] = function.with_body(tirx.Evaluate(0))
    result = stock(emptied)
    for variable, function in hidden.items():
        result[variable] = function
    return result


def _analyzable(kernel: Any) -> bool:
    try:
        relax.analysis.has_reshape_pattern(kernel)
    except Exception:  # noqa: BLE001 - whatever it raises, the pass would raise too
        return False
    return True


def _still_wrong() -> bool:
    length = _compat.tir_var("n") - 2
    four, three = tirx.IntImm("int64", 4), tirx.IntImm("int64", 3)
    x = te.placeholder((four, three, length), "float32", name="x")
    same = te.compute(x.shape, lambda *at: x(*at), name="copy")
    with _probe.native_stderr_dropped():
        return not _analyzable(te.create_prim_func([x, same]))


FIX = Fix(
    id="reshape_pattern",
    what="slices, unsqueeze and squeeze to shapes such as [4, 3, n - 2] stop the compiler",
    op="relax.transform.RewriteDataflowReshape",
    affected="",
    install=compiler_pass.replacing(relax.transform, "RewriteDataflowReshape", _guarded),
    probe=_still_wrong,
    needs_torch=False,
)
