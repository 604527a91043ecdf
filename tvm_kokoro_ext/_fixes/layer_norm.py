"""layer_norm and group_norm without weight or bias.

Stock looks an explicit None up among the imported nodes (KeyError), which is what torch.export
writes for the arguments before an epsilon that is given.
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
    channels, dtype = int(_compat.shape_of(x)[1]), _compat.dtype_of(x)
    weight, bias = given["weight"], given["bias"]
    weight = relax.const(np.ones(channels, dtype), dtype) if weight is None else weight
    bias = relax.const(np.zeros(channels, dtype), dtype) if bias is None else bias
    groups = given["group"] if native else given["num_groups"]
    axes = list(range(2, _compat.rank_of(x)))
    normalize = relax.op.nn.group_norm
    return _emit.emit(importer, normalize(x, weight, bias, groups, 1, axes, float(given["eps"])))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((2, 3))
    normalized = _probe.convert("layer_norm.default", x, [3], None, None, 1e-5)
    return normalized.ops == ()


FIX = Fix(
    id="layer_norm",
    what="layer_norm and group_norm without weight and bias fail (KeyError: None)",
    op="aten.layer_norm, aten.group_norm",
    affected="",
    converters={
        "layer_norm.default": layer_norm,
        "group_norm.default": group_norm,
        "native_group_norm.default": group_norm,
    },
    probe=_still_wrong,
)
