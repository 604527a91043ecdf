"""Find polar coordinates in an imported program."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax, tirx

from .program_lowering import FunctionLowering


@dataclass(frozen=True)
class Polar:
    """The tensor [B, 2K, L] whose lower and upper K (`bins`) channels are exponents and phases."""

    source: relax.Var
    bins: int


def match_polar(lowering: FunctionLowering, call: relax.Call) -> Polar | None:
    """Match concat([exp(a) * cos(sin(b)), exp(a) * sin(sin(b))]) with a, b halves of a tensor."""
    parts = call.args[0]
    if not isinstance(parts, relax.Tuple) or len(parts.fields) != 2 or int(call.attrs.axis) != 1:
        return None
    products = [lowering.definition(field, "relax.multiply") for field in parts.fields]
    if products[0] is None or products[1] is None:
        return None
    magnitude = products[0].args[0]
    cosine = lowering.definition(products[0].args[1], "relax.cos")
    sine = lowering.definition(products[1].args[1], "relax.sin")
    size = lowering.definition(magnitude, "relax.exp")
    if cosine is None or sine is None or size is None:
        return None
    phase = lowering.definition(cosine.args[0], "relax.sin")
    same = products[1].args[0].same_as(magnitude) and sine.args[0].same_as(cosine.args[0])
    if phase is None or not same or str(call.ty.dtype) != "float32":
        return None
    return _halves(lowering, size.args[0], phase.args[0])


def _halves(lowering: FunctionLowering, low: relax.Expr, high: relax.Expr) -> Polar | None:
    """The tensor whose lower and upper channels two slices are, or None."""
    first = lowering.definition(low, "relax.strided_slice")
    second = lowering.definition(high, "relax.strided_slice")
    if first is None or second is None or not first.args[0].same_as(second.args[0]):
        return None
    source = first.args[0]
    if source.ty.ndim != 3 or not isinstance(source.ty.shape[1], tirx.IntImm):
        return None
    channels = int(source.ty.shape[1])
    ranges = []
    for call in (first, second):
        numbers = [list(argument.fields) for argument in call.args[1:]]
        values = [[int(field.value) for field in fields] for fields in numbers]
        if len(values) == 3:
            values.append([1])
        (axis,), (begin,), (end,), (stride,) = values
        ranges.append((axis % 3, begin, min(end, channels), stride))
    K = channels // 2
    if channels % 2 or ranges != [(1, 0, K, 1), (1, K, channels, 1)]:
        return None
    return Polar(source, K)
