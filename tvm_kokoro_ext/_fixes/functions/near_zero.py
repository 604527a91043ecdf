"""log1p, expm1 and softplus keep the digits of small numbers.

Stock writes `log(1 + x)` and `exp(x) - 1`, whose sums round the digits of a small x away. In
float32 the formulas here are faster as well, as they call no function of the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import elementary, elementwise
from tvm_kokoro_ext._fixes._shared.legalization import overriding


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
    """relax.nn.softplus: log(1 + exp(beta · x)) / beta, and x beyond the threshold.

    With z = beta · x the logarithm is max(z, 0) + log(1 + exp(-|z|)), which does not overflow.
    """
    dtype = _compat.dtype_of(call.args[0])
    if dtype not in ("float32", "float64"):
        return below(builder, call)
    zero, beta, threshold = (
        tirx.const(float(value), dtype) for value in (0, call.attrs.beta, call.attrs.threshold)
    )

    def element(x: Any) -> Any:
        scaled = x * beta
        smooth = tirx.max(scaled, zero)
        smooth += elementary.log1p(elementary.exp_of_negative(zero - tirx.abs(scaled)))
        return tirx.Select(scaled <= threshold, smooth / beta, x)  # NaN is x

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
        "log1p.default": _unary(elementary.log1p, "log1p"),
        "expm1.default": _unary(elementary.expm1, "expm1"),
    },
    install=overriding({"relax.nn.softplus": softplus}),
    probe=_still_wrong,
)
