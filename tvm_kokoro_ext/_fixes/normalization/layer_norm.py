"""Arguments of layer_norm, group_norm, instance_norm and batch_norm.

Stock looks up an explicit None among the imported nodes (KeyError), which torch.export writes for
arguments before a given epsilon, and reads the epsilon of instance_norm from the position of the
running variance. It takes the number of channels for a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def layer_norm(importer: Any, node: Any, previous: Any) -> Any:
    x, shape, weight, bias, epsilon = _emit.arguments(
        importer, node, "input", "normalized_shape", "weight", "bias", "eps", eps=1e-5
    )
    if weight is not None and bias is not None:
        return previous(node)
    dtype = _compat.dtype_of(x)
    size = [int(extent) for extent in shape]
    weight = relax.const(np.ones(size, dtype), dtype) if weight is None else weight
    bias = relax.const(np.zeros(size, dtype), dtype) if bias is None else bias
    axes = list(range(-len(size), 0))
    return _emit.emit(importer, relax.op.nn.layer_norm(x, weight, bias, axes, float(epsilon)))


def group_norm(importer: Any, node: Any, previous: Any) -> Any:
    native = node.target.__name__ == "native_group_norm.default"
    names = (
        ("input", "weight", "bias", "N", "C", "HxW", "group", "eps")
        if native
        else ("input", "num_groups", "weight", "bias", "eps")
    )
    given = dict(zip(names, _emit.arguments(importer, node, *names, eps=1e-5), strict=True))
    if given["weight"] is not None and given["bias"] is not None:
        return previous(node)
    x = given["input"]
    channels, dtype = _compat.shape_of(x)[1], _compat.dtype_of(x)
    weight, bias = given["weight"], given["bias"]
    weight = _vector(importer, channels, 1.0, dtype) if weight is None else weight
    bias = _vector(importer, channels, 0.0, dtype) if bias is None else bias
    groups = given["group"] if native else given["num_groups"]
    axes = list(range(2, _compat.rank_of(x)))
    normalize = relax.op.nn.group_norm
    return _emit.emit(importer, normalize(x, weight, bias, groups, 1, axes, float(given["eps"])))


def instance_norm(importer: Any, node: Any, previous: Any) -> Any:
    names = ("input", "weight", "bias", "running_mean", "running_var", "use_input_stats")
    x, weight, bias, mean, variance, of_input, _, epsilon = _emit.arguments(
        importer, node, *names, "momentum", "eps", use_input_stats=True, eps=1e-5
    )
    if of_input:
        channels, dtype = _compat.shape_of(x)[1], _compat.dtype_of(x)
        weight = _vector(importer, channels, 1.0, dtype) if weight is None else weight
        bias = _vector(importer, channels, 0.0, dtype) if bias is None else bias
        normalize = relax.op.nn.instance_norm
        axes = list(range(2, _compat.rank_of(x)))
        return _emit.emit(importer, normalize(x, weight, bias, 1, axes, float(epsilon)))
    return _by_running_statistics(importer, x, weight, bias, mean, variance, epsilon)


def batch_norm(importer: Any, node: Any, previous: Any) -> Any:
    """Stock needs the number of channels, also where weight and bias are there."""
    names = ("input", "weight", "bias", "running_mean", "running_var", "momentum", "eps")
    x, weight, bias, mean, variance, _, epsilon = _emit.arguments(importer, node, *names, eps=1e-5)
    if previous is not None and _compat.as_int(_compat.shape_of(x)[1]) is not None:
        return previous(node)
    return _by_running_statistics(importer, x, weight, bias, mean, variance, epsilon)


def _vector(importer: Any, size: Any, number: float, dtype: str) -> Any:
    """A constant vector of a constant or symbolic number of elements."""
    count = _compat.as_int(size)
    if count is not None:
        return relax.const(np.full(count, number, dtype), dtype)
    return _emit.emit(importer, relax.op.full([size], relax.const(number, dtype), dtype))


def _by_running_statistics(
    importer: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, epsilon: float
) -> Any:
    """x normalized by a mean and a variance for each channel; weight and bias may be None."""
    dtype, rank = _compat.dtype_of(x), _compat.rank_of(x)
    column = [1, _compat.shape_of(x)[1], *[1] * (rank - 2)]

    def along(values: Any) -> Any:
        return _emit.emit(importer, relax.op.reshape(_emit.astype(importer, values, dtype), column))

    widened = relax.op.add(along(variance), relax.const(float(epsilon), dtype))
    scale = _emit.emit(importer, relax.op.rsqrt(_emit.emit(importer, widened)))
    if weight is not None:
        scale = _emit.emit(importer, relax.op.multiply(scale, along(weight)))
    centred = _emit.emit(importer, relax.op.subtract(x, along(mean)))
    scaled = _emit.emit(importer, relax.op.multiply(centred, scale))
    return scaled if bias is None else _emit.emit(importer, relax.op.add(scaled, along(bias)))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((2, 3))
    normalized = _probe.convert("layer_norm.default", x, [3], None, None, 1e-5)
    grouped = _probe.convert("group_norm.default", _probe.Input((2, 4, 3)), 2, None, None, 1e-5)
    return normalized.ops == () or grouped.ops == ()


@_probe.wrong
def _epsilon_is_ignored() -> bool:
    x = _probe.Input((2, 4, 3))
    options = (None, None, None, None, True, 0.1, 0.25, False)
    return "0.25" not in str(_probe.convert("instance_norm.default", x, *options).function)


@_probe.wrong
def _running_statistics_are_ignored() -> bool:
    x, each = _probe.Input((2, 4, 3)), _probe.Input((4,))
    options = (each, each, each, each, False, 0.1, 1e-5, False)
    return "relax.nn.instance_norm" in _probe.convert("instance_norm.default", x, *options).ops


@_probe.wrong
def _symbolic_channels_fail() -> bool:
    x, each = _probe.Input((2, "n", 3)), _probe.Input(("n",))
    name = "_native_batch_norm_legit_no_training.default"
    _probe.convert(name, x, None, None, each, each, 0.1, 1e-5)
    return False


FIX = Fix(
    id="layer_norm",
    what="instance_norm ignores eps; layer_norm and group_norm without weight or bias, "
    "batch_norm and instance_norm of symbolic channels fail",
    op="aten.layer_norm, aten.group_norm, aten.instance_norm, aten.batch_norm",
    affected="",
    converters={
        "layer_norm.default": layer_norm,
        "group_norm.default": group_norm,
        "native_group_norm.default": group_norm,
        "instance_norm.default": instance_norm,
        "_native_batch_norm_legit_no_training.default": batch_norm,
    },
    probe=_probe.any_of(
        _still_wrong,
        _epsilon_is_ignored,
        _running_statistics_are_ignored,
        _symbolic_channels_fail,
    ),
)
