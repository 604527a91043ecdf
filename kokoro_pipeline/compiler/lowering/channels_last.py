"""The two layouts of a value while a program is converted to channels-last.

PyTorch stores sequences as [B, C, L]; the kernels expect [B, L, C], with channels in the vector
lanes. A `Value` holds either layout or both; the missing one is created on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm import relax, tirx


def dimensions(value: relax.Expr) -> list[tirx.Expr]:
    """The extents of a tensor."""
    return list(value.ty.shape)


def is_one(extent: tirx.Expr) -> bool:
    """Whether an extent is the constant 1."""
    return isinstance(extent, tirx.IntImm | int) and int(extent) == 1


def is_transpose(axes: Sequence[tirx.IntImm] | None) -> bool:
    """Whether `permute_dims` with these axes transposes a matrix; None reverses the axes."""
    return axes is None or [int(axis) % 2 for axis in axes] == [1, 0]


def swap_last_two(builder: relax.BlockBuilder, value: relax.Expr) -> relax.Expr:
    """Transpose [B, X, Y] to [B, Y, X]; where X or Y is 1 this is a reshape, which is free."""
    batch, rows, columns = dimensions(value)
    if is_one(rows) or is_one(columns):
        return builder.emit(relax.op.reshape(value, [batch, columns, rows]))
    return builder.emit(relax.op.permute_dims(value, [0, 2, 1]))


@dataclass
class Value:
    """A tensor of the program in PyTorch's layout (`first`), channels-last (`last`), or both.

    Only three-dimensional tensors have a channels-last form.
    """

    first: relax.Expr | None = None
    last: relax.Expr | None = None
    statistics: dict[float, tuple[relax.Expr, relax.Expr]] = field(default_factory=dict)
    """Mean and reciprocal standard deviation over time, by epsilon, once a norm has needed them."""
    rounding: relax.Expr | None = None
    """What its rounding to float32 took away, where a later sum is to get that back."""

    def in_first(self, builder: relax.BlockBuilder) -> relax.Expr:
        """The tensor in PyTorch's layout."""
        if self.first is None:
            self.first = swap_last_two(builder, self.last)
        return self.first

    def in_last(self, builder: relax.BlockBuilder) -> relax.Expr:
        """The tensor with channels last."""
        if self.last is None:
            self.last = swap_last_two(builder, self.first)
        return self.last

    @property
    def rank(self) -> int:
        return int(self._known.ty.ndim)

    @property
    def dtype(self) -> str:
        return str(self._known.ty.dtype)

    @property
    def _known(self) -> relax.Expr:
        return self.first if self.first is not None else self.last

    def swapped(self) -> Value:
        """A view of the same memory with the last two axes exchanged."""
        return Value(first=self.last, last=self.first)
