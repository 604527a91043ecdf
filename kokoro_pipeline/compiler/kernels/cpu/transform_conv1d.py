"""Convolution through a transform, with fewer multiplications, as matrix products.

A transform maps N rows of the input, `dilation` apart, to numbers for `bins`. In this form the
convolution is one product with a matrix [CI, CO] per bin, and the inverse transform gives
M = N - K + 1 rows of the output. With a dilation d, the rows with equal index modulo d form d
independent convolutions without dilation, called phases: M * d neighbouring output rows are d tiles
of M rows, called a group.

A task processes a block of groups. Its number of tiles is a parameter (`choose_conv1d` sets it): a
longer block reads the matrices less often, and a shorter one stays in the cache:

1. For a few channels at a time, it reads the input rows of the block once, applies the producer
   (with zeros outside of the sequence, since the padding comes after the activation), and
   transforms every tile.
2. For each bin, it computes product[tile, co] = sum_ci number[tile, ci] * U[bin, ci, co].
3. It transforms back and writes the rows inside the sequence, with bias and residual.

The numbers and products of a tile are stored together, in slots of one row (`bin_products`), so
that a step touches few memory pages per tile.

All values of an output row are computed from its own tile in a fixed order, so the result depends
neither on the number of threads nor on the size of the blocks.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import (
    Buffer,
    Number,
    Parameter,
    T,
    bind,
    build_kernel,
    div,
    i64,
    mod,
)
from .bin_products import BinProducts, padded_channels, padded_outputs
from .statistics import MOMENTS, combine_moments, statistics_name
from .transform import SameConv1d, Scratch, Transform
from .transform_blocks import Blocks, most_tasks
from .transform_task import Arguments, Tiles, TransformTask
from .vector import VectorTarget


def pack_transformed(
    target: VectorTarget,
    transform: Transform,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Pack weight [CO, CI, K] and bias [CO] into float32 [CO + parts * CI * CO].

    The bias comes first, followed by the matrices as packed by `BinProducts`. CI and CO are padded
    to `padded_channels` and `padded_outputs`.
    """
    out_channels, in_channels, _ = weight.shape
    padded = padded_channels(target.lanes, in_channels)
    outputs = padded_outputs(target, out_channels)
    products = BinProducts(target, padded, outputs, transform.bins)
    matrices = transform.weights(np.asarray(weight, np.float64))
    zeros = ((0, outputs - out_channels), (0, 0), (0, padded - in_channels))
    shift = np.zeros(outputs, np.float32)
    if bias is not None:
        shift[:out_channels] = bias
    return np.concatenate([shift, products.pack(np.pad(matrices, zeros))])


def transformed_conv1d(
    target: VectorTarget, conv: SameConv1d, transform: Transform, tiles: int
) -> tirx.PrimFunc:
    """The kernel (x, *producer arguments, u[, residual], dilation) -> y[, mean, rstd].

    The dilation is an int64, at least 1. Everything else is float32: x [B, L, CI]; the arguments
    that `Producer.parameters` lists; u as packed by `pack_transformed`; residual, y [B, L, CO];
    mean, rstd [B, CO]. B and L are at least 1. A block has about `tiles` tiles (see `Blocks.of`),
    on which the result does not depend.

    Raises InputError for parameters that transformed convolutions do not support.
    """
    conv.check(target)
    if tiles < 1:
        raise InputError(f"a block needs at least one tile, got {tiles}")
    CI, CO, M = conv.in_channels, conv.out_channels, transform.outputs
    layout = Scratch.of(target, conv, transform)
    products = layout.products
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(*buffers: Buffer) -> None:
        arguments = Arguments.of(conv, *buffers)
        dilation = arguments.dilation
        plan = Blocks.of(length, dilation, M, tiles, products.heights, bind)
        tasks = bind(plan.blocks * plan.parts)
        record = 1 + 3 * CO  # floats that `runs_moments` writes per task
        if arguments.statistics:
            size = most_tasks(length, dilation, M, tiles) * record
            partial = T.alloc_buffer((size,), "float32")
        with T.serial(i64(0), batch) as b:
            with T.parallel(i64(0), tasks) as index:
                block, part = bind(div(index, plan.parts)), bind(mod(index, plan.parts))
                group, phase = bind(block * plan.per_block), bind(part * plan.phases)
                own = Tiles.of(transform, plan, dilation, group, phase)
                task = TransformTask(
                    target, conv, transform, layout, arguments, length, plan, b, own
                )
                task.emit()
                if arguments.statistics:
                    task.write_moments(partial, index * record)
            if conv.statistics is not None:
                mean, rstd = arguments.statistics
                combine_moments(
                    target,
                    CO,
                    partial,
                    tasks,
                    lambda k: k * record + 1,
                    lambda k: partial[k * record],
                    length,
                    conv.statistics,
                    mean,
                    rstd,
                    bind(b * CO),
                )

    name = (
        f"{transform.name}_ci{CI}_co{CO}{conv.producer.name}{'_residual' if conv.residual else ''}"
        f"{statistics_name(conv.statistics)}_t{tiles}_c{conv.chunk}"
        f"_v{target.lanes}r{target.registers}"
    )
    residuals = [Parameter("residual", (batch, length, CO))] if conv.residual else []
    moments = [] if conv.statistics is None else [Parameter(n, (batch, CO)) for n in MOMENTS]
    return build_kernel(
        name,
        [
            Parameter("x", (batch, length, CI)),
            *conv.producer.parameters(batch, CI),
            Parameter("u", (products.out_channels + products.floats,)),
            *residuals,
            Number("dilation"),
            Parameter("y", (batch, length, CO)),
            *moments,
        ],
        body,
    )
