"""Max pooling with indices, of which stock makes zeros, and average pooling with a divisor.

A stride that is an empty list means the size of the window.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe, _symbolic
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import pooled


def max_pool(importer: Any, node: Any, previous: Any) -> Any:
    reads = [u for u in node.users if u.target is not operator.getitem or u.args[1] != 0]
    if previous is not None and not any(user.users or user.op == "output" for user in reads):
        return previous(_strided(node))
    return _with_indices(importer, node)


@needs_previous
def max_pool_values(importer: Any, node: Any, previous: Any) -> Any:
    return previous(_strided(node))


def _strided(node: Any) -> Any:
    """Replace a stride given as an empty list by the window size."""
    if len(node.args) < 3 or node.args[2]:
        return node
    x, window, _, *others = node.args
    return _emit.view(node, x, window, window, *others, **node.kwargs)


def _with_indices(importer: Any, node: Any) -> Any:
    """Values and their flat indices in the planes [..., spatial axes] for each window."""
    names = ("self", "kernel_size", "stride", "padding", "dilation")
    x, *sizes = _emit.arguments(importer, node, *names, padding=0, dilation=1)
    axes = next(int(c) for c in node.target.__name__ if c.isdigit())
    sizes[1] = sizes[1] or sizes[0]
    window, stride, padding, dilation = (_each(size, axes) for size in sizes)
    known = _symbolic.known_symbols(importer)
    out = [_symbolic.to_prim(importer, size, known) for size in node.meta["val"][0].shape]
    if any(dim is None for dim in out):
        raise _emit.refuse(node, "a size that torch has not proved", "Give the pooled axes' sizes")
    made = pooled.with_places(importer, x, out, window, stride, padding, dilation)
    return _emit.emit(importer, relax.Tuple(made))


def _each(sizes: Any, axes: int) -> list[int]:
    sizes = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    return sizes * axes if len(sizes) == 1 else sizes


@needs_previous
def avg_pool(importer: Any, node: Any, previous: Any) -> Any:
    """divisor_override, which stock ignores: the mean over the whole window, rescaled."""
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
    if "float" not in _compat.dtype_of(x):
        raise _emit.refuse(node, "divisor_override of integers", "Convert to float32 first")
    planar = node.target.__name__.startswith("avg_pool2d")
    axes, pool = (2, relax.op.nn.avg_pool2d) if planar else (3, relax.op.nn.avg_pool3d)
    sizes, steps = _each(window, axes), _each(stride or window, axes)
    batched = len(_compat.shape_of(x)) == axes + 2
    if not batched:
        x = _emit.emit(importer, relax.op.expand_dims(x, [0]))
    means = pool(x, sizes, steps, _each(padding or [0], axes), count_include_pad=True)
    with_mean = _emit.emit(importer, means)
    scale = relax.const(math.prod(sizes) / divisor, _compat.dtype_of(x))
    scaled = _emit.emit(importer, relax.op.multiply(with_mean, scale))
    return scaled if batched else _emit.emit(importer, relax.op.squeeze(scaled, [0]))


@_probe.wrong
def _divisor_dropped() -> bool:
    out = ((1, 1, 2, 2), "float32")
    window = ([2, 2], [2, 2], [0, 0], False, True)
    made = [
        _probe.convert("avg_pool2d.default", _probe.Input((1, 1, 4, 4)), *window, divisor, out=out)
        for divisor in (4, 1)
    ]
    return made[0].ops == made[1].ops


@_probe.wrong
def _indices_are_zeros() -> bool:
    """Whether indices that the program returns are zeros; those that nobody reads may be."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        pooled = torch.ops.aten.max_pool2d_with_indices.default
        node = graph.call_function(pooled, (x, [2, 2]))
        values = torch.empty((1, 1, 2, 2), device="meta")
        node.meta["val"] = (values, values.long())
        places = graph.call_function(operator.getitem, (node, 1))
        places.meta["val"] = node.meta["val"][1]
        return [places]

    module = _program_probe.graph_module(write, [_probe.Input((1, 1, 4, 4))])
    made = _probe.operators_of(_program_probe.imported(module)["main"])
    return bool({"relax.zeros", "relax.zeros_like"} & set(made))


FIX = Fix(
    id="pool_indices",
    what="avg_pool drops divisor_override; max_pool's indices are all zero",
    op="aten.max_pool2d_with_indices, aten.avg_pool2d",
    affected="",
    converters={
        "max_pool1d_with_indices.default": max_pool,
        "max_pool2d_with_indices.default": max_pool,
        "max_pool3d_with_indices.default": max_pool,
        "max_pool1d.default": max_pool_values,
        "max_pool2d.default": max_pool_values,
        "max_pool3d.default": max_pool_values,
        "avg_pool2d.default": avg_pool,
        "avg_pool3d.default": avg_pool,
    },
    probe=_probe.any_of(_divisor_dropped, _indices_are_zeros),
)
