"""max_pool with indices: refused where the indices are read; stock gives zeros for them."""

from __future__ import annotations

import operator
from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._fix import Fix


def max_pool(importer: Any, node: Any, previous: Any) -> Any:
    reads = [u for u in node.users if u.target is not operator.getitem or u.args[1] != 0]
    if any(user.users or user.op == "output" for user in reads):
        raise _emit.refuse(
            node, "TVM's pooling has no indices", "Compute them from an unfolded window's argmax"
        )
    return previous(node)


FIX = Fix(
    id="pool_indices",
    what="max_pool's indices are all zero; refused where they are read",
    op="aten.max_pool2d_with_indices",
    affected="",
    converters={
        "max_pool2d_with_indices.default": max_pool,
        "max_pool3d_with_indices.default": max_pool,
    },
    probe=_probe.always,
)
