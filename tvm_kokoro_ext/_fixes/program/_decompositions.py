"""Our own decompositions in PyTorch, for operators without a usable decomposition in torch.

Each takes all arguments of an operator and computes its result with functional operators that TVM
supports. If one node of an operator is decomposed, all nodes of this operator are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._fixes.program import _grids, _matrices
from tvm_kokoro_ext._fixes.program.kept_whole import LINSPACE


def _is_symbolic(number: Any) -> bool:
    """Whether a number is computed of symbolic sizes; to ask for its value would fix the sizes."""
    return not isinstance(number, int | float | complex)


def _wide(x: Any) -> Any:
    """Numbers of half precision in float32, in which torch sums them; others as they are."""
    import torch

    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def addmm(x: Any, first: Any, second: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """A factor of 0 discards even NaN, both in the product and in x."""
    product = _wide(first) @ _wide(second)
    if _is_symbolic(alpha) or _is_symbolic(beta):
        return (product * alpha + _wide(x) * beta).to(x.dtype)
    if not x.is_floating_point() and not x.is_complex():
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha if alpha else product.new_zeros(product.shape)
    return (product + beta * _wide(x) if beta else product).to(x.dtype)


def hardtanh(x: Any, low: float = -1, high: float = 1) -> Any:
    """Torch's decomposition compares the bounds, which may be symbolic."""
    return x.clamp(low, high)


def scatter_number(x: Any, dim: int, index: Any, value: float) -> Any:
    return x.scatter(dim, index, x.new_full((), value).expand(index.shape))


def variance(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    """The squared deviations from the mean, over n - correction or 0, the larger."""
    import torch

    dims = dim or list(range(x.dim()))
    count = math.prod(x.shape[axis] for axis in dims)
    wide = _wide(x)
    squares = (wide - wide.mean(dims, keepdim=True)).square().sum(dims, keepdim=keepdim)
    return (squares / torch.sym_max(count - correction, 0)).to(x.dtype)


def deviation(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    """std, the root of the variance."""
    return variance(_wide(x), dim, correction=correction, keepdim=keepdim).sqrt().to(x.dtype)


def addbmm(x: Any, first: Any, second: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    import torch

    if not x.is_floating_point() and not x.is_complex():
        beta, alpha = int(beta), int(alpha)
    product = alpha * torch.bmm(_wide(first), _wide(second)).sum(0, dtype=_wide(x).dtype)
    return (product + beta * _wide(x) if beta else product).to(x.dtype)  # 0 drops even NaN


def lcm(x: Any, y: Any) -> Any:
    """Integers of less than 32 bits are multiplied in 32, and cut off after abs()."""
    import torch

    dtype = torch.result_type(x, y)
    wide = torch.promote_types(dtype, torch.int32)
    x, y = x.to(wide), y.to(wide)
    divisor = torch.gcd(x, y)
    return (x // torch.where(divisor == 0, 1, divisor) * y).abs().to(dtype)


def view_of_other_size(x: Any, dtype: Any) -> Any:
    """view(dtype) of numbers that are wider or narrower, whose bytes begin with the lowest.

    Views of the same size are left to their converter, and so are those of complex numbers.
    """
    import torch

    own, goal = x.dtype.itemsize, dtype.itemsize
    if own == goal or x.dtype.is_complex or dtype.is_complex:
        return NotImplemented
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    if x.dtype is not integers[own]:
        x = x.view(integers[own])
    parts = torch.arange(max(own, goal) // min(own, goal)) * (8 * min(own, goal))
    if own > goal:
        x = (x.to(torch.int64).unsqueeze(-1) >> parts).to(integers[goal]).flatten(-2)
    else:
        wide = x.unflatten(-1, (-1, parts.shape[0])).to(torch.int64)
        if own == 4:  # without a mask, which TVM 0.25 and 0.26 take for a number of int32
            low, high = wide.unbind(-1)
            x = ((high + (low < 0)) << 32) + low
        else:
            x = ((wide & (2 ** (8 * own) - 1)) << parts).sum(-1).to(integers[goal])
    return x if dtype is integers[goal] else x.view(dtype)


def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def index_put(
    x: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False
) -> Any:
    """The operator that torch calls for gradients of indexing; `unsafe` saves it a check."""
    import torch

    return torch.ops.aten.index_put.default(x, indices, values, accumulate)


def convolution(*args: Any) -> Any:
    """_convolution, whose arguments behind the groups are of kernels that torch may choose."""
    import torch

    return torch.ops.aten.convolution.default(*args[:9])


def conv_tbc(x: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution of [time, batch, channels] with a weight of [width, channels, results]."""
    import torch

    made = torch.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1)


def take(x: Any, index: Any) -> Any:
    import torch

    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """An index without dimensions is one place; torch's is right for it in dimension 0 only."""
    import torch
    from torch._decomp import decomposition_table

    places = index.reshape(1) if index.dim() == 0 else index
    torchs = decomposition_table[torch.ops.aten.index_add.default]
    return torchs(x, dim, places, source, alpha=alpha)


def index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    shape = [1] * source.dim()
    if shape:
        shape[dim] = -1
    places = index.reshape(shape).expand(source.shape)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def nanmedian(x: Any) -> Any:
    """NaN of no floats; of no integers there is none, and `amin` refuses them."""
    import torch

    numbers = x.reshape(-1)
    if x.is_floating_point():  # one more, which is left out with the others that are NaN
        numbers = torch.cat([numbers, numbers.new_full((1,), math.nan)])
    return torch.ops.aten.nanmedian.dim(numbers, 0)[0]


def nanmedian_of_dimension(x: Any, dim: int, keepdim: bool = False) -> Any:
    """As NaN is sorted last, the lower median is in the middle of the elements before it."""
    import torch

    ordered, places = x.sort(dim)
    numbers = (~x.isnan()).sum(dim, keepdim=True)
    # Of NaN alone. There is no amin of no elements, of which nothing may be gathered.
    missing = ordered.amin(dim, keepdim=True)
    middle = ((numbers - 1) // 2).clamp(min=0)
    median = torch.where(numbers == 0, missing, ordered.gather(dim, middle))
    found = median, places.gather(dim, middle)
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


def unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The distinct elements in order; NaN is distinct from every other NaN."""
    ordered, order = x.reshape(-1).sort()
    values, places, counts = unique_consecutive(ordered, return_inverse, return_counts)
    if return_inverse:
        places = places.scatter(0, order, places).reshape(x.shape)
    return values, places, counts


def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first element of every run, the index of each element's run, and the run lengths."""
    import torch

    if dim is not None:
        raise NotImplementedError("unique_consecutive(dim=…) is not supported; flatten the tensor")
    flat = x.reshape(-1)
    numbers = torch.arange(flat.shape[0])
    starts = (numbers == 0) | (flat != flat[(numbers - 1).clamp(min=0)])
    firsts = starts.nonzero().squeeze(1)
    places = starts.to(torch.int64).cumsum(0) - 1
    counts = torch.zeros_like(firsts).scatter_add(0, places, torch.ones_like(places))
    nothing = torch.empty(0, dtype=torch.int64)
    return (
        flat[firsts],
        places.reshape(x.shape) if return_inverse else nothing,
        counts if return_counts else nothing,
    )


def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """The indices [size, rank] of the first elements that are not 0, and rows of the fill value."""
    import torch

    if x.dim() == 0 or 0 in [extent for extent in x.shape if isinstance(extent, int)]:
        return torch.full((size, x.dim()), fill_value)
    found = (x != 0).reshape(-1)
    row = torch.where(found, found.to(torch.int64).cumsum(0) - 1, size).clamp(max=size)
    index = []
    for axis, extent in enumerate(x.shape):  # no index is divided by a size that may be 0
        line = [extent if other == axis else 1 for other in range(x.dim())]
        places = torch.arange(extent).reshape(line).expand(x.shape).reshape(-1)
        rows = torch.full((size + 1,), fill_value).scatter(0, row, places)
        index.append(rows[:size])  # the last row takes the rest
    return torch.stack(index, 1)


def spherical_bessel_j0(x: Any) -> Any:
    """sin x / x, and its series where that would lose digits."""
    import torch

    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    square, series = x * x, 0.0
    for n in range(7, 0, -1):
        series = (series + 1.0) * square / (-2 * n * (2 * n + 1))
    return torch.where(x.abs() < 0.5, series + 1.0, torch.where(x.isinf(), 0.0, x.sin() / x))


def norm(
    x: Any, order: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """linalg.vector_norm, including order 0: the number of nonzero elements.

    Of one element it is the magnitude, whose square may be too large or too small for the dtype.
    """
    dims = list(range(x.dim())) if dim is None else dim
    size = (x if dtype is None else x.to(dtype)).abs()
    if reduces_nothing(x, dims) and order != 0:
        return size if keepdim else size.squeeze(dims or list(range(x.dim())))
    return _norm(_wide(size), order, dims, keepdim).to(size.dtype)


def reduces_nothing(x: Any, dims: Any) -> bool:
    """Whether all these axes of a tensor are of size 1; without a list, or of none, all it has."""
    sizes = [x.shape[axis] for axis in dims or range(x.dim())] if x.dim() else []
    return all(isinstance(size, int) and size == 1 for size in sizes)


def _norm(size: Any, order: float, dims: Any, keepdim: bool) -> Any:
    if _is_symbolic(order):
        return (size**order).sum(dims, keepdim=keepdim) ** (1 / order)
    if order == 0:
        return (size != 0).sum(dims, keepdim=keepdim)
    if math.isinf(order):
        return size.amax(dims, keepdim) if order > 0 else size.amin(dims, keepdim)
    if order == 2:
        return (size * size).sum(dims, keepdim=keepdim).sqrt()
    return (size**order).sum(dims, keepdim=keepdim) ** (1 / order)


def distances(x: Any, y: Any, p: float, mode: Any = None) -> Any:
    """cdist, including p = 0 and p = ∞."""
    return _distance(x.unsqueeze(-2) - y.unsqueeze(-3), p)


def pair_distances(x: Any, p: float = 2) -> Any:
    """pdist: the distance of each pair of rows."""

    import torch

    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return _distance(x[first] - x[second], p)


def _distance(difference: Any, p: float) -> Any:
    """The norm along the last axis; the order 0 keeps a NaN, which `norm` counts."""
    import torch

    if p:
        return norm(difference, p, [-1])
    counted = (difference != 0).to(difference.dtype)
    return torch.where(difference.isnan(), difference, counted).sum(-1)


def frequencies(size: int, spacing: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    """fft.fftfreq"""

    import torch

    ahead = torch.arange((size + 1) // 2, dtype=dtype or torch.get_default_dtype())
    back = torch.arange(-(size // 2), 0, dtype=ahead.dtype)
    return torch.cat([ahead, back]) / (size * spacing)


def half_frequencies(size: int, spacing: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    """fft.rfftfreq"""

    import torch

    ahead = torch.arange(size // 2 + 1, dtype=dtype or torch.get_default_dtype())
    return ahead / (size * spacing)


def multilabel_margin(x: Any, target: Any, reduction: int = 1) -> Any:
    """Targets count up to the first -1; torch's decomposition adds terms of those behind it."""
    import torch

    scores, places = torch.atleast_2d(x), torch.atleast_2d(target)
    given = (places == -1).to(torch.int64).cumsum(1) == 0
    index = torch.where(given, places, 0)
    classes = torch.arange(scores.shape[1])
    chosen = ((classes == index.unsqueeze(-1)) & given.unsqueeze(-1)).any(1)
    margins = 1 - scores.gather(1, index).unsqueeze(-1) + scores.unsqueeze(1)
    counted = given.unsqueeze(-1) & ~chosen.unsqueeze(1) & (margins > 0)  # none that is NaN
    loss = torch.where(counted, margins, 0).sum((1, 2)) / scores.shape[1]
    if reduction:
        return loss.mean() if reduction == 1 else loss.sum()
    return loss.reshape(x.shape[:-1])


_FEW = 32  # tests that take less time one by one than a search among them


def isin(elements: Any, tests: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Torch's decomposition sorts the tests, among which NaN misleads its search.

    Here tests that are NaN, which equals no number, become the largest number of the dtype, and
    another one is added, so that each search ends at some test.
    """
    import torch

    if not isinstance(elements, torch.Tensor):
        elements = torch.scalar_tensor(elements)
    dtype = torch.promote_types(torch.result_type(elements, tests), torch.uint8)
    elements, tests = elements.to(dtype), tests.flatten().to(dtype)
    if isinstance(tests.shape[0], int) and tests.shape[0] <= _FEW:
        found = (elements.unsqueeze(-1) == tests).any(-1)
        return ~found if invert else found
    largest = math.inf if dtype.is_floating_point else torch.iinfo(dtype).max
    known = (tests == largest).any()
    if dtype.is_floating_point:
        tests = torch.where(tests.isnan(), largest, tests)
    tests = torch.cat([torch.sort(tests).values, tests.new_full((1,), largest)])
    place = torch.searchsorted(tests, elements).clamp(max=tests.shape[0] - 1)
    found = (take(tests, place) == elements) & ((elements != largest) | known)
    return ~found if invert else found


def roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Torch's decomposition divides by the size outside of any loop, which ends a process at 0."""
    import torch

    if not dims:
        return roll(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        x = x.index_select(dim, torch.remainder(torch.arange(size) - shift, size))
    return x


def _windows(shape: Callable[[Any], Any]) -> Callable[..., Any]:
    """A window whose value at a place from 0 to 1 is `shape` of it, computed in float64."""

    def window(size: int, periodic: bool = True, *extra: Any, dtype: Any = None, **_: Any) -> Any:
        import torch

        given = torch.arange(size, dtype=torch.float64)
        steps = size if periodic else size - 1
        values = shape(given / steps, *extra) if size != 1 else torch.ones_like(given)
        return values.to(dtype or torch.get_default_dtype())

    return window


def _bartlett(place: Any) -> Any:
    return 1 - (2 * place - 1).abs()


def _blackman(place: Any) -> Any:
    angle = place * (2 * math.pi)
    return 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()


def _kaiser(place: Any, beta: float = 12.0) -> Any:
    import torch

    inside = (1 - (2 * place - 1) ** 2).clamp(min=0).sqrt()
    whole = torch.full((), beta, dtype=torch.float64)
    return torch.i0(inside * beta) / torch.i0(whole)


def _exchanged(operator: str) -> Callable[[Any, Any], Any]:
    """The bits of a number and of a tensor, whose order does not matter."""

    def combined(number: Any, x: Any) -> Any:
        import torch

        return getattr(torch, operator)(x, number)

    return combined


def searchsorted_of_number(boundaries: Any, number: Any, **options: Any) -> Any:
    import torch

    dtype = torch.result_type(boundaries, number)
    value = torch.full((), number, dtype=dtype)
    return torch.ops.aten.searchsorted.Tensor(boundaries, value, **options)


def bucketize_of_number(number: Any, boundaries: Any, **options: Any) -> Any:
    return searchsorted_of_number(boundaries, number, **options)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **options: Any) -> Any:
    """Of integers between integers: the bounds are cut off first, as in torch's kernel."""
    import torch
    from torch._decomp import decomposition_table

    if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:
        start, end = (_without_fraction(bound) for bound in (start, end))
    divided = decomposition_table[torch.ops.aten.linspace.default]
    return divided(start, end, steps, dtype=dtype, **options)


def _without_fraction(bound: Any) -> Any:
    if hasattr(bound, "dtype"):
        return bound.trunc() if bound.is_floating_point() else bound
    return int(bound) if isinstance(bound, float) else bound


def frexp(x: Any) -> Any:
    """The fraction, from 1/2 on and below 1, and the exponent of 2 of each number."""
    import torch

    wide = x.double() if x.dtype == torch.float64 else x.float()
    integer = torch.int64 if x.dtype == torch.float64 else torch.int32
    digits, bias = (52, 1022) if x.dtype == torch.float64 else (23, 126)
    field = 2 * bias + 3  # all bits of an exponent
    tiny = wide.abs() < 2.0 ** (1 - bias)
    bits = torch.where(tiny, wide * 2.0 ** (digits + 1), wide).view(integer)
    raw = (bits >> digits) & field
    exponent = raw - bias - torch.where(tiny, digits + 1, 0)
    fraction = (bits + ((bias - raw) << digits)).view(wide.dtype)
    plain = wide.isfinite() & (wide != 0)
    fraction = torch.where(plain, fraction, wide).to(x.dtype)
    return fraction, torch.where(plain, exponent, 0).to(torch.int32)


def _viewed(name: str, overload: str) -> Callable[..., Any]:
    """The view whose copy an operator is; the trace that it is called in has no writes left."""

    def view(*args: Any, **kwargs: Any) -> Any:
        import torch

        return getattr(getattr(torch.ops.aten, name), overload)(*args, **kwargs)

    return view


#: Copies of views for which torch has no decomposition, unlike for `view_copy` and `permute_copy`.
_COPIES = (
    ("slice", "Tensor"),
    ("select", "int"),
    ("split", "Tensor"),
    ("detach", "default"),
    ("view_as_real", "default"),
)


#: The decompositions by the name that the importer looks up.
OWN: dict[str, Callable[..., Any]] = {
    **_matrices.OWN,
    **{
        f"{name}_window.{overload}": _windows(shape)
        for name, shape in (("bartlett", _bartlett), ("blackman", _blackman), ("kaiser", _kaiser))
        for overload in ("default", "periodic", "beta")
    },
    **{
        f"{name}.Scalar_Tensor": _exchanged(name)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{f"{name}_copy.{overload}": _viewed(name, overload) for name, overload in _COPIES},
    "addmm.default": addmm,
    "hardtanh.default": hardtanh,
    "scatter.value": scatter_number,
    "std.correction": deviation,
    "var.correction": variance,
    "affine_grid_generator.default": _grids.affine_grid,
    "addbmm.default": addbmm,
    "bucketize.Scalar": bucketize_of_number,
    "frexp.Tensor": frexp,
    "grid_sampler_2d.default": _grids.grid_sampler_2d,
    "grid_sampler_3d.default": _grids.grid_sampler_3d,
    "lcm.default": lcm,
    **dict.fromkeys(LINSPACE, linspace),
    "_index_put_impl.default": index_put,
    "_convolution.default": convolution,
    "_convolution.deprecated": convolution,
    "conv_tbc.default": conv_tbc,
    "put.default": put,
    "take.default": take,
    "view.dtype": view_of_other_size,
    "index_add.default": index_add,
    "index_reduce.default": index_reduce,
    "nanmedian.default": nanmedian,
    "nanmedian.dim": nanmedian_of_dimension,
    "_unique2.default": unique,
    "unique_consecutive.default": unique_consecutive,
    "nonzero_static.default": nonzero_static,
    "special_spherical_bessel_j0.default": spherical_bessel_j0,
    "linalg_vector_norm.default": norm,
    "_cdist_forward.default": distances,
    "fft_fftfreq.default": frequencies,
    "fft_rfftfreq.default": half_frequencies,
    "_pdist_forward.default": pair_distances,
    "multilabel_margin_loss.default": multilabel_margin,
    "isin.Tensor_Tensor": isin,
    "isin.Scalar_Tensor": isin,
    "roll.default": roll,
    "searchsorted.Scalar": searchsorted_of_number,
}
