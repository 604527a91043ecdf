"""ONNX's LSTM, which stock's frontend lacks, as the loop over time of the PyTorch frontend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._layers import Direction
from tvm_kokoro_ext._fixes.recurrence import _recurrence

_STANDARD = ("Sigmoid", "Tanh", "Tanh")
_refuse = partial(_frontend.refusal, "LSTM")


def convert(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y, Y_h and Y_c."""
    names = _layers.activations(attr, _STANDARD, "LSTM")
    if names not in (_STANDARD, _STANDARD * 2):
        raise _refuse(f"its activations are {', '.join(names)}", "Use Sigmoid, Tanh and Tanh")
    if attr.get("input_forget"):
        raise _refuse("it couples the input and forget gates", "Leave out input_forget")
    if len(inputs) > 7 and inputs[7] is not None:
        raise _refuse("it has peepholes", "Leave out the input P")
    return _layers.convert(bb, inputs, attr, _layer, states=2)


def _layer(own: Direction) -> list[Any]:
    biases = [_torch_order(own.emit, bias) for bias in own.biases or ()]
    gates = own.projected(_torch_order(own.emit, own.w), *biases)
    weight = _torch_order(own.emit, own.r)
    return own.scanned(_recurrence.lstm, gates, weight, *own.states, hint="onnx_lstm")


def _torch_order(emit: Callable[[Any], Any], gates: Any) -> Any:
    """Blocks i, o, f, c of ONNX as torch's i, f, g, o, along the first axis."""
    blocks = emit(relax.op.split(gates, 4, axis=0))
    i, o, f, c = (emit(relax.TupleGetItem(blocks, block)) for block in range(4))
    return emit(relax.op.concat([i, f, c, o], 0))


FIX = Fix(
    id="onnx_lstm",
    what="the ONNX operator LSTM is missing",
    op="ONNX LSTM",
    affected="",
    install=lambda: _frontend.with_operators(_layers.classes({"LSTM": convert})),
    probe=lambda: "LSTM" not in _frontend.listed(),
    needs_torch=False,
)
