"""What LSTM, GRU and RNN of ONNX have in common: directions, layouts, lengths and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fixes.onnx._activations import text
from tvm_kokoro_ext._fixes.recurrence import _recurrence


@dataclass(frozen=True)
class Direction:
    """The tensors of one direction of a layer."""

    emit: Callable[[Any], Any]
    emit_te: Callable[..., Any]
    x: Any
    """The input, [time, batch, features]."""
    w: Any
    r: Any
    """The weights, [gates · hidden, features] and [gates · hidden, hidden]."""
    biases: tuple[Any, Any] | None
    """Those of the input and of the state, [gates · hidden] each."""
    states: list[Any]
    """The first states, [batch, hidden] each."""
    lengths: Any
    """[batch], int64; None where all steps of all rows are valid."""
    reverse: bool
    index: int
    """0, or 1 for the second direction of a layer that has both."""

    def projected(self, weight: Any, *biases: Any) -> Any:
        """x · weightᵀ + biases, [time, batch, gates · hidden]."""
        hint = "projection"
        made = self.emit_te(_recurrence.projection, self.x, weight, primfunc_name_hint=hint)
        for bias in biases:
            made = self.emit(relax.op.add(made, bias))
        return made

    def scanned(self, kernel: Callable[..., Any], *tensors: Any, hint: str) -> list[Any]:
        """The outputs and the last states of a kernel with a loop over time."""
        rows = [] if self.lengths is None else [self.lengths]
        count = len(tensors)

        def compute(*given: Any) -> Any:
            lengths = given[count] if rows else None
            return kernel(*given[:count], reverse=self.reverse, lengths=lengths)

        made = self.emit_te(compute, *tensors, *rows, primfunc_name_hint=hint)
        return [self.emit(relax.TupleGetItem(made, i)) for i in range(1 + len(self.states))]


#: Of a direction: its outputs [time, batch, hidden], and its last states.
Layer = Callable[[Direction], list[Any]]


def convert(bb: Any, inputs: Any, attr: Any, layer: Layer, states: int) -> Any:
    """Y [time, directions, batch, hidden], and the last states [directions, batch, hidden].

    With `layout` 1, batch comes first in all inputs and outputs of states and sequences. Outputs
    behind the length of a row are 0, and its states are those of its last valid step.
    """
    x, w, r, b, lengths, *first = [inputs[i] if i < len(inputs) else None for i in range(7)]
    first = first[:states]
    direction = text(attr.get("direction", "forward"))
    batch_first = bool(attr.get("layout", 0))
    emit = bb.emit

    def swapped(tensor: Any) -> Any:
        rank = _compat.rank_of(tensor)
        return emit(relax.op.permute_dims(tensor, [1, 0, *range(2, rank)]))

    if batch_first:
        x = swapped(x)
        first = [None if state is None else swapped(state) for state in first]
    if lengths is not None:
        lengths = emit(relax.op.astype(lengths, "int64"))
    sizes = [int64(_compat.shape_of(x)[1]), int64(_compat.shape_of(r)[2])]
    outputs: list[Any] = []
    last: list[list[Any]] = [[] for _ in range(states)]
    for index in range(2 if direction == "bidirectional" else 1):

        def own(tensor: Any, at: int = index) -> Any:
            return emit(relax.op.take(tensor, relax.const(at, "int64"), axis=0))

        biases = None
        if b is not None:
            both = emit(relax.op.split(own(b), 2, axis=0))
            biases = tuple(emit(relax.TupleGetItem(both, part)) for part in (0, 1))
        zeros = relax.op.zeros(relax.ShapeExpr(sizes), _compat.dtype_of(x))
        start = [emit(zeros) if state is None else own(state) for state in first]
        reverse = direction == "reverse" or index == 1
        made = layer(
            Direction(emit, bb.emit_te, x, own(w), own(r), biases, start, lengths, reverse, index)
        )
        outputs.append(made[0])
        for kept, end in zip(last, made[1:], strict=True):
            kept.append(end)
    y = emit(relax.op.stack(outputs, axis=2 if batch_first else 1))
    ends = [emit(relax.op.stack(kept, axis=0)) for kept in last]
    if batch_first:  # [time, batch, directions, hidden] to [batch, time, directions, hidden]
        y, ends = swapped(y), [swapped(end) for end in ends]
    return relax.Tuple([y, *ends])


def torch_order(emit: Callable[[Any], Any], gates: Any, axis: int = 0) -> Any:
    """Blocks i, o, f, c of ONNX as torch's i, f, g, o, along an axis."""
    blocks = emit(relax.op.split(gates, 4, axis=axis))
    i, o, f, c = (emit(relax.TupleGetItem(blocks, block)) for block in range(4))
    return emit(relax.op.concat([i, f, c, o], axis))


def int64(size: Any) -> Any:
    """A size as an expression."""
    return _compat.tirx.IntImm("int64", size) if isinstance(size, int) else size


#: (builder, inputs, attributes) -> the result; by the opset since which it holds, if not all.
Conversion = Callable[[Any, Any, Any], Any]


def classes(
    converters: Mapping[str, Conversion | Mapping[int, Conversion]],
) -> Callable[[Any], dict[str, Any]]:
    """Converters of the frontend, by operator."""

    def made(frontend: Any) -> dict[str, Any]:
        return {
            name: _class(frontend, name, given if isinstance(given, Mapping) else {1: given})
            for name, given in converters.items()
        }

    return made


def _class(frontend: Any, name: str, functions: Mapping[int, Conversion]) -> Any:
    def method(function: Conversion) -> Any:
        def convert(cls: Any, bb: Any, inputs: Any, attr: Any, params: Any) -> Any:
            return function(bb, inputs, attr)

        return classmethod(convert)

    body = {f"_impl_v{since}": method(function) for since, function in functions.items()}
    return type(name, (frontend.OnnxOpConverter,), body)
