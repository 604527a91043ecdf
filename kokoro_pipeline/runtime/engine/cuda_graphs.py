"""CUDA graphs of the compiled functions: one launch where there were hundreds, for sizes that come
again.

A function's kernels are launched with the addresses and sizes of one call, and a graph repeats just
these. So every graph keeps what was at those addresses: inputs of its own, into which each call's
are copied, and the storages that the VM took during the capture, which would else go back to the
pool and to other calls. Results are copied out, for the next launch overwrites them.

Copies go through the default stream, which CUDA orders with the (blocking) stream of the graphs.
Nothing of a function returns to the host while it runs, or there could be no graph of it.
"""

from __future__ import annotations

import ctypes
import queue
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault

from .arrays import Array

GRAPHS = 64
"""Graphs that are kept, of all functions and sizes; the longest unused makes room."""
SEEN = 1024
"""Sizes that are remembered for having been called once."""

SPARE = 4
"""Outputs of one shape that are kept for the next call."""

_RELAXED = 2
"""The capture mode that forbids no call, of this thread or another."""
_ALLOCATION = "vm.builtin.alloc_storage"

Key = tuple[str, tuple[tuple[str, int], ...]]
Form = tuple[tuple[int, ...], str]
"""Shape and dtype."""
Run = Callable[[Sequence[Any]], list[Any]]
"""Calls a function on tensors of the device; its outputs."""


@dataclass(frozen=True)
class DeviceMemory:
    """What graphs do with tensors of a device."""

    allocate: Callable[[tuple[int, ...], str], Any]
    """(shape, dtype) -> a tensor."""
    upload: Callable[[Array, Any], None]
    copy: Callable[[Any, Any], None]
    """From a tensor to one of the same shape and dtype."""


@dataclass(eq=False)
class _Captured:
    """A graph, where it reads and writes, and what must live as long as it does."""

    handle: ctypes.c_void_p
    inputs: list[Any]
    outputs: list[Any]
    storages: list[Any] = field(repr=False)


class CudaGraphs:
    """The graphs of one VM. To be made and used in its one thread only, but for `give_back`."""

    def __init__(
        self,
        tvm_ffi: Any,
        device: Any,
        runtime_library: str,
        instrument: Callable[[Any], None],
        memory: DeviceMemory,
        limit: int = GRAPHS,
    ) -> None:
        """`runtime_library` is CUDA's, loaded already; `instrument` sets the VM's, None for none.

        Raises EnvironmentFault where CUDA gives no stream.
        """
        self._tvm_ffi = tvm_ffi
        self._device = device
        self._instrument = instrument
        self._memory = memory
        self._limit = limit
        self._cuda = ctypes.CDLL(runtime_library)
        self._cuda.cudaGetErrorName.restype = ctypes.c_char_p
        self._stream = ctypes.c_void_p()
        self._check("cudaSetDevice", self._cuda.cudaSetDevice(int(device.index)))
        self._check("cudaStreamCreate", self._cuda.cudaStreamCreate(ctypes.byref(self._stream)))
        self._seen: OrderedDict[Key, None] = OrderedDict()
        self._graphs: OrderedDict[Key, _Captured] = OrderedDict()
        self._free: dict[Form, list[Any]] = {}
        # put is safe within the garbage collector, which may give back at any moment.
        self._given_back: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __len__(self) -> int:
        return len(self._graphs)

    def call(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Any], run: Run
    ) -> list[Any] | None:
        """Outputs of function `name` for the sizes `symbols`, by a graph; None where these sizes
        were not called before: the caller then runs the function, and the next call captures it.

        `inputs` are arrays, or tensors of the device. Raises EnvironmentFault where CUDA makes no
        graph, RuntimeError where memory runs out.
        """
        key = (name, tuple(sorted(symbols.items())))
        if key not in self._graphs:
            if key not in self._seen:
                self._seen[key] = None
                if len(self._seen) > SEEN:
                    self._seen.popitem(last=False)
                return None
            self._graphs[key] = self._capture(name, symbols, inputs, run)
            if len(self._graphs) > self._limit:
                self._drop(next(iter(self._graphs)))
        self._graphs.move_to_end(key)
        graph = self._graphs[key]
        for given, place in zip(inputs, graph.inputs, strict=True):
            self._fill(given, place)
        status = self._cuda.cudaGraphLaunch(graph.handle, self._stream)
        self._check("cudaGraphLaunch", status, f"of {_said(name, symbols)}")
        return [self._copy_out(output) for output in graph.outputs]

    def clear(self) -> None:
        """Drop every graph and its memory. What was called before stays known."""
        while self._graphs:
            self._drop(next(iter(self._graphs)))
        self._take_back()
        self._free.clear()

    def give_back(self, tensor: Any) -> None:
        """Take back an output that nobody reads any more; from any thread."""
        self._given_back.put(tensor)

    def _capture(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Any], run: Run
    ) -> _Captured:
        places = [self._memory.allocate(*_form(given)) for given in inputs]
        # The storages of a call that gives none back before its end: now, while memory may be asked
        # for, so that the capture finds every one of them in the pool. Twice, for the VM holds its
        # latest result.
        for _ in range(2):
            with self._keeping() as storages:
                run(places)
            storages.clear()
        what = f"of {_said(name, symbols)}"
        begin = self._cuda.cudaStreamBeginCapture(self._stream, _RELAXED)
        self._check("cudaStreamBeginCapture", begin, what)
        graph = ctypes.c_void_p()
        try:
            stream = self._tvm_ffi.use_raw_stream(self._device, self._stream.value or 0)
            with stream, self._keeping() as storages:
                outputs = run(places)
        except RuntimeError as error:
            raise EnvironmentFault(
                f"a CUDA graph {what} cannot be had: {str(error).splitlines()[-1]}; load the "
                "artifact with graphs=False"
            ) from error
        finally:
            # Also after an error: a stream that captures can do nothing else.
            end = self._cuda.cudaStreamEndCapture(self._stream, ctypes.byref(graph))
        self._check("cudaStreamEndCapture", end, what)
        handle = ctypes.c_void_p()
        made = self._cuda.cudaGraphInstantiate(ctypes.byref(handle), graph, ctypes.c_ulonglong(0))
        self._cuda.cudaGraphDestroy(graph)
        self._check("cudaGraphInstantiate", made, what)
        captured = _Captured(handle, places, outputs, storages)
        finalizer = weakref.finalize(captured, self._cuda.cudaGraphExecDestroy, handle)
        finalizer.atexit = False  # the driver may have ended before
        return captured

    @contextmanager
    def _keeping(self) -> Iterator[list[Any]]:
        """Inside, every storage that the VM allocates is kept in the list."""
        storages: list[Any] = []

        def watch(_function: Any, callee: str, before: bool, result: Any, *_words: Any) -> int:
            if not before and callee == _ALLOCATION:
                storages.append(result)
            return 0  # go on

        self._instrument(watch)
        try:
            yield storages
        finally:
            self._instrument(None)

    def _drop(self, key: Key) -> None:
        # Its memory goes to others, whose copies another thread might start.
        self._check("cudaStreamSynchronize", self._cuda.cudaStreamSynchronize(self._stream))
        for output in self._graphs.pop(key).outputs:
            self._free.pop(_form(output), None)

    def _fill(self, given: Any, place: Any) -> None:
        if isinstance(given, np.ndarray):
            self._memory.upload(given, place)
        else:
            self._memory.copy(given, place)

    def _copy_out(self, output: Any) -> Any:
        self._take_back()
        form = _form(output)
        free = self._free.get(form)
        copy = free.pop() if free else self._memory.allocate(*form)
        self._memory.copy(output, copy)
        return copy

    def _take_back(self) -> None:
        """Keep what was given back and fits an output of a graph; memory is asked for slowly."""
        while not self._given_back.empty():
            tensor = self._given_back.get()
            forms = {_form(output) for graph in self._graphs.values() for output in graph.outputs}
            kept = self._free.setdefault(_form(tensor), [])
            if _form(tensor) in forms and len(kept) < SPARE:
                kept.append(tensor)

    def _check(self, call: str, status: int, what: str = "") -> None:
        if status != 0:
            self._cuda.cudaGetLastError()  # or TVM's next call would find it
            named = self._cuda.cudaGetErrorName(status).decode()
            graph = " ".join(filter(None, ("a CUDA graph", what)))
            raise EnvironmentFault(
                f"{graph} cannot be had: {call} gives {named} ({status}); load the artifact with "
                "graphs=False"
            )


def _form(tensor: Any) -> Form:
    return tuple(int(size) for size in tensor.shape), str(tensor.dtype)


def _said(name: str, symbols: Mapping[str, int]) -> str:
    return f"{name} at {', '.join(f'{symbol}={size}' for symbol, size in symbols.items())}"
