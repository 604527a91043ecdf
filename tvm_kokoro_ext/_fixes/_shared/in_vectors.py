"""Reductions of float32 and float64 over adjacent axes, by loops that LLVM turns into vectors.

LLVM keeps the order in which floats are compared and added. Along the last axis there are therefore
several results side by side, of which one is made at the end; along axes before it, a block of a
row is joined with the next row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import IRBuilder, T, te, tirx
from tvm_kokoro_ext._fixes._shared import loops

LANES = 16  # results side by side along the last axis
_SHORT = 32  # fewer numbers along the last axis are faster reduced one after the other
_BLOCK = 256  # results that a row is joined with

#: What has been found so far, or a candidate: a number, and for places the place it has.
_Found = tuple[Any, ...]


class Rule(Protocol):
    """What is found of numbers, one after the other.

    Attributes
    ----------
    dtypes
        Of the parts of what is found.
    first
        What is found of no numbers.
    """

    dtypes: list[str]
    first: _Found

    def next(self, found: _Found, candidate: _Found) -> _Found:
        """What is found of one number more."""

    def joined(self, found: _Found, candidate: _Found) -> _Found:
        """What is found of both: the candidate may have been ahead of what has been found."""

    def result(self, found: _Found) -> Any:
        """The element that is made of what is found."""


class Sum:
    """The sum of float32 numbers, in float64, and the number that `finish` makes of it."""

    def __init__(self, finish: Callable[[Any], Any]) -> None:
        self.dtypes, self.finish = ["float64"], finish
        self.first: _Found = (tirx.const(0.0, "float64"),)

    def next(self, found: _Found, candidate: _Found) -> _Found:
        return (found[0] + tirx.Cast("float64", candidate[0]),)

    def joined(self, found: _Found, candidate: _Found) -> _Found:
        return (found[0] + candidate[0],)

    def result(self, found: _Found) -> Any:
        return tirx.Cast("float32", self.finish(found[0]))


class Extremum:
    """The extremum itself; NaN if there is one, and of equal zeros the first."""

    def __init__(self, largest: bool, dtype: str) -> None:
        self.largest, self.dtypes = largest, [dtype]
        self.first: _Found = (tirx.const(-math.inf if largest else math.inf, dtype),)

    def next(self, found: _Found, candidate: _Found) -> _Found:
        """The extremum of what has been found and a candidate behind it."""
        # A comparison with NaN on the left is false.
        taken = tirx.any(tirx.isnan(candidate[0]), self._beyond(found[0], candidate[0]))
        return (tirx.Select(taken, candidate[0], found[0]),)

    joined = next

    def result(self, found: _Found) -> Any:
        return found[0]

    def _beyond(self, found: Any, number: Any) -> Any:
        return number > found if self.largest else number < found


class Place(Extremum):
    """The place of the extremum: that of the first NaN, and of the first of equal numbers."""

    def __init__(self, largest: bool, dtype: str, size: Any) -> None:
        super().__init__(largest, dtype)
        count = _compat.as_int(size)
        kind = "int32" if dtype == "float32" and count is not None and count < 2**31 else "int64"
        self.dtypes = [dtype, kind]
        # No number is beyond an infinity: it stays with a place that none has.
        self.first = (*self.first, tirx.max_value(kind))

    def next(self, found: _Found, candidate: _Found) -> _Found:
        taken = self._taken(found, candidate)
        return tuple(tirx.Select(taken, c, f) for f, c in zip(found, candidate, strict=True))

    def joined(self, found: _Found, candidate: _Found) -> _Found:
        """The same of a candidate that may have been ahead of what has been found."""
        both = tirx.all(tirx.isnan(found[0]), tirx.isnan(candidate[0]))
        equal = tirx.any(both, tirx.EQ(found[0], candidate[0]))
        taken = self._taken(found, candidate)
        number = tirx.Select(taken, candidate[0], found[0])
        ahead = tirx.any(taken, tirx.all(equal, candidate[1] < found[1]))
        return number, tirx.Select(ahead, candidate[1], found[1])

    def result(self, found: _Found) -> Any:
        place = found[1]
        none = tirx.EQ(place, tirx.max_value(self.dtypes[1]))
        return tirx.Select(none, tirx.const(0, "int64"), tirx.Cast("int64", place))

    def _taken(self, found: _Found, candidate: _Found) -> Any:
        first_nan = tirx.all(tirx.isnan(candidate[0]), tirx.Not(tirx.isnan(found[0])))
        return tirx.any(first_nan, self._beyond(found[0], candidate[0]))


def reduced(x: Any, axes: Sequence[int], rule: Rule, keep: bool) -> Any:
    """The result of a rule over adjacent axes; `keep` leaves axes of one element in their place."""
    first, behind = axes[0], axes[-1] + 1
    outer = [*x.shape[:first], *x.shape[behind:]]
    body = (_in_lanes if behind == len(x.shape) else _in_rows)(x, first, behind, rule)
    made = _written(x, body, outer or [tirx.const(1, "int64")], rule, behind == len(x.shape))
    kept = [tirx.const(1, "int64")] * (len(axes) if keep else 0)

    def element(*at: Any) -> Any:
        place = (*at[:first], *at[first + len(kept) :]) or (0,)
        return rule.result(tuple(part(*place) for part in made))

    shape = (*x.shape[:first], *kept, *x.shape[behind:])
    return te.compute(shape, element, name="extremum")


def _in_lanes(x: Any, first: int, behind: int, rule: Rule) -> Callable[..., None]:
    parts, last = len(rule.dtypes), x.shape[-1]
    outer = list(x.shape[:first]) or [tirx.const(1, "int64")]
    whole = tirx.floordiv(last, LANES)

    def body(data: Any, *buffers: Any) -> None:
        results, lanes = buffers[:parts], buffers[parts:]

        def add(found: Sequence[Any], at: Any, place: Sequence[Any], row: Any, spot: Any) -> None:
            source = (*place, spot)
            candidate = (data[source], row * last + spot)
            _store(found, at, rule.next(_load(found, at), _of(rule, candidate)))

        def along(place: Sequence[Any], row: Any) -> None:
            with T.serial(0, whole) as part, T.serial(0, LANES) as lane:
                add(lanes, lane, place, row, part * LANES + lane)
            with T.serial(0, last - whole * LANES) as lane:
                add(lanes, lane, place, row, whole * LANES + lane)

        def rows(place: Sequence[Any], of_row: Callable[[Sequence[Any], Any], None]) -> None:
            if behind > first + 1:
                with loops.grid(*x.shape[first:-1]) as among:
                    of_row([*place, *among], loops.flat(among, x.shape[first:-1]))
            else:
                of_row(place, tirx.const(0, "int64"))

        def side_by_side(spot: Sequence[Any], place: Sequence[Any]) -> None:
            with T.serial(0, LANES) as lane:
                _store(lanes, lane, rule.first)
            rows(place, along)
            _store(results, spot, rule.first)
            with T.serial(0, LANES) as lane:
                _store(results, spot, rule.joined(_load(results, spot), _load(lanes, lane)))

        def in_order(spot: Sequence[Any], place: Sequence[Any]) -> None:
            def of_row(place: Sequence[Any], row: Any) -> None:
                with T.serial(0, last) as lane:
                    add(results, spot, place, row, lane)

            _store(results, spot, rule.first)
            rows(place, of_row)

        with loops.grid(*outer) as at:
            spot, place = tuple(at), at if first else []
            if _compat.as_int(last) is not None:
                side_by_side(spot, place)
            else:
                with T.If(last < _SHORT):
                    with T.Then():
                        in_order(spot, place)
                    with T.Else():
                        side_by_side(spot, place)

    return body


def _in_rows(x: Any, first: int, behind: int, rule: Rule) -> Callable[..., None]:
    size, among_sizes = x.shape[-1], x.shape[first:behind]
    outer = [*x.shape[:first], *x.shape[behind:-1]]
    blocks = tirx.ceildiv(size, _BLOCK)

    def body(data: Any, *results: Any) -> None:
        with loops.grid(*outer, blocks) as (*at, block):
            begin = block * _BLOCK
            length = tirx.min(size - begin, tirx.const(_BLOCK, "int64"))
            with T.serial(0, length) as lane:
                _store(results, (*at, begin + lane), rule.first)
            with loops.grid(*among_sizes) as among, T.serial(0, length) as lane:
                spot = (*at, begin + lane)
                source = (*at[:first], *among, *at[first:], begin + lane)
                candidate = _of(rule, (data[source], loops.flat(among, among_sizes)))
                _store(results, spot, rule.next(_load(results, spot), candidate))

    return body


def _of(rule: Rule, candidate: _Found) -> _Found:
    """The number, and its place if the rule asks for it, in the dtype that the rule counts in."""
    number, place = candidate
    return (number, tirx.Cast(rule.dtypes[1], place)) if len(rule.dtypes) > 1 else (number,)


def _load(buffers: Sequence[Any], spot: Any) -> _Found:
    return tuple(buffer[spot] for buffer in buffers)


def _store(buffers: Sequence[Any], spot: Any, found: _Found) -> None:
    """Write the parts, the number last: the others depend on that which was found before."""
    for buffer, value in reversed(list(zip(buffers, found, strict=True))):
        buffer[spot] = value


def _written(
    x: Any, body: Callable[..., None], outer: list[Any], rule: Rule, in_lanes: bool
) -> list[Any]:
    """What the loops write: the parts of what is found, without the lanes."""

    def build(inputs: Any, results: Any) -> Any:
        with IRBuilder() as ib:
            with T.seq_scope():
                body(*map(T.buffer_proxy, (*inputs, *results)))
            return ib.get()

    shapes = [outer, [tirx.const(LANES, "int64")]] if in_lanes else [outer]
    # Buffers without an offset, which 0.25 does not bind.
    read = [tirx.decl_buffer(x.shape, x.dtype, "data")]
    written = [
        tirx.decl_buffer(shape, dtype, f"found{number}")
        for number, shape in enumerate(shapes)
        for dtype in rule.dtypes
    ]
    made = te.extern(
        [buffer.shape for buffer in written],
        [x],
        build,
        name="extrema",
        dtype=[str(buffer.dtype) for buffer in written],
        in_buffers=read,
        out_buffers=written,
    )
    return list(made)[: len(rule.dtypes)] if len(written) > 1 else [made]
