"""Run the six functions in sequence and time each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..runtime.engine.resident import Resident

Functions = Mapping[str, Callable[..., Any]]
"""The six functions by name, with the signatures of an artifact, for numpy arrays."""


class TimedFunctions(Mapping[str, Callable[..., Any]]):
    """Functions that record the time spent in each in `seconds`.

    The time includes waiting for pending work on a device.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self.seconds: dict[str, float] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]

        def timed(*arrays: Any) -> Any:
            start = time.perf_counter()
            result = function(*arrays)
            for each in result if isinstance(result, tuple | list) else (result,):
                if isinstance(each, Resident):
                    each.wait()
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            return result

        return timed

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)
