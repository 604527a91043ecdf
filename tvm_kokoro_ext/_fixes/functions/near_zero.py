"""log1p, expm1 and softplus keep the digits of small numbers.

Stock writes `log(1 + x)` and `exp(x) - 1`, whose sums round the digits of a small x away. The
formulas here use functions that every target has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import elementwise
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def _number(value: float, like: Any) -> Any:
    return tirx.const(value, _compat.prim_dtype(like))


def log1p(x: Any) -> Any:
    """log(1 + x) of a float32 or float64 expression.

    Near zero it is 2 · atanh(s) with s = x / (2 + x), by the series of atanh (Abramowitz and
    Stegun, 4.1.27): eleven terms are exact to float64 up to |x| = 0.3, from where on the rounding
    of 1 + x is below two units in the last place of the logarithm. TVM simplifies Kahan's
    (1 + x) - 1 to x, which is why it is not used here.
    """
    s = x / (x + _number(2, x))
    square = s * s
    series = _number(1 / 21, x)
    for power in range(19, 0, -2):
        series = series * square + _number(1 / power, x)
    near = tirx.abs(x) < _number(0.3, x)
    return tirx.Select(near, _number(2, x) * s * series, tirx.log(_number(1, x) + x))


#: How many terms of the series of expm1 are exact to the dtype up to |x| = 0.5.
_TERMS = {"float32": 9, "float64": 16}


def expm1(x: Any) -> Any:
    """exp(x) - 1 of a float32 or float64 expression.

    Near zero it is the Taylor series, without a second function; from |x| = 0.5 on the difference
    has the digits of the exponential.
    """
    one = _number(1, x)
    series = one
    for divisor in range(_TERMS[_compat.prim_dtype(x)], 1, -1):
        series = one + series * x * _number(1 / divisor, x)
    near = tirx.abs(x) < _number(0.5, x)
    return tirx.Select(near, x * series, tirx.exp(x) - one)


def _unary(function: Callable[[Any], Any], hint: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
        wide = _emit.astype(importer, x, dtype if dtype == "float64" else "float32")

        def element(value: Any) -> Any:
            return function(value.asobject())  # an element of a TE tensor as an expression

        made = elementwise.emit(importer, element, wide, hint=hint)
        return _emit.astype(importer, made, dtype)

    return convert


def softplus(below: Any, builder: Any, call: Any) -> Any:
    """relax.nn.softplus: log(1 + exp(beta · x)) / beta, and x beyond the threshold."""
    if _compat.dtype_of(call.args[0]) not in ("float32", "float64"):
        return below(builder, call)
    beta, threshold = float(call.attrs.beta), float(call.attrs.threshold)

    def element(x: Any) -> Any:
        scaled = x * _number(beta, x)
        smooth = log1p(tirx.exp(scaled)) / _number(beta, x)
        return tirx.Select(scaled > _number(threshold, x), x, smooth)

    def compute(data: Any) -> Any:
        return te.compute(
            data.shape, lambda *at: element(data(*at)), name="softplus", tag="elemwise"
        )

    return builder.call_te(compute, call.args[0], primfunc_name_hint="softplus")


@_probe.wrong
def _still_wrong() -> bool:
    """Whether stock adds one before it takes the logarithm."""
    made = _probe.convert("log1p.default", _probe.Input((4,)), out=((4,), "float32"))
    return {"relax.add", "relax.log"} <= set(made.ops)


FIX = Fix(
    id="near_zero",
    what="log1p, expm1 and softplus lose the digits of small numbers",
    op="aten.log1p, aten.expm1, relax.nn.softplus",
    affected="",
    converters={
        "log1p.default": _unary(log1p, "log1p"),
        "expm1.default": _unary(expm1, "expm1"),
    },
    install=overriding({"relax.nn.softplus": softplus}),
    probe=_still_wrong,
)
