"""Convolutions, transposed convolutions and linear layers by the products of tiles.

The contract of each is that of its float32 kernel (`conv1d`, `conv_transpose1d`, `linear`), but for
the packed weights, and for what follows from the parts (`bfloat16_parts`): the error, and numbers
below 2^-126 that count as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.bfloat16_parts import Parts
from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    i64,
    maximum,
    minimum,
)
from ..common.convolutions import Conv1d, ConvTranspose1d
from ..common.producer import NOTHING, Producer
from .lanes import Lanes, over_channels
from .producer import Prepared, check_vectors
from .statistics import MOMENTS, Runs, combine_moments, runs_moments, statistics_name
from .tile_plan import Task, TilePlan
from .tile_products import TileProducts
from .tile_rows import SplitRows
from .tile_unit import TERMS, TileUnit
from .tile_weights import PANEL, pack_tiles
from .vector import LINE, VectorTarget

MOST_PADDING = 1.5
"""Channels are padded with zeros to whole tiles; by more, the float32 kernel is as fast."""


@dataclass(frozen=True)
class Multiplication:
    """How products are computed: the parts of their operands, and who multiplies."""

    parts: Parts
    unit: TileUnit

    def pays(self, inputs: int, outputs: int) -> bool:
        """Whether few enough of the tiles' rows and columns are padding."""
        return _few_missing(inputs, TERMS) and _few_missing(outputs, PANEL)

    @property
    def name(self) -> str:
        """The first part of a kernel's name, and of the recipe of its weights."""
        return f"{self.unit.value}_{self.parts.value}"


@dataclass(frozen=True)
class TileConv1d:
    """A convolution, and what is fused into it.

    If `statistics` is an epsilon, it also computes the channel statistics of its output, like
    `statistics.channel_statistics`, while the rows are still in the cache.
    """

    conv: Conv1d
    multiplication: Multiplication
    producer: Producer = NOTHING
    residual: bool = False
    statistics: float | None = None


def pack_tile_conv_transpose1d(
    parts: Parts, stride: int, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """Pack PyTorch's weight [CI, CO, K] and bias [CO] for `tile_conv_transpose1d`, uint16."""
    inputs, outputs, taps = weight.shape
    split = np.asarray(weight, np.float32).reshape(inputs, outputs, taps // stride, stride)
    # The oldest input row comes first. Columns are (row of the group, output channel).
    by_column = split[:, :, ::-1].transpose(3, 1, 0, 2).reshape(stride * outputs, inputs, -1)
    return pack_tiles(parts, by_column, None if bias is None else np.tile(bias, stride))


def pack_tile_linear(
    parts: Parts, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """Pack PyTorch's weight [N, K] and bias [N] for `tile_linear`, uint16."""
    return pack_tiles(parts, weight[:, :, None], bias)


def tile_conv1d(target: VectorTarget, static: TileConv1d) -> tirx.PrimFunc:
    """The kernel (x, *producer arguments, w[, residual]) -> y[, mean, rstd].

    w is uint16, as packed by `pack_tiles`. Everything else is float32: x [B, L, CI]; the arguments
    that `Producer.parameters` lists; residual, y [B, LO, CO] with LO = conv.out_length(L), which
    must be at least 1; mean, rstd [B, CO]. B and L are at least 1.

    Raises InputError for Snake over channels that do not divide into vectors.
    """
    conv, producer = static.conv, static.producer
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out, CO = conv.out_length(length), conv.out_channels
    added = [Parameter("residual", (batch, out, CO))] if static.residual else []
    moments = [] if static.statistics is None else [Parameter(n, (batch, CO)) for n in MOMENTS]
    return build_kernel(
        f"{static.multiplication.name}_conv1d_ci{conv.in_channels}_co{CO}_k{conv.taps}"
        f"_s{conv.stride}_d{conv.dilation}_p{conv.pad_left}_{conv.pad_right}{producer.name}"
        f"{'_residual' if static.residual else ''}{statistics_name(static.statistics)}"
        f"_v{target.lanes}",
        [
            Parameter("x", (batch, length, conv.in_channels)),
            *producer.parameters(batch, conv.in_channels),
            Parameter("w", (_plan(target, static).weights.words,), "uint16"),
            *added,
            Parameter("y", (batch, out, CO)),
            *moments,
        ],
        _body(target, static, batch, length),
    )


def tile_linear(
    target: VectorTarget, in_features: int, out_features: int, multiplication: Multiplication
) -> tirx.PrimFunc:
    """Y[M, N] = X[M, K] W[N, K]^T + bias, a convolution of one tap.

    Arguments of the kernel: X float32 [M, K]; W uint16 as packed by `pack_tile_linear`; Y float32
    [M, N]. M is at least 1.
    """
    static = TileConv1d(Conv1d(in_features, out_features, 1), multiplication)
    rows = tirx.Var("M", "int64")
    return build_kernel(
        f"{multiplication.name}_linear_k{in_features}_n{out_features}_v{target.lanes}",
        [
            Parameter("x", (rows, in_features)),
            Parameter("w", (_plan(target, static).weights.words,), "uint16"),
            Parameter("y", (rows, out_features)),
        ],
        _body(target, static, i64(1), rows),
    )


def _plan(target: VectorTarget, static: TileConv1d) -> TilePlan:
    return TilePlan(target, static.conv, static.multiplication.parts, static.multiplication.unit)


def _body(
    target: VectorTarget, static: TileConv1d, batch: Expr, length: Expr
) -> Callable[..., None]:
    """The body of a convolution over a batch of sequences of the same length."""
    conv, producer, CO = static.conv, static.producer, static.conv.out_channels
    check_vectors(producer, target, conv.in_channels)
    plan, out = _plan(target, static), conv.out_length(length)
    record = 1 + 3 * CO  # floats that `runs_moments` writes for a block of rows

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, w = rest[: len(producer.parameters(batch, conv.in_channels)) + 1]
        residual = rest[len(coefficients) + 1 :][: int(static.residual)]
        y, *statistics = rest[len(coefficients) + 1 + len(residual) :]
        rows_out = bind(out)
        if statistics:
            size = batch * plan.blocks(out) * record
            moments = T.alloc_buffer((size,), "float32")

        def task(own: Task) -> None:
            prepared = Prepared(producer, target, conv.in_channels, coefficients, own.batch)
            base = bind(own.batch * length * conv.in_channels)
            rows = SplitRows.of(plan, x, base, length, prepared, own)
            y_base = bind(own.batch * rows_out * CO)

            def put(panel: Expr, columns: int, row: Expr, sums: Buffer, at: Expr) -> None:
                first = bind(panel * PANEL)
                to = bind(y_base + (own.first + row) * CO + first)

                def finish(lanes: Lanes, _: int, c: Expr) -> None:
                    value = lanes.load(sums, at + c) + plan.weights.bias(lanes, w, first + c)
                    if residual:
                        value = value + lanes.load(residual[0], to + c)
                    lanes.store(y, to + c, value)

                over_channels(target, columns, 1, finish)

            def ahead(panel: Expr, row: Expr) -> None:
                at = bind(y_base + (own.first + row) * CO + panel * PANEL)
                for line in range(0, min(PANEL, CO), LINE):
                    target.prefetch(y, at + line, write=True)
                    for added in residual:
                        target.prefetch(added, at + line)

            def panel_moments(panel: Expr, columns: int) -> None:
                runs = Runs(own.first, own.rows, i64(1), i64(1), rows_out)
                to = bind((own.batch * own.blocks + own.block) * record)
                some = bind(panel * PANEL), columns
                runs_moments(target, CO, y, y_base, runs, moments, to, some)

            after = panel_moments if statistics else None
            TileProducts(plan, own, rows, w, put, ahead, after).emit()

        blocks = plan.tasks(batch, rows_out, task)
        if static.statistics is not None:
            mean, rstd = statistics
            with T.serial(i64(0), batch) as b:
                first = bind(b * blocks * record)
                combine_moments(
                    target,
                    CO,
                    moments,
                    blocks,
                    lambda k: first + k * record + 1,
                    lambda k: moments[first + k * record],
                    rows_out,
                    static.statistics,
                    mean,
                    rstd,
                    bind(b * CO),
                )

    return body


def tile_conv_transpose1d(
    target: VectorTarget, conv: ConvTranspose1d, multiplication: Multiplication
) -> tirx.PrimFunc:
    """The transposed convolution as one of `taps / stride` taps with stride * CO columns.

    Arguments of the kernel: X float32 [B, L, CI]; W uint16 as packed by
    `pack_tile_conv_transpose1d`; Y float32 [B, LO, CO] with LO = conv.out_length(L), which must be
    at least 1. B and L are at least 1.
    """
    CI, CO, group = conv.in_channels, conv.out_channels, conv.stride * conv.out_channels
    groups = Conv1d(CI, group, conv.reach + 1, pad_left=conv.reach, pad_right=conv.reach)
    plan = TilePlan(target, groups, multiplication.parts, multiplication.unit)
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")
    out = conv.out_length(length)

    def body(x: Buffer, w: Buffer, y: Buffer) -> None:
        size = bind(out * CO)

        def task(own: Task) -> None:
            prepared = Prepared(NOTHING, target, CI, (), own.batch)
            rows = SplitRows.of(plan, x, bind(own.batch * length * CI), length, prepared, own)
            y_base = bind(own.batch * size)

            def put(panel: Expr, columns: int, row: Expr, sums: Buffer, at: Expr) -> None:
                """Write whole vectors where all is in the output, else the floats that are."""
                first = bind(panel * PANEL)
                to = bind((own.first + row) * group + first - conv.crop_left * CO)

                def finish(lanes: Lanes, _: int, c: Expr) -> None:
                    value = lanes.load(sums, at + c) + plan.weights.bias(lanes, w, first + c)
                    lanes.store(y, y_base + to + c, value)

                with T.If(tirx.And(to >= 0, to + columns <= size)):
                    with T.Then():
                        over_channels(target, columns, 1, finish)
                    with T.Else():
                        low = bind(minimum(maximum(i64(0) - to, 0), columns))
                        high = bind(maximum(minimum(size - to, columns), low))
                        with T.serial(low, high) as c:
                            finish(Lanes(None), 1, c)

            TileProducts(plan, own, rows, w, put).emit()

        plan.tasks(batch, bind(groups.out_length(length)), task)

    return build_kernel(
        f"{multiplication.name}_conv_transpose1d_ci{CI}_co{CO}_k{conv.taps}_s{conv.stride}"
        f"_c{conv.crop_left}_{conv.crop_right}_v{target.lanes}",
        [
            Parameter("x", (batch, length, CI)),
            Parameter("w", (plan.weights.words,), "uint16"),
            Parameter("y", (batch, out, CO)),
        ],
        body,
    )


def _few_missing(channels: int, multiple: int) -> bool:
    return -(-channels // multiple) * multiple <= MOST_PADDING * channels
