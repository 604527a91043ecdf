"""How much memory the intermediate results of each function take, as planned by TVM."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_pipeline.errors import EnvironmentFault

from .pipeline import Phase

_PLAN = "StaticPlanBlockMemory"
_POINTS = (64, 128, 192)
"""Lengths at which the bytes are counted; a polynomial of degree 2 goes through three."""

Workspace = tuple[int, ...]


def recording_workspace(
    todo: Sequence[Phase], lengths: Mapping[str, tuple[int, int]], found: dict[str, Workspace]
) -> list[Phase]:
    """The phases with one more pass, right after memory is planned, that changes nothing and fills
    `found` for the functions in `lengths`: (input, axis) of what counts tokens or frames."""

    def record(module: tvm.IRModule) -> tvm.IRModule:
        for name, (index, axis) in lengths.items():
            found[name] = count_workspace(module[name], index, axis)
        return module

    phases = []
    for phase in todo:
        passes: list[Callable[[tvm.IRModule], tvm.IRModule]] = []
        for transform in phase.passes:
            passes.append(transform)
            if getattr(getattr(transform, "info", None), "name", "") == _PLAN:
                passes.append(record)
        phases.append(Phase(phase.name, passes))
    return phases


def count_workspace(function: relax.Function, index: int, axis: int) -> Workspace:
    """Bytes of what a planned function stores besides inputs, outputs and parameters: (c0, c1, c2)
    of c0 + c1*s + c2*s*s, where s is the given dimension of its inputs and other symbols are 1.

    Raises EnvironmentFault where a size depends on what is no symbol of the inputs.
    """
    sizes: list[Any] = []

    def visit(expression: Any) -> None:
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
    # Roundings in the sizes can leave a trace below zero.
    return tuple(max(0, math.ceil(term)) for term in (rest, line, square))


def _bytes(size: Any, length: tirx.Var, point: int) -> int:
    analyzer = tvm.sym.Analyzer()
    for var in tirx.analysis.undefined_vars(size):
        value = point if var.same_as(length) else 1
        analyzer.bind(var, tirx.IntImm("int64", value))
    found = analyzer.simplify(size)
    if not isinstance(found, tirx.IntImm):
        raise EnvironmentFault(f"the size {size} of a buffer is not known; install apache-tvm 0.27")
    return int(found.value)
