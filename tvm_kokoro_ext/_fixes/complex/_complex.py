"""Complex tensors as pairs of real tensors, since TVM has no complex dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fixes._shared import elementwise, hypotenuse


@dataclass(frozen=True, eq=False)
class Complex:
    """Two Relax tensors of the same dtype, used in the importer's environment for complex nodes."""

    real: Any
    imag: Any


def of(importer: Any, value: Any, dtype: str | None = None) -> Complex:
    """Convert a number, a real tensor or a complex tensor to a complex tensor.

    `dtype` is that of the two parts; None leaves a tensor as it is, and makes numbers float32.
    """
    if isinstance(value, Complex):
        if dtype is None:
            return value
        return Complex(*(_emit.astype(importer, part, dtype) for part in (value.real, value.imag)))
    if _compat.is_tensor(value):
        real = value if dtype is None else _emit.astype(importer, value, dtype)
        return Complex(real, _emit.emit(importer, relax.op.zeros_like(real)))
    dtype = dtype or "float32"
    if _compat.is_prim(value):
        return Complex(_emit.scalar(importer, value, dtype), relax.const(0.0, dtype))
    number = complex(value)
    return Complex(relax.const(number.real, dtype), relax.const(number.imag, dtype))


def add(importer: Any, lhs: Complex, rhs: Complex) -> Complex:
    return _both(importer, relax.op.add, lhs, rhs)


def subtract(importer: Any, lhs: Complex, rhs: Complex) -> Complex:
    return _both(importer, relax.op.subtract, lhs, rhs)


def _both(importer: Any, function: Any, lhs: Complex, rhs: Complex) -> Complex:
    real = _emit.emit(importer, function(lhs.real, rhs.real))
    return Complex(real, _emit.emit(importer, function(lhs.imag, rhs.imag)))


def multiply(importer: Any, lhs: Complex, rhs: Complex) -> Complex:
    parts = (lhs.real, lhs.imag, rhs.real, rhs.imag)
    real = elementwise.emit(importer, lambda a, b, c, d: a * c - b * d, *parts, hint="multiply_re")
    imag = elementwise.emit(importer, lambda a, b, c, d: a * d + b * c, *parts, hint="multiply_im")
    return Complex(real, imag)


def divide(importer: Any, lhs: Complex, rhs: Complex) -> Complex:
    parts = (lhs.real, lhs.imag, rhs.real, rhs.imag)

    def real(a: Any, b: Any, c: Any, d: Any) -> Any:
        first, second = _ratio(d, c), _ratio(c, d)
        by_real, by_imag = (a + b * first) / (c + d * first), (a * second + b) / (c * second + d)
        return _by_larger(c, d, by_real, by_imag, a)

    def imag(a: Any, b: Any, c: Any, d: Any) -> Any:
        first, second = _ratio(d, c), _ratio(c, d)
        by_real, by_imag = (b - a * first) / (c + d * first), (b * second - a) / (c * second + d)
        return _by_larger(c, d, by_real, by_imag, b)

    return Complex(
        elementwise.emit(importer, real, *parts, hint="divide_re"),
        elementwise.emit(importer, imag, *parts, hint="divide_im"),
    )


def reciprocal(importer: Any, x: Complex) -> Complex:
    dtype = _compat.dtype_of(x.real)
    one = Complex(relax.const(1.0, dtype), relax.const(0.0, dtype))
    return divide(importer, one, x)


def _ratio(part: Any, by: Any) -> Any:
    size = tirx.abs(by)
    return part / tirx.if_then_else(size > 0, by, tirx.const(1, _compat.prim_dtype(size)))


def _by_larger(c: Any, d: Any, by_real: Any, by_imag: Any, part: Any) -> Any:
    """The quotient by c + di: by its larger part, so that no square overflows, as PyTorch does."""
    real, imag = tirx.abs(c), tirx.abs(d)
    zero = tirx.const(0, _compat.prim_dtype(real))
    quotient = tirx.if_then_else(real >= imag, by_real, by_imag)
    return tirx.if_then_else(tirx.all(real == zero, imag == zero), part / real, quotient)


def matmul(importer: Any, lhs: Complex, rhs: Complex) -> Complex:
    def product(x: Any, y: Any) -> Any:
        dtype = _compat.dtype_of(x)
        return _emit.emit(importer, relax.op.matmul(x, y, out_dtype=dtype))

    rr, ii = product(lhs.real, rhs.real), product(lhs.imag, rhs.imag)
    ri, ir = product(lhs.real, rhs.imag), product(lhs.imag, rhs.real)
    real = _emit.emit(importer, relax.op.subtract(rr, ii))
    return Complex(real, _emit.emit(importer, relax.op.add(ri, ir)))


def magnitude(importer: Any, x: Complex) -> Any:
    return elementwise.emit(importer, hypotenuse.hypot, x.real, x.imag, hint="magnitude")


def angle(importer: Any, x: Complex) -> Any:
    """The argument in (-π, π]; π on the negative real axis."""
    return elementwise.emit(importer, tirx.atan2, x.imag, x.real, hint="angle")


def exponential(importer: Any, x: Complex) -> Complex:
    parts = (x.real, x.imag)
    real = elementwise.emit(importer, lambda a, b: tirx.exp(a) * tirx.cos(b), *parts, hint="exp_re")
    imag = elementwise.emit(importer, lambda a, b: tirx.exp(a) * tirx.sin(b), *parts, hint="exp_im")
    return Complex(real, imag)


def negate(importer: Any, x: Complex) -> Complex:
    real = _emit.emit(importer, relax.op.negative(x.real))
    return Complex(real, _emit.emit(importer, relax.op.negative(x.imag)))


def conjugate(importer: Any, x: Complex) -> Complex:
    return Complex(x.real, _emit.emit(importer, relax.op.negative(x.imag)))
