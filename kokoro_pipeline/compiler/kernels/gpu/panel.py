"""The panels of a tile: the weights of a step on their way to shared memory.

Tensor cores, which only CUDA has, come with asynchronous copies (`cp.async`): the panel of the next
step is copied to a second buffer while the block multiplies. Elsewhere a panel waits in registers,
or, if it is large, is copied when it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tvm import tirx

from .products import Product
from .threads import WARP, Buffer, Expr, T, bind, div, i32, mod, registers, store, where
from .tile import Place, ProductTile

MAX_AHEAD = 32
"""Registers of a thread for weights that were asked for."""


def make_panels(
    tile: ProductTile, product: Product, place: Place, weights: Buffer, row_block: Expr
) -> Panels:
    """The panels of a row block of `weights`, as packed by `product.pack`."""
    kind = _CopiedPanels if tile.is_asynchronous else _FetchedPanels
    return kind(tile, product, place, weights, row_block)


class Panels(ABC):
    """Steps are numbered by the turns and stages of the slice; each has a panel.

    A panel consists of segments that are contiguous in memory: one for each unit of rows, or, with
    stages, for each unit and group of channels. The threads of the slice copy it in rounds.
    """

    def __init__(
        self, tile: ProductTile, product: Product, place: Place, weights: Buffer, row_block: Expr
    ) -> None:
        self._tile, self._place, self._weights = tile, place, weights
        self._unit_stride = product.weight_shape[1]
        self._first_unit = bind(row_block * tile.units)
        # 16 bytes at a time; float64 values, which are not time-critical, one by one.
        self._vector = 1 if tile.weights.word_dtype == "float64" else 4
        self._stride = tile.warps * WARP * self._vector
        self._rounds = -(-tile.panel_words // self._stride)
        self._lane = bind((place.warp * WARP + place.lane) * self._vector)
        self._segments = [self._segment_of(number) for number in range(self._rounds)]

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

    def _segment_of(self, number: int) -> tuple[Expr, Expr]:
        """What round `number` of the thread copies: a segment's first word, and one from there on.

        The first word is counted from the start of a step.
        """
        tile = self._tile
        groups = tile.groups if tile.stages == 1 else 1
        words = groups * tile.stage_words
        segments = tile.groups // groups
        # A round without a word for the thread reads the last one.
        offset = bind(tirx.min(self._offset(number), i32(tile.panel_words - self._vector)))
        segment = bind(div(offset, words))
        # Units beyond the last one are read as the last one: their rows do not exist.
        unit = tirx.min(self._first_unit + div(segment, segments), i32(tile.weights.units - 1))
        group = mod(segment, segments) * tile.weights.group_words
        return bind(unit * self._unit_stride + group), bind(mod(offset, words))

    def _start(self, step: Expr) -> Expr:
        """Where a step begins in a segment; the last chunk is taken for later steps."""
        tile = self._tile
        turn = tirx.truncdiv(step, i32(tile.stages))
        chunk = tirx.min(tile.chunk_of(turn, self._place.part), i32(tile.chunks - 1))
        return chunk * (tile.groups * tile.weights.group_words) + self._stage_start(step)

    def _stage_start(self, step: Expr) -> Expr:
        """Where the stage of a step begins in a group."""
        return tirx.truncmod(step, i32(self._tile.stages)) * self._tile.stage_words

    def _source(self, start: Expr, number: int) -> Expr:
        """Where round `number` of a step that begins at `start` reads in the weights."""
        first, word = self._segments[number]
        return start + first + word

    def _offset(self, number: int) -> Expr:
        return number * self._stride + self._lane

    def _exists(self, number: int, step: Expr) -> Expr | None:
        """Whether the thread copies a word in round `number`; None if it always does.

        The last stage may have fewer taps than the others.
        """
        tile, conditions = self._tile, []
        if (number + 1) * self._stride > tile.panel_words:
            conditions.append(self._offset(number) < tile.panel_words)
        if tile.stages * tile.stage_taps > tile.geometry.taps:
            word = self._stage_start(step) + self._segments[number][1]
            conditions.append(word < tile.weights.group_words)
        return tirx.all(*conditions) if conditions else None


class _CopiedPanels(Panels):
    def fetch(self, step: Expr) -> None:
        tile = self._tile
        with T.If(step < tile.turns * tile.stages), T.Then():
            start, to = bind(self._start(step)), bind(self.start_of(step))
            for number in range(self._rounds):
                with where(self._exists(number, step)):
                    shared = tirx.address_of(self._place.panel[to + self._offset(number)])
                    memory = tirx.address_of(self._weights[self._source(start, number)])
                    T.evaluate(T.ptx["cp.async.cg.shared.global"](shared, memory, 16))
        T.evaluate(T.ptx["cp.async.commit_group"]())

    def wait(self) -> None:
        T.evaluate(T.ptx["cp.async.wait_group"](0))

    def start_of(self, step: Expr) -> Expr:
        buffer = tirx.bitwise_and(step, i32(1)) * self._tile.slices + self._place.part
        return buffer * self._tile.panel_words


class _FetchedPanels(Panels):
    def __init__(
        self, tile: ProductTile, product: Product, place: Place, weights: Buffer, row_block: Expr
    ) -> None:
        super().__init__(tile, product, place, weights, row_block)
        self._is_ahead = self._rounds * self._vector <= MAX_AHEAD
        if self._is_ahead:
            self._values = registers(self._rounds * self._vector, tile.weights.word_dtype)

    def fetch(self, step: Expr) -> None:
        if not self._is_ahead:
            return
        start = bind(self._start(step))
        for number in range(self._rounds):
            at = bind(self._source(start, number))
            with T.vectorized(i32(0), i32(self._vector)) as v:
                store(self._values, number * self._vector + v, self._weights[at + v])

    def place(self, step: Expr) -> None:
        panel, to, start = self._place.panel, self.start_of(step), bind(self._start(step))
        for number in range(self._rounds):
            offset = bind(self._offset(number))
            source = bind(self._source(start, number))
            with where(self._exists(number, step)), T.vectorized(i32(0), i32(self._vector)) as v:
                if self._is_ahead:
                    store(panel, to + offset + v, self._values[number * self._vector + v])
                else:
                    store(panel, to + offset + v, self._weights[source + v])
