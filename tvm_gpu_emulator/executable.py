"""A compiled module whose kernels run on the CPU."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tvm
from tvm import relax, tirx

from .compiling import build_library, line_numbers
from .errors import InputError
from .faults import EmulationFault, Report
from .kernel_text import units
from .lowering import RUNTIME_LOWERING, lower


@dataclass(frozen=True)
class Launches:
    """The launches of a kernel: their number, and grid, block and shared bytes of the last one.

    `seconds` is the total time spent in it on the CPU, which says nothing about a GPU.
    """

    count: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    seconds: float


class Executable:
    """The functions of an emulated module by name, as returned by `emulate`.

    `source` is the generated text, to which the line numbers of reports refer. `reports` are all
    faults so far. `launches` are the launches by kernel. Calls are serialized: one kernel runs at a
    time.
    """

    def __init__(
        self,
        root: Any,
        functions: tuple[str, ...],
        source: str,
        library: Path,
        settings: tuple[bool, bool, bool, int, int, int],
    ) -> None:
        self.source = source
        self.reports: list[Report] = []
        self.functions = functions
        self._library = library
        self._native = ctypes.CDLL(str(library))
        for name in ("emulator_take_reports", "emulator_statistics"):
            getattr(self._native, name).restype = ctypes.c_char_p
        self._native.emulator_configure(
            *map(ctypes.c_int, settings[:3]),
            ctypes.c_uint(settings[3]),
            ctypes.c_size_t(settings[4]),
            ctypes.c_size_t(settings[5]),
        )
        self._collect = settings[1]
        self._lock = threading.RLock()
        if isinstance(root, relax.VMExecutable):
            self._table: Any = relax.VirtualMachine(root, tvm.cpu())
        else:
            self._table = root
        weakref.finalize(self, _release, self._native, library)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the module, which takes numpy or TVM arrays and scalars.

        Outputs that a PrimFunc writes to its arguments are written to numpy arrays as well. The
        function raises EmulationFault if a kernel breaks a rule. Raises KeyError for an unknown
        name.
        """
        if name not in self.functions:
            raise KeyError(f"{name}: the functions are {', '.join(self.functions)}")
        return lambda *arguments: self._call(name, arguments)

    @property
    def launches(self) -> Mapping[str, Launches]:
        """The launches of every kernel that ran."""
        with self._lock:
            text = self._native.emulator_statistics().decode()
        result = {}
        for line in text.splitlines():
            name, *fields = line.split("\t")
            n = [int(field) for field in fields[:8]]
            grid, block = (n[1], n[2], n[3]), (n[4], n[5], n[6])
            result[name] = Launches(n[0], grid, block, n[7], float(fields[8]))
        return result

    def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        passed = [
            tvm.runtime.tensor(np.ascontiguousarray(each)) if isinstance(each, np.ndarray) else each
            for each in arguments
        ]
        with self._lock:
            try:
                result = self._table[name](*passed)
            except Exception as error:
                found = self._take_reports()
                if not found:
                    raise
                raise EmulationFault(found) from error
            self._take_reports()
        # The arguments of a VM function are inputs; those of a PrimFunc may be outputs.
        if not isinstance(self._table, relax.VirtualMachine):
            for array, tensor in zip(arguments, passed, strict=True):
                if isinstance(array, np.ndarray) and array.flags.writeable:
                    np.copyto(array, tensor.numpy())
        return result

    def _take_reports(self) -> list[Report]:
        text = self._native.emulator_take_reports().decode()
        rows = [line.split("\t", 6) for line in text.splitlines()]
        lines = line_numbers(self._library, [int(pc) for row in rows for pc in row[3:5]])
        found = []
        for kind, kernel, line, pc, other_pc, count, detail in rows:
            at = int(line) or lines.get(int(pc))
            other = lines.get(int(other_pc))
            for where, number in (("", at), ("the other: ", other)):
                if number is not None:
                    detail += f"\n  {where}{number}: {self._line(number)}"
            found.append(Report(kind, kernel, at, detail, other, int(count)))
        self.reports += found
        return found

    def _line(self, number: int) -> str:
        lines = self.source.splitlines()
        return lines[number - 1].strip()[:200] if number <= len(lines) else ""


def _release(native: ctypes.CDLL, library: Path) -> None:
    """Release the stacks, the address space of the checker and the file; code stays mapped."""
    native.emulator_release()
    library.unlink(missing_ok=True)


def emulate(
    module: tvm.IRModule | tirx.PrimFunc,
    target: tvm.target.Target,
    *,
    check: bool = False,
    on_fault: Literal["raise", "collect"] = "raise",
    relax_pipeline: Any = RUNTIME_LOWERING,
    edit_source: Callable[[str], str] | None = None,
    cache: Path | None = None,
    seed: int | None = None,
) -> Executable:
    """Compile a module for a GPU target and run it on this machine's CPU.

    `module`: a thread-bound PrimFunc, an IRModule of them, or Relax functions that call them with
    `call_tir`. `target`: a target of kind "cuda" or "metal", whose limits on threads and shared
    memory are checked. `check`: check every memory access (ten times slower). `on_fault`: with
    "collect", faults are kept in `Executable.reports` and execution continues; a kernel that cannot
    continue ends with incomplete outputs. `relax_pipeline`: as in `relax.build`; by default the
    passes that `call_tir` modules still need, None for a module that is already lowered for the VM.
    `edit_source`: a function that changes the generated text before it is compiled, to test that a
    test or the checker notices. `cache`: a folder for compiled kernels, by default one that is
    removed with the process. `seed`: the seed for a random order of the threads between two
    barriers; 0 runs them in order, which is the default without `check`.

    Raises InputError for another target or a module without functions for it, UnsupportedKernel
    (an InputError) for unsupported code, EnvironmentFault without g++ or with TVM before 0.27.
    """
    if on_fault not in ("raise", "collect"):
        raise InputError(f"on_fault is {on_fault!r}: it is 'raise' or 'collect'")
    lowered = lower(module, target, check, relax_pipeline)
    source = lowered.source if edit_source is None else edit_source(lowered.source)
    kind = target.kind.name
    parts = units(source, kind, lowered.kernels, check)
    library = build_library(parts, source, check, cache)
    lowered.host.import_module(tvm.runtime.load_module(str(library)))
    attrs = target.attrs
    threads = attrs.get("max_threads_per_block", attrs.get("max_num_threads", 1024))
    settings = (
        check,
        on_fault == "collect",
        kind == "cuda",
        int(check) if seed is None else seed,
        int(threads),
        int(attrs.get("max_shared_memory_per_block", 49152 if kind == "cuda" else 32768)),
    )
    return Executable(lowered.root, lowered.functions, source, library, settings)
