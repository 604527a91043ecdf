"""Tensors of a device kept for the next call that needs one of their shape.

To ask a device for memory takes it longer than many kernels, and to give memory back makes it wait
for everything under way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

SPARE = 32
"""Tensors that are kept; those of the shape longest unused make room."""

Form = tuple[tuple[int, ...], str]
"""Shape and dtype."""


class SpareTensors:
    """To be used in the device's one thread only."""

    def __init__(self, allocate: Callable[[tuple[int, ...], str], Any], limit: int = SPARE) -> None:
        """`allocate(shape, dtype)` makes a tensor."""
        self._allocate = allocate
        self._limit = limit
        self._kept: OrderedDict[Form, list[Any]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def take(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A tensor that nobody else has; its values are left over."""
        kept = self._kept.get((tuple(shape), dtype))
        return kept.pop() if kept else self._allocate(shape, dtype)

    def give(self, tensors: Iterable[Any]) -> None:
        """Take tensors back that nobody will write or read but calls after this."""
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
        """Keep none."""
        self._kept.clear()
