"""The bidirectional LSTM recurrence, with one block of threads per direction of a batch row.

For each direction, starting from h = c = 0, over the steps t below a row's length (in reverse order
for the second direction):

    i, f, g, o = gates[t] + W_hh h          (PyTorch's order; gates = W_ih x + b_ih + b_hh)
    c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)

All steps run in one kernel. The four gates of a hidden unit are summed by `splits` threads, each
over its share of h, which is in shared memory. Their partial sums are combined there, and the first
of these threads keeps the cell state of the unit in a register. The weights of the four gates are
adjacent, so that a thread reads 16 bytes at a time and neighbouring threads read neighbouring
words. A step is limited by reading W_hh (1 MB per direction for H = 256) from the L2 cache.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.elementary import sigmoid, tanh
from .math import SCALARS
from .threads import (
    MAX_THREADS,
    Buffer,
    Expr,
    Parameter,
    T,
    add_to,
    bind,
    build_kernel,
    const,
    hold,
    i32,
    launch,
    registers,
    shared,
    store,
    synchronize,
)

GATES = 4


def pack_lstm_recurrent(recurrent: np.ndarray) -> np.ndarray:
    """Pack PyTorch's W_hh of both directions [2, 4H, H] into float32 [2, H, H, 4].

    The axes are direction, input, hidden unit and gate.
    """
    hidden = recurrent.shape[2]
    parts = np.asarray(recurrent, np.float32).reshape(2, GATES, hidden, hidden)
    return np.ascontiguousarray(parts.transpose(0, 3, 2, 1))


def lstm_splits(hidden: int, max_threads: int) -> int:
    """Threads per hidden unit: two, which hide more latency, if they fit into `max_threads`."""
    return 2 if hidden % 2 == 0 and 2 * hidden <= max_threads else 1


def recurrence_parameters(batch: Expr, steps: Expr, hidden: int) -> list[Parameter]:
    """The arguments of `lstm_recurrence`."""
    return [
        Parameter("gates", (batch, steps, 2 * GATES * hidden)),
        Parameter("recurrent", (2, hidden, hidden, GATES)),
        Parameter("lengths", (batch,), "int64"),
        Parameter("output", (batch, steps, 2 * hidden)),
    ]


def length_of(lengths: Buffer, b: Expr, steps: Expr) -> Expr:
    """The steps of a batch row, at most `steps`."""
    return bind(tirx.min(tirx.max(tirx.Cast("int32", lengths[b]), i32(0)), steps))


def next_hidden(cell: Buffer, sums: Buffer) -> Expr:
    """Update the cell state of a unit by its four gates, and return its h."""
    i, f, g, o = (sums[i32(gate)] for gate in range(GATES))
    kept = hold(sigmoid(SCALARS, f) * cell[i32(0)])
    store(cell, 0, kept + sigmoid(SCALARS, i) * tanh(SCALARS, g))
    return hold(sigmoid(SCALARS, o) * tanh(SCALARS, cell[i32(0)]))


def lstm_recurrence(hidden: int, splits: int = 1) -> tirx.PrimFunc:
    """The kernel (gates, recurrent, lengths) -> output; see the module's docstring.

    gates float32 [B, n, 8H]: forward i, f, g, o, then backward i, f, g, o, with the biases added.
    recurrent float32: as packed by `pack_lstm_recurrent`. lengths int64 [B], 0 <= length <= n.
    output float32 [B, n, 2H]: forward, then backward. Steps from a row's length on are never read;
    the output there is 0.

    Raises InputError if `splits` does not divide the hidden units, or a block is too large.
    """
    H = hidden
    if H % splits or H * splits > MAX_THREADS:
        raise InputError(
            f"an LSTM of {H} hidden units by {splits} threads: they must divide it, and a "
            f"block has at most {MAX_THREADS}; build with --opt 0"
        )
    share = H // splits
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(gates: Buffer, recurrent: Buffer, lengths: Buffer, output: Buffer) -> None:
        n = bind(i32(steps))
        with launch([2, i32(batch)], [H, splits]) as ((direction, b), (unit, part)):
            length = length_of(lengths, b, n)
            h = shared(H)
            partial = shared(max(splits - 1, 1) * GATES * H)
            cell = registers(1)
            sums = registers(GATES)
            weights = registers(GATES)
            store(cell, 0, const(0))
            with T.If(part == 0), T.Then():
                store(h, unit, const(0))
            with T.serial(i32(0), length) as step:
                t = bind(step + direction * (length - 1 - step - step))
                synchronize()
                for gate in range(GATES):
                    store(sums, gate, const(0))
                with T.serial(i32(0), i32(share)) as j:
                    k = part * share + j
                    row = ((direction * H + k) * H + unit) * GATES
                    with T.vectorized(i32(0), i32(GATES)) as gate:
                        store(weights, gate, recurrent[row + gate])
                    for gate in range(GATES):
                        add_to(sums, gate, weights[i32(gate)] * h[k])
                with T.If(part > 0), T.Then():
                    for gate in range(GATES):
                        store(partial, ((part - 1) * GATES + gate) * H + unit, sums[i32(gate)])
                synchronize()
                with T.If(part == 0), T.Then():
                    start = (b * n + t) * (2 * GATES * H) + direction * (GATES * H) + unit
                    for gate in range(GATES):
                        add_to(sums, gate, gates[start + gate * H])
                        for other in range(splits - 1):
                            add_to(sums, gate, partial[(other * GATES + gate) * H + unit])
                    out = next_hidden(cell, sums)
                    store(h, unit, out)
                    store(output, (b * n + t) * (2 * H) + direction * H + unit, out)
            with T.If(part == 0), T.Then(), T.serial(i32(0), n - length) as late:
                store(output, (b * n + length + late) * (2 * H) + direction * H + unit, const(0))

    return build_kernel(
        f"gpu_lstm_recurrence_h{H}x{splits}",
        recurrence_parameters(batch, steps, H),
        body,
    )
