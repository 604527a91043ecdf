"""Speed of the kernels, relative to the peak of this machine in the same run.

The peak is a loop of independent multiply-adds in registers. It is measured again with each kernel,
since the clock rate varies. With one thread, times are CPU times of that thread, so that other
processes have little influence; with more threads, they are wall-clock times.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..runtime.engine.threads import forbid_binding
from .machine import installed_versions

if TYPE_CHECKING:
    from ..compiler.kernel_cases import KernelCase

PEAK_SECONDS = 0.05
MIN_CALLS = 5


@dataclass(frozen=True)
class KernelSpeed:
    """The time of a kernel in seconds and derived figures; None if not applicable.

    The shares are those of the best repeat.
    """

    name: str
    median: float
    best: float
    gflops: float | None
    """Operations of the mathematical definition, even if the algorithm needs fewer."""
    peak_gflops: float
    share: float | None
    """`gflops` relative to the peak; above 1 if a transform saves work."""
    own_share: float | None
    """The same for the operations of the algorithm's matrix products; below 1."""
    gigabytes: float | None
    """Gigabytes per second, for kernels limited by memory."""


class KernelRole:
    """Compiles the kernels for `mcpu` and times them; see `ContenderProcess`."""

    def __init__(
        self, role: str, threads: int, *, mcpu: str = "", frames: str = "160", only: str = ""
    ) -> None:
        """Compile the kernels whose names contain `only`. Raises InputError if there are none."""
        forbid_binding()  # read by the pool when it starts
        import tvm

        from ..compiler.codegen.target import host_mcpu, tiles_here
        from ..compiler.kernel_cases import kernel_cases, peak_case, tile_cases
        from ..compiler.kernels.cpu.core import Core
        from ..compiler.kernels.cpu.tile_unit import TileUnit
        from ..compiler.kernels.cpu.vector import VectorTarget

        self._threads = threads
        self._mcpu = mcpu or host_mcpu()
        target = VectorTarget.of(self._mcpu)
        self._lanes = target.lanes
        built = tvm.target.Target({"kind": "llvm", "mcpu": self._mcpu})
        cases = list(kernel_cases(target, int(frames), Core.of(self._mcpu)))
        if TileUnit.of(built) is not None and tiles_here():
            cases += tile_cases(target, int(frames))
        wanted = [case for case in cases if only in case.name]
        if not wanted:
            raise InputError(f"no kernel's name contains {only!r}")
        self._cases = {case.name: case for case in wanted}
        self._peak = peak_case(target, threads)
        self._symbols: dict[str, str] = {}
        functions = {}
        for case in (self._peak, *wanted):
            function = case.function()
            symbol = str(function.attrs["global_symbol"])
            self._symbols[case.name] = symbol
            functions[symbol] = function  # cases that only differ in length share a kernel
        module = tvm.IRModule(functions)
        self._library = tvm.compile(module, target=built)
        self._tensor = tvm.runtime.tensor

    def describe(self) -> dict[str, object]:
        """The CPU and the versions that the kernels are compiled for and with."""
        versions = installed_versions("apache-tvm", "apache-tvm-ffi")
        return {"mcpu": self._mcpu, "lanes": self._lanes, "versions": versions}

    def names(self) -> list[str]:
        """The names of the kernels in order."""
        return list(self._cases)

    def measure(self, name: str, seconds: float) -> KernelSpeed:
        """Time a kernel, and the peak in turns with it, for approximately this many seconds."""
        case = self._cases[name]
        times = self._repeat(self._call(case), seconds)
        peak = self._peak.flop / min(self._repeat(self._peak_call, PEAK_SECONDS))
        best = min(times)
        return KernelSpeed(
            name=name,
            median=statistics.median(times),
            best=best,
            gflops=case.flop / best * 1e-9 if case.flop else None,
            peak_gflops=peak * 1e-9,
            share=case.flop / best / peak if case.flop else None,
            own_share=case.own_flop / best / peak if case.own_flop else None,
            gigabytes=case.bytes / best * 1e-9 if case.bytes else None,
        )

    @functools.cached_property
    def _peak_call(self) -> Callable[[], None]:
        return self._call(self._peak)

    def _call(self, case: KernelCase) -> Callable[[], None]:
        random = np.random.default_rng(1)

        def make(argument: object) -> object:
            if isinstance(argument, tuple):
                return self._tensor(random.standard_normal(argument, np.float32))
            return self._tensor(argument) if isinstance(argument, np.ndarray) else argument

        values = [make(argument) for argument in case.arguments()]
        function = self._library[self._symbols[case.name]]
        return lambda: function(*values)

    def _repeat(self, call: Callable[[], None], seconds: float) -> list[float]:
        clock = time.thread_time if self._threads == 1 else time.perf_counter
        call()
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < MIN_CALLS or time.perf_counter() < end:
            start = clock()
            call()
            times.append(clock() - start)
        return times
