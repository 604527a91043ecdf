"""`tvm_kokoro_ext.ops.lstm`: an LSTM of any length, whose rows have lengths of their own.

`torch.export` fixes the length of `nn.LSTM` and takes no packed sequences, so that such a program
never reaches the importer.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import _recurrence

NAME = "lstm_of_lengths.default"


def convert(importer: Any, node: Any, previous: Any) -> Any:
    x, lengths, h0, c0, weights, layers, biases, both = importer.retrieve_args(node)
    kept = _compat.dtype_of(x)
    wide = "float64" if kept == "float64" else "float32"
    x, h0, c0 = (_emit.astype(importer, t, wide) for t in (x, h0, c0))
    lengths = _emit.astype(importer, lengths, "int64")
    directions = 2 if both else 1
    each = 4 if biases else 2
    x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    last: list[list[Any]] = [[], []]
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            start = [
                _emit.emit(importer, relax.op.take(t, relax.const(index, "int64"), axis=0))
                for t in (h0, c0)
            ]
            own = [
                _emit.astype(importer, w, wide) for w in weights[index * each : (index + 1) * each]
            ]
            gates = _emit.emit_te(importer, _recurrence.projection, x, own[0], hint="projection")
            for bias in own[2:]:
                gates = _emit.emit(importer, relax.op.add(gates, bias))
            scanned = _emit.emit_te(
                importer,
                lambda g, w, h, c, n, reverse=direction == 1: _recurrence.lstm(
                    g, w, h, c, reverse=reverse, lengths=n
                ),
                gates,
                own[1],
                *start,
                lengths,
                hint="lstm_of_lengths",
            )
            parts = [_emit.emit(importer, relax.TupleGetItem(scanned, i)) for i in range(3)]
            outputs.append(parts[0])
            for collected, end in zip(last, parts[1:], strict=True):
                collected.append(end)
        x = outputs[0] if directions == 1 else _emit.emit(importer, relax.op.concat(outputs, 2))
    x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    stacked = [_emit.emit(importer, relax.op.stack(ends, axis=0)) for ends in last]
    results = [_emit.astype(importer, t, kept) for t in (x, *stacked)]
    return _emit.emit(importer, relax.Tuple(results))


FIX = Fix(
    id="lstm_of_lengths",
    what="an LSTM of dynamic length or of packed rows cannot be exported: tvm_kokoro_ext.ops.lstm",
    op="tvm_kokoro_ext.ops.lstm",
    affected="",
    converters={NAME: convert},
    probe=_probe.lacks(NAME),
)
