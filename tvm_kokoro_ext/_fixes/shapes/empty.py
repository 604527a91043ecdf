"""Reductions over no elements: NaN for a mean, 0 for a sum, True for all.

Stock divides by the number of elements at compile time, or reads out of bounds.
"""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous

_MEANS = ("mean.default", "mean.dim", "median.default", "nanmedian.default")
_DEVIATIONS = tuple(
    f"{name}.{form}"
    for name in ("var", "std", "var_mean", "std_mean")
    for form in ("default", "dim", "correction")
)


def _of_nothing(number: float) -> Converter:
    @needs_previous
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.env.get(node.args[0])
        if not _compat.is_tensor(x) or 0 not in _compat.shape_of(x):
            return previous(node)
        wanted = node.meta["val"]
        if isinstance(wanted, list | tuple):
            parts = [_filled(importer, node, value, number) for value in wanted]
            return _emit.emit(importer, relax.Tuple(parts))
        return _filled(importer, node, wanted, number)

    return convert


@needs_previous
def product(importer: Any, node: Any, previous: Any) -> Any:
    """A matrix product over no elements is 0; 0.25 does not write the result."""
    x = importer.env.get(node.args[0])
    if not _compat.is_tensor(x) or _compat.rank_of(x) == 0 or _compat.shape_of(x)[-1] != 0:
        return previous(node)
    return _filled(importer, node, node.meta["val"], 0)


def _filled(importer: Any, node: Any, wanted: Any, number: float) -> Any:
    result = _emit.filled(importer, wanted, number)
    if result is None:
        raise _emit.refuse(node, "no elements and a symbolic shape", "Export a constant shape")
    return result


@_probe.wrong
def _computed() -> bool:
    """Whether an average of no elements, or a question about them, is a reduction."""
    x, mask, out = _probe.Input((0, 4)), _probe.Input((0, 4), "bool"), ((4,), "float32")
    made = [
        _probe.convert("mean.dim", x, [0], out=out),
        _probe.convert("var.correction", x, [0], correction=1, out=out),
        _probe.convert("any.dim", mask, 0, out=((4,), "bool")),
        _probe.convert("all.dim", mask, 0, out=((4,), "bool")),
    ]
    return any(one.ops != ("relax.full",) for one in made)


FIX = Fix(
    id="empty",
    what="mean, var and std of no elements do not build; any and all of none are garbage",
    op="aten.mean, aten.sum, aten.var, aten.std, aten.any, aten.all, aten.mm",
    affected="",
    converters={
        **dict.fromkeys((*_MEANS, *_DEVIATIONS), _of_nothing(math.nan)),
        **dict.fromkeys(("mm.default", "bmm.default", "matmul.default"), product),
        **dict.fromkeys(("sum.default", "sum.dim_IntList"), _of_nothing(0)),
        **dict.fromkeys(("prod.default", "prod.dim_int"), _of_nothing(1)),
        **dict.fromkeys(("any.default", "any.dim", "any.dims"), _of_nothing(0)),
        **dict.fromkeys(("all.default", "all.dim", "all.dims"), _of_nothing(1)),
    },
    probe=_computed,
)
