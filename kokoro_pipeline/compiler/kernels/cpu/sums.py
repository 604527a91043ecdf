"""The inner loop of every product: a tile of sums in registers, one multiply-add each per step.

The rounding error of a sum grows with the square root of its number of terms. Where it would be
heard, no register adds up more than `CHUNK` terms; the rest of the sum is float64. More registers a
sum, so-called chains, make that cheaper, since fewer sums go to float64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

from ..common.builder import Buffer, Expr, T, bind, ceil_div, div, i64, minimum, registers
from .vector import LINE, Tile, VectorTarget

CHUNK = 16  # terms that one register adds up where the sum must be exact


class Sums:
    """A tile of rows x vectors of sums that start at 0 and that LLVM keeps in registers.

    With `chains` above 1, every sum is that of so many registers, each of which takes every
    `chains`-th term.
    """

    def __init__(self, target: VectorTarget, tile: Tile, chains: int = 1) -> None:
        self.target = target
        self.tile = tile
        self._rows = [
            [registers(tile.vectors * target.lanes) for _ in range(tile.rows)]
            for _ in range(chains)
        ]
        for rows in self._rows:
            for register in rows:
                for vector in range(tile.vectors):
                    slot = i64(vector * target.lanes)
                    target.store(register, slot, target.splat(0.0))

    def get(self, row: int, vector: int) -> Expr:
        slot = i64(vector * self.target.lanes)
        parts = [self.target.load(rows[row], slot) for rows in self._rows]
        return reduce(operator.add, parts)

    def add(self, row: int, vector: int, term: Expr, chain: int = 0) -> None:
        """sums[row, vector] += term; a product becomes one multiply-add."""
        register, slot = self._rows[chain][row], i64(vector * self.target.lanes)
        self.target.store(register, slot, self.target.load(register, slot) + term)

    def accumulate(
        self,
        steps: Expr,
        scalar: Callable[[int, Expr], Expr],
        vector: Callable[[int, Expr], Expr],
        ahead: Callable[[Expr], None] = lambda _: None,
    ) -> None:
        """sums[r, v] += scalar(r, j) * vector(v, j), for j = 0, 1, ..., steps - 1 in this order.

        `ahead`(j) prefetches what comes after these sums.
        """
        chains = len(self._rows)

        def step(j: Expr, chain: int) -> None:
            ahead(j)
            vectors = [bind(vector(v, j)) for v in range(self.tile.vectors)]
            for r in range(self.tile.rows):
                value = bind(self.target.splat(scalar(r, j)))
                for v in range(self.tile.vectors):
                    self.add(r, v, value * vectors[v], chain)

        whole = bind(div(steps, chains)) if chains > 1 else steps
        with T.serial(i64(0), whole) as group:
            for chain in range(chains):
                step(bind(group * chains + chain), chain)
        if chains > 1:
            with T.serial(whole * chains, steps) as j:
                step(j, 0)

    def add_row_to(self, total: Buffer, row: int, index: Expr) -> None:
        """Add the sums of a row to the float64 numbers of `total` from `index` on."""
        for vector in range(self.tile.vectors):
            at = index + vector * self.target.lanes
            value = self.target.cast(self.get(row, vector), "float64")
            self.target.store(total, at, self.target.load(total, at) + value)


class WeightsAhead:
    """Prefetches weights into L2, from an index on: a cache line in each step of register tiles.

    The tiles that multiply the same weights, which stay in L1, prefetch what comes after these one
    after the other. The processor itself only fetches ahead what is being read.
    """

    def __init__(self, target: VectorTarget, weights: Buffer, first: Expr) -> None:
        self._target, self._weights = target, weights
        self._next = registers(1, "int64")
        T.buffer_store(self._next, first, [i64(0)])

    def of_tile(self, steps: Expr) -> Callable[[Expr], None]:
        """What the next register tile has to call in each of its `steps`."""
        first = bind(self._next[i64(0)])
        T.buffer_store(self._next, first + steps * LINE, [i64(0)])
        return lambda j: self._target.prefetch(self._weights, first + j * LINE, near=False)


def sum_in_chunks(
    target: VectorTarget,
    tile: Tile,
    steps: Expr,
    total: Buffer,
    scalar: Callable[[int, Expr], Expr],
    vector: Callable[[int, Expr], Expr],
    store: Callable[[int, int, Expr], None],
) -> None:
    """Call store(r, v, sum over j < steps of scalar(r, j) * vector(v, j)), a float32 vector each.

    `total` is scratch for the tile in float64.
    """
    lanes = target.lanes
    slots = [
        (row, vector, i64((row * tile.vectors + vector) * lanes))
        for row in range(tile.rows)
        for vector in range(tile.vectors)
    ]
    for _, _, slot in slots:
        target.store(total, slot, target.splat(0.0, "float64"))
    with T.serial(i64(0), ceil_div(steps, CHUNK)) as chunk:
        first = bind(chunk * CHUNK)
        sums = Sums(target, tile)
        sums.accumulate(
            bind(minimum(steps - first, CHUNK)),
            lambda r, j: scalar(r, first + j),
            lambda v, j: vector(v, first + j),
        )
        for row in range(tile.rows):
            sums.add_row_to(total, row, i64(row * tile.vectors * lanes))
    for row, column, slot in slots:
        store(row, column, target.cast(target.load(total, slot), "float32"))
