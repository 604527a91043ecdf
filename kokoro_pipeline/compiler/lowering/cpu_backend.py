"""The vector kernels of a CPU: channels last, weights packed for its vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import tvm
from tvm import tirx

from ..kernels.common.bfloat16_parts import Parts
from ..kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..kernels.common.harmonic_source import HarmonicSource, Transform
from ..kernels.common.producer import Activation, Producer
from ..kernels.cpu import harmonic_source
from ..kernels.cpu.attention import attention
from ..kernels.cpu.bin_products import CHUNK
from ..kernels.cpu.choose_conv1d import (
    DIRECT,
    PRECISE_CHUNK,
    Candidate,
    ConvShape,
    candidates,
    choose,
    shape_of,
)
from ..kernels.cpu.conv1d import conv1d, pack_conv1d
from ..kernels.cpu.conv_transpose1d import (
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
    pack_depthwise_upsample,
)
from ..kernels.cpu.core import DEFAULT_CORE, Core
from ..kernels.cpu.layer_norm import layer_norm
from ..kernels.cpu.linear import linear, pack_linear
from ..kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from ..kernels.cpu.normals import standard_normals
from ..kernels.cpu.polar import polar_to_complex
from ..kernels.cpu.statistics import channel_statistics
from ..kernels.cpu.tile_conv1d import (
    Multiplication,
    TileConv1d,
    pack_tile_conv_transpose1d,
    pack_tile_linear,
    tile_conv1d,
    tile_conv_transpose1d,
    tile_linear,
)
from ..kernels.cpu.tile_unit import TileUnit
from ..kernels.cpu.tile_weights import pack_tiles
from ..kernels.cpu.transform import SameConv1d
from ..kernels.cpu.transform_conv1d import pack_transformed, transformed_conv1d
from ..kernels.cpu.vector import VectorTarget
from .backend import Backend, Fusion, Kernel, SourceKernels

Pack = Callable[..., np.ndarray]


def _direct(
    target: VectorTarget, conv: Conv1d, producer: Producer, residual: bool
) -> tirx.PrimFunc:
    return conv1d(target, conv, producer, residual=residual)


@dataclass(frozen=True)
class CpuBackend(Backend):
    """The kernels for the vectors of a target, and for its matrix unit.

    `parts` are those of the operands in the functions that may multiply on `unit`. On it, in the
    function that is lowered, convolutions and linear layers that are large enough compute with
    `multiplication`. The algorithm of other convolutions is that of `choices`, and where they have
    none, what costs least on the `core`. A function whose parts are three is `precise`: there it is
    what costs least of what is about as exact as the direct sum.
    """

    target: VectorTarget
    unit: TileUnit | None = None
    parts: tuple[tuple[str, Parts], ...] = ()
    multiplication: Multiplication | None = None
    core: Core = DEFAULT_CORE
    choices: tuple[tuple[ConvShape, Candidate], ...] = ()
    precise: bool = False

    channels_last: ClassVar[bool] = True
    packs_bias: ClassVar[bool] = True
    keeps_rounding: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        target: tvm.target.Target,
        fused: bool,
        parts: Mapping[str, Parts],
        choices: Mapping[ConvShape, Candidate] | None = None,
    ) -> CpuBackend:
        """The kernels for an LLVM target; only where they may be fused do they multiply on tiles.

        Raises InputError for a target of another kind.
        """
        vectors = VectorTarget.of(target)
        return cls(
            fused,
            vectors,
            TileUnit.of(target) if fused else None,
            tuple(sorted(parts.items())),
            core=Core.of(target),
            choices=tuple((choices or {}).items()),
        )

    def for_function(self, name: str) -> CpuBackend:
        parts = dict(self.parts).get(name)
        if parts is None:
            return self
        unit = self.unit
        multiplication = None if unit is None else Multiplication(parts, unit)
        return replace(self, multiplication=multiplication, precise=parts is Parts.THREE)

    def _tiled(self, inputs: int, outputs: int) -> Multiplication | None:
        """How to multiply on tiles, or None where that does not pay."""
        found = self.multiplication
        return found if found is not None and found.pays(inputs, outputs) else None

    def _kernel(
        self,
        make: Callable[..., tirx.PrimFunc],
        *static: Hashable,
        recipe: str = "",
        pack: Pack | None = None,
    ) -> Kernel:
        """A kernel whose weights are packed for these vectors, and for no others."""
        vectors = f".v{self.target.lanes}r{self.target.registers}"
        return Kernel(make, (self.target, *static), recipe + vectors, pack)

    def fits(self, producer: Producer, channels: int) -> bool:
        # Snake does not support partial vectors.
        return producer.activation is not Activation.SNAKE or channels % self.target.lanes == 0

    def conv1d(self, conv: Conv1d, fusion: Fusion, dtype: str) -> Kernel:
        tiled = self._tiled(conv.in_channels, conv.out_channels)
        if tiled is not None:
            whole = TileConv1d(conv, tiled, fusion.producer, fusion.residual, fusion.epsilon)
            pack_parts = partial(pack_tiles, tiled.parts)
            kernel = self._kernel(tile_conv1d, whole, recipe=tiled.name, pack=pack_parts)
            return replace(kernel, moments=fusion.epsilon is not None)
        chosen = self.algorithm(conv, fusion.rows)
        if chosen.transform is None:
            static = conv, fusion.producer, fusion.residual
            pack = partial(pack_conv1d, self.target)
            return self._kernel(_direct, *static, recipe="conv1d", pack=pack)
        same = SameConv1d(
            conv.in_channels,
            conv.out_channels,
            conv.taps,
            fusion.producer,
            fusion.residual,
            fusion.epsilon,
            PRECISE_CHUNK if self.precise else CHUNK,
        )
        transform = chosen.transform
        pack = partial(pack_transformed, self.target, transform)
        sizes = same, transform, chosen.tiles
        kernel = self._kernel(transformed_conv1d, *sizes, recipe=transform.name, pack=pack)
        moments = fusion.epsilon is not None
        return replace(kernel, numbers=(conv.dilation,), moments=moments)

    def conv_shape(self, conv: Conv1d, rows: int) -> ConvShape | None:
        """The shape of a convolution whose algorithm is a choice; None where there is one way."""
        return None if self.precise else self._transformable(conv, rows)

    def algorithm(self, conv: Conv1d, rows: int) -> Candidate:
        """The algorithm of a convolution with about this many rows."""
        shape = self._transformable(conv, rows)
        if shape is None:
            return DIRECT
        chosen = None if self.precise else dict(self.choices).get(shape)
        return chosen or choose(self.target, self.core, shape, self.precise)

    def _transformable(self, conv: Conv1d, rows: int) -> ConvShape | None:
        """The shape of a convolution that a transform may compute; None for others."""
        if not self.fused or self._tiled(conv.in_channels, conv.out_channels) is not None:
            return None
        shape = shape_of(conv, rows)
        return shape if shape and candidates(self.target, shape) != (DIRECT,) else None

    def conv_transpose1d(self, conv: ConvTranspose1d, bias: bool) -> Kernel:
        tiled = self._tiled(conv.in_channels, conv.stride * conv.out_channels)
        if tiled is not None:
            recipe = f"{tiled.name}_transpose_s{conv.stride}"
            pack_parts = partial(pack_tile_conv_transpose1d, tiled.parts, conv.stride)
            return self._kernel(tile_conv_transpose1d, conv, tiled, recipe=recipe, pack=pack_parts)

        def pack(array: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
            return pack_conv_transpose1d(self.target, array, conv.stride, bias)

        recipe = f"conv_transpose1d_s{conv.stride}"
        return self._kernel(conv_transpose1d, conv, recipe=recipe, pack=pack)

    def depthwise_upsample(self, channels: int, bias: bool) -> Kernel:
        recipe, pack = "depthwise_upsample", pack_depthwise_upsample
        return self._kernel(depthwise_upsample, channels, recipe=recipe, pack=pack)

    def linear(self, in_features: int, out_features: int, bias: bool) -> Kernel:
        tiled = self._tiled(in_features, out_features)
        if tiled is not None:
            # Many of these make the scale and shift of a norm: one part would show everywhere.
            tiled = replace(tiled, parts=Parts.TWO) if tiled.parts is Parts.ONE else tiled
            sizes, recipe = (in_features, out_features), f"{tiled.name}_linear"
            pack_parts = partial(pack_tile_linear, tiled.parts)
            return self._kernel(tile_linear, *sizes, tiled, recipe=recipe, pack=pack_parts)
        pack = partial(pack_linear, self.target)
        return self._kernel(linear, in_features, out_features, recipe="linear", pack=pack)

    def layer_norm(self, features: int, epsilon: float, terms: int, *, rounding: bool) -> Kernel:
        return self._kernel(layer_norm, features, epsilon, terms, rounding)

    def statistics(self, channels: int, epsilon: float) -> Kernel:
        return self._kernel(channel_statistics, channels, epsilon)

    def lstm_recurrence(self, hidden: int) -> Kernel:
        pack = partial(pack_lstm_recurrent, self.target)
        return self._kernel(lstm_recurrence, hidden, recipe="lstm_recurrent", pack=pack)

    def attention(self, heads: int, head_size: int) -> Kernel:
        return self._kernel(attention, heads, head_size)

    def polar(self, bins: int) -> Kernel | None:
        return self._kernel(polar_to_complex, bins) if self.fused else None

    def standard_normals(self, row: tuple[int, int]) -> Kernel:
        return self._kernel(standard_normals, row)

    def harmonic_source(self, source: HarmonicSource, transform: Transform) -> SourceKernels:
        """The harmonic source in float64."""
        sizes = transform.bins, transform.taps, transform.hop
        static, pack = (self.target, source), harmonic_source.pack_mix
        return SourceKernels(
            phases=(),
            excitation=Kernel(harmonic_source.excitation, static, "source_mix", pack),
            spectrum=self._kernel(harmonic_source.spectrum, *sizes),
            dtype="float64",
        )
