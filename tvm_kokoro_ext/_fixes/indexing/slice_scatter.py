"""slice_scatter along a symbolic axis, or with symbolic bounds, as a legalization."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.two_pass import override


def legalize_slice_scatter(stock: Any, builder: Any, call: Any) -> Any:
    """relax.slice_scatter: one kernel that reads each element from `src` or from `x`.

    If everything is constant, `stock` (the previous registration) is used.
    """
    x, src, *bounds = call.args
    axis = _emit.normalize_axis(int(call.attrs.axis), _compat.rank_of(x))
    start, end, step = (_compat.prim(bound) for bound in bounds)
    if all(_compat.as_int(v) is not None for v in (start, end, step, _compat.shape_of(x)[axis])):
        return stock(builder, call)
    return builder.call_te(
        _slice_scatter, x, src, start, step, axis, primfunc_name_hint="slice_scatter"
    )


def _slice_scatter(x: Any, src: Any, start: Any, step: Any, axis: int) -> Any:
    start, step = tirx.Cast("int64", start), tirx.Cast("int64", step)

    def read(*at: Any) -> Any:
        offset = at[axis] - start
        row = tirx.floordiv(offset, step)
        inside = tirx.all(offset >= 0, tirx.floormod(offset, step) == 0, row < src.shape[axis])
        return tirx.if_then_else(inside, src(*at[:axis], row, *at[axis + 1 :]), x(*at))

    return te.compute(x.shape, read, name="slice_scatter")


def install() -> Callable[[], None]:
    stock = _compat.get_legalization("relax.slice_scatter")
    return override("relax.slice_scatter", partial(legalize_slice_scatter, stock))()


def _still_wrong() -> bool:
    n = _compat.tir_var("n")
    x = relax.Var("x", _compat.tensor_type([n], "float32"))
    src = relax.Var("src", _compat.tensor_type([n - 1], "float32"))
    bounds = [_compat.prim_value(bound) for bound in (1, n, 1)]
    call = relax.op.slice_scatter(x, src, *bounds, axis=0)
    builder = relax.BlockBuilder()
    wrong = False
    with builder.function("main", [x, src]):
        try:
            _compat.get_legalization("relax.slice_scatter")(builder, builder.normalize(call))
        except Exception:  # noqa: BLE001 - whatever it raises, it cannot do it
            wrong = True
        builder.emit_func_output(x)
    return wrong


FIX = Fix(
    id="slice_scatter",
    what="slice_scatter along a symbolic axis does not legalize",
    op="relax.slice_scatter",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
