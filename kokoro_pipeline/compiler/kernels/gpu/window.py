"""The window of a tile: a chunk of the input on its way through registers to shared memory.

A block that reads memory and uses the value at once waits hundreds of cycles, for every read anew.
`fetch` therefore asks for all values of the next chunk, which stay in registers while the tile
multiplies the chunk before; `place` then applies the producer and writes them to shared memory. The
arguments of the producer are asked for one chunk further ahead: threads share the work of computing
its coefficients, and leave them in a table for all threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tvm import tirx

from .producer import Producer, arguments_of, channel_function, coefficients_of
from .threads import WARP, Buffer, Expr, T, bind, const, i32, registers, shared, store, where
from .tile import Multiplier, Place, ProductTile

MAX_AHEAD = 32
"""Registers of a thread for values that were asked for; a larger window is read in several parts,
each of which is waited for."""


@dataclass(frozen=True)
class Input:
    """What a window reads: x [B, C, `length`] of row `batch_row`, from sample `first` on."""

    x: Buffer
    batch_row: Expr
    length: Expr
    first: Expr
    producer: Producer
    arguments: Sequence[Buffer]
    """The producer's."""


class Window:
    """The window of one slice; chunks are numbered by the turns of the slice."""

    def __init__(self, tile: ProductTile, place: Place, source: Input) -> None:
        self._tile, self._place, self._source = tile, place, source
        self._channels = tile.chunk * tile.precision.per_word
        rounds, across = -(-tile.chunk // tile.warps), -(-tile.samples // WARP)
        # A warp takes whole words of channels, and its lanes neighbouring samples.
        reads = [(turn, j) for turn in range(rounds) for j in range(across)]
        size = max(1, MAX_AHEAD // tile.precision.per_word)
        self._parts = [reads[i : i + size] for i in range(0, len(reads), size)]
        self._values = registers(len(self._parts[0]) * tile.precision.per_word, tile.dtype)
        self._coefficients = _Coefficients(tile, place, source, self._channels)

    def start(self) -> None:
        """Ask for the first chunk."""
        self._coefficients.fetch(i32(0))
        self.fetch(i32(0))

    def fetch(self, turn: Expr) -> None:
        """Ask for the chunk of a turn, and leave its coefficients in the table.

        The chunk before must have been placed by all threads.
        """
        self._coefficients.place()
        self._coefficients.fetch(turn + 1)
        if len(self._parts) == 1:
            self._fetch(turn, self._parts[0])

    def place(self, turn: Expr, multiplier: Multiplier) -> None:
        """Write the chunk of a turn to shared memory, for all threads after the next barrier."""
        for part in self._parts:
            if len(self._parts) > 1:
                self._fetch(turn, part)
            self._place_part(turn, part, multiplier)

    def _fetch(self, turn: Expr, reads: Sequence[tuple[int, int]]) -> None:
        """Read without conditions, since nothing is read ahead of a branch; places are clamped."""
        source, per_word = self._source, self._tile.precision.per_word
        last = i32(self._tile.geometry.in_channels - 1)
        for number, (turn_of_warp, j) in enumerate(reads):
            position = source.first + (j * WARP + self._place.lane)
            clamped = tirx.max(tirx.min(position, source.length - 1), i32(0))
            for i in range(per_word):
                channel = tirx.min(self._channel(turn, self._slot(turn_of_warp), i), last)
                row = source.batch_row * self._tile.geometry.in_channels + channel
                value = source.x[row * source.length + clamped]
                store(self._values, number * per_word + i, value)

    def _place_part(
        self, turn: Expr, reads: Sequence[tuple[int, int]], multiplier: Multiplier
    ) -> None:
        tile, source, per_word = self._tile, self._source, self._tile.precision.per_word
        for turn_of_warp, group in groupby(enumerate(reads), key=lambda read: read[1][0]):
            slot = bind(self._slot(turn_of_warp))
            channels = [bind(self._channel(turn, slot, i)) for i in range(per_word)]
            functions = [
                channel_function(source.producer, self._coefficients.of(slot * per_word + i))
                for i in range(per_word)
            ]
            for number, (_, j) in group:
                offset = bind(j * WARP + self._place.lane)
                whole = tile.chunk % tile.warps == 0 and (j + 1) * WARP <= tile.samples
                exists = tirx.And(slot < tile.chunk, offset < tile.samples)
                with where(None if whole else exists):
                    position = bind(source.first + offset)
                    to = self._place.window_start + slot * tile.window_pitch + offset
                    for i, channel in enumerate(channels):
                        value = functions[i](self._values[i32(number * per_word + i)])
                        inside = tirx.all(
                            channel < tile.geometry.in_channels,
                            position >= 0,
                            position < source.length,
                        )
                        multiplier.put(i, tirx.Select(inside, value, const(0, tile.dtype)), to)
                    multiplier.end_word(to)

    def _slot(self, turn_of_warp: int) -> Expr:
        return turn_of_warp * self._tile.warps + self._place.warp

    def _channel(self, turn: Expr, slot: Expr, i: int) -> Expr:
        return self._tile.chunk_of(turn, self._place.part) * self._channels + (
            slot * self._tile.precision.per_word + i
        )


class _Coefficients:
    """The producer's coefficients of a chunk, in shared memory."""

    def __init__(self, tile: ProductTile, place: Place, source: Input, channels: int) -> None:
        self._tile, self._place, self._source = tile, place, source
        self._channels = channels
        self._count = source.producer.coefficients
        if self._count == 0:
            return
        # A thread computes those of one channel.
        assert channels <= tile.warps * WARP
        self._thread = bind(place.warp * WARP + place.lane)
        self._arguments = registers(source.producer.arguments)
        self._table = shared(tile.slices * channels * self._count)

    def fetch(self, turn: Expr) -> None:
        if self._count == 0:
            return
        source, channels = self._source, self._tile.geometry.in_channels
        first = self._tile.chunk_of(turn, self._place.part) * self._channels
        channel = bind(tirx.min(first + self._thread, i32(channels - 1)))
        given = arguments_of(source.producer, source.arguments, channels, source.batch_row, channel)
        for i, value in enumerate(given):
            store(self._arguments, i, value)

    def place(self) -> None:
        """Compute those of the chunk whose arguments were asked for."""
        if self._count == 0:
            return
        with T.If(self._thread < self._channels), T.Then():
            given = [self._arguments[i32(i)] for i in range(self._source.producer.arguments)]
            for i, value in enumerate(coefficients_of(self._source.producer, given)):
                store(self._table, self._at(self._thread, i), value)

    def of(self, channel: Expr) -> list[Expr]:
        """The coefficients of a channel of the chunk; of its last one for those beyond it."""
        channel = tirx.min(channel, i32(self._channels - 1))
        return [self._table[self._at(channel, i)] for i in range(self._count)]

    def _at(self, channel: Expr, i: int) -> Expr:
        return (self._place.part * self._count + i) * self._channels + channel
