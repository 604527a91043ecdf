"""ONNX's LSTM, which stock's frontend lacks, as the loop over time of the PyTorch frontend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend
from tvm_kokoro_ext._fixes.recurrence import _recurrence

_STANDARD = ("Sigmoid", "Tanh", "Tanh")
_refuse = partial(_frontend.refusal, "LSTM")


def convert(bb: Any, inputs: Any, attr: Any) -> Any:
    """Y [time, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden].

    With `layout` 1, batch comes first in all inputs and outputs of states and sequences.
    """
    given = [inputs[i] if i < len(inputs) else None for i in range(8)]
    x, w, r, b, lengths, h0, c0, peepholes = given
    direction = _text(attr.get("direction", "forward"))
    directions = 2 if direction == "bidirectional" else 1
    names = tuple(_text(name).capitalize() for name in attr.get("activations", ()))
    if names and names != _STANDARD * directions:
        raise _refuse(f"its activations are {', '.join(names)}", "Use Sigmoid, Tanh and Tanh")
    if attr.get("clip"):
        raise _refuse("it clips its gates", "Leave out the attribute clip")
    if attr.get("input_forget"):
        raise _refuse("it couples the input and forget gates", "Leave out input_forget")
    if peepholes is not None:
        raise _refuse("it has peepholes", "Leave out the input P")
    if lengths is not None:
        raise _refuse(
            "its rows have lengths of their own (sequence_lens)",
            "Export one row without sequence_lens, or mask the result",
        )
    batch_first = bool(attr.get("layout", 0))
    emit = bb.emit

    def swapped(tensor: Any) -> Any:
        rank = _compat.rank_of(tensor)
        return emit(relax.op.permute_dims(tensor, [1, 0, *range(2, rank)]))

    if batch_first:
        x = swapped(x)
        h0, c0 = (None if state is None else swapped(state) for state in (h0, c0))
    dtype = _compat.dtype_of(x)
    hidden = _compat.shape_of(r)[2]
    batch = _compat.shape_of(x)[1]
    outputs, last = [], ([], [])  # type: tuple[list[Any], tuple[list[Any], list[Any]]]
    for index in range(directions):

        def own(tensor: Any, at: int = index) -> Any:
            return emit(relax.op.take(tensor, relax.const(at, "int64"), axis=0))

        gates = emit(relax.op.matmul(x, emit(relax.op.permute_dims(_torch_order(emit, own(w), 0)))))
        if b is not None:
            both = emit(relax.op.split(own(b), 2, axis=0))
            for part in (0, 1):
                bias = emit(relax.TupleGetItem(both, part))
                gates = emit(relax.op.add(gates, _torch_order(emit, bias, 0)))
        start = []
        for state in (h0, c0):
            if state is None:
                zeros = relax.op.zeros(relax.ShapeExpr([_int64(batch), _int64(hidden)]), dtype)
                start.append(emit(zeros))
            else:
                start.append(own(state))
        reverse = direction == "reverse" or index == 1
        scanned = bb.emit_te(
            lambda *t, reverse=reverse: _recurrence.lstm(*t, reverse=reverse),
            gates,
            _torch_order(emit, own(r), 0),
            *start,
            primfunc_name_hint="onnx_lstm",
        )
        parts = [emit(relax.TupleGetItem(scanned, i)) for i in range(3)]
        outputs.append(parts[0])
        for kept, end in zip(last, parts[1:], strict=True):
            kept.append(end)
    y = emit(relax.op.stack(outputs, axis=2 if batch_first else 1))
    ends = [emit(relax.op.stack(kept, axis=0)) for kept in last]
    if batch_first:  # [time, batch, directions, hidden] to [batch, time, directions, hidden]
        y, ends = swapped(y), [swapped(end) for end in ends]
    return relax.Tuple([y, *ends])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _int64(size: Any) -> Any:
    return _compat.tirx.IntImm("int64", size) if isinstance(size, int) else size


def _torch_order(emit: Callable[[Any], Any], gates: Any, axis: int) -> Any:
    """Blocks i, o, f, c of ONNX as torch's i, f, g, o."""
    blocks = emit(relax.op.split(gates, 4, axis=axis))
    i, o, f, c = (emit(relax.TupleGetItem(blocks, block)) for block in range(4))
    return emit(relax.op.concat([i, f, c, o], axis))


def _classes(frontend: Any) -> dict[str, Any]:
    def _impl_v1(cls: Any, bb: Any, inputs: Any, attr: Any, params: Any) -> Any:
        return convert(bb, inputs, attr)

    body = {"_impl_v1": classmethod(_impl_v1), "__doc__": convert.__doc__}
    return {"LSTM": type("LSTM", (frontend.OnnxOpConverter,), body)}


FIX = Fix(
    id="onnx_lstm",
    what="the ONNX operator LSTM is missing",
    op="ONNX LSTM",
    affected="",
    install=lambda: _frontend.with_operators(_classes),
    probe=lambda: "LSTM" not in _frontend.listed(),
    needs_torch=False,
)
