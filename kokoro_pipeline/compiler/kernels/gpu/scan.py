"""Running sums along the middle axis of [A, n, C]: y[a, i, c] = x[a, 0, c] + ... + x[a, i, c].

A block of threads handles one row (a, c). Each thread sums a range of neighbours. The threads of
the block then combine their totals by a doubling scan in shared memory, and each thread goes over
its range again, starting from the sum of everything before it. The order of additions depends only
on n.
"""

from __future__ import annotations

from tvm import tirx

from .threads import (
    Buffer,
    Parameter,
    T,
    add_to,
    bind,
    build_kernel,
    ceil_div,
    const,
    div,
    i32,
    launch,
    mod,
    registers,
    shared,
    store,
    synchronize,
)

THREADS = 256


def running_sum(channels: int, dtype: str = "float32") -> tirx.PrimFunc:
    """The kernel x -> y, both of `dtype` and [A, n, channels]. A and n are at least 1."""
    C = channels
    outer, count = tirx.Var("A", "int64"), tirx.Var("n", "int64")

    def body(x: Buffer, y: Buffer) -> None:
        n = bind(i32(count))
        stretch = bind(ceil_div(n, THREADS))
        with launch([i32(outer) * C], [THREADS]) as ((row,), (thread,)):
            start = bind(div(row, C) * n * C + mod(row, C))
            first = bind(thread * stretch)
            mine = bind(tirx.max(tirx.min(n - first, stretch), i32(0)))
            total = registers(1, dtype)
            store(total, 0, const(0, dtype))
            with T.serial(i32(0), mine) as i:
                add_to(total, 0, x[start + (first + i) * C])
            # Two arrays alternate, so that no thread overwrites a value that another still reads.
            totals = [shared(THREADS, dtype) for _ in range(2)]
            store(totals[0], thread, total[i32(0)])
            distance, now = 1, 0
            while distance < THREADS:
                synchronize()
                before = tirx.if_then_else(
                    thread >= distance,
                    totals[now][tirx.max(thread - distance, i32(0))],
                    const(0, dtype),
                )
                store(totals[1 - now], thread, totals[now][thread] + before)
                distance, now = 2 * distance, 1 - now
            synchronize()
            all_before = totals[now][tirx.max(thread - 1, i32(0))]
            store(total, 0, tirx.if_then_else(thread > 0, all_before, const(0, dtype)))
            with T.serial(i32(0), mine) as i:
                at = bind(start + (first + i) * C)
                add_to(total, 0, x[at])
                store(y, at, total[i32(0)])

    return build_kernel(
        f"running_sum_c{C}_{dtype}",
        [Parameter("x", (outer, count, C), dtype), Parameter("y", (outer, count, C), dtype)],
        body,
    )
