"""What a transformed convolution is: its transform, its sizes, and the memory of a task.

`transform_conv1d` says how it is computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kokoro_pipeline.errors import InputError

from ..common.builder import Expr
from ..common.producer import NOTHING, Producer
from .bin_products import CHUNK, BinProducts, Bins, padded_channels, padded_outputs
from .producer import check_vectors
from .vector import LINE, VectorTarget

Load = Callable[[int], Expr]
Store = Callable[[int, Expr], None]


@dataclass(frozen=True)
class Transform(ABC):
    """A transform of `window` rows for a convolution with `taps` taps.

    It is applied to one vector of channels at a time.
    """

    taps: int
    window: int

    @property
    def outputs(self) -> int:
        return self.window - self.taps + 1

    @property
    @abstractmethod
    def bins(self) -> tuple[Bins, ...]: ...

    @property
    def multiplications(self) -> int:
        """Real multiplications per tile, input channel and output channel."""
        return sum(bins.numbers for bins in self.bins)

    @property
    @abstractmethod
    def algorithm(self) -> str:
        """A short name of the transform, with its size."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the transform in a table."""

    @property
    def name(self) -> str:
        """The first part of the kernel's name, and of what its weights are packed for."""
        return f"{self.algorithm}_conv1d_k{self.taps}"

    @abstractmethod
    def forward(self, target: VectorTarget, row: Load, put: Store) -> None:
        """Transform input rows 0 ... window - 1: put(slot, number) for the numbers of all bins."""

    @abstractmethod
    def inverse(self, target: VectorTarget, product: Load) -> list[Expr]:
        """The output rows, computed from the products of all bins in their slots."""

    @abstractmethod
    def weights(self, weight: np.ndarray) -> np.ndarray:
        """Transform a weight float64 [CO, CI, K] to [CO, parts of all bins, CI]."""


@dataclass(frozen=True)
class SameConv1d:
    """A convolution of stride 1 with as many output as input rows, and an odd number of taps.

    If `statistics` is an epsilon, it also computes the channel statistics of its output, like
    `statistics.channel_statistics`, while the rows are still in the cache. A register adds up at
    most `chunk` terms of a sum.
    """

    in_channels: int
    out_channels: int
    taps: int
    producer: Producer = NOTHING
    residual: bool = False
    statistics: float | None = None
    chunk: int = CHUNK

    def check(self, target: VectorTarget) -> None:
        """Raise InputError for parameters that transformed convolutions do not support."""
        if self.in_channels < 1 or self.out_channels < 1:
            raise InputError(f"{self}: a convolution has channels")
        check_vectors(self.producer, target, self.in_channels)
        if self.taps < 1 or self.taps % 2 == 0:
            raise InputError(f"{self}: an even number of taps has no centre row")


@dataclass(frozen=True)
class Scratch:
    """The memory of a task: the numbers and products of the tiles of a block, in floats.

    A slot holds one number or product of all channels, and a tile has `products.slots` of them.
    """

    products: BinProducts
    slot: int
    of_tile: int

    @classmethod
    def of(cls, target: VectorTarget, conv: SameConv1d, transform: Transform) -> Scratch:
        padded = padded_channels(target.lanes, conv.in_channels)
        outputs = padded_outputs(target, conv.out_channels)
        products = BinProducts(target, padded, outputs, transform.bins)
        # Slots and tiles must not all start in the same cache set.
        slot = max(padded, outputs) + LINE
        return cls(products, slot, products.slots * slot + LINE)
