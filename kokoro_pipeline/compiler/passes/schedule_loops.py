"""Schedule the functions that no kernel covers: elementwise loops and small reductions.

Intermediate elementwise results are computed where they are used. The outer loops run in parallel,
and a channel loop whose extent is a multiple of the vector width is vectorized. Results do not
depend on the number of threads, since only loops over independent results run in parallel.
"""

from __future__ import annotations

import math

import tvm
from tvm import s_tir, tirx
from tvm.s_tir.schedule import LoopRV, SBlockRV, Schedule, ScheduleError

MIN_PARALLEL = 1 << 12
"""Below this number of elements, starting threads costs more than it saves."""


def _extent(schedule: Schedule, loop: LoopRV) -> int | None:
    extent = schedule.get(loop).extent
    return int(extent) if isinstance(extent, tirx.IntImm) else None


def _is_spatial(schedule: Schedule, block: SBlockRV) -> bool:
    return all(axis.iter_type == tirx.IterVar.DataPar for axis in schedule.get(block).iter_vars)


def inline_producers(schedule: Schedule, blocks: list[SBlockRV]) -> list[SBlockRV]:
    """Inline every elementwise block that another block reads, and return the remaining blocks."""
    kept = []
    for block in blocks:
        if block is not blocks[-1] and _is_spatial(schedule, block):
            try:
                schedule.compute_inline(block)
                continue
            except ScheduleError:
                # The block writes a result of the function, or its reader cannot inline it: it
                # keeps its own loops.
                pass
        kept.append(block)
    return kept


def _schedule_block(schedule: Schedule, block: SBlockRV, lanes: int) -> None:
    loops = schedule.get_loops(block)
    if not loops:
        return
    extents = [_extent(schedule, loop) for loop in loops]
    known = [extent for extent in extents if extent is not None]
    axes = schedule.get(block).iter_vars
    if len(axes) != len(loops):
        return
    spatial = [
        loop
        for loop, axis in zip(loops, axes, strict=True)
        if axis.iter_type == tirx.IterVar.DataPar
    ]
    if not spatial or spatial != loops[: len(spatial)]:
        return
    only_spatial = len(spatial) == len(loops)
    outer, channel = spatial, None
    last = extents[len(spatial) - 1]
    if only_spatial and last is not None and last % lanes == 0:
        outer, channel = spatial[:-1], spatial[-1]
    if channel is not None:
        _, vector = schedule.split(channel, [None, lanes])
        schedule.vectorize(vector)
    if not outer:
        return
    if len(known) == len(extents) and math.prod(known) < MIN_PARALLEL:
        return
    schedule.parallel(schedule.fuse(*outer) if len(outer) > 1 else outer[0])


def schedule_function(function: tirx.PrimFunc, lanes: int) -> tirx.PrimFunc:
    """Return the function with its loops scheduled for vectors of `lanes` float32 elements."""
    # TVM's scans are a single opaque block without a root block; they are left unchanged.
    if function.body.block.name_hint == "root":
        schedule = s_tir.Schedule(function)
        root = schedule.get_sblock("root")
        for block in inline_producers(schedule, schedule.get_child_blocks(root)):
            _schedule_block(schedule, block, lanes)
        function = schedule.mod["main"]
    return function.with_attr("tirx.is_scheduled", True)


def schedule_loops(module: tvm.IRModule, lanes: int) -> tvm.IRModule:
    """Schedule every PrimFunc of a module that is not scheduled yet."""
    scheduled = {
        global_var: schedule_function(function, lanes)
        for global_var, function in module.functions.items()
        if isinstance(function, tirx.PrimFunc) and not function.attrs.get("tirx.is_scheduled")
    }
    module = tvm.IRModule(dict(module.functions), attrs=module.attrs)
    for global_var, function in scheduled.items():
        module.update_func(global_var, function)
    return module
