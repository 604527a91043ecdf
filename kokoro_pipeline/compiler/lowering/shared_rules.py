"""What the rules of the CPU and of GPUs share: operators whose kernels take equal arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tvm import relax, tirx

from ..passes.bind_operators import custom_operator
from .channels_last import Value, dimensions, is_transpose

if TYPE_CHECKING:
    from .program_lowering import ProgramLowering

Rule = Callable[["ProgramLowering", relax.Var, relax.Call], "Value | None"]
OperatorRule = Callable[..., "Value | None"]


def original(lowering: ProgramLowering, expression: relax.Expr) -> relax.Expr:
    """An operand as torch lays it out."""
    return lowering.value(expression).in_first(lowering.builder)


def over_rows(
    lowering: ProgramLowering,
    x: relax.Expr,
    kernel: Callable[[relax.Expr, tirx.Expr], relax.Expr],
) -> relax.Expr:
    """Apply a kernel on [M, K] to the rows of a tensor [..., K]."""
    *leading, width = dimensions(x)
    if len(leading) == 1:
        return kernel(x, leading[0])
    count = leading[0]
    for extent in leading[1:]:
        count = count * extent
    flat = kernel(lowering.emit(relax.op.reshape(x, [count, width])), count)
    return lowering.emit(relax.op.reshape(flat, [*leading, dimensions(flat)[-1]]))


def linear_weight(lowering: ProgramLowering, call: relax.Call) -> str | None:
    """The parameter [outputs, features] of `matmul(x, permute_dims(parameter))`, which is what
    torch's linear layer is imported as; None for any other product."""
    data, transposed = call.args
    permute = lowering.definition(transposed, "relax.permute_dims")
    if permute is None or str(data.ty.dtype) != "float32" or int(data.ty.ndim) < 2:
        return None
    name = lowering.weight(permute.args[0])
    if name is None or lowering.parameters[name].ndim != 2 or not is_transpose(permute.attrs.axes):
        return None
    return name


def layer_norm_rule(layer_norm: Callable[..., tirx.PrimFunc]) -> Rule:
    """For a kernel (x [M, F], weight [F], bias [F]) -> y made from F and epsilon."""

    def rule(lowering: ProgramLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
        data, weight, bias = call.args
        last = int(data.ty.ndim) - 1
        axes = [int(axis) % (last + 1) for axis in call.attrs.axes]
        if str(data.ty.dtype) != "float32" or axes != [last]:
            return None
        x = original(lowering, data)
        features = int(dimensions(x)[-1])
        kernel = lowering.kernel(layer_norm, features, float(call.attrs.epsilon))
        vectors = [original(lowering, weight), original(lowering, bias)]

        def normalized(rows: relax.Expr, count: tirx.Expr) -> relax.Expr:
            return lowering.call(kernel, [rows, *vectors], [count, features])

        return Value(first=over_rows(lowering, x, normalized))

    return rule


def custom_operator_rule(rules: Mapping[str, OperatorRule]) -> Rule:
    """By the custom operator's name one of `rules`, which get the operator's own arguments."""

    def rule(lowering: ProgramLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
        found = rules.get(custom_operator(call) or "")
        return found(lowering, *call.args[1]) if found is not None else None

    return rule


def attention_rule(attention: Callable[..., tirx.PrimFunc]) -> OperatorRule:
    """For a kernel (query, key, value [B, n, heads * size], lengths [B]) made from both numbers."""

    def rule(
        lowering: ProgramLowering,
        query: relax.Expr,
        key: relax.Expr,
        value: relax.Expr,
        lengths: relax.Expr,
        heads_shape: relax.ShapeExpr,
    ) -> Value:
        heads = int(heads_shape.values[0])
        shape = dimensions(query)
        kernel = lowering.kernel(attention, heads, int(shape[-1]) // heads)
        arguments = [original(lowering, operand) for operand in (query, key, value, lengths)]
        return Value(first=lowering.call(kernel, arguments, shape))

    return rule
