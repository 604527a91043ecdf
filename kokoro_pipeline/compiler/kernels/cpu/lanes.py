"""Channel counts that are not a multiple of the vector width: shared code for vectors and rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from ..common.builder import Buffer, Expr, T, bind, f32, i64
from .vector import VectorTarget


@dataclass(frozen=True)
class Lanes:
    """Neighbouring channels handled together: a vector of the target, or a single channel.

    Without a target it is a single channel.
    """

    target: VectorTarget | None

    @property
    def width(self) -> int:
        return 1 if self.target is None else self.target.lanes

    def splat(self, value: Expr | float) -> Expr:
        if self.target is not None:
            return self.target.splat(value)
        return f32(value) if isinstance(value, int | float) else value

    def cast(self, value: Expr, dtype: str) -> Expr:
        return tirx.Cast(dtype, value) if self.target is None else self.target.cast(value, dtype)

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
    """Call body(lanes, count, first channel) to cover all channels.

    First in groups of `together` vectors, then in single vectors, then in single channels. A call
    of the body covers count * lanes.width channels.
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
