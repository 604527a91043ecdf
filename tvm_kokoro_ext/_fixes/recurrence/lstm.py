"""LSTM as one loop over time: any length, h and c outputs, several layers, both directions.

Stock unrolls every step into the program (for a fixed length, with thousands of operators) and only
returns the outputs. Here the input projection is one matrix product, and the recurrence is one
kernel with a loop over time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import _layers, _recurrence


def lstm(importer: Any, node: Any, previous: Any) -> Any:
    return _layers.convert(importer, node, _layer)


def _layer(
    importer: Any, gates: Any, weight: Any, biases: list[Any], start: list[Any], reverse: bool
) -> list[Any]:
    return _layers.scanned(
        importer,
        partial(_recurrence.lstm, reverse=reverse),
        _layers.biased(importer, gates, biases),
        weight,
        *start,
        hint="lstm_reverse" if reverse else "lstm",
    )


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
