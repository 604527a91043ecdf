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


def convert(importer: Any, node: Any, layer: Layer, *, states: int) -> Any:
    """The outputs and the last `states` of `aten.lstm.input` and its siblings.

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
    first = state if isinstance(state, list | tuple) else [state]
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    last: list[list[Any]] = [[] for _ in range(states)]
    for number in range(layers):
        outputs = []
        for direction in range(directions):
            index = number * directions + direction
            start = [_row(importer, tensor, index) for tensor in first]
            inward, recurrent, *own = weights[index * each : (index + 1) * each]
            projected = _emit.emit_te(
                importer, _recurrence.projection, x, inward, hint="projection"
            )
            output, *ends = layer(importer, projected, recurrent, own, start, direction == 1)
            outputs.append(output)
            for collected, end in zip(last, ends, strict=True):
                collected.append(end)
        x = outputs[0] if directions == 1 else _emit.emit(importer, relax.op.concat(outputs, 2))
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    stacked = [_emit.emit(importer, relax.op.stack(ends, axis=0)) for ends in last]
    return _emit.emit(importer, relax.Tuple([x, *stacked]))


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
