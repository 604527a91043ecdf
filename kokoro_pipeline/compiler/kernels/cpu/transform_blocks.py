"""How the tiles of a transformed convolution are distributed over tasks.

The words are those of `transform_conv1d`: a group has a tile for each phase of the dilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..common.builder import Expr, div, i64, maximum, minimum, mod
from .bin_products import effort

TASKS = 8  # blocks shrink to reach this many tasks, but keep at least two register tiles


@dataclass(frozen=True)
class Blocks:
    """How the groups of a sequence are distributed over tasks.

    A task computes `per_block` groups of `phases` phases each, one tile for each; the `parts` of
    the phases of a group are tasks of their own. There are `blocks * parts` tasks.
    """

    phases: Expr
    parts: Expr
    groups: Expr
    per_block: Expr
    blocks: Expr

    @classmethod
    def of(
        cls,
        length: Expr,
        dilation: Expr,
        outputs: int,
        tiles: int,
        heights: Sequence[int],
        bind: Callable[[Expr], Expr] = lambda value: value,
    ) -> Blocks:
        """Blocks of about `tiles` tiles of `outputs` rows, for register tiles of these heights.

        They have whole groups: as many as fit, or one more where that fills register tiles better.
        The groups are distributed evenly. Constants give constants.
        """
        phases = bind(minimum(dilation, tiles))
        parts = bind(_parts(dilation, phases))
        groups = bind(_groups(length, dilation, outputs))
        fit = bind(div(i64(tiles), phases))
        fewer, more = bind(fit * phases), bind(fit * phases + phases)
        saved = bind(effort(heights, fewer) * more - effort(heights, more) * fewer)
        most = bind(fit + minimum(maximum(saved, 0), 1))
        wanted = maximum(minimum(div(groups * phases, 2 * heights[0]), TASKS), 2)
        blocks = bind(maximum(div(groups + most - 1, most), wanted))
        even = bind(minimum(blocks + mod(blocks, 2), groups))
        per_block = bind(div(groups + even - 1, even))
        return cls(phases, parts, groups, per_block, bind(div(groups + per_block - 1, per_block)))


def _parts(dilation: Expr, phases: Expr) -> Expr:
    """Number of tasks that share the phases of a group."""
    return div(dilation + phases - 1, phases)


def _groups(length: Expr, dilation: Expr, outputs: int) -> Expr:
    return div(length + dilation * outputs - 1, dilation * outputs)


def most_tasks(length: Expr, dilation: Expr, outputs: int, tiles: int) -> Expr:
    """An upper bound of the tasks per sequence, as an expression of the kernel's arguments only.

    The size of a buffer must be known before anything is bound.
    """
    phases = minimum(dilation, tiles)
    groups = _groups(length, dilation, outputs)
    blocks = div(groups, div(i64(tiles), phases)) + 2
    return minimum(groups, maximum(blocks, TASKS + 1)) * _parts(dilation, phases)
