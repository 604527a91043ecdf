"""The memory that the intermediate results of each function take, as planned by TVM."""

from __future__ import annotations

import math
from fractions import Fraction

import tvm
from tvm import relax, tirx

from kokoro_pipeline.errors import EnvironmentFault

_POINTS = (64, 128, 192)
"""Lengths at which bytes are counted; three points determine a polynomial of degree 2."""

Workspace = tuple[int, ...]


def count_workspace(function: relax.Function, index: int, axis: int) -> Workspace:
    """Bytes of the intermediate results of a function whose memory is planned.

    Returns (c0, c1, c2) of c0 + c1*s + c2*s*s, where s is axis `axis` of input `index`, and all
    other symbols are 1.

    Raises EnvironmentFault if a size depends on anything but the symbols of the inputs.
    """
    sizes: list[tirx.Expr] = []

    def visit(expression: relax.Expr) -> None:
        if isinstance(expression, relax.Call):
            op = expression.op
            if isinstance(op, tvm.ir.Op) and op.name == "relax.memory.alloc_storage":
                sizes.append(expression.args[0].values[0])

    relax.analysis.post_order_visit(function.body, visit)
    length = function.params[index].ty.shape.values[axis]
    counted = [sum(_bytes(size, length, point) for size in sizes) for point in _POINTS]
    first, second, third = counted
    step = _POINTS[1] - _POINTS[0]
    square = Fraction(third - 2 * second + first, 2 * step * step)
    line = Fraction(second - first, step) - square * (_POINTS[0] + _POINTS[1])
    rest = first - line * _POINTS[0] - square * _POINTS[0] ** 2
    # Rounding in the sizes can make a coefficient slightly negative.
    return tuple(max(0, math.ceil(term)) for term in (rest, line, square))


def _bytes(size: tirx.Expr, length: tirx.Var, point: int) -> int:
    analyzer = tvm.sym.Analyzer()
    for var in tirx.analysis.undefined_vars(size):
        value = point if var.same_as(length) else 1
        analyzer.bind(var, tirx.IntImm("int64", value))
    found = analyzer.simplify(size)
    if not isinstance(found, tirx.IntImm):
        raise EnvironmentFault(f"the size {size} of a buffer is not known; install apache-tvm 0.27")
    return int(found.value)
