"""Elementary and special functions, where they are evaluated, and how their errors are counted.

An error is counted in units in the last place of the result's dtype, at the exact value: that of
eager PyTorch in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from frontend_cases import Case, export, import_program
from torch import Tensor
from torch.nn import functional

Function = Callable[[Tensor], Tensor]


def _pair(function: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """A function of x and of x in another order."""
    return lambda x: function(x, x.flip(0))


_OF_TORCH = """
    tanh expm1 log1p atanh asinh acosh sinh cosh exp exp2 log log2 log10 sigmoid erf erfc erfinv
    lgamma digamma sin cos tan asin acos atan sqrt rsqrt reciprocal sinc logit square
    abs sign neg floor ceil round trunc frac
"""
_OF_NN = "logsigmoid softplus silu gelu mish selu elu hardswish hardsigmoid softsign relu6"

FUNCTIONS: dict[str, Function] = {
    **{name: getattr(torch, name) for name in _OF_TORCH.split()},
    **{name: getattr(functional, name) for name in _OF_NN.split()},
    "gelu (tanh)": lambda x: functional.gelu(x, approximate="tanh"),
    "celu": lambda x: functional.celu(x, 1.5),
    "softplus (beta)": lambda x: functional.softplus(x, 2.5, 7.0),
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "x ** 0.5": lambda x: x**0.5,
    "x ** -0.5": lambda x: x**-0.5,
    "x ** 1.7": lambda x: x**1.7,
    "x ** -1": lambda x: x**-1,
    "2 ** x": lambda x: 2**x,
    "1 - x": lambda x: 1 - x,
    "xlogy": lambda x: torch.xlogy(x, x),
    "xlog1py": lambda x: torch.special.xlog1py(x, x),
    "entr": torch.special.entr,
    "ndtr": torch.special.ndtr,
    "logaddexp": lambda x: torch.logaddexp(x, x * 0.5),
    "logsumexp": lambda x: torch.logsumexp(torch.stack([x, x * 0.5]), 0),
    "log_softmax": lambda x: torch.log_softmax(torch.stack([x, x * 0.5]), 0)[1],
    "softmax": lambda x: torch.softmax(torch.stack([x, x * 0.5]), 0)[0],
    "hypot": _pair(torch.hypot),
    "atan2": _pair(torch.atan2),
    "pow": _pair(torch.pow),
    "x / y": _pair(torch.div),
}
#: Sums whose terms cancel, in PyTorch too: no result is better than the rounding of its terms,
#: whose last place is what the error is counted in. The value is the largest term.
TERMS: dict[str, Function] = {
    **dict.fromkeys(["logaddexp", "logsumexp", "log_softmax"], lambda x: x.abs().clamp(min=1)),
    **dict.fromkeys(["gelu", "gelu (tanh)"], torch.abs),
    "ndtr": torch.ones_like,
    "digamma": lambda x: x.digamma().abs().clamp(min=1),  # log(x) - 1/2x - …
}
#: Bits of the fraction.
BITS = {torch.float32: 23, torch.float64: 52, torch.float16: 10, torch.bfloat16: 7}
DTYPES = tuple(BITS)


def points(dtype: torch.dtype) -> Tensor:
    """From 1e-30 to overflow with both signs, ±0, subnormals, ±infinity, NaN and round numbers."""
    info = torch.finfo(dtype)
    low = -7 if dtype == torch.float16 else -30
    edges = [info.tiny, info.tiny / 3, info.tiny * info.eps, info.max, 710, 0.5, 1, 2, 3]
    positive = torch.cat(
        [
            torch.logspace(low, math.log10(info.max), 500, dtype=torch.float64),
            torch.linspace(0.01, 3, 300, dtype=torch.float64),
            torch.linspace(3, 120, 200, dtype=torch.float64),
            1 + torch.logspace(-7, -0.5, 30, dtype=torch.float64),
            1 - torch.logspace(-7, -0.5, 30, dtype=torch.float64),
            torch.tensor(edges, dtype=torch.float64),
        ]
    )
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan], dtype=torch.float64)
    return torch.cat([positive, -positive, special]).to(dtype)


@dataclass(frozen=True)
class Accuracy:
    """The errors of one function in units in the last place, and what is of another kind.

    `kinds` are points where one of this result and PyTorch's is NaN or infinite, and the other is
    not, or an infinity of the other sign, unless this one is what the exact value is.
    """

    ours: float
    eager: float
    kinds: tuple[float, ...]

    limit: float

    def right(self) -> bool:
        return self.ours <= max(self.limit, self.eager) and not self.kinds


def accuracy(name: str, x: Tensor, result: Tensor) -> Accuracy:
    """Judge the result of a function at these points."""
    function = FUNCTIONS[name]
    exact, eager = function(x.double()), function(x)
    info = torch.finfo(x.dtype)
    scale = TERMS[name](x.double()) if name in TERMS else exact.abs()
    place = torch.exp2(torch.floor(torch.log2(scale.clamp(min=info.tiny))) - BITS[x.dtype])
    numbers = torch.isfinite(exact) & torch.isfinite(eager) & (exact.abs() <= info.max)

    if name == "digamma" and x.dtype == torch.float64:
        numbers &= x > 0  # beside its poles PyTorch's is up to 6e5 ulp off, by mpmath

    def errors(found: Tensor) -> float:
        off = ((found.double() - exact).abs() / place)[numbers & torch.isfinite(found)]
        return float(off.max())

    def kind(found: Tensor) -> Tensor:
        infinite = torch.where(torch.isinf(found), torch.sign(found), 0)
        return torch.where(torch.isnan(found), 7, infinite.nan_to_num())

    other = kind(result) != kind(eager)
    near = torch.isfinite(result) & ((result.double() - exact).abs() <= 4 * place)
    better = near | (kind(result) == kind(exact.to(x.dtype)))
    # PyTorch's own result is the exact value in float64, and has an error as well.
    limit = 8.0 if x.dtype == torch.float64 else 4.0
    return Accuracy(errors(result), errors(eager), tuple(x[other & ~better].tolist()), limit)


def imported(names: Sequence[str], x: Tensor, *, decomposed: bool) -> object:
    """One module that computes all of the functions."""
    case = Case("all", lambda t: tuple(FUNCTIONS[name](t) for name in names), lambda _: (x,))
    return import_program(export(case, symbolic=False), decomposed)
