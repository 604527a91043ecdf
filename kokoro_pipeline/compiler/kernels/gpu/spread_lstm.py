"""The bidirectional LSTM recurrence over several blocks of threads, for CUDA.

It computes the function of `lstm`, for which a block reads all weights of a direction in every step
from the L2 cache. Here the hidden units of a direction are spread over blocks, which keep their
share of the weights in registers. In each step a block needs the whole h of the step before, so
blocks exchange it through the output: a word there holds UNWRITTEN, which is no number that the
kernel writes, until its block stores h with a single access of 32 bits, and other blocks read it
until it holds something else. No order between different words is assumed.

A block that waits occupies its multiprocessor, so the blocks of a direction must run at the same
time. They are neighbours in the grid, and devices start blocks in the order of the grid: as long as
a device can run that many blocks at all, the first direction that is running is complete, and makes
room for those after it. `find_device` refuses a GPU with fewer multiprocessors than the model
needs. Metal does not promise that blocks which wait for each other make progress, and uses `lstm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Recurrence:
    """The arguments of a kernel, see `lstm_recurrence`, of `steps` steps and `hidden` units."""

    gates: Buffer
    recurrent: Buffer
    lengths: Buffer
    output: Buffer
    steps: Expr
    hidden: int


class SpreadThread:
    """A thread of a block that has `units` hidden units of a direction of a batch row.

    It multiplies the `SHARE` inputs of number `part` by their weights for its unit. The thread of
    part 0 adds up those of the other parts, and has the cell state of the unit.
    """

    def __init__(
        self, recurrence: Recurrence, units: int, place: Sequence[Expr], thread: Sequence[Expr]
    ) -> None:
        """Emit the memory of the thread and of its block."""
        self.recurrence, self.units = recurrence, units
        (block, self.direction, self.b), (self.lane, self.part) = place, thread
        hidden = recurrence.hidden
        self.parts = hidden // SHARE
        self.length = length_of(recurrence.lengths, self.b, recurrence.steps)
        self.unit = bind(block * units + self.lane)
        self.thread = bind(self.part * units + self.lane)
        self.h, self.partial = shared(hidden), shared(self.parts * units * GATES)
        self.weights = registers(SHARE * GATES)
        self.inputs = registers(4)
        self.sums, self.cell = registers(GATES), registers(1)
        self.word = registers(1, "uint32")

    def emit(self) -> None:
        """Compute all steps of the batch row."""
        self.load_weights()
        store(self.cell, 0, const(0))
        with T.serial(i32(0), self.length) as step:
            t = bind(step + self.direction * (self.length - 1 - step - step))
            self.start_sums(t)  # read before the wait for h
            with T.If(self.thread < self.recurrence.hidden), T.Then():
                self.receive(step, t)
            synchronize()
            self.multiply()
            synchronize()
            with T.If(self.part == 0), T.Then():
                self.combine()
                self.send(t, next_hidden(self.cell, self.sums))

    def load_weights(self) -> None:
        """Read the weights [SHARE, GATES] of the thread, which stay in its registers."""
        hidden = self.recurrence.hidden
        for j in range(SHARE):
            inputs = self.direction * hidden + self.part * SHARE + j
            row = (inputs * hidden + self.unit) * GATES
            with T.vectorized(i32(0), i32(GATES)) as gate:
                store(self.weights, j * GATES + gate, self.recurrence.recurrent[row + gate])

    def start_sums(self, t: Expr) -> None:
        """Start the sums with 0, and those of part 0 with the gates of a step."""
        hidden = self.recurrence.hidden
        for gate in range(GATES):
            store(self.sums, gate, const(0))
        with T.If(self.part == 0), T.Then():
            row = (self.b * self.recurrence.steps + t) * (2 * GATES * hidden)
            start = row + self.direction * (GATES * hidden) + self.unit
            for gate in range(GATES):
                store(self.sums, gate, self.recurrence.gates[start + gate * hidden])

    def place(self, t: Expr, unit: Expr) -> Expr:
        """The address of the word of the output for a hidden unit of this direction."""
        row = (self.b * self.recurrence.steps + t) * (2 * self.recurrence.hidden)
        at = row + self.direction * self.recurrence.hidden + unit
        return tirx.address_of(self.recurrence.output[at])

    def receive(self, step: Expr, t: Expr) -> None:
        """Wait for the h of the step before, a word for each of the first `hidden` threads."""
        store(self.word, 0, tirx.Select(step == 0, u32(0), u32(UNWRITTEN)))
        before = bind(t - 1 + 2 * self.direction)
        with T.While(self.word[i32(0)] == u32(UNWRITTEN)):
            T.evaluate(T.ptx[LOAD](self.word[i32(0)], self.place(before, self.thread)))
        store(self.h, self.thread, tirx.reinterpret("float32", self.word[i32(0)]))

    def multiply(self) -> None:
        """Add the products of the thread's share of h, and give the sums to the block."""
        for j in range(0, SHARE, 4):
            with T.vectorized(i32(0), i32(4)) as v:
                store(self.inputs, v, self.h[self.part * SHARE + j + v])
            for i in range(4):
                for gate in range(GATES):
                    weight = self.weights[i32((j + i) * GATES + gate)]
                    add_to(self.sums, gate, weight * self.inputs[i32(i)])
        with T.vectorized(i32(0), i32(GATES)) as gate:
            store(self.partial, self.thread * GATES + gate, self.sums[gate])

    def combine(self) -> None:
        """Add the sums of the other parts, in their order."""
        for other in range(1, self.parts):
            for gate in range(GATES):
                at = (other * self.units + self.lane) * GATES + gate
                add_to(self.sums, gate, self.partial[at])

    def send(self, t: Expr, value: Expr) -> None:
        """Store the h of the thread's unit, for the other blocks too."""
        store(self.word, 0, tirx.reinterpret("uint32", value))
        size = tirx.bitwise_and(self.word[i32(0)], u32(0x7FFFFFFF))
        bits = tirx.Select(size > u32(INFINITY), u32(NAN), self.word[i32(0)])
        T.evaluate(T.ptx[STORE](self.place(t, self.unit), bits))


def _mark_unwritten(recurrence: Recurrence, block: Expr, b: Expr, thread: Expr) -> None:
    """Set a word of the output to UNWRITTEN, or to 0 from the length of its batch row on."""
    words = recurrence.steps * 2 * recurrence.hidden
    at = bind(block * FILL_THREADS + thread)
    with T.If(at < words), T.Then():
        unwritten = tirx.reinterpret("float32", u32(UNWRITTEN))
        length = length_of(recurrence.lengths, b, recurrence.steps)
        is_step = div(at, 2 * recurrence.hidden) < length
        store(recurrence.output, b * words + at, tirx.Select(is_step, unwritten, const(0)))


def spread_lstm_recurrence(hidden: int) -> tirx.PrimFunc:
    """The kernel (gates, recurrent, lengths) -> output, with the arguments of `lstm_recurrence`.

    Raises InputError for hidden sizes for which `spread_units` has no blocks.
    """
    units = spread_units(hidden)
    if units is None:
        raise InputError(
            f"an LSTM of {hidden} hidden units cannot be spread over blocks; build with --opt 0"
        )
    blocks, threads = hidden // units, [units, hidden // SHARE]
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(gates: Buffer, recurrent: Buffer, lengths: Buffer, output: Buffer) -> None:
        n, rows = bind(i32(steps)), bind(i32(batch))
        recurrence = Recurrence(gates, recurrent, lengths, output, n, hidden)
        words = tirx.max(ceil_div(n * 2 * hidden, FILL_THREADS), i32(1))
        with launch([words, rows], [FILL_THREADS]) as ((block, b), (thread,)):
            _mark_unwritten(recurrence, block, b, thread)
        with launch([blocks, 2, rows], threads) as (place, own):
            SpreadThread(recurrence, units, place, own).emit()

    return build_kernel(
        f"gpu_spread_lstm_recurrence_h{hidden}",
        recurrence_parameters(batch, steps, hidden),
        body,
    )
