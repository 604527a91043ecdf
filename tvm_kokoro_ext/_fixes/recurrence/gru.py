"""GRU and RNN as loops over time, as `lstm` is, with their last states.

Stock's GRU has one layer and no last state, and RNN is missing: both are left to torch's
decomposition, which unrolls every step of every layer into the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes.recurrence import _layers, _recurrence


def gru(importer: Any, node: Any, previous: Any) -> Any:
    return _layers.convert(importer, node, _gru_layer)


def _gru_layer(
    importer: Any, gates: Any, weight: Any, biases: list[Any], start: list[Any], reverse: bool
) -> list[Any]:
    """Blocks reset, update, new; the bias of the new state is reset with its product."""
    hidden = int(_compat.shape_of(weight)[1])
    dtype = _compat.dtype_of(gates)
    kept = relax.op.zeros(relax.ShapeExpr([_emit.int64(hidden)]), dtype)
    if biases:
        both = _emit.emit(importer, relax.op.split(biases[1], [2 * hidden], axis=0))
        outer, kept = (_emit.emit(importer, relax.TupleGetItem(both, i)) for i in range(2))
        nothing = _emit.emit(importer, relax.op.zeros_like(kept))
        outer = _emit.emit(importer, relax.op.concat([outer, nothing], 0))
        gates = _layers.biased(importer, gates, [biases[0], outer])
    return _layers.scanned(
        importer,
        partial(_recurrence.gru, resets_product=True, update=1, reverse=reverse),
        *(gates, weight, _emit.emit(importer, kept), *start),
        hint="gru_reverse" if reverse else "gru",
    )


def _rnn(activation: Callable[[Any], Any]) -> Converter:
    def layer(
        importer: Any, gates: Any, weight: Any, biases: list[Any], start: list[Any], reverse: bool
    ) -> list[Any]:
        return _layers.scanned(
            importer,
            partial(_recurrence.rnn, activation=activation, reverse=reverse),
            *(_layers.biased(importer, gates, biases), weight, *start),
            hint="rnn_reverse" if reverse else "rnn",
        )

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        return _layers.convert(importer, node, layer)

    return convert


def _relu(value: Any) -> Any:
    zero = tirx.const(0, _compat.prim_dtype(value))
    return tirx.Select(value < zero, zero, value)


@_probe.wrong
def _unrolls() -> bool:
    """Whether a program of two layers grows with the length, or lacks the last state."""

    def operators(length: int) -> int:
        x, state = _probe.Input((length, 1, 3)), _probe.Input((2, 1, 4))
        first = [_probe.Input(shape) for shape in ((12, 3), (12, 4), (12,), (12,))]
        second = [_probe.Input(shape) for shape in ((12, 4), (12, 4), (12,), (12,))]
        options = (True, 2, 0.0, False, False, False)
        made = _probe.convert("gru.input", x, state, [*first, *second], *options)
        return len(made.ops) if _compat.is_tuple(made.value) else 0

    return not 0 < operators(2) == operators(3)


FIX = Fix(
    id="gru",
    what="GRU and RNN unrolled over time; stock's GRU lacks its last state and other layers",
    op="aten.gru, aten.rnn_tanh, aten.rnn_relu",
    affected="",
    converters={
        "gru.input": gru,
        "rnn_tanh.input": _rnn(tirx.tanh),
        "rnn_relu.input": _rnn(_relu),
    },
    probe=_unrolls,
)
