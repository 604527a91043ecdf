"""Convert a node with transformed tensors, and transform the results back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax


def tensors(importer: Any, node: Any) -> list[tuple[Any, Any]]:
    """(argument node, its conversion) for the tensor arguments of a node, including lists."""
    pairs = [(n, importer.env.get(n)) for n in getattr(node, "all_input_nodes", ())]
    return [(argument, value) for argument, value in pairs if _compat.is_tensor(value)]


def convert(
    importer: Any,
    node: Any,
    previous: Callable[[Any], Any],
    there: Callable[[Any], Any],
    back: Callable[[Any, Any], Any],
    shown: Any = None,
) -> Any:
    """Convert `node` with `there(tensor)` in place of each tensor argument.

    Each result passes through `back(result, torch's record of it)`. `shown` is the node that
    `previous` is given, where that is not `node` itself.
    """
    with ExitStack() as stack:
        for argument, value in tensors(importer, node):
            stack.enter_context(_emit.standing_in(importer, argument, there(value)))
        result = previous(node if shown is None else shown)
    wanted = node.meta["val"]
    if not isinstance(wanted, list | tuple):
        return back(result, wanted)
    if _compat.is_tensor(result):  # the first of several results stands for all
        return back(result, wanted[0])
    if not isinstance(result, list | tuple):
        result = [_emit.emit(importer, relax.TupleGetItem(result, i)) for i in range(len(wanted))]
    parts = [back(part, value) for part, value in zip(result, wanted, strict=True)]
    return _emit.emit(importer, relax.Tuple(parts))
