"""max_pool with NaN: stock's pooling applied to integer keys, converted back to numbers."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def pool(below: Any, builder: Any, call: Any) -> Any:
    """relax.nn.max_pool1d, 2d or 3d, for any layout."""
    dtype = _compat.dtype_of(call.args[0])
    if dtype not in extremum.FLOATS or call.attrs.out_layout != call.attrs.layout:
        return below(builder, call)

    def to_keys(x: Any) -> Any:
        return te.compute(x.shape, lambda *at: extremum.key(x(*at), largest=True), name="key")

    def to_numbers(keys: Any) -> Any:
        return te.compute(
            keys.shape, lambda *at: extremum.number(keys(*at), dtype), name="max_pool"
        )

    keys = builder.emit(builder.call_te(to_keys, call.args[0], primfunc_name_hint="key"))
    pooled = builder.normalize(relax.Call(call.op, [keys], call.attrs))
    pooled = builder.emit(below(builder, pooled))
    return builder.call_te(to_numbers, pooled, primfunc_name_hint="max_pool")


def _still_wrong() -> bool:
    return not extremum.keeps_nan(lambda x: relax.op.nn.max_pool1d(x, [2], [2]), (1, 1, 2))


FIX = Fix(
    id="nan_pool",
    what="max_pool drops NaN",
    op="relax.nn.max_pool1d, relax.nn.max_pool2d, relax.nn.max_pool3d",
    affected="",
    install=overriding({f"relax.nn.max_pool{rank}d": pool for rank in (1, 2, 3)}),
    probe=_still_wrong,
    needs_torch=False,
)
