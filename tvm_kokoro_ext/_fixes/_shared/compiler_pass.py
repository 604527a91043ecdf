"""Give a pass of TVM another body."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _replace
from tvm_kokoro_ext._compat import tvm


def replacing(
    module: Any, name: str, body: Callable[[Any, Any], Any]
) -> Callable[[], Callable[[], None]]:
    """An `install` of a fix: the pass that `module.name(…)` makes becomes `body`.

    `body(stock, program)` gets the pass of stock and the IRModule, and returns the new IRModule.
    """

    def install() -> Callable[[], None]:
        def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def construct(*args: Any, **options: Any) -> Any:
                stock = original(*args, **options)

                def transform(program: Any, context: Any) -> Any:
                    return body(stock, program)

                return tvm.transform.module_pass(transform, opt_level=0, name=name)

            return construct

        return _replace.in_place({getattr(module, name): guarded})

    return install
