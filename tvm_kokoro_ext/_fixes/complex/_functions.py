"""Functions of complex tensors, written in PyTorch on their real and imaginary parts.

Each takes the arguments of an operator and returns `NotImplemented` for real tensors, which leaves
the operator as it is. The inverse functions follow Kahan ("Branch cuts for complex elementary
functions", 1987), so that the cuts and the digits near them are those of PyTorch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._fixes.program import _decompositions

_LARGE = 20.0  # tanh is 1 in float64 from here on


def _pair(real: Any, imag: Any) -> Any:
    import torch

    return torch.complex(real, imag)


def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for complex first arguments, and `NotImplemented` for others."""

    @functools.wraps(function)
    def guarded(x: Any, *args: Any, **options: Any) -> Any:
        return function(x, *args, **options) if x.is_complex() else NotImplemented

    return guarded


def _turned(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f(iz) / i, which makes sinh to sin, asin to asinh, and so on."""

    def convert(z: Any) -> Any:
        found = function(_pair(-z.imag, z.real))
        return _pair(found.imag, -found.real)

    return convert


def log(z: Any) -> Any:
    import torch

    return _pair(z.abs().log(), torch.atan2(z.imag, z.real))


def _log_of_base(z: Any, base: float) -> Any:
    found, factor = log(z), 1 / math.log(base)
    return _pair(found.real * factor, found.imag * factor)


def log1p(z: Any) -> Any:
    import torch

    a, b = z.real, z.imag
    near = 0.5 * torch.log1p(a * (2 + a) + b * b)
    return _pair(torch.where(z.abs() < 0.5, near, (z + 1).abs().log()), torch.atan2(b, 1 + a))


def expm1(z: Any) -> Any:
    a, b = z.real, z.imag
    half = (b / 2).sin()
    return _pair(a.expm1() * b.cos() - 2 * half * half, a.exp() * b.sin())


def sqrt(z: Any) -> Any:
    import torch

    a, b = z.real, z.imag
    root = (a.abs() / 2 + z.abs() / 2).sqrt()
    other = torch.where(root == 0, b.abs(), b.abs() / (2 * root))
    real, imag = torch.where(a < 0, other, root), torch.where(a < 0, root, other)
    return _pair(real, torch.copysign(imag, b))


def sinh(z: Any) -> Any:
    a, b = z.real, z.imag
    return _pair(a.sinh() * b.cos(), a.cosh() * b.sin())


def cosh(z: Any) -> Any:
    a, b = z.real, z.imag
    return _pair(a.cosh() * b.cos(), a.sinh() * b.sin())


def cos(z: Any) -> Any:
    return cosh(_pair(-z.imag, z.real))


def tanh(z: Any) -> Any:
    import torch

    a, b = z.real, z.imag
    far = a.abs() > _LARGE
    s, t = torch.where(far, 0.0, a).sinh(), b.tan()
    beta = 1 + t * t
    below = 1 + beta * s * s
    real, imag = beta * (1 + s * s).sqrt() * s / below, t / below
    tail = 2 * (2 * b).sin() * (-2 * a.abs()).exp()
    return _pair(torch.where(far, a.sign(), real), torch.where(far, tail, imag))


def _roots(z: Any) -> tuple[Any, Any]:
    """The roots of 1 - z and 1 + z: a sum of complex numbers would lose the sign of a zero."""
    return sqrt(_pair(1 - z.real, -z.imag)), sqrt(_pair(1 + z.real, z.imag))


def asin(z: Any) -> Any:
    import torch

    below, above = _roots(z)
    cosine = below.real * above.real - below.imag * above.imag
    crossed = below.real * above.imag - below.imag * above.real
    return _pair(torch.atan2(z.real, cosine), crossed.asinh())


def acos(z: Any) -> Any:
    import torch

    below, above = _roots(z)
    crossed = above.real * below.imag - above.imag * below.real
    return _pair(2 * torch.atan2(below.real, above.real), crossed.asinh())


def acosh(z: Any) -> Any:
    import torch

    below, above = sqrt(_pair(z.real - 1, z.imag)), sqrt(_pair(z.real + 1, z.imag))
    along = below.real * above.real + below.imag * above.imag
    return _pair(along.asinh(), 2 * torch.atan2(below.imag, above.real))


def atanh(z: Any) -> Any:
    import torch

    a, b = z.real, z.imag
    size = a.abs()  # beside -1, log1p would lose the digits that it has beside 1
    real = 0.25 * torch.log1p(4 * size / ((1 - size) * (1 - size) + b * b))
    return _pair(torch.copysign(real, a), 0.5 * torch.atan2(2 * b, (1 - a) * (1 + a) - b * b))


def sigmoid(z: Any) -> Any:
    return 1 / (1 + (-z).exp())


def sgn(z: Any) -> Any:
    import torch

    size = z.abs()
    scale = torch.where(size == 0, 0.0, 1 / torch.where(size == 0, 1.0, size))
    return _pair(z.real * scale, z.imag * scale)


def power(x: Any, exponent: Any) -> Any:
    """x to a power, of which at least one is complex; 0 is 1 to the power of 0, infinite below."""
    import torch

    values = [v for v in (x, exponent) if isinstance(v, torch.Tensor)]
    complexes = (isinstance(v, complex) for v in (x, exponent))
    if not any(v.is_complex() for v in values) and not any(complexes):
        return NotImplemented
    dtype = torch.result_type(x, exponent)
    plain = exponent.real if isinstance(exponent, complex) and not exponent.imag else exponent
    if isinstance(plain, int | float) and plain in _POWERS:
        return _POWERS[plain](x.to(dtype))
    x, exponent = (
        v.to(dtype) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=dtype)
        for v in (x, exponent)
    )
    none = _is_zero(x)
    found = (exponent * log(torch.where(none, 1.0, x))).exp()
    below, nothing = exponent.real < 0, torch.zeros_like(exponent.real)
    of_zero = _pair(*(torch.where(below, value, nothing) for value in (math.inf, math.nan)))
    return torch.where(none, torch.where(_is_zero(exponent), 1.0, of_zero), found)


_POWERS: dict[float, Callable[[Any], Any]] = {
    0.5: sqrt,
    -0.5: lambda z: 1 / sqrt(z),
    2: lambda z: z * z,
    3: lambda z: z * z * z,
    -1: lambda z: 1 / z,
    -2: lambda z: 1 / (z * z),
}


def _is_zero(z: Any) -> Any:
    return (z.real == 0) & (z.imag == 0)


def _truth(operator: str) -> Callable[..., Any]:
    """A logical operator on whether elements are not zero."""

    def convert(*operands: Any) -> Any:
        import torch

        if not any(x.is_complex() for x in operands):
            return NotImplemented
        truths = (~_is_zero(x) if x.is_complex() else x != 0 for x in operands)
        return getattr(torch, operator)(*truths)

    return convert


def _reduced_truth(operator: str) -> Callable[..., Any]:
    def convert(x: Any, *args: Any, **options: Any) -> Any:
        import torch

        return getattr(torch, operator)(~_is_zero(x), *args, **options)

    return _of_complex(convert)


def equal(x: Any, y: Any) -> Any:
    import torch

    values = [v for v in (x, y) if isinstance(v, torch.Tensor)]
    if not any(v.is_complex() for v in values) and not isinstance(y, complex):
        return NotImplemented
    parts = [
        (v.real, v.imag) if isinstance(v, complex) or getattr(v, "is_complex", bool)() else (v, 0.0)
        for v in (x, y)
    ]
    return (parts[0][0] == parts[1][0]) & (parts[0][1] == parts[1][1])


def different(x: Any, y: Any) -> Any:
    same = equal(x, y)
    return same if same is NotImplemented else ~same


def _of_parts(operator: str, both: bool) -> Callable[..., Any]:
    """Whether both parts, or one of them, are so."""

    def convert(z: Any) -> Any:
        import torch

        real, imag = (getattr(torch, operator)(part) for part in (z.real, z.imag))
        return real & imag if both else real | imag

    return _of_complex(convert)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=x.dtype)
    return torch.where(mask, value.to(x.dtype), x)


def selected(x: Any, mask: Any) -> Any:
    import torch

    shape = torch.broadcast_shapes(x.shape, mask.shape)
    return indexed(x.expand(shape), [mask.expand(shape)])


def indexed(x: Any, indices: Any) -> Any:
    import torch

    return torch.view_as_complex(torch.ops.aten.index.Tensor(torch.view_as_real(x), indices))


def log_of_sum(x: Any, y: Any) -> Any:
    """logaddexp, by the larger real part."""
    import torch

    larger = torch.where(x.real >= y.real, x, y)
    return torch.where(x.real >= y.real, y, x).sub(larger).exp().add(1).log() + larger


def _spread(root: bool, mean: bool, form: str) -> Callable[..., Any]:
    """var or std, with or without the mean, by one of the operator's three signatures."""

    def convert(x: Any, *args: Any, **options: Any) -> Any:
        import torch

        names = {"default": ("unbiased",), "dim": ("dim", "unbiased", "keepdim")}
        given = dict(zip(names.get(form, ("dim",)), args, strict=False)) | options
        if "unbiased" in given:
            given["correction"] = int(given.pop("unbiased"))
        dim, keep = given.pop("dim", None), given.pop("keepdim", False)
        correction = given.pop("correction", None)
        how = {"correction": 1 if correction is None else correction, "keepdim": keep}
        found = torch.var(x.real, dim, **how) + torch.var(x.imag, dim, **how)
        found = found.sqrt() if root else found
        axes = list(range(x.dim())) if dim is None else dim
        return (found, x.mean(axes, keepdim=keep)) if mean else found

    return _of_complex(convert)


def _product(x: Any) -> Any:
    """The product along the first axis, by halves."""
    import torch

    if x.shape[0] == 0:
        return torch.full(x.shape[1:], 1, dtype=x.dtype)
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = torch.cat([x[:half] * x[half : 2 * half], x[2 * half :]])
    return x.select(0, 0)


def product(x: Any, *, dtype: Any = None) -> Any:
    if not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    return _product((x if dtype is None else x.to(dtype)).reshape(-1))


def product_of_dimension(x: Any, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    x = x if dtype is None else x.to(dtype)
    if x.dim() == 0:
        return x
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    found = _product(x.transpose(0, dim).unsqueeze(-1)).squeeze(-1)
    found = found.unsqueeze(0).transpose(0, dim)
    return found if keepdim else found.squeeze(dim)


def running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """cumprod, by products over distances of 1, 2, 4, … elements."""
    import torch

    x = x if dtype is None else x.to(dtype)
    if x.dim() == 0:
        return x
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    step = 1
    while step < x.shape[dim]:
        rest = x.shape[dim] - step
        head, tail = x.narrow(dim, 0, step), x.narrow(dim, step, rest) * x.narrow(dim, 0, rest)
        x, step = torch.cat([head, tail], dim), 2 * step
    return x


def _convolution(name: str) -> Callable[..., Any]:
    """A convolution by those of the parts."""
    operator, overload = name.split(".")

    def convert(x: Any, weight: Any, bias: Any = None, *rest: Any) -> Any:
        import torch

        if not x.is_complex() and not weight.is_complex():
            return NotImplemented
        function = getattr(getattr(torch.ops.aten, operator), overload)
        (a, b), (c, d) = ((v.real, v.imag) if v.is_complex() else (v, None) for v in (x, weight))

        def part(left: Any, right: Any) -> Any:
            return 0.0 if left is None or right is None else function(left, right, None, *rest)

        found = _pair(part(a, c) - part(b, d), part(a, d) + part(b, c))
        if bias is None:
            return found
        axes = weight.dim() - 2
        return found + bias.reshape(bias.shape[0], *[1] * axes)

    return convert


def _made(value: int, like: bool = False, sized: bool = False) -> Callable[..., Any]:
    """A tensor of one number: of a size, like another, or of a size with the dtype of another."""

    def convert(*args: Any, dtype: Any = None, **_: Any) -> Any:
        import torch

        example = args[0].dtype if like or sized else torch.get_default_dtype()
        dtype = dtype or example
        if not dtype.is_complex and not example.is_complex:
            return NotImplemented
        size = args[0].shape if like else args[1] if sized else args[0]
        return torch.full(size, value, dtype=dtype)

    return convert


def eye(*sizes: int, dtype: Any = None, **_: Any) -> Any:
    import torch

    if dtype is None or not dtype.is_complex:
        return NotImplemented
    real = torch.zeros((), dtype=dtype.to_real()).dtype
    return torch.eye(*sizes, dtype=real).to(dtype)


_UNARY: dict[str, Callable[[Any], Any]] = {
    "log": log,
    "log2": lambda z: _log_of_base(z, 2),
    "log10": lambda z: _log_of_base(z, 10),
    "log1p": log1p,
    "expm1": expm1,
    "exp2": lambda z: (z * math.log(2)).exp(),
    "sqrt": sqrt,
    "rsqrt": lambda z: 1 / sqrt(z),
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "sin": _turned(sinh),
    "cos": cos,
    "tan": _turned(tanh),
    "asin": asin,
    "acos": acos,
    "atan": _turned(atanh),
    "asinh": _turned(asin),
    "acosh": acosh,
    "atanh": atanh,
    "sigmoid": sigmoid,
    "silu": lambda z: z * sigmoid(z),
    "sgn": sgn,
    "square": lambda z: z * z,
}
_CONVOLUTIONS = (
    *(f"conv{n}d.{form}" for n in (1, 2, 3) for form in ("default", "padding")),
    *("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input"),
)

#: The functions by the name of the operator.
DECOMPOSED: dict[str, Callable[..., Any]] = {
    **{f"{name}.default": _of_complex(function) for name, function in _UNARY.items()},
    **{f"logical_{op}.default": _truth(f"logical_{op}") for op in ("and", "or", "xor", "not")},
    **{f"{op}.{form}": _reduced_truth(op) for op in ("any", "all") for form in ("default", "dim")},
    **{f"{op}.dims": _reduced_truth(op) for op in ("any", "all")},
    **{f"pow.{form}": power for form in ("Tensor_Scalar", "Tensor_Tensor", "Scalar")},
    **{f"eq.{form}": equal for form in ("Tensor", "Scalar")},
    **{f"ne.{form}": different for form in ("Tensor", "Scalar")},
    "isnan.default": _of_parts("isnan", both=False),
    "isinf.default": _of_parts("isinf", both=False),
    "isfinite.default": _of_parts("isfinite", both=True),
    **{f"masked_fill.{form}": _of_complex(masked_fill) for form in ("Scalar", "Tensor")},
    **{
        f"{name}{'_mean' if mean else ''}.{form}": _spread(name == "std", mean, form)
        for name in ("var", "std")
        for mean in (False, True)
        for form in ("default", "dim", "correction")
    },
    "outer.default": lambda x, y: x.unsqueeze(-1) * y,
    "index.Tensor": _of_complex(indexed),
    "masked_select.default": _of_complex(selected),
    "nonzero.default": _of_complex(lambda z: (~_is_zero(z)).nonzero()),
    "logaddexp.default": _of_complex(log_of_sum),
    "linalg_vector_norm.default": _of_complex(_decompositions.norm),
    "prod.default": _of_complex(product),
    "prod.dim_int": _of_complex(product_of_dimension),
    "cumprod.default": _of_complex(running_product),
    **{name: _convolution(name) for name in _CONVOLUTIONS},
    **{
        name: _made(value, like, sized)
        for word, value in (("zeros", 0), ("ones", 1), ("empty", 0))
        for name, like, sized in (
            (f"{word}.{'memory_format' if word == 'empty' else 'default'}", False, False),
            (f"{word}_like.default", True, False),
            (f"new_{word}.default", False, True),
        )
    },
    "eye.default": eye,
    "eye.m": eye,
}
