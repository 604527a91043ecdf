"""Bind the functions that no GPU kernel covers to threads, one thread per element.

Elementwise steps are computed where they are used, as far as the schedule can inline them. The
spatial loops of each remaining block are fused and split into thread blocks of `THREADS` threads,
with a bounds check in the last one. A reduction runs within its thread. A block without spatial
loops, or with loops that the schedule cannot analyze, runs on a single thread: this is correct, and
deliberately slow, so that it gets noticed. Extents may be symbolic.
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.s_tir.schedule import LoopRV, SBlockRV, Schedule

from .schedule_loops import inline_producers

THREADS = 256


def has_threads(function: tirx.PrimFunc) -> bool:
    """Whether a function already launches threads."""
    found = False

    def attribute(node: tirx.AttrStmt) -> None:
        nonlocal found
        found = found or node.attr_key == "thread_extent"

    def loop(node: tirx.For) -> None:
        nonlocal found
        found = found or node.kind == tirx.ForKind.THREAD_BINDING

    tvm_ffi.structural_walk(
        function.body, [(tirx.AttrStmt, attribute), (tirx.For, loop)], order="post"
    )
    return found


def _bind_block(schedule: Schedule, block: SBlockRV) -> None:
    loops = schedule.get_loops(block)
    axes = schedule.get(block).iter_vars
    spatial: list[LoopRV] = []
    rest: list[LoopRV] = []
    if len(axes) == len(loops):
        for loop, axis in zip(loops, axes, strict=True):
            is_spatial = axis.iter_type == tirx.IterVar.DataPar
            (spatial if is_spatial else rest).append(loop)
    if not spatial:
        single = schedule.add_unit_loop(loops[0] if loops else block)
        grid, lane = schedule.split(single, [None, 1])
        schedule.bind(grid, "blockIdx.x")
        schedule.bind(lane, "threadIdx.x")
        return
    schedule.reorder(*spatial, *rest)
    fused = schedule.fuse(*spatial) if len(spatial) > 1 else spatial[0]
    grid, lane = schedule.split(fused, [None, THREADS])
    schedule.bind(grid, "blockIdx.x")
    schedule.bind(lane, "threadIdx.x")
    if rest and any(axis.iter_type == tirx.IterVar.CommReduce for axis in axes):
        schedule.decompose_reduction(block, rest[0])


def bind_function(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return the function with every block bound to threads."""
    schedule = s_tir.Schedule(function)
    name = function.body.block.name_hint
    if name == "root":
        root = schedule.get_sblock("root")
        for block in inline_producers(schedule, schedule.get_child_blocks(root)):
            _bind_block(schedule, block)
    else:
        _bind_block(schedule, schedule.get_sblock(name))
    return schedule.mod["main"].with_attr("tirx.is_scheduled", True)


def bind_threads(module: tvm.IRModule) -> tvm.IRModule:
    """Bind every PrimFunc of a module that does not launch threads yet."""
    functions = {
        global_var: bind_function(function)
        if isinstance(function, tirx.PrimFunc) and not has_threads(function)
        else function
        for global_var, function in module.functions.items()
    }
    return tvm.IRModule(functions, attrs=module.attrs)
