"""Convolution through a transform: fewer multiplications, in matrix products.

A transform turns N rows of the input, `dilation` apart, into numbers for `bins`; there the
convolution is one product with a matrix [CI, CO] a bin, and the way back gives M = N - K + 1 rows
of the output. With a dilation d, rows of equal index modulo d form d independent convolutions
without dilation, the phases: M * d neighbouring output rows are d tiles of M rows, a group.

A task takes a block of groups, small enough to stay in the L2 cache:

1. for each few channels it reads the block's input rows once, applies the producer (zeros
   outside of the sequence: the padding comes after the activation), and transforms every tile;
2. for each bin, product[tile, co] = sum_ci number[tile, ci] * U[bin, ci, co];
3. it transforms back and writes what lies in the sequence, with bias and residual.

Numbers and products of a bin are each one slot of a scratch buffer. Bin i's numbers lie in slot
i + 1 and its products go to slot i, whose numbers are used up: one slot more than bins serves both.

All values of an output row come from its own tile, in a fixed order: neither the number of threads
nor the size of the blocks can show.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..errors import InputError
from .direct import CHUNK, Panels
from .lanes import Lanes
from .producer import NOTHING, Producer
from .sums import Sums
from .vector import (
    Buffer,
    Expr,
    Number,
    Parameter,
    T,
    Tile,
    VectorTarget,
    bind,
    build_kernel,
    ceil_div,
    div,
    i64,
    maximum,
    minimum,
    mod,
)

SCRATCH_BYTES = 640 * 1024
TILES = 30  # of a block: whole groups for dilations 1, 2, 3, 5, 6
TASKS = 8  # blocks become smaller to give that many, as long as they keep two register tiles
PAIR = 2  # tiles left over by the register tiles are taken by two
COLUMNS = 32  # floats of a row that are read together: memory gives cache lines in pairs
LINE = 16  # floats of a cache line: slots start on different ones, or they would share cache sets

Load = Callable[[int], Expr]
Store = Callable[[int, Expr], None]


@dataclass(frozen=True)
class Transform(ABC):
    """One vector of channels at a time; `taps` are the convolution's."""

    taps: int
    window: int

    @property
    def outputs(self) -> int:
        return self.window - self.taps + 1

    @property
    @abstractmethod
    def bins(self) -> int: ...

    @property
    @abstractmethod
    def name(self) -> str:
        """Starts the kernel's name."""

    @abstractmethod
    def forward(self, target: VectorTarget, row: Load, put: Store) -> None:
        """put(bin, number) for all bins, of input rows 0 ... window - 1."""

    @abstractmethod
    def inverse(self, target: VectorTarget, product: Load) -> list[Expr]:
        """The output rows of all bins' products."""

    @abstractmethod
    def weights(self, weight: np.ndarray) -> np.ndarray:
        """float64 [CO, CI, K] -> [CO, bins, CI]."""


@dataclass(frozen=True)
class SameConv1d:
    """A convolution of stride 1 with as many output rows as input rows; an odd number of taps."""

    in_channels: int
    out_channels: int
    taps: int
    producer: Producer = NOTHING
    residual: bool = False

    def check(self, target: VectorTarget) -> None:
        """Raise InputError for what no transformed convolution does."""
        for channels in (self.in_channels, self.out_channels):
            if channels < 1 or channels % target.lanes:
                raise InputError(
                    f"{self}: channels must divide into vectors of {target.lanes}; "
                    "use the direct convolution"
                )
        if self.taps < 1 or self.taps % 2 == 0:
            raise InputError(f"{self}: an even number of taps has no centre row")


def pack_transformed(
    target: VectorTarget, transform: Transform, weight: np.ndarray, bias: np.ndarray | None
) -> np.ndarray:
    """weight [CO, CI, K], bias [CO] -> float32 [panels, (1 + bins * CI) * width], as Panels do."""
    out_channels, in_channels, _ = weight.shape
    transformed = transform.weights(np.asarray(weight, np.float64))
    rows = transformed.reshape(out_channels, transform.bins * in_channels)
    return Panels.of(target, out_channels).pack(rows, bias)


def _block_tiles(panels: Panels, transform: Transform, channels: int) -> int:
    """Tiles of a block: as many as the scratch has room for, a multiple of a register tile's."""
    fit = SCRATCH_BYTES // (4 * channels * (transform.bins + 1))
    height = panels.tile.rows
    return max(1, min(TILES, fit) // height) * height + height % PAIR


def transformed_conv1d(
    target: VectorTarget, conv: SameConv1d, transform: Transform
) -> tirx.PrimFunc:
    """(x, *producer's arguments, u[, residual], dilation) -> y.

    The dilation is an int64 from 1. All else is float32: x [B, L, CI]; what `Producer.parameters`
    lists; u as `pack_transformed` gives it; residual, y [B, L, CO]. B and L any from 1.
    """
    conv.check(target)
    conv.producer.check(target, conv.in_channels)
    CI, CO, V = conv.in_channels, conv.out_channels, target.lanes
    N, M = transform.window, transform.outputs
    panels = Panels.of(target, CO)
    width, vectors = panels.width, panels.tile.vectors
    if CO % width:
        raise InputError(f"{conv}: output channels must divide into panels of {width}")
    panel_floats = (1 + transform.bins * CI) * width
    tiles = _block_tiles(panels, transform, max(CI, CO))
    slot = tiles * max(CI, CO) + LINE
    # Sums of few terms are added up, for the reason given in `direct`.
    part = max(n for n in range(V, min(CI, CHUNK) + 1, V) if CI % n == 0)
    together = max(n for n in range(1, max(COLUMNS // V, 1) + 1) if CI // V % n == 0)
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, u = rest[: len(conv.producer.parameters(batch, CI)) + 1]
        *residual, dilation, y = rest[len(coefficients) + 1 :]
        # A block is `per_block` groups with `phases` phases each; of the sequence's groups, blocks
        # get equal shares.
        phases = bind(minimum(dilation, tiles))
        parts = bind(div(dilation + phases - 1, phases))
        groups = bind(div(length + dilation * M - 1, dilation * M))
        most = div(i64(tiles), phases)
        wanted = maximum(minimum(div(groups * phases, 2 * panels.tile.rows), TASKS), 2)
        blocks = bind(maximum(div(groups + most - 1, most), wanted))
        even = bind(minimum(blocks + mod(blocks, 2), groups))
        per_block = bind(div(groups + even - 1, even))
        blocks = bind(div(groups + per_block - 1, per_block))

        def task(b: Expr, group: Expr, phase: Expr) -> None:
            n_groups = bind(minimum(groups - group, per_block))
            n_phases = bind(minimum(dilation - phase, phases))
            used = bind(n_groups * n_phases)
            step = bind(dilation * M)
            # The first row of tile (q, p) is first + q * step + p.
            first = bind(group * step + phase)
            start = bind(first - dilation * (conv.taps // 2))
            rows = bind((n_groups - 1) * step + dilation * (N - 1) + n_phases)
            scratch = T.alloc_buffer(((transform.bins + 1) * slot,), "float32")
            prepared = conv.producer.prepare(target, CI, coefficients, b)

            # 1. Numbers of all tiles.
            head = bind(minimum(maximum(i64(0) - start, 0), rows))
            tail = bind(maximum(minimum(length - start, rows), head))
            capacity = (per_block * M + (N - M)) * dilation + phases
            window = T.alloc_buffer((capacity * (V * together),), "float32")
            zero = target.splat(0.0)
            x_base = bind((b * length + start) * CI)
            with T.serial(i64(0), i64(CI // (V * together))) as columns:
                c_first = bind(columns * (V * together))
                vectors_read = [bind(c_first + v * V) for v in range(together)]
                produce = [prepared.at(Lanes(target), c) for c in vectors_read]
                starts = [bind(rows * (v * V)) for v in range(together)]

                def fill(t: Expr, make: Callable[[int], Expr]) -> None:
                    for v in range(together):
                        target.store(window, starts[v] + t * V, make(v))

                with T.serial(i64(0), head) as t:
                    fill(t, lambda _: zero)
                with T.serial(i64(0), tail - head) as i:
                    t = bind(head + i)
                    at = bind(x_base + t * CI)
                    fill(t, lambda v: produce[v](target.load(x, at + vectors_read[v])))
                with T.serial(i64(0), rows - tail) as i:
                    fill(tail + i, lambda _: zero)
                with (
                    T.serial(i64(0), i64(together)) as v,
                    T.serial(i64(0), n_groups) as q,
                    T.serial(i64(0), n_phases) as p,
                ):
                    row = bind((q * step + p + v * rows) * V)
                    spacing = bind(dilation * V)
                    to = bind((q * n_phases + p) * CI + c_first + v * V)
                    transform.forward(
                        target,
                        lambda n: target.hold(target.load(window, row + spacing * n)),
                        lambda bin_, value: target.store(scratch, to + (bin_ + 1) * slot, value),
                    )

            # 2. Products of all bins.
            with T.serial(i64(0), i64(transform.bins)) as bin_:
                number, product = bind((bin_ + 1) * slot), bind(bin_ * slot)
                with (
                    T.serial(i64(0), i64(panels.count)) as panel,
                    T.serial(i64(0), i64(CI // part)) as chunk,
                ):
                    terms = bind(chunk * part)
                    matrix = bind(panel * panel_floats + (1 + bin_ * CI + terms) * width)

                    def tile(height: int, t: Expr) -> None:
                        sums = Sums(target, Tile(height, vectors))
                        own = bind(number + t * CI + terms)
                        sums.accumulate(
                            i64(part),
                            lambda r, j: scratch[own + j + r * CI],
                            lambda v, j: target.load(u, matrix + j * width + v * V),
                        )
                        to = bind(product + t * CO + panel * width)

                        def flush(add: bool) -> None:
                            for r in range(height):
                                for v in range(vectors):
                                    at = to + (r * CO + v * V)
                                    total = sums.get(r, v)
                                    if add:
                                        total = target.load(scratch, at) + total
                                    target.store(scratch, at, total)

                        if part == CI:
                            flush(add=False)
                            return
                        with T.If(chunk > 0):
                            with T.Then():
                                flush(add=True)
                            with T.Else():
                                flush(add=False)

                    # An odd row at the end has whatever lies there for company; nobody reads it.
                    height = panels.tile.rows
                    whole = bind(div(used, height))
                    with T.serial(i64(0), whole) as i:
                        tile(height, bind(i * height))
                    with T.serial(i64(0), ceil_div(used - whole * height, PAIR)) as i:
                        tile(PAIR, bind(whole * height + i * PAIR))

            # 3. The way back. A tile's rows are gathered first, for memory likes whole rows.
            gathered = T.alloc_buffer((M * CO,), "float32")
            with T.serial(i64(0), n_groups) as q, T.serial(i64(0), n_phases) as p:
                source = bind((q * n_phases + p) * CO)
                with T.serial(i64(0), i64(CO // V)) as vector:
                    c = bind(vector * V)
                    results = transform.inverse(
                        target,
                        lambda bin_: target.hold(target.load(scratch, source + c + bin_ * slot)),
                    )
                    for n in range(M):
                        target.store(gathered, c + n * CO, results[n])
                row = bind(first + q * step + p)
                inside = maximum(div(length - row + dilation - 1, dilation), 0)
                with T.serial(i64(0), bind(minimum(inside, M))) as n:
                    to = bind((b * length + row + n * dilation) * CO)
                    with (
                        T.serial(i64(0), i64(panels.count)) as panel,
                        T.serial(i64(0), i64(vectors)) as vector,
                    ):
                        c = bind(panel * width + vector * V)
                        value = target.load(gathered, n * CO + c)
                        value = value + target.load(u, panel * panel_floats + vector * V)
                        if residual:
                            value = value + target.load(residual[0], to + c)
                        target.store(y, to + c, value)

        per_row = bind(blocks * parts)
        with T.parallel(i64(0), batch * per_row) as index:
            rest_of_row = bind(mod(index, per_row))
            task(
                bind(div(index, per_row)),
                bind(div(rest_of_row, parts) * per_block),
                bind(mod(rest_of_row, parts) * phases),
            )

    name = (
        f"{transform.name}_ci{CI}_co{CO}{conv.producer.name}{'_residual' if conv.residual else ''}"
        f"_v{target.lanes}r{target.registers}"
    )
    residuals = [Parameter("residual", (batch, length, CO))] if conv.residual else []
    return build_kernel(
        name,
        [
            Parameter("x", (batch, length, CI)),
            *conv.producer.parameters(batch, CI),
            Parameter("u", panels.shape(transform.bins * CI)),
            *residuals,
            Number("dilation"),
            Parameter("y", (batch, length, CO)),
        ],
        body,
    )
