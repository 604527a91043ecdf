"""Functions of integer tensors that stock computes as integers where torch has floats, or fails."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous

_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cos cosh erf exp expm1 log log10 log1p log2 logit "
    "reciprocal rsqrt sigmoid sin sinh sqrt tan tanh"
)


@needs_previous
def promote(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    result = _emit.result_dtype(importer, node)
    if result is None or not _compat.is_tensor(x) or _compat.dtype_of(x) == result:
        return previous(node)
    cast = _emit.emit(importer, relax.op.astype(x, result))
    with _emit.standing_in(importer, node.args[0], cast):
        return previous(node)


@needs_previous
def not_finite(importer: Any, node: Any, previous: Any) -> Any:
    """isfinite, isinf and isnan are constant for integers."""
    x = importer.retrieve_args(node)[0]
    if "float" in _compat.dtype_of(x):
        return previous(node)
    value = node.target.__name__.startswith("isfinite")
    return _emit.emit(importer, relax.op.full_like(x, relax.const(value, "bool"), dtype="bool"))


@needs_previous
def unsigned(importer: Any, node: Any, previous: Any) -> Any:
    """sign, neg and abs of unsigned integers, for which TVM makes a constant -1 of their dtype."""
    x = importer.retrieve_args(node)[0]
    dtype = _compat.dtype_of(x) if _compat.is_tensor(x) else ""
    if not dtype.startswith("uint"):
        return previous(node)
    name = node.target.__name__
    if name == "abs.default":
        return x
    if name == "sign.default":
        positive = _emit.emit(importer, relax.op.not_equal(x, relax.const(0, dtype)))
        return _emit.astype(importer, positive, dtype)
    negative = relax.op.subtract(relax.const(0, dtype), x)
    return _emit.emit(importer, negative)  # modulo 2 to their width, as in torch


@_probe.wrong
def _still_wrong() -> bool:
    x, out = _probe.Input((4,), "int64"), ((4,), "float32")
    names = ("reciprocal.default", "exp.default", "sigmoid.default", "rsqrt.default")
    return any(_probe.convert(name, x, out=out).dtype != "float32" for name in names)


FIX = Fix(
    id="unary",
    what="reciprocal, exp, sin, … of integer tensors; sign, neg and abs of unsigned ones",
    op="aten unary operators",
    affected="",
    converters={
        **{f"{name}.default": promote for name in _FUNCTIONS.split()},
        **dict.fromkeys(("isfinite.default", "isinf.default", "isnan.default"), not_finite),
        **dict.fromkeys(("sign.default", "neg.default", "abs.default"), unsigned),
    },
    probe=_still_wrong,
)
