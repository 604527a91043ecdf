"""Pooling: indices of max_pool, which stock gives as zeros, and avg_pool's own divisor.

max_pool is refused where the indices are read, adaptive_max_pool where a size is symbolic.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _activation, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes import _replace


def max_pool(importer: Any, node: Any, previous: Any) -> Any:
    reads = [u for u in node.users if u.target is not operator.getitem or u.args[1] != 0]
    if any(user.users or user.op == "output" for user in reads):
        raise _emit.refuse(
            node, "TVM's pooling has no indices", "Compute them from an unfolded window's argmax"
        )
    return previous(node)


def install() -> Callable[[], None]:
    """Look at a program before it is decomposed, which is before any converter sees it."""
    _activation.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]

    def checked(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def from_exported_program(exported_program: Any, *args: Any, **kwargs: Any) -> Any:
            refuse_specialized(exported_program)
            return original(exported_program, *args, **kwargs)

        return from_exported_program

    return _replace.everywhere("tvm", translator.from_exported_program, checked)


def refuse_specialized(program: Any) -> None:
    """adaptive_max_pool on a symbolic axis: torch decomposes it for the example's size only."""
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if not name.startswith("adaptive_max_pool"):
            continue
        rank = len(node.args[1]) if isinstance(node.args[1], list | tuple) else 1
        sizes = node.args[0].meta["val"].shape[-rank:]
        if not all(isinstance(size, int) for size in sizes):
            raise _emit.refuse(
                node,
                "its windows depend on a size that is symbolic here",
                "Use adaptive_avg_pool, amax for an output of size 1, or a constant size",
            )


@needs_previous
def avg_pool(importer: Any, node: Any, previous: Any) -> Any:
    """divisor_override, which stock does not read: the mean of the whole window, rescaled."""
    x, window, stride, padding, ceil, _, divisor = _emit.arguments(
        importer,
        node,
        *("self", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"),
        "divisor_override",
    )
    if divisor is None or (divisor == math.prod(window) and not any(padding or [0])):
        return previous(node)
    if ceil:
        raise _emit.refuse(
            node, "divisor_override with ceil_mode", "Pad the input and leave ceil_mode out"
        )
    planar = node.target.__name__.startswith("avg_pool2d")
    axes, pool = (2, relax.op.nn.avg_pool2d) if planar else (3, relax.op.nn.avg_pool3d)

    def each(sizes: Any) -> list[int]:
        return list(sizes) * axes if len(sizes) == 1 else list(sizes)

    sizes, steps = each(window), each(stride or window)
    means = pool(x, sizes, steps, each(padding or [0]), count_include_pad=True)
    with_mean = _emit.emit(importer, means)
    scale = relax.const(math.prod(sizes) / divisor, _compat.dtype_of(x))
    return _emit.emit(importer, relax.op.multiply(with_mean, scale))


FIX = Fix(
    id="pool_indices",
    what="avg_pool drops divisor_override; max_pool's indices are all zero: refused if read",
    op="aten.max_pool2d_with_indices, aten.avg_pool2d",
    affected="",
    converters={
        "max_pool2d_with_indices.default": max_pool,
        "avg_pool2d.default": avg_pool,
        "avg_pool3d.default": avg_pool,
        "max_pool3d_with_indices.default": max_pool,
    },
    install=install,
    probe=_probe.always,
)
