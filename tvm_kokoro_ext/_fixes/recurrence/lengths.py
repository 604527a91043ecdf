"""`tvm_kokoro_ext.ops.lstm`: an LSTM of any length, whose rows have lengths of their own.

`torch.export` fixes the length of `nn.LSTM` and takes no packed sequences, so that such a program
never reaches the importer.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import _layers, _recurrence

NAME = "lstm_of_lengths.default"


def convert(importer: Any, node: Any, previous: Any) -> Any:
    x, lengths, h0, c0, weights, _, biases, both = importer.retrieve_args(node)
    kept = _compat.dtype_of(x)
    wide = "float64" if kept == "float64" else "float32"
    x, h0, c0 = (_emit.astype(importer, t, wide) for t in (x, h0, c0))
    lengths = _emit.astype(importer, lengths, "int64")
    directions = 2 if both else 1
    each = 4 if biases else 2
    x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    own = [
        [_emit.astype(importer, tensor, wide) for tensor in weights[place : place + each]]
        for place in range(0, len(weights), each)
    ]
    layer = partial(_layer, lengths=lengths)
    x, ends = _layers.stacked(importer, x, [h0, c0], own, directions, layer)
    x = _emit.emit(importer, relax.op.permute_dims(x, [1, 0, 2]))
    results = [_emit.astype(importer, t, kept) for t in (x, *ends)]
    return _emit.emit(importer, relax.Tuple(results))


def _layer(
    importer: Any,
    gates: Any,
    weight: Any,
    biases: list[Any],
    start: list[Any],
    reverse: bool,
    *,
    lengths: Any,
) -> list[Any]:
    def scan(gates: Any, weight: Any, h: Any, c: Any, lengths: Any) -> list[Any]:
        return _recurrence.lstm(gates, weight, h, c, reverse=reverse, lengths=lengths)

    gates = _layers.biased(importer, gates, biases)
    return _layers.scanned(importer, scan, gates, weight, *start, lengths, hint="lstm_of_lengths")


FIX = Fix(
    id="lstm_of_lengths",
    what="an LSTM of dynamic length or of packed rows cannot be exported: tvm_kokoro_ext.ops.lstm",
    op="tvm_kokoro_ext.ops.lstm",
    affected="",
    converters={NAME: convert},
    probe=_probe.lacks(NAME),
)
