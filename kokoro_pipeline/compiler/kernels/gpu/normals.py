"""Standard normals on a GPU, one counter per thread."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from kokoro_pipeline.normals import GROUP, VALUES

from ..common.normals import Words, normal, philox, round_keys
from .math import SCALARS
from .threads import (
    Buffer,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    div,
    hold,
    i32,
    launch,
    mod,
    store,
)

THREADS = 256


def standard_normals(row: Sequence[int]) -> tirx.PrimFunc:
    """The kernel (frames, key) -> float32 [1, t * row[0], row[1]] of standard normals.

    frames int64 [t], of which only the length counts; key int64 [2], two words of 32 bits.
    """
    length = tirx.Var("t", "int64")
    rows, columns = row
    words = Words(1, hold)

    def body(_frames: Buffer, key: Buffer, values: Buffer) -> None:
        count = bind(i32(length) * (rows * columns))
        counters = bind(ceil_div(count, VALUES) * GROUP)
        with launch([ceil_div(counters, THREADS)], [THREADS]) as ((block,), (thread,)):
            counter = bind(block * THREADS + thread)
            first = bind(div(counter, GROUP) * VALUES + mod(counter, GROUP))
            keys = round_keys([tirx.Cast("uint32", key[i32(i)]) for i in range(2)])
            drawn = philox(words, hold(tirx.Cast("uint32", counter), "uint32"), keys)
            for n, word in enumerate(drawn):
                value = normal(SCALARS, tirx.Cast("int32", word))
                with T.If(first + n * GROUP < count), T.Then():
                    store(values, first + n * GROUP, value)

    return build_kernel(
        f"gpu_standard_normals_{rows}x{columns}",
        [
            Parameter("frames", (length,), "int64"),
            Parameter("key", (2,), "int64"),
            Parameter("values", (1, length * rows, columns)),
        ],
        body,
    )
