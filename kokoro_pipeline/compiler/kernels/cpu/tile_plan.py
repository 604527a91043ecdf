"""The products of a convolution on tiles: how they are laid out and distributed over tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from ..common.bfloat16_parts import Parts
from ..common.builder import Expr, T, bind, ceil_div, div, i64, minimum, mod
from ..common.convolutions import Conv1d
from .tile_unit import ROWS, TERMS, TileUnit
from .tile_weights import LINE, PANEL, TileWeights
from .vector import VectorTarget

HEIGHT = 2 * ROWS
"""Rows of a block, which is summed in four tiles."""
TASKS = 4  # for each of more than two threads; where blocks are fewer, tasks share their panels
FETCHED_BYTES = 1_400_000  # of rows and panels in the L2 cache, beside which outputs have room
# Rows of a task: its split rows and the weights of a panel share the L2 cache.
NARROW_WORDS, NARROW_BLOCK, WIDE_BLOCK = 512, 512, 320


@dataclass(frozen=True)
class Task:
    """Some rows and panels of one batch row: rows `first` to `first + rows`, panels from and to.

    `block` is the number of the block of rows, `blocks` that of all blocks of a batch row.
    """

    batch: Expr
    block: Expr
    blocks: Expr
    first: Expr
    rows: Expr
    panel_from: Expr
    panel_to: Expr


@dataclass(frozen=True)
class TilePlan:
    """The sizes of the products of a convolution on tiles, and their distribution over tasks."""

    target: VectorTarget
    conv: Conv1d
    parts: Parts
    unit: TileUnit

    @property
    def weights(self) -> TileWeights:
        """How the weights are packed."""
        conv = self.conv
        return TileWeights(self.parts, conv.out_channels, conv.in_channels, conv.taps)

    @property
    def steps(self) -> int:
        """Groups of 32 input channels, the terms of a product of tiles."""
        return self.weights.steps

    @property
    def padded(self) -> int:
        """Input channels, up to whole tiles."""
        return self.steps * TERMS

    @property
    def row(self) -> int:
        """Words of a split row in scratch: rows must not all start in the same cache set."""
        return self.parts.count * self.padded + LINE

    @property
    def panels(self) -> int:
        """Groups of 32 output channels."""
        return self.weights.panels

    @property
    def by_rows(self) -> bool:
        """Whether all panels of some rows are multiplied before the next rows.

        That leaves more time for splitting the next rows, and takes all weights from the L2 cache.
        """
        return self.weights.in_cache

    @property
    def fetches_panels(self) -> bool:
        """Whether the weights of the next panel are fetched during the products of this one.

        Otherwise only the first rows' products wait for memory, and all others for none. Both
        panels and the rows of a task must have room in the L2 cache.
        """
        if self.by_rows:
            return False
        return 2 * (2 * self.weights.panel_words + self.block * self.row) <= FETCHED_BYTES

    @property
    def block(self) -> int:
        """The most rows of a task."""
        narrow = self.parts.count * self.padded <= NARROW_WORDS
        return NARROW_BLOCK if narrow else WIDE_BLOCK

    def blocks(self, rows: Expr) -> Expr:
        """An upper bound of the number of blocks of `rows` rows.

        Only the kernel's arguments are read, so that it can be the extent of a buffer that is
        allocated before the body begins.
        """
        return ceil_div(rows, self.block) + 1

    def tasks(self, batch: Expr, rows: Expr, body: Callable[[Task], None]) -> Expr:
        """Emit a parallel loop over tasks; returns the number of blocks of a batch row."""
        fewest = bind(ceil_div(rows, self.block))
        even = bind(tirx.Select(fewest > 1, fewest + mod(fewest, 2), fewest))
        height = bind(ceil_div(div(rows + even - 1, even), HEIGHT) * HEIGHT)
        blocks = bind(div(rows + height - 1, height))
        per_group = bind(batch * blocks)
        # A task splits its rows by itself. Two threads share an even number of blocks evenly.
        threads = bind(tirx.Cast("int64", tirx.call_packed("runtime.NumThreads")))
        least = bind(tirx.Select(threads > 2, threads * TASKS, threads))
        wanted = bind(minimum(div(least - 1, per_group) + 1, self.panels))
        each = bind(div(wanted + (self.panels - 1), wanted))
        groups = bind(div(each + (self.panels - 1), each))
        with T.parallel(i64(0), bind(groups * per_group)) as task:
            group, rest = bind(div(task, per_group)), bind(mod(task, per_group))
            b, block = bind(div(rest, blocks)), bind(mod(rest, blocks))
            first = bind(block * height)
            body(
                Task(
                    b,
                    block,
                    blocks,
                    first,
                    bind(minimum(rows - first, height)),
                    bind(group * each),
                    bind(minimum(group * each + each, self.panels)),
                )
            )
        return blocks

    def needed(self, rows: Expr) -> Expr:
        """How many input rows the first `rows` output rows of a task take."""
        return (rows - 1) * self.conv.stride + (self.conv.reach + 1)

    def by_width(self, panel: Expr, emit: Callable[[int], None]) -> None:
        """Emit code for the number of columns of a panel, of which the last may have fewer."""
        last = self.conv.out_channels - (self.panels - 1) * PANEL
        if last == PANEL or self.panels == 1:
            emit(last)
            return
        with T.If(panel < self.panels - 1):
            with T.Then():
                emit(PANEL)
            with T.Else():
                emit(last)
