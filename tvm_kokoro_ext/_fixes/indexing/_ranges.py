"""Bounds on the values of index tensors, derived from the graph that computes them.

Indices computed by torch's own decompositions (reflecting pads, resizes) can be proved to be
nonnegative; in this case stock's converter is right and is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Interval = tuple[float, float]

_ANY: Interval = (-math.inf, math.inf)
_COUNT: Interval = (0.0, math.inf)
_DEPTH = 64

# Operators whose result only contains elements of their first argument.
_SAME_VALUES = frozenset(
    "_to_copy _unsafe_view alias clone contiguous detach expand flatten flip index_select permute "  # noqa: SIM905
    "repeat reshape roll select slice squeeze t to transpose unsqueeze view".split()
)

#: Operators that multiply an operand by their `alpha`.
_SCALED = frozenset(("add", "sub", "rsub"))


def nonnegative(node: Any) -> bool:
    """Whether all elements of the node's result are provably nonnegative."""
    return interval(node)[0] >= 0


def interval(value: Any, depth: int = _DEPTH) -> Interval:
    """Bounds on the elements of a node or on a number; (-inf, inf) if nothing is known."""
    if isinstance(value, int | float):
        return (float(value), float(value))
    found = _computed(value, depth)
    return found if _holds(value, found) else _ANY


def _holds(node: Any, bounds: Interval) -> bool:
    """Whether the dtype of the node's result holds these values, so that none wraps around.

    A bound of infinity stands for the number of elements, which 32 bits hold.
    """
    dtype = getattr(getattr(node, "meta", {}).get("val"), "dtype", None)
    if dtype is None or dtype.is_floating_point or dtype.itemsize == 8:
        return True
    size = dtype.itemsize
    bits = 8 * size - dtype.is_signed
    lowest, highest = (-(2**bits) if dtype.is_signed else 0), 2**bits - 1
    finite = [bound for bound in bounds if size < 4 or not math.isinf(bound)]
    return all(lowest <= bound <= highest for bound in finite)


def _computed(value: Any, depth: int) -> Interval:
    """Bounds on the elements of a node by its operator, as of numbers of any size."""
    if depth == 0 or getattr(value, "op", None) != "call_function":
        return _COUNT if _is_size(value) else _ANY
    name = value.target.__name__.split(".")[0]
    if name in _SAME_VALUES:
        return interval(value.args[0], depth - 1)
    if name == "arange":
        return _arange(value)
    if name in _RULES:
        return _RULES[name](*_operands(value, depth))
    return _COUNT if _is_size(value) else _ANY


def _is_size(value: Any) -> bool:
    return getattr(getattr(value, "target", None), "__name__", "") == "sym_size.int"


def _operands(node: Any, depth: int) -> list[Interval]:
    name = node.target.__name__.split(".")[0]
    if name in _SCALED and (len(node.args) > 2 or node.kwargs.get("alpha", 1) != 1):
        return [_ANY, _ANY]
    names = {"clamp": ("min", "max")}.get(name, ())
    args = [*node.args, *(node.kwargs.get(name) for name in names[len(node.args) - 1 :])]
    return [_ANY if argument is None else interval(argument, depth - 1) for argument in args]


def _arange(node: Any) -> Interval:
    start, end, step = {1: (0, *node.args, 1), 2: (*node.args, 1), 3: node.args}[len(node.args)]
    lower, upper = interval(start), interval(end)
    if isinstance(step, int | float) and step > 0:
        return (lower[0], max(lower[1], upper[1]))
    return _ANY


def _product(lhs: Interval, rhs: Interval) -> Interval:
    ends = [0.0 if 0.0 in (a, b) else a * b for a in lhs for b in rhs]
    return (min(ends), max(ends))


def _quotient(lhs: Interval, rhs: Interval, *_: Interval) -> Interval:
    return (lhs[0] / rhs[1], lhs[1] / rhs[0]) if lhs[0] >= 0 and rhs[0] > 0 else _ANY


def _clamp(x: Interval, lower: Interval = _ANY, upper: Interval = _ANY) -> Interval:
    low = max(x[0], lower[0])
    return (min(low, upper[1]) if upper[0] == -math.inf else min(low, upper[0]), x[1])


def _absolute(x: Interval) -> Interval:
    low = 0.0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))
    return (low, max(abs(x[0]), abs(x[1])))


_RULES: dict[str, Callable[..., Interval]] = {
    "abs": _absolute,
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "rsub": lambda a, b: (b[0] - a[1], b[1] - a[0]),
    "neg": lambda a: (-a[1], -a[0]),
    "mul": _product,
    "div": _quotient,
    "floor_divide": lambda a, b: _COUNT if a[0] >= 0 and b[0] > 0 else _ANY,
    "remainder": lambda a, b: (0.0, b[1]) if b[0] > 0 else _ANY,
    "floor": lambda a: (_rounded(math.floor, a[0]), _rounded(math.floor, a[1])),
    "ceil": lambda a: (_rounded(math.ceil, a[0]), _rounded(math.ceil, a[1])),
    "trunc": lambda a: (_rounded(math.trunc, a[0]), _rounded(math.trunc, a[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "argmax": lambda *_: _COUNT,
    "argmin": lambda *_: _COUNT,
    "argsort": lambda *_: _COUNT,
    "nonzero": lambda *_: _COUNT,
    "sym_size": lambda *_: _COUNT,
}


def _rounded(function: Callable[[float], int], bound: float) -> float:
    return bound if math.isinf(bound) else float(function(bound))
