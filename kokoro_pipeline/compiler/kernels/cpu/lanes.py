"""Channels that no vector width divides: one code for whole vectors and for the numbers left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .vector import Buffer, Expr, T, VectorTarget, bind, f32, i64


@dataclass(frozen=True)
class Lanes:
    """Neighbouring channels held together: a vector of the target; one number without a target."""

    target: VectorTarget | None

    @property
    def width(self) -> int:
        return 1 if self.target is None else self.target.lanes

    def splat(self, value: Expr | float) -> Expr:
        if self.target is not None:
            return self.target.splat(value)
        return f32(value) if isinstance(value, int | float) else value

    def load(self, buffer: Buffer, index: Expr) -> Expr:
        return buffer[index] if self.target is None else self.target.load(buffer, index)

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        if self.target is None:
            T.buffer_store(buffer, value, [index])
        else:
            self.target.store(buffer, index, value)


def over_channels(
    target: VectorTarget, channels: int, together: int, body: Callable[[Lanes, int, Expr], None]
) -> None:
    """body(lanes, count, first channel) over all channels: `together` vectors, one vector, numbers.

    A call of the body covers count * lanes.width channels.
    """
    done = 0
    steps = ((Lanes(target), together), (Lanes(target), 1), (Lanes(None), 1))
    for lanes, count in steps if together > 1 else steps[1:]:
        size, start = lanes.width * count, done
        groups = (channels - done) // size
        if groups:
            with T.serial(i64(0), i64(groups)) as i:
                body(lanes, count, bind(i * size + start))
        done += groups * size
