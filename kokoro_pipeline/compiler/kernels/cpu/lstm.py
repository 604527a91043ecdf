"""The bidirectional LSTM recurrence: one time loop, directions and batch rows in parallel.

For each direction, starting from h = c = 0, over the steps t below a row's length (in reverse order
for the second direction):

    i, f, g, o = gates[t] + W_hh h          (PyTorch's order; gates = W_ih x + b_ih + b_hh)
    c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)

A step is a matrix-vector product with W_hh (1 MB per direction for H = 256), limited by the
bandwidth of the L2 cache, and summed in the short chunks of `sums`. The four gates of a block of
hidden units are stored together, so that a block needs one pass. Odd steps go through the blocks in
reverse order, so that a step first reads the weights that the previous one read last.
"""

from __future__ import annotations

import math

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import (
    Buffer,
    Parameter,
    T,
    bind,
    build_kernel,
    div,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from ..common.elementary import sigmoid, tanh
from .sums import CHUNK
from .vector import VectorTarget, zero_range

GATES = 4


def _block_vectors(target: VectorTarget, hidden: int) -> int:
    """Vectors per gate in a block: the sums of all four gates use at most half of the registers.

    Raises InputError if the hidden units do not divide into vectors.
    """
    for vectors in (4, 2, 1):
        if GATES * vectors <= target.registers // 2 and hidden % (vectors * target.lanes) == 0:
            return vectors
    raise InputError(
        f"an LSTM of {hidden} hidden units does not divide into vectors of {target.lanes}; "
        "build with --opt 0"
    )


def pack_lstm_recurrent(target: VectorTarget, recurrent: np.ndarray) -> np.ndarray:
    """Pack PyTorch's W_hh of both directions [2, 4H, H] into float32 [2 * H/block, H * 4 * block].

    For each direction and block of hidden units, a row has the weights of the four gates for each
    input k.
    """
    hidden = recurrent.shape[2]
    block = _block_vectors(target, hidden) * target.lanes
    parts = np.asarray(recurrent, np.float32).reshape(2, GATES, hidden // block, block, hidden)
    packed = parts.transpose(0, 2, 4, 1, 3)
    return np.ascontiguousarray(packed).reshape(2 * hidden // block, hidden * GATES * block)


def lstm_recurrence(target: VectorTarget, hidden: int) -> tirx.PrimFunc:
    """The kernel (gates, recurrent, lengths) -> output; see the module's docstring.

    gates float32 [B, n, 8H]: forward i, f, g, o, then backward i, f, g, o, with the biases added.
    recurrent float32: as packed by `pack_lstm_recurrent`. lengths int64 [B], 0 <= length <= n.
    output float32 [B, n, 2H]: forward, then backward. Steps from a row's length on are never read;
    the output there is 0.

    Raises InputError if the hidden units do not divide into vectors.
    """
    H, V = hidden, target.lanes
    vectors = _block_vectors(target, H)
    block = vectors * V
    blocks = H // block
    chunk = math.gcd(H, CHUNK)
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(gates: Buffer, recurrent: Buffer, lengths: Buffer, output: Buffer) -> None:
        with T.parallel(i64(0), batch * 2) as task:
            b, d = bind(div(task, 2)), bind(mod(task, 2))
            length = bind(minimum(maximum(lengths[b], 0), steps))
            h = T.alloc_buffer((2 * H,), "float32")
            c = T.alloc_buffer((H,), "float32")
            total = T.alloc_buffer((GATES * block,), "float64")
            zero_range(target, h, i64(0), i64(2 * H))
            zero_range(target, c, i64(0), i64(H))
            with T.serial(i64(0), length) as step:
                t = bind(step + d * (length - 1 - step - step))
                odd = bind(mod(step, 2))
                now, after = bind(odd * H), bind((1 - odd) * H)
                row = bind((b * steps + t) * (2 * GATES * H) + d * (GATES * H))
                to = bind((b * steps + t) * (2 * H) + d * H)
                with T.serial(i64(0), i64(blocks)) as count:
                    at = bind(count + odd * (blocks - 1 - count - count))
                    for i in range(GATES * vectors):
                        gate = bind(row + i // vectors * H + at * block + i % vectors * V)
                        start = target.cast(target.load(gates, gate), "float64")
                        target.store(total, i64(i * V), start)
                    weights = bind((d * blocks + at) * (H * GATES * block))
                    with T.serial(i64(0), i64(H // chunk)) as part:
                        sums = [registers(V) for _ in range(GATES * vectors)]
                        for register in sums:
                            target.store(register, i64(0), target.splat(0.0))
                        with T.serial(i64(0), i64(chunk)) as j:
                            k = bind(part * chunk + j)
                            value = bind(target.splat(h[now + k]))
                            for i, register in enumerate(sums):
                                slot = weights + k * (GATES * block) + i * V
                                weight = target.load(recurrent, slot)
                                partial = target.load(register, i64(0)) + value * weight
                                target.store(register, i64(0), partial)
                        for i, register in enumerate(sums):
                            added = target.cast(target.load(register, i64(0)), "float64")
                            subtotal = target.load(total, i64(i * V)) + added
                            target.store(total, i64(i * V), subtotal)
                    with T.serial(i64(0), i64(vectors)) as v:
                        unit = bind(at * block + v * V)
                        i, f, g, o = (
                            bind(target.cast(target.load(total, v * V + gate * block), "float32"))
                            for gate in range(GATES)
                        )
                        forget = bind(sigmoid(target, f) * target.load(c, unit))
                        cell = target.hold(forget + sigmoid(target, i) * tanh(target, g))
                        target.store(c, unit, cell)
                        out = target.hold(sigmoid(target, o) * tanh(target, cell))
                        target.store(h, after + unit, out)
                        target.store(output, to + unit, out)
            with T.serial(i64(0), steps - length) as t:
                start = bind((b * steps + length + t) * (2 * H) + d * H)
                zero_range(target, output, start, start + H)

    return build_kernel(
        f"lstm_recurrence_h{H}_v{V}r{target.registers}",
        [
            Parameter("gates", (batch, steps, 2 * GATES * H)),
            Parameter("recurrent", (2 * blocks, H * GATES * block)),
            Parameter("lengths", (batch,), "int64"),
            Parameter("output", (batch, steps, 2 * H)),
        ],
        body,
    )
