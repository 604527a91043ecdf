"""LSTM as one loop over time: any length, h and c outputs, several layers, both directions.

Stock unrolls every step into the program (for a fixed length, with thousands of operators) and only
returns the outputs. Here the input projection is one matrix product, and the recurrence is one
kernel with a loop over time.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import _recurrence


def lstm(importer: Any, node: Any, previous: Any) -> Any:
    x, state, weights, biases, layers, dropout, train, both, batch_first = _emit.arguments(
        importer,
        node,
        *("input", "hx", "params", "has_biases", "num_layers"),
        *("dropout", "train", "bidirectional", "batch_first"),
    )
    if not isinstance(state, list | tuple):
        raise _emit.refuse(
            node, "packed sequences carry their lengths as data", "Pass a padded batch instead"
        )
    if train and dropout:
        raise _emit.refuse(node, "dropout between layers is random", "Export in eval mode")
    directions = 2 if both else 1
    each = len(weights) // (layers * directions)
    if each != (4 if biases else 2):
        raise _emit.refuse(node, "projections (proj_size)", "Apply the projection separately")
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    last: list[list[Any]] = [[], []]
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            start = [_row(importer, tensor, index) for tensor in state]
            own = weights[index * each : (index + 1) * each]
            output, *ends = _direction(importer, x, start, own, reverse=direction == 1)
            outputs.append(output)
            for collected, end in zip(last, ends, strict=True):
                collected.append(end)
        x = outputs[0] if directions == 1 else _emit.emit(importer, relax.op.concat(outputs, 2))
    if batch_first:
        x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    stacked = [_emit.emit(importer, relax.op.stack(ends, axis=0)) for ends in last]
    return _emit.emit(importer, relax.Tuple([x, *stacked]))


def _row(importer: Any, tensor: Any, index: int) -> Any:
    return _emit.emit(importer, relax.op.take(tensor, relax.const(index, "int64"), axis=0))


def _direction(
    importer: Any, x: Any, start: list[Any], weights: Any, reverse: bool
) -> tuple[Any, Any, Any]:
    """One layer in one direction for x [time, batch, input]: outputs, last h, last c."""
    transposed = _emit.emit(importer, relax.op.permute_dims(weights[0]))
    dtype = _compat.dtype_of(x)
    gates = _emit.emit(importer, relax.op.matmul(x, transposed, out_dtype=dtype))
    for bias in weights[2:]:
        gates = _emit.emit(importer, relax.op.add(gates, bias))
    scanned = _emit.emit_te(
        importer,
        lambda *tensors: _recurrence.lstm(*tensors, reverse=reverse),
        gates,
        weights[1],
        *start,
        hint="lstm_reverse" if reverse else "lstm",
    )
    outputs, h, c = (_emit.emit(importer, relax.TupleGetItem(scanned, i)) for i in range(3))
    return outputs, h, c


@_probe.wrong
def _still_wrong() -> bool:
    """Whether a program with two layers grows with the length, or is rejected."""

    def operators(length: int) -> int:
        x, state = _probe.Input((length, 1, 3)), _probe.Input((2, 1, 4))
        first = [_probe.Input(shape) for shape in ((16, 3), (16, 4), (16,), (16,))]
        second = [_probe.Input(shape) for shape in ((16, 4), (16, 4), (16,), (16,))]
        options = (True, 2, 0.0, False, False, False)
        made = _probe.convert("lstm.input", x, [state, state], [*first, *second], *options)
        return len(made.ops) if _compat.is_tuple(made.value) else 0

    return not 0 < operators(2) == operators(3)


FIX = Fix(
    id="lstm",
    what="LSTM unrolled over time, without h and c, one layer only",
    op="aten.lstm",
    affected="",
    converters={"lstm.input": lstm},
    probe=_still_wrong,
)
