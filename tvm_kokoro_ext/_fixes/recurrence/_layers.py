"""Layers and directions of PyTorch's recurrent modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fixes.recurrence import _recurrence

#: The kernel of one layer in one direction: of the importer, the projected inputs
#: [time, batch, gates], the recurrent weight, the biases (of the input's and the state's
#: projection, or none), the states [batch, hidden] and whether it runs backwards, to the outputs
#: and the last states.
Layer = Callable[..., list[Any]]


def convert(importer: Any, node: Any, layer: Layer) -> Any:
    """The outputs and the last states of `aten.lstm.input` and its siblings.

    Raises
    ------
    UnsupportedOperatorError
        For dropout between layers, and projections.
    """
    x, state, weights, biases, layers, dropout, train, both, batch_first = _emit.arguments(
        importer,
        node,
        *("input", "hx", "params", "has_biases", "num_layers"),
        *("dropout", "train", "bidirectional", "batch_first"),
    )
    if train and dropout:
        raise _emit.refuse(node, "dropout between layers is random", "Export in eval mode")
    directions = 2 if both else 1
    each = len(weights) // (layers * directions)
    if each != (4 if biases else 2):
        raise _emit.refuse(node, "projections (proj_size)", "Apply the projection separately")
    first = list(state) if isinstance(state, list | tuple) else [state]
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    own = [weights[place : place + each] for place in range(0, len(weights), each)]
    x, ends = stacked(importer, x, first, own, directions, layer)
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    return _emit.emit(importer, relax.Tuple([x, *ends]))


def stacked(
    importer: Any, x: Any, first: list[Any], weights: list[Any], directions: int, layer: Layer
) -> tuple[Any, list[Any]]:
    """The outputs of the last layer, [time, batch, directions · hidden], and the last states.

    `weights` has those of each direction of each layer, and each of the states `first` a row for
    it, as each of the last states has.
    """
    last: list[list[Any]] = [[] for _ in first]
    outputs: list[Any] = []
    for index, (inward, recurrent, *biases) in enumerate(weights):
        start = [_row(importer, tensor, index) for tensor in first]
        gates = _emit.emit_te(importer, _recurrence.projection, x, inward, hint="projection")
        reverse = index % directions == 1
        output, *ends = layer(importer, gates, recurrent, biases, start, reverse)
        outputs.append(output)
        for collected, end in zip(last, ends, strict=True):
            collected.append(end)
        if len(outputs) == directions:
            x = outputs[0] if directions == 1 else _emit.emit(importer, relax.op.concat(outputs, 2))
            outputs = []
    return x, [_emit.emit(importer, relax.op.stack(ends, axis=0)) for ends in last]


def biased(importer: Any, gates: Any, biases: list[Any]) -> Any:
    """The projected inputs with biases added."""
    for bias in biases:
        gates = _emit.emit(importer, relax.op.add(gates, bias))
    return gates


def scanned(importer: Any, kernel: Callable[..., Any], *tensors: Any, hint: str) -> list[Any]:
    """The outputs and last states of a kernel of `_recurrence`, without its scratch."""
    made = _emit.emit_te(importer, kernel, *tensors, hint=hint)
    count = len(_compat.type_of(made).fields) - 1
    return [_emit.emit(importer, relax.TupleGetItem(made, i)) for i in range(count)]


def _row(importer: Any, tensor: Any, index: int) -> Any:
    return _emit.emit(importer, relax.op.take(tensor, relax.const(index, "int64"), axis=0))
