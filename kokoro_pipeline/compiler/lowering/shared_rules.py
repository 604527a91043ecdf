"""Rules shared by the CPU and GPUs, for operators whose kernels take the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tvm import relax, tirx

from .channels_last import Value, dimensions, is_transpose
from .custom_operators import SourceCall, custom_operator

if TYPE_CHECKING:
    from .program_lowering import ProgramLowering

Rule = Callable[["ProgramLowering", relax.Var, relax.Call], "Value | None"]
OperatorRule = Callable[..., "Value | None"]


def original(lowering: ProgramLowering, expression: relax.Expr) -> relax.Expr:
    """The lowered value of an operand in PyTorch's layout."""
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
    """The name of the parameter [outputs, features] in `matmul(x, permute_dims(parameter))`.

    This is the form in which PyTorch's linear layer is imported. None for any other product.
    """
    data, transposed = call.args
    permute = lowering.definition(transposed, "relax.permute_dims")
    if permute is None or str(data.ty.dtype) != "float32" or int(data.ty.ndim) < 2:
        return None
    name = lowering.weight(permute.args[0])
    if name is None or lowering.parameters[name].ndim != 2 or not is_transpose(permute.attrs.axes):
        return None
    return name


def layer_norm_rule(layer_norm: Callable[..., tirx.PrimFunc]) -> Rule:
    """The rule for a layer norm, given the function that makes its kernel.

    `layer_norm` takes F and epsilon; the kernel maps x [M, F], weight [F] and bias [F] to y [M, F].
    """

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
    """The rule that dispatches by the name of the custom operator.

    `rules` receive the arguments of the operator itself.
    """

    def rule(lowering: ProgramLowering, _variable: relax.Var, call: relax.Call) -> Value | None:
        found = rules.get(custom_operator(call) or "")
        return found(lowering, *call.args[1]) if found is not None else None

    return rule


def source_rule(lower: Callable[..., relax.Expr]) -> OperatorRule:
    """The rule for the harmonic source, given a function of lowering and call."""

    def rule(lowering: ProgramLowering, *arguments: relax.Expr) -> Value | None:
        call = SourceCall.of(arguments)
        names = [lowering.weight(each) for each in (call.weight, call.bias, call.basis)]
        if None in names or not call.transform.fits(call.source):
            return None
        return Value(first=lower(lowering, call))

    return rule


def attention_rule(attention: Callable[..., tirx.PrimFunc]) -> OperatorRule:
    """The rule for masked attention, given the function that makes its kernel.

    `attention` takes the number and the size of the heads; the kernel reads query, key and value
    [B, n, heads * size] and lengths [B].
    """

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
