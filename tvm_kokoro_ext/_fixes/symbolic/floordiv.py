"""Integer arithmetic on symbolic sizes: `n // 2`, `n - 1`, `n + 1`, `-n`."""

from __future__ import annotations

import operator

from tvm_kokoro_ext import _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.scalars import converter

FIX = Fix(
    id="floordiv",
    what="floordiv, sub, add and neg of symbolic sizes",
    op="operator.floordiv, sub, add, neg",
    affected="<0.27",
    upstream="#20138",
    converters={
        "floordiv": converter(operator.floordiv, tirx.floordiv),
        "add": converter(operator.add, operator.add),
        "sub": converter(operator.sub, operator.sub),
        "neg": converter(operator.neg, operator.neg),
    },
    probe=_probe.lacks("floordiv"),
)
