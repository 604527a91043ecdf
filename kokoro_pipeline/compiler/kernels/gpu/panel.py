"""The panels of a tile: the weights of a step on their way to shared memory.

Tensor cores, which only CUDA has, come with asynchronous copies (`cp.async`): the panel of the next
step is copied to a second buffer while the block multiplies. Elsewhere a panel waits in registers,
or, if it is large, is copied when it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tvm import tirx

from .threads import WARP, Buffer, Expr, T, bind, i32, registers, store, where
from .tile import Place, ProductTile

MAX_AHEAD = 32
"""Registers of a thread for weights that were asked for."""


def make_panels(tile: ProductTile, place: Place, weights: Buffer, row_block: Expr) -> Panels:
    """The panels of a row block of `weights`, as packed by `ProductTile.pack`."""
    kind = _CopiedPanels if tile.is_asynchronous else _FetchedPanels
    return kind(tile, place, weights, row_block)


class Panels(ABC):
    """Steps are numbered by the turns and stages of the slice; each has a panel."""

    def __init__(self, tile: ProductTile, place: Place, weights: Buffer, row_block: Expr) -> None:
        self._tile, self._place, self._weights = tile, place, weights
        self._first = bind(row_block * (tile.chunks * tile.stages * tile.panel_words))
        # 16 bytes at a time; float64 values, which are not time-critical, one by one.
        self._vector = 1 if tile.weight_dtype == "float64" else 4
        self._stride = tile.warps * WARP * self._vector
        self._rounds = -(-tile.panel_words // self._stride)
        self._lane = bind((place.warp * WARP + place.lane) * self._vector)

    def start(self) -> None:
        """Ask for the panel of step 0."""
        self.fetch(i32(0))

    @abstractmethod
    def fetch(self, step: Expr) -> None:
        """Ask for the panel of a step; after the last one, for nothing that is used."""

    def wait(self) -> None:  # noqa: B027
        """Wait for what this thread asked for."""

    def place(self, step: Expr) -> None:  # noqa: B027
        """Write the panel of a step to shared memory, if it is not there yet."""

    def start_of(self, step: Expr) -> Expr:
        """Where the panel of a step begins in shared memory."""
        return self._place.part * self._tile.panel_words

    def _source(self, step: Expr) -> Expr:
        """Where the panel of a step begins in the weights."""
        tile = self._tile
        turn, stage = tirx.truncdiv(step, i32(tile.stages)), tirx.truncmod(step, i32(tile.stages))
        number = tile.chunk_of(turn, self._place.part) * tile.stages + stage
        return self._first + number * tile.panel_words

    def _offset(self, number: int) -> Expr:
        return number * self._stride + self._lane

    def _exists(self, number: int) -> Expr | None:
        """Whether round `number` of this thread lies within the panel; None if it always does."""
        if (number + 1) * self._stride <= self._tile.panel_words:
            return None
        return self._offset(number) < self._tile.panel_words


class _CopiedPanels(Panels):
    def fetch(self, step: Expr) -> None:
        tile = self._tile
        with T.If(step < tile.turns * tile.stages), T.Then():
            source, to = bind(self._source(step)), bind(self.start_of(step))
            for number in range(self._rounds):
                with where(self._exists(number)):
                    offset = self._offset(number)
                    shared = tirx.address_of(self._place.panel[to + offset])
                    memory = tirx.address_of(self._weights[source + offset])
                    T.evaluate(T.ptx["cp.async.cg.shared.global"](shared, memory, 16))
        T.evaluate(T.ptx["cp.async.commit_group"]())

    def wait(self) -> None:
        T.evaluate(T.ptx["cp.async.wait_group"](0))

    def start_of(self, step: Expr) -> Expr:
        buffer = tirx.bitwise_and(step, i32(1)) * self._tile.slices + self._place.part
        return buffer * self._tile.panel_words


class _FetchedPanels(Panels):
    def __init__(self, tile: ProductTile, place: Place, weights: Buffer, row_block: Expr) -> None:
        super().__init__(tile, place, weights, row_block)
        self._is_ahead = self._rounds * self._vector <= MAX_AHEAD
        if self._is_ahead:
            self._values = registers(self._rounds * self._vector, tile.weight_dtype)

    def fetch(self, step: Expr) -> None:
        if not self._is_ahead:
            return
        # A place beyond the end is clamped, since nothing is read ahead of a branch.
        last = self._tile.chunks * self._tile.stages * self._tile.panel_words - self._vector
        for number in range(self._rounds):
            at = bind(tirx.min(self._source(step) + self._offset(number), self._first + last))
            with T.vectorized(i32(0), i32(self._vector)) as v:
                store(self._values, number * self._vector + v, self._weights[at + v])

    def place(self, step: Expr) -> None:
        panel, to = self._place.panel, self.start_of(step)
        source = bind(self._source(step))
        for number in range(self._rounds):
            offset = bind(self._offset(number))
            with where(self._exists(number)), T.vectorized(i32(0), i32(self._vector)) as v:
                if self._is_ahead:
                    store(panel, to + offset + v, self._values[number * self._vector + v])
                else:
                    store(panel, to + offset + v, self._weights[source + offset + v])
