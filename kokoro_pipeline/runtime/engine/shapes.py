"""Binding the symbolic shapes of a manifest to the shapes of actual arrays.

A dimension is a number or `[factor*]symbol[+constant]`. Binding solves every dimension for its
symbol (`2*t` binds t by division) and requires that all dimensions of all arguments agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kokoro_pipeline.artifact.manifest import affine

Dimension = int | str


class ShapeError(Exception):
    """A shape does not fit; the message says what is expected."""


@dataclass
class Bindings:
    """The values of symbols, and the names of the arguments that determined them."""

    values: dict[str, int] = field(default_factory=dict)
    givers: dict[str, str] = field(default_factory=dict)

    def bind(self, argument: str, expected: Sequence[Dimension], got: Sequence[int]) -> None:
        """Match the shape `got` of `argument` with `expected`, binding symbols not bound before.

        Raises ShapeError for a wrong rank, an empty dimension, or a contradicting dimension.
        """
        if len(expected) != len(got):
            raise ShapeError(f"expected {len(expected)} dimensions {self.describe(expected)}")
        for dimension, size in zip(expected, got, strict=True):
            if not self._fits(argument, dimension, size):
                raise ShapeError(f"expected {self.describe(expected)}")

    def evaluate(self, shape: Sequence[Dimension]) -> tuple[int, ...]:
        """The shape with symbols replaced by values. Raises KeyError for an unbound symbol."""
        return tuple(self._value(dimension) for dimension in shape)

    def describe(self, shape: Sequence[Dimension]) -> str:
        """The shape for a message, with the values of bound symbols and where they come from."""
        text = f"[{', '.join(str(dimension) for dimension in shape)}]"
        symbols = dict.fromkeys(affine(d)[1] for d in shape if isinstance(d, str))
        bound = [
            f"{name}={self.values[name]} from '{self.givers[name]}'"
            for name in symbols
            if name in self.values
        ]
        if not bound:
            return text
        numbers = ""
        if all(name in self.values for name in symbols):
            numbers = f", that is {list(self.evaluate(shape))}"
        return f"{text} with {', '.join(bound)}{numbers}"

    def _fits(self, argument: str, dimension: Dimension, size: int) -> bool:
        if isinstance(dimension, int):
            return size == dimension
        factor, symbol, rest = affine(dimension)
        value, remainder = divmod(size - rest, factor)
        if remainder or value < 1:
            return False
        if symbol not in self.values:
            self.values[symbol] = value
            self.givers[symbol] = argument
        return self.values[symbol] == value

    def _value(self, dimension: Dimension) -> int:
        if isinstance(dimension, int):
            return dimension
        factor, symbol, rest = affine(dimension)
        return factor * self.values[symbol] + rest
