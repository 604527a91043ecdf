"""The choice of an algorithm, a transform and a block for a convolution, from what a core has.

A candidate is the direct kernel, or a transform with a number of tiles for each block. The model
of costs counts, for one output row on one core,

    compute    cycles of the matrix products: multiplications over multiply-adds a cycle, where a
               block whose tiles do not fill whole register tiles pays for what they leave empty,
               and of the additions of the transforms
    weights    bytes of the matrices that come from beyond L2: all of them once from memory, and
               once more from L3 (or from memory, if L3 cannot hold them) for every further
               block, unless L2 holds them beside the block
    scratch    bytes of a block's numbers and products, written and read, that do not fit into L2

and turns bytes into cycles (`Core`). The weights that a block prefetches are read while it
multiplies, so that the longer of the two counts; the rest is added. What this prefers:

- A longer window or tile takes fewer multiplications and has more matrices to read.
- A longer block reads them less often and prefetches more of them, and fills register tiles better
  where a dilation divides its tiles into phases, until its scratch leaves L2.
- Short sequences read the matrices for few rows, and prefer few and small ones.

The cost is the mean over usual dilations, for the given rows and for three times as many.

Only what is exact enough is a candidate: Winograd's errors grow with its outputs and with the
channels that are summed (`winograd_conv1d`), those of the FFT with neither. In a function that
decides the pitch, whose errors the phase accumulates, that is less (`precise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import log2

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import i64
from ..common.convolutions import Conv1d
from .bin_products import Kind, effort, padded_channels, padded_outputs
from .conv1d import pack_conv1d
from .core import Core
from .direct import Panels, block_rows
from .fft_conv1d import RealFFT
from .transform import SameConv1d, Scratch, Transform
from .transform_blocks import Blocks
from .transform_conv1d import pack_transformed, transformed_conv1d
from .vector import VectorTarget
from .winograd_conv1d import Winograd, winograd_of

# Channels are padded with zeros to whole vectors. Padding by more than these factors would cost
# more than the fast algorithm saves.
MOST_INPUT_PADDING, MOST_OUTPUT_PADDING = 1.1, 1.5

# The channels up to which an F(outputs, 3) is exact enough: an rms error of about 1.3e-6.
WINOGRAD_CHANNELS: Mapping[int, int] = {2: 1 << 20, 4: 512, 6: 256}
WINOGRAD_TAPS = 3

PRECISE_OUTPUTS = 2  # of Winograd, where it must be precise
PRECISE_CHUNK = 64  # terms of a sum in a register there: more would be the larger error

FFT_TAPS = 7  # with fewer, the FFT saves less than its weights cost
FFT_WINDOWS = (16, 32, 64)
BLOCKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)  # tiles of a block, in full register tiles
LEAST_TILES = {True: 18, False: 6}  # of a block, by whether all bins are real
MOST_SCRATCH = 4 << 20  # bytes
SMALL_BLOCK = 512 << 10  # bytes

# A kernel takes the dilation as a number and serves all. These are the dilations of the residual
# blocks of HiFi-GAN, as often as they occur there.
DILATIONS = (1, 1, 1, 1, 3, 5)

# The direct kernel adds its sums to memory in chunks.
DIRECT_EFFORT = 1.1

# The part of L2 that is for scratch. The rest is for what passes through: the weights, which are
# prefetched into it, and the rows that are read, added and written.
L2_SHARE = 0.35

# Transforms of 8 and more rows do not fit into 16 registers, and take about three times as long.
FEW_REGISTERS, SPILLING = 32, 3

CLOSE = 1.025  # costs that the model does not tell apart

LONGER = (1, 3)  # the multiples of a shape's rows for which costs are counted


@dataclass(frozen=True)
class ConvShape:
    """What a choice depends on: the channels, the taps, and about how many rows there are."""

    in_channels: int
    out_channels: int
    taps: int
    rows: int

    def __str__(self) -> str:
        return f"{self.in_channels}->{self.out_channels} k{self.taps}, {self.rows} rows"

    def conv(self, dilation: int = 1) -> Conv1d:
        """The convolution of this shape."""
        reach = dilation * (self.taps // 2)
        return Conv1d(self.in_channels, self.out_channels, self.taps, 1, dilation, reach, reach)


@dataclass(frozen=True)
class Candidate:
    """A way to compute a convolution: a transform in blocks of `tiles`, or directly (None, 0)."""

    transform: Transform | None = None
    tiles: int = 0

    @property
    def precise(self) -> bool:
        """Whether its error is about that of the direct sum."""
        transform = self.transform
        return transform is None or (
            isinstance(transform, Winograd) and transform.outputs <= PRECISE_OUTPUTS
        )

    @property
    def name(self) -> str:
        """The name that a manifest holds: "direct", "fft32x24"."""
        return "direct" if self.transform is None else f"{self.transform.algorithm}x{self.tiles}"

    def kernel(self, target: VectorTarget, conv: SameConv1d) -> tirx.PrimFunc:
        """The kernel of a transform."""
        return transformed_conv1d(target, conv, self.required, self.tiles)

    def pack(
        self, target: VectorTarget, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """The packed weight."""
        if self.transform is None:
            return pack_conv1d(target, weight, bias)
        return pack_transformed(target, self.transform, weight, bias)

    @property
    def required(self) -> Transform:
        """The transform; a direct candidate has none, and nothing may ask it."""
        if self.transform is None:
            raise InputError("the direct convolution has no transform")
        return self.transform


DIRECT = Candidate()


@dataclass(frozen=True)
class Cost:
    """What one output row costs on one core, in cycles and bytes; see the module's docstring."""

    compute: float
    weights: float
    scratch: float
    cycles: float


def shape_of(conv: Conv1d, rows: int) -> ConvShape | None:
    """The shape of a convolution with as many output as input rows; None for others."""
    reach = conv.dilation * (conv.taps // 2)
    same = conv.stride == 1 and (conv.pad_left, conv.pad_right) == (reach, reach)
    if not same or conv.taps % 2 == 0:
        return None
    return ConvShape(conv.in_channels, conv.out_channels, conv.taps, rows)


def candidates(target: VectorTarget, shape: ConvShape) -> tuple[Candidate, ...]:
    """All ways to compute a convolution that are exact enough, the direct one first."""
    inputs = padded_channels(target.lanes, shape.in_channels)
    outputs = padded_outputs(target, shape.out_channels)
    if (
        inputs > MOST_INPUT_PADDING * shape.in_channels
        or outputs > MOST_OUTPUT_PADDING * shape.out_channels
    ):
        return (DIRECT,)
    found = [DIRECT]
    for transform in _transforms(shape):
        scratch = Scratch.of(target, _same(shape), transform)
        height = scratch.products.heights[0]
        least = LEAST_TILES[all(bins.kind is Kind.REAL for bins in transform.bins)]
        for count in BLOCKS:
            tiles = count * height
            if tiles >= least and 4 * tiles * scratch.of_tile <= MOST_SCRATCH:
                found.append(Candidate(transform, tiles))
    return tuple(found)


def named(target: VectorTarget, shape: ConvShape, name: str) -> Candidate:
    """The candidate with a name. Raises InputError for an unknown one, and lists the known."""
    known = {candidate.name: candidate for candidate in candidates(target, shape)}
    if name not in known:
        raise InputError(
            f"no candidate {name!r} for the convolution {shape}: there are {', '.join(known)}"
        )
    return known[name]


def choose(target: VectorTarget, core: Core, shape: ConvShape, precise: bool = False) -> Candidate:
    """The candidate that costs least; of its transform's blocks that cost as much, the smallest.

    Where it must be `precise`, that is one of Winograd's with few outputs, or the direct one.
    """
    order = ranked(target, core, shape)
    return next(each for each in order if each.precise) if precise else order[0]


def ranked(target: VectorTarget, core: Core, shape: ConvShape) -> list[Candidate]:
    """The candidates of a shape: the one to choose, then the others by their cost.

    Those whose blocks are much larger than L2 are left out: the model was not compared with any.
    """
    most = max(core.l2, SMALL_BLOCK)
    costs = {
        each: cost(target, core, shape, each).cycles
        for each in candidates(target, shape)
        if _block_bytes(target, shape, each) <= most
    }
    order = sorted(costs, key=lambda candidate: costs[candidate])
    close = [
        candidate
        for candidate in order
        if candidate.transform == order[0].transform and costs[candidate] <= CLOSE * costs[order[0]]
    ]
    first = min(close, key=lambda candidate: candidate.tiles)
    return [first, *(candidate for candidate in order if candidate != first)]


def _block_bytes(target: VectorTarget, shape: ConvShape, candidate: Candidate) -> int:
    """Bytes of the tiles of a block."""
    if candidate.transform is None:
        return 0
    return 4 * candidate.tiles * Scratch.of(target, _same(shape), candidate.transform).of_tile


def cost(target: VectorTarget, core: Core, shape: ConvShape, candidate: Candidate) -> Cost:
    """What a candidate costs for one output row."""
    each = []
    for factor in LONGER:
        longer = replace(shape, rows=factor * shape.rows)
        if candidate.transform is None:
            each.append(_direct_cost(target, core, longer))
            continue
        for dilation in DILATIONS:
            each.append(_transformed_cost(target, core, longer, candidate, dilation))
    sums = (sum(getattr(one, part.name) for one in each) for part in fields(Cost))
    return Cost(*(total / len(each) for total in sums))


def _transforms(shape: ConvShape) -> Iterable[Transform]:
    channels = max(shape.in_channels, shape.out_channels)
    if shape.taps == WINOGRAD_TAPS:
        for outputs, most in WINOGRAD_CHANNELS.items():
            if channels <= most:
                yield winograd_of(shape.taps, outputs)
    if shape.taps >= FFT_TAPS:
        for window in FFT_WINDOWS:
            if window > shape.taps:
                yield RealFFT(shape.taps, window)


def _same(shape: ConvShape) -> SameConv1d:
    return SameConv1d(shape.in_channels, shape.out_channels, shape.taps)


def _transformed_cost(
    target: VectorTarget, core: Core, shape: ConvShape, candidate: Candidate, dilation: int
) -> Cost:
    transform = candidate.required
    scratch = Scratch.of(target, _same(shape), transform)
    products, outputs = scratch.products, transform.outputs
    plan = Blocks.of(i64(shape.rows), i64(dilation), outputs, candidate.tiles, products.heights)
    phases, parts, per_block, blocks = (
        int(value) for value in (plan.phases, plan.parts, plan.per_block, plan.blocks)
    )
    used = per_block * phases
    # Rows that the tiles of the last group compute beyond the sequence are paid for.
    per_row = int(plan.groups) * dilation / shape.rows  # tiles
    terms = products.in_channels * products.out_channels
    filled = int(effort(products.heights, i64(used))) / used
    multiplications = transform.multiplications * terms * filled
    vectors = (products.in_channels + products.out_channels) / target.lanes
    additions = vectors * transform.window * log2(transform.window)
    if target.registers < FEW_REGISTERS:
        additions *= SPILLING
    compute = per_row * (multiplications / core.multiply_adds + additions)
    matrices, tile = 4.0 * products.floats, 4.0 * scratch.of_tile
    room = L2_SHARE * core.l2
    times = 1 if matrices + used * tile <= core.l2 else blocks * parts
    scattered = 2 * per_row * tile * max(0.0, 1 - room / (used * tile))
    ahead = min(1.0, products.prefetched(used))
    return _total(core, compute, matrices, times, shape.rows, scattered, ahead)


def _direct_cost(target: VectorTarget, core: Core, shape: ConvShape) -> Cost:
    terms = shape.taps * shape.in_channels
    panels = Panels.of(target, shape.out_channels)
    weights = 4.0 * (1 + terms) * panels.count * panels.width
    compute = DIRECT_EFFORT * terms * panels.count * panels.width / core.multiply_adds
    rows = block_rows(panels, 4 * shape.in_channels)
    times = 1 if weights <= core.l2 else -(-shape.rows // rows)
    return _total(core, compute, weights, times, shape.rows, 0.0)


def _total(
    core: Core,
    compute: float,
    weights: float,
    times: int,
    rows: int,
    scratch: float,
    ahead: float = 0.0,
) -> Cost:
    """The cost of weights that are read `times`, of which a part is read ahead, and of the rest."""
    again = core.far if weights < core.l3 else core.memory
    read = (weights / core.memory + weights * (times - 1) / again) / rows
    cycles = max(compute, ahead * read) + (1 - ahead) * read + scratch / core.scattered
    return Cost(compute, weights * times / rows, scratch, cycles)
