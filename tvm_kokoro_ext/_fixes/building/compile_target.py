"""`tvm.compile(mod, target={...})` with a target as a dict, which `Target` itself supports."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _replace
from tvm_kokoro_ext._compat import relax, tvm
from tvm_kokoro_ext._fix import Fix


def _with_target(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def build(mod: Any, target: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(target, dict):
            target = tvm.target.Target(target)
        return original(mod, target, *args, **kwargs)

    return build


def install() -> Callable[[], None]:
    return _replace.in_place({tvm.compile: _with_target, relax.build: _with_target})


def _still_wrong() -> bool:
    """Whether compiling an empty module raises a TypeError about the target."""
    try:
        relax.build(tvm.IRModule({}), {"kind": "llvm"})
    except TypeError:
        return True
    return False


FIX = Fix(
    id="compile_target",
    what="tvm.compile and relax.build reject a target given as a dict",
    op="tvm.compile",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_torch=False,
)
