"""Assertions about values, which torch's decompositions (of one_hot) leave in a program.

TVM supports them from 0.27 on. For earlier versions they are removed, like `_assert_scalar` in
every version: the compiled program does not check its inputs.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _probe
from tvm_kokoro_ext._fix import Fix


def assert_async(importer: Any, node: Any, previous: Any) -> Any:
    """Return the condition, which is not used."""
    return importer.retrieve_args(node)[0]


FIX = Fix(
    id="assert_async",
    what="a program with an assertion about values is refused (one_hot)",
    op="aten._assert_async",
    affected="<0.27",
    converters={"_assert_async.msg": assert_async, "_assert_async.default": assert_async},
    probe=_probe.lacks("_assert_async.msg"),
)
