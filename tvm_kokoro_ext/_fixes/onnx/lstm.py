"""ONNX's LSTM, which stock's frontend lacks, as the loop over time of the PyTorch frontend."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _activations, _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._activations import Activation
from tvm_kokoro_ext._fixes.onnx._layers import Direction
from tvm_kokoro_ext._fixes.recurrence import _recurrence

_STANDARD = ("Sigmoid", "Tanh", "Tanh")
_refuse = partial(_frontend.refusal, "LSTM")


def convert(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y, Y_h and Y_c."""
    activations = _activations.functions(attr, _STANDARD, "LSTM")
    if attr.get("input_forget"):
        raise _refuse("it couples the input and forget gates", "Leave out input_forget")
    if len(inputs) > 7 and inputs[7] is not None:
        raise _refuse("it has peepholes", "Leave out the input P")
    return _layers.convert(bb, inputs, attr, partial(_layer, activations), states=2)


def _layer(activations: list[tuple[Activation, ...]], own: Direction) -> list[Any]:
    biases = [_layers.torch_order(own.emit, bias) for bias in own.biases or ()]
    gates = own.projected(_layers.torch_order(own.emit, own.w), *biases)
    weight = _layers.torch_order(own.emit, own.r)
    kernel = partial(_recurrence.lstm, activations=activations[own.index])
    return own.scanned(kernel, gates, weight, *own.states, hint="onnx_lstm")


FIX = Fix(
    id="onnx_lstm",
    what="the ONNX operator LSTM is missing",
    op="ONNX LSTM",
    affected="",
    install=lambda: _frontend.with_operators(_layers.classes({"LSTM": convert})),
    probe=lambda: "LSTM" not in _frontend.listed(),
    needs_torch=False,
)
