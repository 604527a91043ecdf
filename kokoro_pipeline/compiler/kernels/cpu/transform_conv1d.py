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

from collections.abc import Callable

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import (
    Buffer,
    Expr,
    Number,
    Parameter,
    T,
    bind,
    build_kernel,
    div,
    i64,
    maximum,
    minimum,
    mod,
    workspace,
)
from .bin_products import BinProducts, padded_channels, padded_outputs
from .lanes import Lanes, over_channels
from .producer import Prepared
from .statistics import MOMENTS, Runs, combine_moments, runs_moments, statistics_name
from .transform import SameConv1d, Scratch, Transform
from .transform_blocks import Blocks, most_tasks
from .vector import LINE, VectorTarget, zero_range

COLUMNS = 32  # floats of a row read together: memory is fetched in pairs of cache lines
AHEAD = 16  # rows that are prefetched: with so few floats of a row, the processor does not do it


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
    CI, CO, V = conv.in_channels, conv.out_channels, target.lanes
    N, M = transform.window, transform.outputs
    scratch_of = Scratch.of(target, conv, transform)
    products, slot, of_tile = scratch_of.products, scratch_of.slot, scratch_of.of_tile
    padded, outputs = products.in_channels, products.out_channels
    together = max(n for n in range(1, max(COLUMNS // V, 1) + 1) if padded // V % n == 0)
    columns = V * together
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, u = rest[: len(conv.producer.parameters(batch, CI)) + 1]
        residual = rest[len(coefficients) + 1 :][: int(conv.residual)]
        dilation, y, *statistics = rest[len(coefficients) + 1 + len(residual) :]
        plan = Blocks.of(length, dilation, M, tiles, products.heights, bind)
        phases, parts, groups = plan.phases, plan.parts, plan.groups
        per_block, blocks = plan.per_block, plan.blocks

        tasks = bind(blocks * parts)
        record = 1 + 3 * CO  # floats that `runs_moments` writes per task
        if statistics:
            size = most_tasks(length, dilation, M, tiles) * record
            partial = T.alloc_buffer((size,), "float32")

        def task(index: Expr, b: Expr, group: Expr, phase: Expr) -> None:
            n_groups = bind(minimum(groups - group, per_block))
            n_phases = bind(minimum(dilation - phase, phases))
            used = bind(n_groups * n_phases)
            step = bind(dilation * M)
            # The first row of tile (q, p) is first + q * step + p.
            first = bind(group * step + phase)
            start = bind(first - dilation * (conv.taps // 2))
            rows = bind((n_groups - 1) * step + dilation * (N - 1) + n_phases)
            scratch = T.alloc_buffer(((per_block * phases + 1) * of_tile,), "float32")
            prepared = Prepared(conv.producer, target, CI, coefficients, b)

            # 1. The numbers of all tiles.
            head = bind(minimum(maximum(i64(0) - start, 0), rows))
            tail = bind(maximum(minimum(length - start, rows), head))
            capacity = (per_block * M + (N - M)) * dilation + phases
            window = T.alloc_buffer((capacity * columns,), "float32")
            zero = target.splat(0.0)
            x_base = bind((b * length + start) * CI)
            starts = [bind(rows * (v * V)) for v in range(together)]

            def transform_window(c_first: Expr) -> None:
                """Transform the channels from c_first on, whose rows are in `window`."""
                with (
                    T.serial(i64(0), i64(together)) as v,
                    T.serial(i64(0), n_groups) as q,
                    T.serial(i64(0), n_phases) as p,
                ):
                    row = bind((q * step + p + v * rows) * V)
                    spacing = bind(dilation * V)
                    tile = bind((q * n_phases + p) * of_tile)
                    to = bind(tile + products.ahead * slot + c_first + v * V)
                    transform.forward(
                        target,
                        lambda n: target.hold(target.load(window, row + spacing * n)),
                        lambda number, value: target.store(scratch, to + number * slot, value),
                    )

            with T.serial(i64(0), i64(CI // columns)) as column:
                c_first = bind(column * columns)
                vectors_read = [bind(c_first + v * V) for v in range(together)]
                produce = [prepared.at(Lanes(target), c) for c in vectors_read]

                def fill(t: Expr, make: Callable[[int], Expr]) -> None:
                    for v in range(together):
                        target.store(window, starts[v] + t * V, make(v))

                with T.serial(i64(0), head) as t:
                    fill(t, lambda _: zero)
                with T.serial(i64(0), tail - head) as i:
                    t = bind(head + i)
                    at = bind(x_base + t * CI)
                    for line in range(0, columns, LINE):
                        target.prefetch(x, at + c_first + (AHEAD * CI + line))
                    fill(t, lambda v: produce[v](target.load(x, at + vectors_read[v])))
                with T.serial(i64(0), rows - tail) as i:
                    fill(tail + i, lambda _: zero)
                transform_window(c_first)
            # The remaining channels one by one, followed by zeros.
            for edge in range(CI // columns * columns, padded, columns):
                zero_range(target, window, i64(0), bind(rows * columns))
                for c in range(edge, min(CI, edge + columns)):
                    vector, lane = divmod(c - edge, V)
                    produce_one = prepared.at(Lanes(None), i64(c))
                    with T.serial(i64(0), tail - head) as i:
                        t = bind(head + i)
                        value = produce_one(x[x_base + t * CI + c])
                        T.buffer_store(window, value, [starts[vector] + t * V + lane])
                transform_window(i64(edge))

            # 2. The products of all bins.
            products.emit(scratch, of_tile, slot, u, outputs, used, conv.chunk)

            # 3. The inverse transform. The rows of a tile are gathered first, so that whole rows
            # are written to memory.
            gathered = workspace(M * outputs)
            with T.serial(i64(0), n_groups) as q, T.serial(i64(0), n_phases) as p:
                source = bind((q * n_phases + p) * of_tile)
                row = bind(first + q * step + p)
                to_row = bind((b * length + row) * CO)
                with T.serial(i64(0), i64(outputs // V)) as vector:
                    c = bind(vector * V)
                    for n in range(M):
                        target.prefetch(y, to_row + dilation * (n * CO) + c, write=True)
                    results = transform.inverse(
                        target,
                        lambda product: target.hold(
                            target.load(scratch, source + c + product * slot)
                        ),
                    )
                    for n in range(M):
                        target.store(gathered, c + n * outputs, results[n])
                inside = maximum(div(length - row + dilation - 1, dilation), 0)
                with T.serial(i64(0), bind(minimum(inside, M))) as n:
                    to = bind(to_row + n * dilation * CO)
                    source_row = bind(n * outputs)

                    def write(
                        lanes: Lanes, _: int, c: Expr, to: Expr = to, source_row: Expr = source_row
                    ) -> None:
                        value = lanes.load(gathered, source_row + c) + lanes.load(u, c)
                        if residual:
                            value = value + lanes.load(residual[0], to + c)
                        lanes.store(y, to + c, value)

                    over_channels(target, CO, 1, write)

            if statistics:
                runs = Runs(first, bind(n_groups * M), n_phases, dilation, length)
                base, to = bind(b * length * CO), bind(index * record)
                runs_moments(target, CO, y, base, runs, partial, to)

        with T.serial(i64(0), batch) as b:
            with T.parallel(i64(0), tasks) as index:
                group, part = bind(div(index, parts)), bind(mod(index, parts))
                task(index, b, bind(group * per_block), bind(part * phases))
            if conv.statistics is not None:
                mean, rstd = statistics
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
            Parameter("u", (outputs + products.floats,)),
            *residuals,
            Number("dilation"),
            Parameter("y", (batch, length, CO)),
            *moments,
        ],
        body,
    )
