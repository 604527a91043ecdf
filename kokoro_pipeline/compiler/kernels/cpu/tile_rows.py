"""The input rows of a task on tiles: produced once, and split into bfloat16 parts."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.bfloat16_parts import LARGEST, NAN
from ..common.builder import (
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    div,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from .lanes import Lanes, over_channels
from .producer import Prepared
from .tile_plan import HEIGHT, Task, TilePlan
from .tile_unit import ROWS, TERMS
from .tile_weights import LINE, rounded_parts


@dataclass(frozen=True)
class SplitRows:
    """The input rows of a task in scratch, with their parts side by side: [rows, parts, CI].

    A row has `TilePlan.row` words, of which a part has `TilePlan.padded`. Rows `head` to `tail` lie
    in the sequence at x[base:], row 0 being its row `start`. All others are zeros.
    """

    plan: TilePlan
    x: Buffer
    base: Expr
    prepared: Prepared
    scratch: Buffer
    start: Expr
    head: Expr
    tail: Expr

    @classmethod
    def of(
        cls, plan: TilePlan, x: Buffer, base: Expr, length: Expr, prepared: Prepared, task: Task
    ) -> SplitRows:
        """The rows that a task reads of the sequence of `length` rows at x[base:].

        Emits the zeros and the first rows, which the products start with.
        """
        conv, row = plan.conv, plan.row
        size = (plan.block - 1) * conv.stride + conv.reach + 1
        scratch = T.alloc_buffer((size * row,), "uint16")
        start = bind(task.first * conv.stride - conv.pad_left)
        span = bind((ceil_div(task.rows, ROWS) * ROWS - 1) * conv.stride + (conv.reach + 1))
        head = bind(minimum(maximum(i64(0) - start, 0), span))
        tail = bind(maximum(minimum(length - start, span), head))
        _zero_words(scratch, i64(0), bind(head * row))
        _zero_words(scratch, bind(tail * row), bind(span * row))
        rows = cls(plan, x, base, prepared, scratch, start, head, tail)
        rows.split(i64(0), plan.needed(i64(HEIGHT)) * plan.steps)
        return rows

    def split(self, low: Expr, high: Expr) -> None:
        """Emit the groups `low` to `high` of 32 channels, counted row by row, that there are."""
        steps = self.plan.steps
        first = bind(maximum(low, self.head * steps))
        with T.serial(i64(0), maximum(minimum(high, self.tail * steps) - first, 0)) as i:
            row, step = bind(div(first + i, steps)), bind(mod(first + i, steps))
            last = self.plan.conv.in_channels - (steps - 1) * TERMS
            if steps == 1 or last == TERMS:
                self._split_group(row, bind(step * TERMS), last)
            else:
                with T.If(step < steps - 1):
                    with T.Then():
                        self._split_group(row, bind(step * TERMS), TERMS)
                    with T.Else():
                        self._split_group(row, bind(step * TERMS), last)

    def _split_group(self, row: Expr, first: Expr, channels: int) -> None:
        """Split `channels` of the 32 channels from `first` on of a row, followed by zeros."""
        plan = self.plan
        to = bind(row * plan.row + first)
        source = bind(self.base + (self.start + row) * plan.conv.in_channels + first)

        def produced(lanes: Lanes, c: Expr) -> Expr:
            return self.prepared.at(lanes, bind(first + c))(lanes.load(self.x, source + c))

        def split(lanes: Lanes, _: int, c: Expr) -> None:
            self._store_parts(lanes, bind(to + c), produced(lanes, c))

        if channels == TERMS:
            lanes = Lanes(plan.target)
            starts = range(0, TERMS, lanes.width)
            self._store_group(to, [produced(lanes, i64(c)) for c in starts])
            return
        over_channels(plan.target, channels, 1, split)
        with T.serial(i64(0), i64(plan.parts.count)) as part, T.serial(i64(channels), TERMS) as c:
            zero = tirx.const(0, "uint16")
            T.buffer_store(self.scratch, zero, [to + part * plan.padded + c])

    def _store_group(self, at: Expr, values: list[Expr]) -> None:
        """Split the vectors of 32 channels; each part of them is one store of a cache line."""
        target, lanes = self.plan.target, self.plan.target.lanes

        def splat(number: int) -> Expr:
            return tirx.Broadcast(tirx.const(number, "uint32"), lanes)

        values = [target.hold(value) for value in values]
        bits = [tirx.reinterpret(f"uint32x{lanes}", value) for value in values]
        sizes = [tirx.bitwise_and(each, splat(0x7FFFFFFF)) for each in bits]
        above = functools.reduce(tirx.max, sizes) > splat(LARGEST << 16)
        with T.If(tirx.call_llvm_intrin("bool", "llvm.vector.reduce.or", above)):
            with T.Then():
                cells = registers(TERMS)
                for index, value in enumerate(values):
                    target.store(cells, i64(index * lanes), value)
                with T.serial(i64(0), i64(TERMS)) as c:
                    self._store_parts(Lanes(None), bind(at + c), cells[c])
            with T.Else():
                split = rounded_parts(values, self.plan.parts.count, target.hold)
                for part, near in enumerate(split):
                    words = [tirx.reinterpret(f"uint16x{2 * lanes}", each) for each in near]
                    upper = tirx.Shuffle(words, [i64(2 * c + 1) for c in range(TERMS)])
                    index = tirx.Ramp(at + part * self.plan.padded, i64(1), TERMS)
                    T.buffer_store(self.scratch, upper, [index])

    def _store_parts(self, lanes: Lanes, at: Expr, value: Expr) -> None:
        """Split as `split_words` does; the parts of a channel are `padded` words apart."""
        width = lanes.width

        def typed(dtype: str) -> str:
            return dtype if width == 1 else f"{dtype}x{width}"

        def splat(number: int | float, dtype: str = "uint32") -> Expr:
            constant = tirx.const(number, dtype)
            return constant if width == 1 else tirx.Broadcast(constant, width)

        def bits_of(number: Expr) -> Expr:
            return bind(tirx.reinterpret(typed("uint32"), number))

        def hold(number: Expr) -> Expr:
            if lanes.target is not None:
                return lanes.target.hold(number)
            cell = registers(1)
            T.buffer_store(cell, number, [i64(0)])
            return T.bind(cell[i64(0)])

        def store(part: int, word: Expr) -> None:
            to = at + part * self.plan.padded
            index = to if width == 1 else tirx.Ramp(to, i64(1), width)
            T.buffer_store(self.scratch, tirx.Cast(typed("uint16"), word), [index])

        half, high = splat(0x8000), splat(0xFFFF0000)
        rest = hold(value)
        exponent = bind(tirx.bitwise_and(bits_of(rest), splat(0x7F800000)))
        largest = float(np.array(LARGEST << 16, np.uint32).view(np.float32))
        for part in range(self.plan.parts.count - 1):
            near = rest
            if part == 0:
                below = tirx.min(rest, splat(largest, "float32"))
                near = bind(tirx.max(below, splat(-largest, "float32")))
            rounded = tirx.bitwise_and(bits_of(near) + half, high)
            finite = exponent < splat(0x7F800000)
            kept = bind(tirx.Select(finite, rounded, splat(0)))
            store(part, tirx.shift_right(kept, splat(16)))
            rest = hold(rest - tirx.reinterpret(typed("float32"), kept))
        bits = bits_of(rest)
        nan = tirx.bitwise_and(bits, splat(0x7FFFFFFF)) > splat(0x7F800000)
        word = tirx.shift_right(bits + half, splat(16))
        store(self.plan.parts.count - 1, tirx.Select(nan, splat(NAN), word))


def _zero_words(buffer: Buffer, start: Expr, stop: Expr) -> None:
    """buffer[start:stop] = 0, a whole number of cache lines."""
    zeros = tirx.Broadcast(tirx.const(0, "uint16"), LINE)
    with T.serial(i64(0), bind(div(stop - start, LINE))) as i:
        T.buffer_store(buffer, zeros, [tirx.Ramp(start + i * LINE, i64(1), LINE)])
