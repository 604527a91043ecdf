"""Extrema of axes that may have no elements when the program runs: x[mask].max().

PyTorch raises, and stock returns what was in memory. The median of all elements raises here too,
which is NaN in PyTorch if there are none, and so does what PyTorch decomposes to amax, such as
logsumexp, which is -inf. kthvalue, which stock lacks, has the same check.
"""

from __future__ import annotations

import operator
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe, _program_probe
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared.match_casts import match_casts

_OF_ALL = ("max.default", "min.default", "aminmax.default", "median.default")
_ALONG_AXES = (
    *("max.dim", "min.dim", "argmax.default", "argmin.default", "mode.default"),
    *("median.dim", "topk.default", "amax.default", "amin.default"),
)


@needs_previous
def convert(importer: Any, node: Any, previous: Any) -> Any:
    """Convert the node, and let the program raise when it runs if there are too few elements."""
    operand, x = node.args[0], importer.retrieve_args(node)[0]
    recorded = operand.meta.get("val")
    if recorded is not None and recorded.dim() and _compat.type_of(x).shape is not None:
        axes, least = _argument(node, "dim"), _argument(node, "k")
        least = least if isinstance(least, int) else 1  # a symbolic one is a size of torch's own
        shape = _compat.shape_of(x)
        axes = [axes] if isinstance(axes, int) else list(axes or range(len(shape)))
        count = _emit.extent([shape[axis] for axis in axes])
        _checks.require(importer, _emit.int64(count) >= least)
    return previous(node)


def _argument(node: Any, name: str) -> Any:
    """The argument of a node by its name in the schema; None if there is none of that name."""
    for position, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            given = node.args[position:]
            return given[0] if given else node.kwargs.get(name, argument.default_value)
    return None


def _still_wrong() -> bool:
    """Whether stock converts the largest of n elements without a check of n.

    There are more of them than elements of the example, so that torch cannot know that n is enough.
    """

    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        number = _probe.EXAMPLE + 1
        node = graph.call_function(torch.ops.aten.topk.default, (x, number))
        recorded = x.meta["val"].new_empty(number)
        node.meta["val"] = (recorded, recorded.long())
        values = graph.call_function(operator.getitem, (node, 0))
        values.meta["val"] = recorded
        return [values]

    inputs = (_probe.Input(("n",)),)
    made = _program_probe.branch(_program_probe.graph_module(write, inputs), inputs)
    return not match_casts(made)


FIX = Fix(
    id="empty_extremum",
    what="max, amax, median, topk … of too few elements are what was in memory; torch raises",
    op="aten.max, aten.min, aten.argmax, aten.argmin, aten.median, aten.mode, aten.topk, …",
    affected="",
    converters=dict.fromkeys(_OF_ALL + _ALONG_AXES, convert),
    probe=_probe.wrong(_still_wrong),
)
