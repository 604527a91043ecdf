"""Running sums and products along axes that may have no elements.

The kernel of stock copies the first element of each row before its loop over the others. A row
without elements has none: it reads and writes what lies beside the tensors. Here the kernel does
nothing where its result has no elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _replace
from tvm_kokoro_ext._compat import te, tirx, topi
from tvm_kokoro_ext._fix import Fix


def _guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def scanop(*args: Any, **options: Any) -> Any:
        made = original(*args, **options)
        count = _emit.int64(_emit.extent(list(made.shape)))
        if _compat.analyzer_of_sizes().can_prove(count >= 1):
            return made
        scan = made.op
        parts = scan.inputs, scan.input_placeholders, scan.output_placeholders
        body = tirx.IfThenElse(count >= 1, scan.body, None)
        return te._ffi_api.ExternOp(scan.name, scan.tag, scan.attrs, *parts, body).output(0)

    return scanop


def _still_wrong() -> bool:
    """Whether the kernel of a running sum depends on no condition."""
    x = te.placeholder((3, _compat.tir_var("n")), "float32", name="x")
    return "if" not in str(te.create_prim_func([x, topi.cumsum(x, axis=1)]))


FIX = Fix(
    id="empty_scan",
    what="cumsum and cumprod along an axis without elements write beside their result",
    op="relax.cumsum, relax.cumprod; topi.scanop",
    affected="",
    install=lambda: _replace.in_place({topi.scan.scanop: _guarded}),
    probe=_still_wrong,
    needs_torch=False,
)
