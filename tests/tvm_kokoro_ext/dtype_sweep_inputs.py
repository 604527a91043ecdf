"""Inputs of the dtype sweep on which adding up in half precision shows, and its rows' makers.

Shapes are of numbers and of the names of `dtype_sweep.Input`: "n", "K" and "L". Values stay where
float16 has no overflow in the result, while squares or sums on the way there may well be larger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from dtype_sweep import Input, Row

K, L = 4096, 8192
INF, NAN = float("inf"), float("nan")
STATIC = {"symbolic": (False,)}


def positive(*shape: int | str, low: float = 0.5, high: float = 1.5) -> Input:
    """Uniform between two numbers; by default sums grow with every term."""
    return Input(shape, lambda s: torch.rand(s, dtype=torch.float64) * (high - low) + low)


def normal(*shape: int | str, mean: float = 0.0, std: float = 1.0) -> Input:
    """Normally distributed around a mean."""
    return Input(shape, lambda s: torch.randn(s, dtype=torch.float64) * std + mean)


def whole(*shape: int | str, low: int = -3, high: int = 4) -> Input:
    """Whole numbers, which take the row's dtype."""
    return Input(shape, lambda s: torch.randint(low, high, s).double())


def index(*shape: int | str, below: int) -> Input:
    """Indices: int64, whatever the row's dtype."""
    return Input(shape, lambda s: torch.randint(0, below, s))


def holed(*shape: int | str) -> Input:
    """As `positive`, with a NaN in every seventh place."""
    return Input(shape, lambda s: _every_seventh_nan(torch.rand(s, dtype=torch.float64) + 0.5))


def _every_seventh_nan(x: torch.Tensor) -> torch.Tensor:
    x.view(-1)[::7] = NAN
    return x


def listed(*numbers: float) -> Input:
    """Rows of these numbers."""
    return Input(("n", len(numbers)), lambda s: torch.tensor([numbers] * s[0], dtype=torch.float64))


def row(
    name: str, function: Callable[..., Any] | torch.nn.Module, *inputs: Input, **options: Any
) -> Row:
    return Row(name, function, inputs, **options)


def named(module: Any, names: str, *inputs: Input, **options: Any) -> list[Row]:
    """A row for each function of a module."""
    return [row(name, getattr(module, name), *inputs, **options) for name in names.split()]


def seeded(module: torch.nn.Module, low: float, high: float) -> torch.nn.Module:
    """A module whose parameters, but for those of inner norms, are uniform between two numbers."""
    torch.manual_seed(0)
    for name, parameter in module.named_parameters():
        if "norm" not in name:
            torch.nn.init.uniform_(parameter, low, high)
    return module.eval()


X = positive(3, "L")
ROWS = positive("n", L)

LARGE = positive(3, "L", low=50.0, high=150.0)
