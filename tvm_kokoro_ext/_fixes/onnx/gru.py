"""ONNX's GRU and RNN, which stock's frontend lacks, as kernels with a loop over time."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _activations, _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._activations import Activation
from tvm_kokoro_ext._fixes.onnx._layers import Direction
from tvm_kokoro_ext._fixes.recurrence import _recurrence


def gru(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y and Y_h."""
    activations = _activations.functions(attr, ("Sigmoid", "Tanh"), "GRU")
    resets = bool(attr.get("linear_before_reset", 0))
    layer = partial(_gru_layer, activations, resets_product=resets)
    return _layers.convert(bb, inputs, attr, layer, states=1)


def _gru_layer(
    activations: list[tuple[Activation, ...]], own: Direction, *, resets_product: bool
) -> list[Any]:
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
    kernel = partial(
        _recurrence.gru,
        activations=activations[own.index],
        resets_product=resets_product,
        update=0,
    )
    tensors = own.projected(own.w, *added), own.r, own.emit(kept), *own.states
    return own.scanned(kernel, *tensors, hint="onnx_gru")


def rnn(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y and Y_h."""
    activations = _activations.functions(attr, ("Tanh",), "RNN")

    def layer(own: Direction) -> list[Any]:
        gates = own.projected(own.w, *(own.biases or ()))
        kernel = partial(_recurrence.rnn, activation=activations[own.index][0])
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
