"""Reductions over axes of symbolic sizes, which may be empty when the program runs.

Stock initializes a result in the first step of its reduction. Where there is no step, such as in
the sum of what a mask selects where it selects nothing, the result is what was in memory.
Here the results of kernels for CPUs are initialized before the reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import SBlockRealize, s_tir, te, tirx, topi, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import compiler_pass


def _lowered(stock: Any, module: Any) -> Any:
    return stock(_initialized_before(module))


def _initialized_before(module: Any) -> Any:
    """The module whose kernels initialize reductions that may be empty before their loops."""
    result = module
    for variable, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            initialized = _initialized(function)
            if not _compat.same_object(initialized, function):
                result = module.clone() if result is module else result
                result[variable] = initialized
    return result


def _initialized(kernel: Any) -> Any:
    if not isinstance(kernel.body, SBlockRealize):
        return kernel  # It has no root block, so that no schedule can be made of it.
    kept = 0
    while len(found := list(_reductions(kernel.body, ()))) > kept:
        reduction, position = found[kept]
        # A schedule for each: 0.25 and 0.26 make a schedule forget the blocks beside a changed one.
        schedule = s_tir.Schedule(kernel)
        block = _block(schedule, kernel.body.block, reduction)
        try:
            schedule.decompose_reduction(block, schedule.get_loops(block)[position])
        except s_tir.ScheduleError:
            kept += 1  # It is in a part of a schedule that cannot be taken apart.
        else:
            (kernel,) = schedule.mod.functions.values()
    return kernel


def _block(schedule: Any, root: Any, wanted: Any) -> Any:
    """The block of a schedule that is this one in the program."""
    inside = _blocks(schedule, schedule.get_sblock(root.name_hint))
    return next(block for block in inside if schedule.get(block).same_as(wanted))


def _blocks(schedule: Any, parent: Any) -> Iterator[Any]:
    for block in schedule.get_child_blocks(parent):
        yield block
        yield from _blocks(schedule, block)


def _reductions(statement: Any, loops: tuple[Any, ...]) -> Iterator[tuple[Any, int]]:
    """The blocks that reduce over axes that may be empty, and the position of their first loop.

    None in kernels for GPUs, whose loops are bound to threads.
    """
    if isinstance(statement, tirx.SeqStmt):
        for part in statement.seq:
            yield from _reductions(part, loops)
    elif isinstance(statement, tirx.For):
        if statement.kind != tirx.ForKind.THREAD_BINDING:
            yield from _reductions(statement.body, (*loops, statement))
    elif isinstance(statement, SBlockRealize):
        block = statement.block
        if block.init is not None and (position := _first(statement, loops)) is not None:
            yield block, position
        yield from _reductions(block.body, ())


def _first(realize: Any, loops: tuple[Any, ...]) -> int | None:
    """The position of the first loop of a reduction, if one of them may have no step."""
    reduced = [
        value
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if axis.iter_type == tirx.IterVar.CommReduce
    ]
    variables = [variable for value in reduced for variable in _compat.variables_of(value)]
    own = [p for p, loop in enumerate(loops) if any(loop.loop_var.same_as(v) for v in variables)]
    analyzer = _compat.analyzer_of_sizes()
    if any(not analyzer.can_prove(loops[position].extent >= 1) for position in own):
        return own[0]
    return None


def _still_wrong() -> bool:
    """Whether the sum over no rows is what was in memory."""
    x = te.placeholder((_compat.tir_var("n"), 1), "float32", name="x")
    kernel = te.create_prim_func([x, topi.sum(x, axis=0)])
    run = tvm.compile(kernel, tvm.target.Target({"kind": "llvm"}))
    total = tvm.runtime.tensor(np.full(1, 7, "float32"))
    run(tvm.runtime.tensor(np.empty((0, 1), "float32")), total)
    return bool(total.numpy()[0] == 7)


FIX = Fix(
    id="empty_reduction",
    what="sums over axes that are empty only when the program runs are what was in memory",
    op="sum, prod, any, all, mean, var, matmul, … of x[mask]; s_tir.transform.LowerInitBlock",
    affected="",
    install=compiler_pass.replacing(s_tir.transform, "LowerInitBlock", _lowered),
    probe=_probe.wrong(_still_wrong),
    needs_torch=False,
)
