"""Tensors of a device that are kept for later calls with the same shapes.

Allocating memory on a device takes longer than many kernels, and releasing memory waits for all
pending work.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

SPARE = 32
"""Maximum number of tensors; those of the least recently used shape are dropped first."""

Form = tuple[tuple[int, ...], str]
"""Shape and dtype."""


class SpareTensors:
    """A cache of unused tensors. Use it only on the thread of the device."""

    def __init__(self, allocate: Callable[[tuple[int, ...], str], Any], limit: int = SPARE) -> None:
        """Create an empty cache. `allocate(shape, dtype)` must return a new tensor."""
        self._allocate = allocate
        self._limit = limit
        self._kept: OrderedDict[Form, list[Any]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def take(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A tensor with undefined values, which is not used elsewhere."""
        kept = self._kept.get((tuple(shape), dtype))
        return kept.pop() if kept else self._allocate(shape, dtype)

    def give(self, tensors: Iterable[Any]) -> None:
        """Return tensors that are no longer read or written by earlier users."""
        for tensor in tensors:
            form = tuple(int(size) for size in tensor.shape), str(tensor.dtype)
            self._kept.setdefault(form, []).append(tensor)
            self._kept.move_to_end(form)
        while len(self) > self._limit:
            oldest = next(iter(self._kept))
            if self._kept[oldest]:
                self._kept[oldest].pop()
            if not self._kept[oldest]:
                del self._kept[oldest]

    def clear(self) -> None:
        """Drop all tensors."""
        self._kept.clear()
