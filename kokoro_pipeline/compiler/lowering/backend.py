"""What the rules ask of a device: its kernels, how their weights are packed, and its layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx

from ..kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..kernels.common.harmonic_source import HarmonicSource, Transform
from ..kernels.common.producer import NOTHING, Producer
from .channels_last import Value, dimensions

Extent: TypeAlias = tirx.Expr | int

TYPICAL = 160
"""The number of tokens or frames for which kernels are chosen; as frames, 4 s of audio."""


@dataclass(frozen=True)
class Kernel:
    """The kernel `make(*static)`; calls with equal values share one.

    `recipe` and `pack` say how its weights are packed, and are empty where they are passed as they
    are. Equal recipes must imply equal results of `pack`. `numbers` are passed after the tensors.
    """

    make: Callable[..., tirx.PrimFunc]
    static: tuple[Hashable, ...]
    recipe: str = ""
    pack: Callable[..., np.ndarray] | None = None
    numbers: tuple[int, ...] = ()
    moments: bool = False
    """Whether it also returns mean and reciprocal standard deviation of its result over time."""


@dataclass(frozen=True)
class Fusion:
    """What a convolution is to compute besides its product.

    `producer` transforms the input; a bias and a residual may be added to the result. `epsilon` is
    that of an instance norm which reads the result, or None. `rows` is about how many rows the
    result has, for which the kernel is chosen; it serves every number.
    """

    producer: Producer = NOTHING
    bias: bool = False
    residual: bool = False
    epsilon: float | None = None
    rows: int = 20 * TYPICAL


def typical(length: Extent) -> int:
    """A length with `TYPICAL` in place of each of its symbols."""
    if isinstance(length, int):
        return length
    analyzer = tvm.sym.Analyzer()
    for symbol in tirx.analysis.undefined_vars(length):
        analyzer.bind(symbol, tirx.IntImm("int64", TYPICAL))
    return int(analyzer.simplify(length))


@dataclass(frozen=True)
class SourceKernels:
    """The kernels of the harmonic source; the dtype of all but the spectrum is `dtype`.

    `phases` read F0 and then each other; the excitation reads F0, noise, their results and the mix
    that its recipe packs, and the spectrum reads that and the basis.
    """

    phases: tuple[Kernel, ...]
    excitation: Kernel
    spectrum: Kernel
    dtype: str


@dataclass(frozen=True)
class Backend(ABC):
    """The kernels of a device. `fused`: whether to fuse and, on a CPU, to use fast algorithms.

    Below, "sequence" means float32 in the layout of the kernels, [B, L, C] or [B, C, L], and B and
    L are symbolic. A bias in brackets is an argument unless it is packed with the weight. A
    kernel raises InputError when it is made for sizes that the device cannot have.
    """

    fused: bool

    channels_last: ClassVar[bool]
    """Whether sequences are [B, L, C] and not [B, C, L] as in PyTorch."""
    packs_bias: ClassVar[bool]
    """Whether a bias is packed with the weight and not an argument of its own."""
    conv_dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    """The dtypes in which `conv1d` has a kernel."""
    fuses_activation: ClassVar[bool] = False
    """Whether a convolution can apply an activation without a norm before it."""
    keeps_rounding: ClassVar[bool] = False
    """Whether a layer norm can also give what its rounding to float32 took away."""

    def for_function(self, name: str) -> Backend:
        """The backend for one function of a module."""
        return self

    # Layout

    def arranged(self, value: Value, builder: relax.BlockBuilder) -> relax.Expr:
        """A sequence in the layout of the kernels."""
        return value.in_last(builder) if self.channels_last else value.in_first(builder)

    def value(self, sequence: relax.Expr) -> Value:
        """The value of a sequence in the layout of the kernels."""
        return Value(last=sequence) if self.channels_last else Value(first=sequence)

    def shape(self, batch: Extent, channels: Extent, length: Extent) -> list[Extent]:
        """The shape of a sequence in the layout of the kernels."""
        return [batch, length, channels] if self.channels_last else [batch, channels, length]

    def extents(self, sequence: relax.Expr) -> tuple[tirx.Expr, tirx.Expr, tirx.Expr]:
        """Batch, channels and length of a sequence in the layout of the kernels."""
        batch, *rest = dimensions(sequence)
        length, channels = rest if self.channels_last else reversed(rest)
        return batch, channels, length

    # Kernels

    def fits(self, producer: Producer, channels: int) -> bool:
        """Whether a convolution can apply a producer to this number of channels."""
        return True

    def adain(self, channels: int, producer: Producer) -> Kernel | None:
        """A norm and activation as a kernel of their own; None if they remain operators."""
        return None

    def polar(self, bins: int) -> Kernel | None:
        """Magnitudes and angles to complex numbers; None if they remain operators."""
        return None

    @abstractmethod
    def conv1d(self, conv: Conv1d, fusion: Fusion, dtype: str) -> Kernel:
        """(x, *producer arguments, weight[, bias][, residual]) -> y[, mean, rstd].

        x, residual and y are sequences, in `dtype`, which is one of `conv_dtypes`. With
        `fusion.epsilon` a kernel that has `moments` also gives the mean and the reciprocal standard
        deviation of y over time, [B, C].
        """

    @abstractmethod
    def conv_transpose1d(self, conv: ConvTranspose1d, bias: bool) -> Kernel:
        """(x, weight[, bias]) -> y, a sequence of `conv.out_length(L)` steps."""

    @abstractmethod
    def depthwise_upsample(self, channels: int, bias: bool) -> Kernel:
        """(x, weight[, bias]) -> y, a sequence of 2 L steps.

        A depthwise transposed convolution of 3 taps, stride 2, padding 1 and output padding 1.
        """

    @abstractmethod
    def linear(self, in_features: int, out_features: int, bias: bool) -> Kernel:
        """(x, weight[, bias]) -> y, float32 [M, in_features] to [M, out_features]."""

    @abstractmethod
    def layer_norm(self, features: int, epsilon: float, terms: int, *, rounding: bool) -> Kernel:
        """The layer norm of a sum of `terms` tensors, and, if asked for, what its rounding took."""

    @abstractmethod
    def statistics(self, channels: int, epsilon: float) -> Kernel:
        """Mean and reciprocal standard deviation [B, C] over time."""

    @abstractmethod
    def lstm_recurrence(self, hidden: int) -> Kernel:
        """(gates, recurrent weight, lengths) -> y, of both directions of an LSTM.

        gates are float32 [B, n, 8 hidden], the products of the input with the biases added; lengths
        int64 [B]; y float32 [B, n, 2 hidden], which is 0 from a row's length on.
        """

    @abstractmethod
    def attention(self, heads: int, head_size: int) -> Kernel:
        """(q, k, v, lengths) -> y, each float32 [B, n, heads * head_size], lengths int64 [B].

        Keys from a row's length on are not read, and y is 0 there.
        """

    @abstractmethod
    def standard_normals(self, row: tuple[int, int]) -> Kernel:
        """Noise [1, row[0] * t, row[1]] from a key."""

    @abstractmethod
    def harmonic_source(self, source: HarmonicSource, transform: Transform) -> SourceKernels:
        """F0 and noise to the excitation, and the excitation to its short-time spectrum."""
