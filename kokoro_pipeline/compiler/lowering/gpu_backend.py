"""The kernels of CUDA and Metal: PyTorch's layout, biases as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import tvm

from ..kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..kernels.common.harmonic_source import HarmonicSource, Transform
from ..kernels.common.operand_precision import Precision
from ..kernels.common.producer import Producer
from ..kernels.gpu import harmonic_source
from ..kernels.gpu.adain import adain
from ..kernels.gpu.attention import attention
from ..kernels.gpu.conv1d import conv1d, pack_conv1d
from ..kernels.gpu.conv_transpose1d import (
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
)
from ..kernels.gpu.layer_norm import layer_norm
from ..kernels.gpu.linear import linear, pack_linear
from ..kernels.gpu.lstm import lstm_recurrence, lstm_splits, pack_lstm_recurrent
from ..kernels.gpu.normals import standard_normals
from ..kernels.gpu.scan import running_sum
from ..kernels.gpu.spread_lstm import spread_lstm_recurrence, spread_units
from ..kernels.gpu.statistics import row_statistics
from .backend import Backend, Fusion, Kernel, SourceKernels


def _suffix(precision: Precision) -> str:
    """The suffix of a packing recipe for reduced precision; empty for float32."""
    return "" if precision is Precision.FLOAT32 else f"_{precision.value}"


@dataclass(frozen=True)
class GpuBackend(Backend):
    """The kernels for blocks of up to `max_threads` threads.

    `blocks_may_wait` is whether blocks of a launch that wait for each other make progress.
    `precision` is that of the operands of convolutions that are large enough, in the functions
    named in `reduced`.
    """

    max_threads: int
    blocks_may_wait: bool
    precision: Precision = Precision.FLOAT32
    reduced: frozenset[str] = frozenset()

    channels_last: ClassVar[bool] = False
    packs_bias: ClassVar[bool] = False
    conv_dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")
    fuses_activation: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        target: tvm.target.Target,
        fused: bool,
        precision: Precision = Precision.FLOAT32,
        reduced: frozenset[str] = frozenset(),
    ) -> GpuBackend:
        """The kernels for a target of CUDA or Metal."""
        max_threads = int(target.attrs["max_threads_per_block"])
        return cls(fused, max_threads, target.kind.name == "cuda", precision, reduced)

    def for_function(self, name: str) -> GpuBackend:
        return self if name in self.reduced else replace(self, precision=Precision.FLOAT32)

    def adain(self, channels: int, producer: Producer) -> Kernel | None:
        return Kernel(adain, (channels, producer))

    def conv1d(self, conv: Conv1d, fusion: Fusion, dtype: str) -> Kernel:
        precision = Precision.FLOAT32
        if dtype == "float32":
            precision = self.precision.of_product(conv.out_channels, conv.in_channels)
        return Kernel(
            conv1d,
            (conv, fusion.producer, fusion.bias, fusion.residual, dtype, precision),
            f"gpu_conv1d_s{conv.stride}d{conv.dilation}{_suffix(precision)}",
            lambda weight: pack_conv1d(conv, weight, dtype, precision),
        )

    def conv_transpose1d(self, conv: ConvTranspose1d, bias: bool) -> Kernel:
        precision = self.precision.of_product(conv.out_channels * conv.stride, conv.in_channels)
        return Kernel(
            conv_transpose1d,
            (conv, bias, precision),
            f"gpu_conv_transpose1d_s{conv.stride}{_suffix(precision)}",
            lambda weight: pack_conv_transpose1d(conv, weight, precision),
        )

    def depthwise_upsample(self, channels: int, bias: bool) -> Kernel:
        return Kernel(depthwise_upsample, (channels, bias))

    def linear(self, in_features: int, out_features: int, bias: bool) -> Kernel:
        return Kernel(linear, (in_features, out_features, bias), "gpu_linear", pack_linear)

    def layer_norm(self, features: int, epsilon: float, terms: int, *, rounding: bool) -> Kernel:
        assert not rounding
        return Kernel(layer_norm, (features, epsilon, terms == 2))

    def statistics(self, channels: int, epsilon: float) -> Kernel:
        return Kernel(row_statistics, (channels, epsilon, min(512, self.max_threads)))

    def lstm_recurrence(self, hidden: int) -> Kernel:
        if self.blocks_may_wait and spread_units(hidden, self.max_threads) is not None:
            spread = spread_lstm_recurrence, (hidden,)
            return Kernel(*spread, "gpu_lstm_recurrent", pack_lstm_recurrent)
        static = hidden, lstm_splits(hidden, self.max_threads)
        return Kernel(lstm_recurrence, static, "gpu_lstm_recurrent", pack_lstm_recurrent)

    def attention(self, heads: int, head_size: int) -> Kernel:
        return Kernel(attention, (heads, head_size))

    def standard_normals(self, row: tuple[int, int]) -> Kernel:
        return Kernel(standard_normals, (row,))

    def harmonic_source(self, source: HarmonicSource, transform: Transform) -> SourceKernels:
        """The harmonic source in fixed point.

        Metal has no float64, and consumer GPUs compute it at a sixty-fourth of the float32 speed.
        """
        return SourceKernels(
            phases=(
                Kernel(harmonic_source.phase_increments, (source,)),
                Kernel(running_sum, (source.harmonics, "int64")),
            ),
            excitation=Kernel(
                harmonic_source.excitation,
                (source,),
                f"source_mix.{source}",
                partial(harmonic_source.pack_mix, source),
            ),
            spectrum=Kernel(
                harmonic_source.spectrum,
                (transform.bins, transform.taps, transform.hop),
                "source_basis",
                harmonic_source.pack_basis,
            ),
            dtype="int64",
        )
