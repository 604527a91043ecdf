"""The bidirectional LSTM recurrence over several blocks of threads, for CUDA.

It computes the function of `lstm`, for which a block reads all weights of a direction in every step
from the L2 cache. Here the hidden units of a direction are spread over blocks, which keep their
share of the weights in registers. In each step a block needs the whole h of the step before, so
blocks exchange it through the output: a word there holds UNWRITTEN, which is no number that the
kernel writes, until its block stores h with a single access of 32 bits, and other blocks read it
until it holds something else. No order between different words is assumed.

A block that waits occupies its processor, so the blocks of a direction must run at the same time.
They are neighbours in the grid, and devices start blocks in the order of the grid: as long as a
device can run that many blocks at all, the first direction that is running is complete, and makes
room for those after it. `find_device` refuses a GPU with fewer processors than the model needs.
Metal does not promise that blocks which wait for each other make progress, and uses `lstm`.
"""

from __future__ import annotations

from tvm import tirx

from kokoro_pipeline.errors import InputError

from .lstm import GATES, length_of, next_hidden, recurrence_parameters
from .threads import (
    Buffer,
    Expr,
    T,
    add_to,
    bind,
    build_kernel,
    ceil_div,
    const,
    div,
    i32,
    launch,
    registers,
    shared,
    store,
    synchronize,
    u32,
)

SHARE = 16
"""Inputs of a thread, whose weights for four gates are in registers."""
THREADS = 512
MIN_UNITS = 16  # of a block, so that it has a thread for each hidden unit of its direction
FILL_THREADS = 256
UNWRITTEN, INFINITY = 0xFFFFFFFF, 0x7F800000
NAN = 0x7FC00000
"""What is stored for any NaN, since UNWRITTEN is one too."""
LOAD, STORE = "ld.relaxed.gpu.global.u32", "st.relaxed.gpu.global.u32"


def spread_units(hidden: int, max_threads: int = THREADS) -> int | None:
    """The hidden units of a block, or None where the weights of a block do not fit its registers.

    There are `hidden / SHARE` threads for each unit, and at most `THREADS` in a block, for which
    `max_threads` have to be allowed.
    """
    if hidden % SHARE or max_threads < THREADS:
        return None
    units = THREADS * SHARE // hidden
    while units >= MIN_UNITS and hidden % units:
        units -= 1
    return units if units >= MIN_UNITS else None


def spread_lstm_recurrence(hidden: int) -> tirx.PrimFunc:
    """The kernel (gates, recurrent, lengths) -> output, with the arguments of `lstm_recurrence`.

    Raises InputError for hidden sizes for which `spread_units` has no blocks.
    """
    H = hidden
    found = spread_units(H)
    if found is None:
        raise InputError(
            f"an LSTM of {H} hidden units cannot be spread over blocks; build with --opt 0"
        )
    U: int = found
    parts = H // SHARE
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(gates: Buffer, recurrent: Buffer, lengths: Buffer, output: Buffer) -> None:
        n, rows = bind(i32(steps)), bind(i32(batch))

        with launch(
            [tirx.max(ceil_div(n * 2 * H, FILL_THREADS), i32(1)), rows], [FILL_THREADS]
        ) as (
            (block, b),
            (thread,),
        ):
            at = bind(block * FILL_THREADS + thread)
            with T.If(at < n * 2 * H), T.Then():
                unwritten = tirx.reinterpret("float32", u32(UNWRITTEN))
                is_step = div(at, 2 * H) < length_of(lengths, b, n)
                store(output, b * (n * 2 * H) + at, tirx.Select(is_step, unwritten, const(0)))

        with launch([H // U, 2, rows], [U, parts]) as ((block, direction, b), (lane, part)):
            length = length_of(lengths, b, n)
            unit, thread = bind(block * U + lane), bind(part * U + lane)
            h, partial = shared(H), shared(parts * U * GATES)
            weights = registers(SHARE * GATES)
            inputs = registers(4)
            sums, cell = registers(GATES), registers(1)
            word = registers(1, "uint32")
            for j in range(SHARE):
                row = ((direction * H + part * SHARE + j) * H + unit) * GATES
                with T.vectorized(i32(0), i32(GATES)) as gate:
                    store(weights, j * GATES + gate, recurrent[row + gate])
            store(cell, 0, const(0))

            def place(t: Expr, of: Expr) -> Expr:
                """The word of the output for a hidden unit of this direction."""
                return tirx.address_of(output[(b * n + t) * (2 * H) + direction * H + of])

            def receive(step: Expr, t: Expr) -> None:
                """Wait for the h of the step before, a word for each of the first H threads."""
                store(word, 0, tirx.Select(step == 0, u32(0), u32(UNWRITTEN)))
                before = bind(t - 1 + 2 * direction)
                with T.While(word[i32(0)] == u32(UNWRITTEN)):
                    T.evaluate(T.ptx[LOAD](word[i32(0)], place(before, thread)))
                store(h, thread, tirx.reinterpret("float32", word[i32(0)]))

            def send(t: Expr, value: Expr) -> None:
                store(word, 0, tirx.reinterpret("uint32", value))
                size = tirx.bitwise_and(word[i32(0)], u32(0x7FFFFFFF))
                bits = tirx.Select(size > u32(INFINITY), u32(NAN), word[i32(0)])
                T.evaluate(T.ptx[STORE](place(t, unit), bits))

            with T.serial(i32(0), length) as step:
                t = bind(step + direction * (length - 1 - step - step))
                for gate in range(GATES):
                    store(sums, gate, const(0))
                with T.If(part == 0), T.Then():  # read before the wait for h
                    start = (b * n + t) * (2 * GATES * H) + direction * (GATES * H) + unit
                    for gate in range(GATES):
                        store(sums, gate, gates[start + gate * H])
                with T.If(thread < H), T.Then():
                    receive(step, t)
                synchronize()
                for j in range(0, SHARE, 4):
                    with T.vectorized(i32(0), i32(4)) as v:
                        store(inputs, v, h[part * SHARE + j + v])
                    for i in range(4):
                        for gate in range(GATES):
                            weight = weights[i32((j + i) * GATES + gate)]
                            add_to(sums, gate, weight * inputs[i32(i)])
                with T.vectorized(i32(0), i32(GATES)) as gate:
                    store(partial, thread * GATES + gate, sums[gate])
                synchronize()
                with T.If(part == 0), T.Then():
                    for other in range(1, parts):
                        for gate in range(GATES):
                            add_to(sums, gate, partial[(other * U + lane) * GATES + gate])
                    send(t, next_hidden(cell, sums))

    return build_kernel(
        f"gpu_spread_lstm_recurrence_h{H}",
        recurrence_parameters(batch, steps, H),
        body,
    )
