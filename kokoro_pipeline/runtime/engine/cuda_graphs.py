"""CUDA graphs of the compiled functions: a single launch for sizes that occur again.

The kernels of a function are captured with the addresses and sizes of one call, and the graph
repeats exactly these launches. Therefore every graph owns the memory at those addresses: its own
inputs, into which the inputs of each call are copied, and the storages that the VM allocated during
the capture, which would otherwise return to the pool and be used by other calls. Results are copied
out, since the next launch overwrites them.

Copies use the default stream, which CUDA orders with respect to the (blocking) stream of the
graphs. The functions do not return to the host while they run, which is a requirement for capturing
them.
"""

from __future__ import annotations

import ctypes
import gc
import queue
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault

from .arrays import Array

GRAPHS = 64
"""Maximum number of graphs of all functions and sizes; the least recently used is dropped."""
SEEN = 1024
"""Number of sizes that are remembered after their first call."""

SPARE = 4
"""Number of outputs per shape that are kept for later calls."""

_RELAXED = 2
"""The capture mode that does not forbid any call, on this thread or another."""
_ALLOCATION = "vm.builtin.alloc_storage"

Key = tuple[str, tuple[tuple[str, int], ...]]
Form = tuple[tuple[int, ...], str]
"""Shape and dtype."""
Run = Callable[[Sequence[Any]], list[Any]]
"""Calls a function on tensors of the device and returns its outputs."""


@dataclass(frozen=True)
class DeviceMemory:
    """The operations on tensors of a device that graphs need."""

    allocate: Callable[[tuple[int, ...], str], Any]
    """(shape, dtype) -> an uninitialized tensor."""
    upload: Callable[[Array, Any], None]
    copy: Callable[[Any, Any], None]
    """(source, destination), tensors of the same shape and dtype."""


@dataclass(eq=False)
class _Captured:
    """A graph, the tensors that it reads and writes, and the storages that must outlive it."""

    handle: ctypes.c_void_p
    inputs: list[Any]
    outputs: list[Any]
    storages: list[Any] = field(repr=False)

    def __post_init__(self) -> None:
        self.output_forms = [_form(output) for output in self.outputs]


class CudaGraphs:
    """The graphs of one VM. Create and use it only on the thread of the VM, except `give_back`."""

    def __init__(
        self,
        tvm_ffi: Any,
        device: Any,
        runtime_library: str,
        instrument: Callable[[Any], None],
        memory: DeviceMemory,
        limit: int = GRAPHS,
    ) -> None:
        """Create a stream for the graphs.

        `runtime_library` is the name of CUDA's runtime library, which is already loaded.
        `instrument` sets the instrument of the VM; None removes it. `limit` is the maximum number
        of graphs.

        Raises EnvironmentFault if CUDA cannot create a stream.
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
        self._forms: Counter[Form] = Counter()  # of the outputs of all graphs
        self._free: dict[Form, list[Any]] = {}
        # SimpleQueue.put is safe inside the garbage collector, which may call `give_back`.
        self._given_back: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __len__(self) -> int:
        return len(self._graphs)

    def call(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Any], run: Run
    ) -> list[Any] | None:
        """Run function `name` for the sizes `symbols` by a graph and return its outputs.

        Returns None if these sizes were not called before. The caller then runs the function
        itself, and the next call captures it. `inputs` are arrays, or tensors of the device.

        Raises EnvironmentFault if CUDA cannot create a graph, RuntimeError if memory runs out.
        """
        key = (name, tuple(sorted(symbols.items())))
        if key not in self._graphs:
            if key not in self._seen:
                self._seen[key] = None
                if len(self._seen) > SEEN:
                    self._seen.popitem(last=False)
                return None
            self._graphs[key] = self._capture(name, symbols, inputs, run)
            self._forms.update(self._graphs[key].output_forms)
            if len(self._graphs) > self._limit:
                self._drop(next(iter(self._graphs)))
        self._graphs.move_to_end(key)
        graph = self._graphs[key]
        for given, place in zip(inputs, graph.inputs, strict=True):
            self._fill(given, place)
        status = self._cuda.cudaGraphLaunch(graph.handle, self._stream)
        if status != 0:
            self._check("cudaGraphLaunch", status, f"of {_said(name, symbols)}")
        self._take_back()
        return list(map(self._copy_out, graph.outputs, graph.output_forms))

    def clear(self) -> None:
        """Drop every graph and its memory. Sizes that were called before are still remembered."""
        while self._graphs:
            self._drop(next(iter(self._graphs)))
        self._take_back()
        self._free.clear()

    def give_back(self, tensor: Any) -> None:
        """Return an output that is no longer read. Can be called from any thread."""
        self._given_back.put(tensor)

    def _capture(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Any], run: Run
    ) -> _Captured:
        places = [self._memory.allocate(*_form(given)) for given in inputs]
        # Memory cannot be allocated during the capture. Allocate the storages of a call beforehand,
        # none of which is released before the end of the call, so that the capture finds all of
        # them in the pool. This is done twice, since the VM holds on to its latest result.
        for _ in range(2):
            with self._keeping() as storages:
                run(places)
            storages.clear()
        what = f"of {_said(name, symbols)}"
        with _collector_paused():
            graph, outputs, storages = self._record(what, places, run)
        handle = ctypes.c_void_p()
        made = self._cuda.cudaGraphInstantiate(ctypes.byref(handle), graph, ctypes.c_ulonglong(0))
        self._cuda.cudaGraphDestroy(graph)
        self._check("cudaGraphInstantiate", made, what)
        captured = _Captured(handle, places, outputs, storages)
        finalizer = weakref.finalize(captured, self._cuda.cudaGraphExecDestroy, handle)
        finalizer.atexit = False  # the driver may have shut down earlier
        return captured

    def _record(
        self, what: str, places: Sequence[Any], run: Run
    ) -> tuple[ctypes.c_void_p, list[Any], list[Any]]:
        """Capture a call: the graph, the outputs and the storages of the call."""
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
            # Also after an error: while a stream captures, it cannot be used for anything else.
            end = self._cuda.cudaStreamEndCapture(self._stream, ctypes.byref(graph))
        self._check("cudaStreamEndCapture", end, what)
        return graph, outputs, storages

    @contextmanager
    def _keeping(self) -> Iterator[list[Any]]:
        """Context in which every storage that the VM allocates is kept in the returned list."""
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
        # Wait for the stream: the memory of the graph may be reused right away.
        self._check("cudaStreamSynchronize", self._cuda.cudaStreamSynchronize(self._stream))
        forms = self._graphs.pop(key).output_forms
        self._forms.subtract(forms)
        for form in forms:
            self._free.pop(form, None)

    def _fill(self, given: Any, place: Any) -> None:
        if isinstance(given, np.ndarray):
            self._memory.upload(given, place)
        else:
            self._memory.copy(given, place)

    def _copy_out(self, output: Any, form: Form) -> Any:
        free = self._free.get(form)
        copy = free.pop() if free else self._memory.allocate(*form)
        self._memory.copy(output, copy)
        return copy

    def _take_back(self) -> None:
        """Keep returned tensors that fit an output of a graph, since allocating memory is slow."""
        while not self._given_back.empty():
            tensor = self._given_back.get()
            form = _form(tensor)
            kept = self._free.setdefault(form, [])
            if self._forms[form] > 0 and len(kept) < SPARE:
                kept.append(tensor)

    def _check(self, call: str, status: int, what: str = "") -> None:
        if status != 0:
            self._cuda.cudaGetLastError()  # resets the error, which TVM's next call would see
            named = self._cuda.cudaGetErrorName(status).decode()
            graph = " ".join(filter(None, ("a CUDA graph", what)))
            raise EnvironmentFault(
                f"{graph} cannot be had: {call} gives {named} ({status}); load the artifact with "
                "graphs=False"
            )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Context in which no thread frees tensors that only the garbage collector can free.

    Memory cannot be freed during a capture, and an error in a destructor ends the process.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _form(tensor: Any) -> Form:
    return tuple(int(size) for size in tensor.shape), str(tensor.dtype)


def _said(name: str, symbols: Mapping[str, int]) -> str:
    return f"{name} at {', '.join(f'{symbol}={size}' for symbol, size in symbols.items())}"
