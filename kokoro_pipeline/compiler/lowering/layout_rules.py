"""Rules that let elementwise and shape operators keep the channels-last layout of operands.

A rule takes the call of an operator and gives its value in that layout. None means that it does not
apply, so that the operator gets its operands in PyTorch's layout.
"""

from __future__ import annotations

from tvm import relax

from .channels_last import Value, dimensions
from .program_lowering import FunctionLowering

# The axis of a [B, C, L] tensor in its [B, L, C] form.
_AXIS_IN_LAST = {0: 0, 1: 2, 2: 1, -1: 1, -2: 2, -3: 0}

# Operators that act on each element independently; their operands broadcast.
ELEMENTWISE = (
    "abs",
    "add",
    "cos",
    "divide",
    "exp",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nn.gelu_tanh",
    "nn.leakyrelu",
    "nn.relu",
    "power",
    "rsqrt",
    "sigmoid",
    "sin",
    "sqrt",
    "subtract",
    "tanh",
    "where",
)


def _sequence(value: Value) -> bool:
    """Whether a value exists in channels-last layout, so that its users should use it too."""
    return value.rank == 3 and value.last is not None


def elementwise(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """An operator of `ELEMENTWISE` on sequences and scalars."""
    values = [lowering.value(argument) for argument in call.args]
    if not any(_sequence(value) for value in values) or any(v.rank not in (0, 3) for v in values):
        return None
    arguments = [
        value.in_last(lowering.builder) if value.rank == 3 else value.in_first(lowering.builder)
        for value in values
    ]
    return Value(last=lowering.emit(relax.Call(call.op, arguments, call.attrs, call.ty_args)))


def permute_dims(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    """The exchange of channels and time, which is the other layout of the same memory.

    Without this rule no value ever has that layout, and the others never apply.
    """
    if not lowering.backend.channels_last:
        return None
    value = lowering.value(call.args[0])
    axes = call.attrs.axes
    if value.rank != 3 or axes is None or [int(axis) for axis in axes] != [0, 2, 1]:
        return None
    return value.swapped()


def concat(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """The concatenation of a tuple that is written out, along any axis."""
    if not isinstance(call.args[0], relax.Tuple):
        return None
    values = [lowering.value(field) for field in call.args[0].fields]
    if not any(_sequence(value) for value in values):
        return None
    fields = [value.in_last(lowering.builder) for value in values]
    return Value(
        last=lowering.emit(relax.op.concat(fields, axis=_AXIS_IN_LAST[int(call.attrs.axis)]))
    )


def repeat(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """The repetition of each element along an axis."""
    value = lowering.value(call.args[0])
    if not _sequence(value) or call.attrs.axis is None:
        return None
    data = value.in_last(lowering.builder)
    axis = _AXIS_IN_LAST[int(call.attrs.axis)]
    return Value(last=lowering.emit(relax.op.repeat(data, int(call.attrs.repeats), axis)))


def strided_slice(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    """The slice of axes that are written out."""
    value = lowering.value(call.args[0])
    if not _sequence(value) or not isinstance(call.args[1], relax.Tuple):
        return None
    axes = [_AXIS_IN_LAST[int(axis)] for axis in call.args[1].fields]
    begin, end, *strides = (list(argument.fields) for argument in call.args[2:])
    data = value.in_last(lowering.builder)
    sliced = relax.op.strided_slice(
        data, axes, begin, end, strides[0] if strides else None, call.attrs.assume_inbound
    )
    return Value(last=lowering.emit(sliced))


def take(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
    """One channel of all steps, or one step of all channels: a matrix, which has no layout."""
    value = lowering.value(call.args[0])
    index = call.args[1]
    if not _sequence(value) or call.attrs.axis is None or len(dimensions(index)) != 0:
        return None
    # Only when the batch axis remains do both layouts keep the same order of the other two axes.
    axis = int(call.attrs.axis) % 3
    if axis == 0:
        return None
    data = value.in_last(lowering.builder)
    picked = relax.op.take(data, lowering.original(index), _AXIS_IN_LAST[axis], call.attrs.mode)
    return Value(first=lowering.emit(picked))
