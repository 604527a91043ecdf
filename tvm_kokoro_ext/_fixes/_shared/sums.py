"""Sums of which several parts are formed at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import te, tirx, tvm

MANY = 2**14  # more float32 numbers than these lose digits in one sum

_LANES = 8
_SUMS = te.comm_reducer(
    lambda left, right: tuple(a + b for a, b in zip(left, right, strict=True)),
    lambda *dtypes: tuple(tirx.const(0, dtype) for dtype in dtypes),
    name="sums",
)


def is_for_cpu() -> bool:
    """Whether kernels are made for LLVM, that is, for a CPU."""
    target = tvm.target.Target.current(allow_none=True)
    return target is not None and target.kind.name == "llvm"


def side_by_side(
    value: Callable[..., Any], shape: Sequence[Any], axes: list[int], kind: str
) -> Callable[[Sequence[Any]], Any]:
    """The sum of `value(*at)` over `axes`, as a function of a position with any indices there.

    A processor adds a number to one sum only after the number before, so several sums are formed
    side by side along the last axis, and then added. `value` gives expressions of the dtype `kind`.
    """
    size = _compat.as_int(shape[axes[-1]])
    lanes = size if size is not None and 0 < size <= 2 * _LANES else _LANES
    steps = tirx.floordiv(shape[axes[-1]], lanes)
    rest = shape[axes[-1]] - steps * lanes

    def summed(count: Any, places: Callable[[Any], list[Any]], name: str) -> list[Any]:
        """One sum for each of the places in the last axis that belong to a step."""
        ranges = {axis: te.reduce_axis((0, shape[axis]), name=f"k{axis}") for axis in axes[:-1]}
        step = te.reduce_axis((0, count), name=f"k{axes[-1]}")
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))

        def sums(*at: Any) -> Any:
            read = [
                value(*[ranges.get(a, place if a == axes[-1] else i) for a, i in enumerate(at)])
                for place in places(step)
            ]
            along = [*ranges.values(), step]
            return _SUMS(tuple(read), axis=along) if len(read) > 1 else te.sum(*read, axis=along)

        made = te.compute(kept, sums, name=name)
        return list(made) if isinstance(made, list | tuple) else [made]

    made = summed(steps, lambda step: [step * lanes + n for n in range(lanes)], "sums")
    # Apart, because a comparison of each place with the size would keep LLVM from vectors.
    if _compat.as_int(rest) != 0:
        made += summed(rest, lambda step: [steps * lanes + step], "rest")

    def total(at: Sequence[Any]) -> Any:
        parts = [one(*at) for one in made]
        while len(parts) > 1:  # in pairs, which rounds less than one after the other
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [a + b for a, b in pairs] + parts[len(parts) // 2 * 2 :]
        return parts[0]

    return total
