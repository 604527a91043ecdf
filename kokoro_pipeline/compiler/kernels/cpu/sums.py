"""The inner loop of every product: a tile of sums in registers, one multiply-add each per step."""

from __future__ import annotations

from collections.abc import Callable

from ..common.builder import Expr, T, bind, i64, registers
from .vector import Tile, VectorTarget


class Sums:
    """A tile of rows x vectors of sums that start at 0 and that LLVM keeps in registers."""

    def __init__(self, target: VectorTarget, tile: Tile) -> None:
        self.target = target
        self.tile = tile
        self._rows = [registers(tile.vectors * target.lanes) for _ in range(tile.rows)]
        for row in range(tile.rows):
            for vector in range(tile.vectors):
                self._set(row, vector, target.splat(0.0))

    def _set(self, row: int, vector: int, value: Expr) -> None:
        self.target.store(self._rows[row], i64(vector * self.target.lanes), value)

    def get(self, row: int, vector: int) -> Expr:
        return self.target.load(self._rows[row], i64(vector * self.target.lanes))

    def add(self, row: int, vector: int, term: Expr) -> None:
        """sums[row, vector] += term; a product becomes one multiply-add."""
        self._set(row, vector, self.get(row, vector) + term)

    def accumulate(
        self,
        steps: Expr,
        scalar: Callable[[int, Expr], Expr],
        vector: Callable[[int, Expr], Expr],
    ) -> None:
        """sums[r, v] += scalar(r, j) * vector(v, j), for j = 0, 1, ..., steps - 1 in this order."""
        with T.serial(i64(0), steps) as j:
            vectors = [bind(vector(v, j)) for v in range(self.tile.vectors)]
            for r in range(self.tile.rows):
                value = bind(self.target.splat(scalar(r, j)))
                for v in range(self.tile.vectors):
                    self.add(r, v, value * vectors[v])
