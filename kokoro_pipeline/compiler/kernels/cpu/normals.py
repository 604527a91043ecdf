"""Standard normals on a CPU, one vector of counters at a time."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from kokoro_pipeline.normals import GROUP, VALUES

from ..common.builder import (
    Buffer,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    i64,
    minimum,
)
from ..common.normals import Words, normal, philox, round_keys
from .vector import VectorTarget, store_first

GROUPS = 64  # per task


def standard_normals(target: VectorTarget, row: Sequence[int]) -> tirx.PrimFunc:
    """The kernel (frames, key) -> float32 [1, t * row[0], row[1]] of standard normals.

    frames int64 [t], of which only the length counts; key int64 [2], two words of 32 bits.
    """
    lanes = target.lanes
    length = tirx.Var("t", "int64")
    rows, columns = row

    words = Words(lanes, target.hold)

    def body(_frames: Buffer, key: Buffer, values: Buffer) -> None:
        count = bind(length * (rows * columns))
        groups = bind(ceil_div(count, VALUES))
        words_of_key = [tirx.Cast("uint32", key[i64(i)]) for i in range(2)]
        keys = [(T.bind(one), T.bind(two)) for one, two in round_keys(words_of_key)]
        neighbours = tirx.Ramp(tirx.const(0, "int32"), tirx.const(1, "int32"), lanes)
        with T.parallel(i64(0), bind(ceil_div(groups, GROUPS))) as task:
            first = bind(task * GROUPS)
            with T.serial(i64(0), bind(minimum(groups - first, GROUPS))) as group:
                start = bind((first + group) * VALUES)
                with T.serial(i64(0), i64(GROUP // lanes)) as vector:
                    at = tirx.Cast("uint32", (first + group) * GROUP + vector * lanes)
                    counter = words.splat(at) + tirx.Cast(words.dtype(32), neighbours)
                    drawn = philox(words, target.hold(counter, "uint32"), keys)
                    for n, word in enumerate(drawn):
                        to = bind(start + (n * GROUP + vector * lanes))
                        value = normal(target, target.cast(word, "int32"))
                        store_first(values, to, value, lanes, count - to)

    return build_kernel(
        f"standard_normals_{rows}x{columns}_v{lanes}",
        [
            Parameter("frames", (length,), "int64"),
            Parameter("key", (2,), "int64"),
            Parameter("values", (1, length * rows, columns)),
        ],
        body,
    )
