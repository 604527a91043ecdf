"""Integer arithmetic on symbolic sizes: `n // 2`, `n - 1`, `n + 1`, `n % 2`, `-n`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Converter, Fix


def _integer(python: Callable[..., Any], symbolic: Callable[..., Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        operands = importer.retrieve_args(node)
        if any(_compat.is_tensor(value) for value in operands) and previous is not None:
            return previous(node)
        operands = [_compat.prim(value) for value in operands]
        function = symbolic if any(_compat.is_prim(v) for v in operands) else python
        return function(*operands)

    return convert


FIX = Fix(
    id="floordiv",
    what="floordiv, sub, add, mod and neg of symbolic sizes",
    op="operator.floordiv, sub, add, mod, neg",
    affected="<0.27",
    upstream="#20138",
    converters={
        "floordiv": _integer(operator.floordiv, tirx.floordiv),
        "mod": _integer(operator.mod, tirx.floormod),
        "add": _integer(operator.add, operator.add),
        "sub": _integer(operator.sub, operator.sub),
        "neg": _integer(operator.neg, operator.neg),
    },
    probe=_probe.lacks("floordiv"),
)
