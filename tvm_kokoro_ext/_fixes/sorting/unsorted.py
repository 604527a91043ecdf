"""topk with sorted=False: torch allows any order, and stock raises an AssertionError."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def topk(importer: Any, node: Any, previous: Any) -> Any:
    """Give what was asked for in any order in that of the elements."""
    named = {name: value for name, value in node.kwargs.items() if name != "sorted"}
    return previous(_emit.view(node, *node.args[:4], **named))


@_probe.wrong
def _refused() -> bool:
    x = _probe.Input((3,))
    _probe.convert("topk.default", x, 2, -1, True, False, out=((2,), "float32"))
    return False


FIX = Fix(
    id="unsorted",
    what="topk with sorted=False fails",
    op="aten.topk",
    affected="",
    converters={"topk.default": topk},
    probe=_refused,
)
