"""Reject reading the statistics that native normalizations return in addition to their result.

Stock returns the normalized tensor in their place.
"""

from __future__ import annotations

import operator
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Fix, needs_previous

_NAMES = (
    "native_layer_norm.default",
    "native_group_norm.default",
    "native_batch_norm.default",
    "_native_batch_norm_legit.default",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_functional.default",
    "_native_batch_norm_legit_no_training.default",
)


@needs_previous
def without_statistics(importer: Any, node: Any, previous: Any) -> Any:
    """The normalization, whose second and third results must not be read."""
    _require_average(importer, node)
    for user in getattr(node, "users", ()):
        if user.target is operator.getitem and user.args[1] in (1, 2) and user.users:
            raise _emit.refuse(
                node,
                "the mean and the reciprocal deviation are not among its results here",
                "Compute them with torch.var_mean",
            )
    return previous(node)


def _require_average(importer: Any, node: Any) -> None:
    """In training mode, TVM's batch_norm requires a momentum from 0 to 1; torch's does not."""
    names = [argument.name for argument in node.target._schema.arguments]
    if "training" in names:
        given = importer.retrieve_args(node)
        momentum = given[names.index("momentum")]
        if given[names.index("training")] and not 0 <= momentum <= 1:
            raise _emit.refuse(node, f"a momentum of {momentum}", "Take one from 0 to 1")


@_probe.wrong
def _still_wrong() -> bool:
    """Whether all results are the same tensor."""
    x, result = _probe.Input((4, 3)), ((4, 3), "float32")
    made = _probe.convert("native_layer_norm.default", x, [3], None, None, 1e-5, out=result)
    return _compat.is_tensor(made.value)


FIX = Fix(
    id="statistics",
    what="native_layer_norm, native_group_norm and native_batch_norm return no statistics",
    op="aten.native_layer_norm, aten.native_group_norm, aten.native_batch_norm",
    affected="",
    converters=dict.fromkeys(_NAMES, without_statistics),
    probe=_still_wrong,
)
