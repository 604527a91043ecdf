"""Unique symbols for kernels made by `te.create_prim_func`, which all have the symbol "main".

`BlockBuilder.add_func` gives them a name in the module but keeps the symbol, so that two of them
(or one and a Relax `main`) do not build. With this fix, a kernel added under another name loses the
default symbol and gets its own when it is lowered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix

_DEFAULT = "main"


def _named(function: Any, name: str) -> Any:
    """Remove the default symbol of a kernel, if it has it."""
    if not isinstance(function, tirx.PrimFunc) or name == _DEFAULT or not function.attrs:
        return function
    symbol = dict(function.attrs.items()).get("global_symbol")
    return function.without_attr("global_symbol") if symbol == _DEFAULT else function


def install() -> Callable[[], None]:
    original = relax.BlockBuilder.__dict__["add_func"]

    @functools.wraps(original)
    def add_func(self: Any, func: Any, func_name: str) -> Any:
        return original(self, _named(func, func_name), func_name)

    relax.BlockBuilder.add_func = add_func

    def restore() -> None:
        relax.BlockBuilder.add_func = original

    return restore


def _still_wrong() -> bool:
    x = te.placeholder((1,), name="x")
    kernel = te.create_prim_func([x, te.compute((1,), lambda i: x[i] + x[i])])
    builder = relax.BlockBuilder()
    added = builder.add_func(kernel, "doubled")
    attrs = dict(builder.get()[added].attrs.items())
    return attrs.get("global_symbol") == _DEFAULT


FIX = Fix(
    id="global_symbol",
    what='kernels of te.create_prim_func share the symbol "main" and do not build together',
    op="te.create_prim_func, BlockBuilder.add_func",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
