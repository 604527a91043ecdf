"""What a convolution is: its static parameters and how long its output is."""

from __future__ import annotations

from dataclasses import dataclass

from kokoro_pipeline.errors import InputError

from .builder import Expr


@dataclass(frozen=True)
class Conv1d:
    """The static parameters of a convolution with a weight [out_channels, in_channels, taps].

    Raises InputError for a size below 1 or a negative padding.
    """

    in_channels: int
    out_channels: int
    taps: int
    stride: int = 1
    dilation: int = 1
    pad_left: int = 0
    pad_right: int = 0

    def __post_init__(self) -> None:
        least = min(self.in_channels, self.out_channels, self.taps, self.stride, self.dilation)
        if least < 1 or min(self.pad_left, self.pad_right) < 0:
            raise InputError(f"{self}: sizes must be at least 1 and padding at least 0")

    @property
    def reach(self) -> int:
        """Distance between the first and the last tap, in input rows."""
        return (self.taps - 1) * self.dilation

    def out_length(self, length: Expr) -> Expr:
        """Number of output rows for `length` input rows, which may be an int64 expression."""
        free = self.pad_left + self.pad_right - self.reach
        if self.stride == 1:
            return length + free
        return (length + (free - 1)) // self.stride + 1


@dataclass(frozen=True)
class ConvTranspose1d:
    """A transposed convolution with a weight [in_channels, out_channels, taps].

    In terms of PyTorch's arguments, crop_left = padding and crop_right = padding - output_padding.

    Raises InputError for a size below 1, a negative crop, or taps that are not a multiple of the
    stride.
    """

    in_channels: int
    out_channels: int
    taps: int
    stride: int
    crop_left: int = 0
    crop_right: int = 0

    def __post_init__(self) -> None:
        if min(self.in_channels, self.out_channels, self.taps, self.stride) < 1:
            raise InputError(f"{self}: sizes must be at least 1")
        if self.taps % self.stride:
            raise InputError(f"{self}: the direct form needs taps to be a multiple of the stride")
        if min(self.crop_left, self.crop_right) < 0:
            raise InputError(f"{self}: rows can be left out, not added")

    @property
    def reach(self) -> int:
        """Number of earlier input rows that a group reads in addition to its own."""
        return self.taps // self.stride - 1

    def out_length(self, length: Expr) -> Expr:
        """Number of output rows for `length` input rows, which may be an int64 expression."""
        return length * self.stride + (self.reach * self.stride - self.crop_left - self.crop_right)
