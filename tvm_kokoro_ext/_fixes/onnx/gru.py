"""ONNX's GRU and RNN, which stock's frontend lacks, as kernels with a loop over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._layers import Direction
from tvm_kokoro_ext._fixes.recurrence import _recurrence

_STANDARD = ("Sigmoid", "Tanh")


def gru(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y and Y_h."""
    names = _layers.activations(attr, _STANDARD, "GRU")
    if names not in (_STANDARD, _STANDARD * 2):
        raise _frontend.refusal(
            "GRU", f"its activations are {', '.join(names)}", "Use Sigmoid and Tanh"
        )
    layer = partial(_gru_layer, resets_product=bool(attr.get("linear_before_reset", 0)))
    return _layers.convert(bb, inputs, attr, layer, states=1)


def _gru_layer(own: Direction, *, resets_product: bool) -> list[Any]:
    """Blocks z, r, h; the bias of h's state is reset with its product, or added at once."""
    hidden = _compat.shape_of(own.r)[1]
    kept = relax.op.zeros(relax.ShapeExpr([_layers.int64(hidden)]), _compat.dtype_of(own.x))
    added = list(own.biases or ())
    if own.biases is not None and resets_product:
        ends = [2 * int(hidden)]
        both = own.emit(relax.op.split(own.biases[1], ends, axis=0))
        gates, kept = (own.emit(relax.TupleGetItem(both, part)) for part in (0, 1))
        nothing = own.emit(relax.op.zeros_like(kept))
        added[1] = own.emit(relax.op.concat([gates, nothing], 0))
    kernel = partial(_recurrence.gru, resets_product=resets_product, update=0)
    tensors = own.projected(own.w, *added), own.r, own.emit(kept), *own.states
    return own.scanned(kernel, *tensors, hint="onnx_gru")


#: Of a value and a zero of its dtype.
_OF_RNN: dict[str, Callable[[Any, Any], Any]] = {
    "Tanh": lambda value, zero: tirx.tanh(value),
    "Sigmoid": lambda value, zero: tirx.sigmoid(value),
    "Relu": lambda value, zero: tirx.Select(value < zero, zero, value),
}


def rnn(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y and Y_h."""
    names = _layers.activations(attr, ("Tanh",), "RNN")
    if len(set(names)) > 1 or names[0] not in _OF_RNN:
        raise _frontend.refusal(
            "RNN",
            f"its activations are {', '.join(names)}",
            f"Use one of {', '.join(_OF_RNN)} in all directions",
        )
    kernel = partial(_recurrence.rnn, activation=_OF_RNN[names[0]])

    def layer(own: Direction) -> list[Any]:
        gates = own.projected(own.w, *(own.biases or ()))
        return own.scanned(kernel, gates, own.r, *own.states, hint="onnx_rnn")

    return _layers.convert(bb, inputs, attr, layer, states=1)


FIX = Fix(
    id="onnx_gru",
    what="the ONNX operators GRU and RNN are missing",
    op="ONNX GRU, ONNX RNN",
    affected="",
    install=lambda: _frontend.with_operators(_layers.classes({"GRU": gru, "RNN": rnn})),
    probe=lambda: not {"GRU", "RNN"} <= _frontend.listed(),
    needs_torch=False,
)
