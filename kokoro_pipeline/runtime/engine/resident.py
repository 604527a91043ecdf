"""The compiled functions of an artifact for a device, and tensors that stay on the device."""

from __future__ import annotations

import ctypes
import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kokoro_pipeline.artifact.manifest import FunctionSpec, TensorSpec
from kokoro_pipeline.artifact.reader import Artifact
from kokoro_pipeline.config import SAMPLE_RATE, SAMPLES_PER_FRAME
from kokoro_pipeline.errors import EnvironmentFault

from .arrays import Array, aligned_copy, aligned_empty
from .cuda_driver import TVM_CUDA_LIBRARY, loaded_cuda_runtime
from .cuda_graphs import CudaGraphs, DeviceMemory
from .device import Device
from .library import VirtualMachine, find_runtime_library, release_pool
from .spare_tensors import SPARE, SpareTensors

_SECONDS = {"t": SAMPLES_PER_FRAME / SAMPLE_RATE, "m": SAMPLES_PER_FRAME / SAMPLE_RATE / 2}
"""Seconds of audio per unit of a symbol."""

PENDING = 64
"""Maximum number of arrays that are kept because the device may not have copied them yet."""

Fetch = Callable[[Any, Array], None]


class Resident:
    """A tensor on a device.

    `numpy.asarray` copies it to the host; the compiled functions of the same artifact take it
    without a copy.
    """

    def __init__(
        self,
        tensor: Any,
        fetch: Fetch,
        release: Callable[[Any], None] | None = None,
        wait: Callable[[], None] | None = None,
    ) -> None:
        """Wrap a tensor.

        `fetch(tensor, array)` copies it to the host and takes care of calling TVM on the right
        thread. `release(tensor)` is called when nothing refers to this object any more. `wait()`
        returns when the device has finished all pending work.
        """
        self.tensor = tensor
        self._wait = wait
        if release is not None:
            weakref.finalize(self, release, tensor).atexit = False
        self.shape: tuple[int, ...] = tuple(int(size) for size in tensor.shape)
        self.dtype = np.dtype(str(tensor.dtype))
        self._fetch = fetch

    def wait(self) -> None:
        """Wait until the tensor is computed.

        This is only needed for measurements, since functions and copies wait by themselves.
        """
        if self._wait is not None:
            self._wait()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """A copy on the host. Raises ValueError for `copy=False`, which is impossible here."""
        if copy is False:
            raise ValueError("a tensor on a device cannot be converted to an array without a copy")
        array = aligned_empty(self.shape, self.dtype)
        self._fetch(self.tensor, array)
        return array if dtype is None else array.astype(dtype)


class DeviceExecutable:
    """Calls the compiled functions on a device. Create and use it on one thread only.

    The parameters are copied to the device once. With `graphs` (CUDA only), functions are captured
    as CUDA graphs for sizes that occur again.

    Raises ArtifactError if the library or the parameters cannot be used, EnvironmentFault if they
    do not fit into the memory of the device.
    """

    def __init__(
        self, artifact: Artifact, tvm_ffi: Any, device: Device, graphs: bool = False
    ) -> None:
        self._tvm_ffi = tvm_ffi
        self._device = device
        self._specs: Mapping[str, FunctionSpec] = artifact.manifest.functions
        self._place = tvm_ffi.Device(device.code, device.index)
        self._allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        self._copy = tvm_ffi.get_global_func("runtime.TVMTensorCopyFromTo")
        self._download_bytes = tvm_ffi.get_global_func("runtime.TVMTensorCopyToBytes")
        self._synchronize = tvm_ffi.get_global_func("runtime.Device_StreamSync")
        self._pending: list[Array] = []
        # CUDA copies to a tensor only after the kernels that still read it; for Metal this is not
        # documented.
        self._spare = SpareTensors(self._empty, SPARE if device.kind == "cuda" else 0)
        machine = VirtualMachine(artifact.library, tvm_ffi, device.code, device.index)
        self._functions = {name: machine.function(name) for name in self._specs}
        self._parameter_bytes = 0
        self._parameters = self._upload_parameters(artifact)
        self._graphs = self._make_graphs(machine) if graphs else None

    def call(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Array | Resident]
    ) -> list[Any]:
        """Call function `name` and return its outputs as tensors of the device.

        `symbols` are the values of the symbolic sizes of the inputs.

        Raises EnvironmentFault if the device runs out of memory; the message gives the length and
        an estimate of the memory needed.
        """

        def run(graphs: CudaGraphs | None) -> list[Any]:
            given = [i.tensor if isinstance(i, Resident) else i for i in inputs]
            if graphs is not None:
                function = functools.partial(self._run, name)
                outputs = graphs.call(name, symbols, given, function)
                if outputs is not None:
                    return outputs
            return self._run_on_arrays(name, given)

        try:
            return run(self._graphs)
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
        # Memory of calls with other lengths is kept for reuse, and graphs keep their own. Release
        # both, and try again with only the memory that this call needs.
        if self._graphs is not None:
            self._graphs.clear()
        self._spare.clear()
        release_pool(self._tvm_ffi)
        try:
            return run(None)
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            raise EnvironmentFault(self._no_room(name, symbols)) from error

    def fetch(self, tensor: Any, array: Array) -> None:
        """Copy a tensor to an array of the same shape and dtype, after all pending work."""
        if array.nbytes:
            self._download_bytes(tensor, array.ctypes.data_as(ctypes.c_void_p), array.nbytes)
            self._pending.clear()

    def wait(self) -> None:
        """Wait for all pending work of the device."""
        self._synchronize(self._place, 0)
        self._pending.clear()

    def release(self, tensor: Any) -> None:
        """Record that an output is no longer read. Can be called from any thread."""
        if self._graphs is not None:
            self._graphs.give_back(tensor)

    def _run_on_arrays(self, name: str, inputs: Sequence[Any]) -> list[Any]:
        """Call a function after copying host arrays to tensors left over from earlier calls.

        The device executes the copies after pending work that still reads these tensors.
        """
        taken: list[Any] = []
        tensors: list[Any] = []
        for given in inputs:
            if isinstance(given, np.ndarray):
                taken.append(self._spare.take(given.shape, str(given.dtype)))
                self._fill(given, taken[-1])
                tensors.append(taken[-1])
            else:
                tensors.append(given)
        outputs = self._run(name, tensors)
        given_out = {output.data_ptr() for output in outputs}
        self._spare.give(tensor for tensor in taken if tensor.data_ptr() not in given_out)
        return outputs

    def _run(self, name: str, tensors: Sequence[Any]) -> list[Any]:
        result = self._functions[name](*tensors, *self._parameters[name])
        return [result] if hasattr(result, "__dlpack__") else list(result)

    def _make_graphs(self, machine: VirtualMachine) -> CudaGraphs:
        memory = DeviceMemory(self._empty, self._fill, self._copy)
        library = loaded_cuda_runtime(find_runtime_library().with_name(TVM_CUDA_LIBRARY))
        return CudaGraphs(self._tvm_ffi, self._place, library, machine.instrument, memory)

    def _empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        sizes = self._tvm_ffi.Shape([int(size) for size in shape])
        return self._allocate(sizes, self._tvm_ffi.dtype(dtype), self._place, None)

    def _fill(self, array: Array, tensor: Any) -> None:
        """Copy an array to a tensor after pending work, without waiting for it.

        The device may read the array later, so that it gets a copy that nobody changes, which is
        kept until all work is known to be done.
        """
        if array.nbytes:
            if len(self._pending) >= PENDING:
                self.wait()
            self._pending.append(aligned_copy(array))
            self._copy(self._tvm_ffi.from_dlpack(self._pending[-1]), tensor)

    def _upload(self, array: Array) -> Any:
        tensor = self._empty(array.shape, str(array.dtype))
        self._fill(array, tensor)
        self.wait()
        return tensor

    def _upload_parameters(self, artifact: Artifact) -> dict[str, list[Any]]:
        uploaded: dict[str, Any] = {}
        found: dict[str, list[Any]] = {}
        for name, spec in self._specs.items():
            arrays = artifact.parameters(name)
            for parameter, array in zip(spec.parameters, arrays, strict=True):
                if parameter.name in uploaded:  # some are shared by functions
                    continue
                try:
                    uploaded[parameter.name] = self._upload(array)
                except RuntimeError as error:
                    if not _out_of_memory(error):
                        raise
                    total = {p.name: p.size for s in self._specs.values() for p in s.parameters}
                    raise EnvironmentFault(
                        f"{self._device} has no room for the parameters, "
                        f"{_size(sum(total.values()))} in all, of which "
                        f"{_size(self._parameter_bytes)} are copied{self._of_all()}: close what "
                        "else uses the device, or name another with --device"
                    ) from error
                self._parameter_bytes += array.nbytes
            found[name] = [uploaded[parameter.name] for parameter in spec.parameters]
        return found

    def _no_room(self, name: str, symbols: Mapping[str, int]) -> str:
        spec = self._specs[name]
        length = ", ".join(f"{symbol}={size}" for symbol, size in symbols.items())
        seconds = [
            size * _SECONDS[symbol] for symbol, size in symbols.items() if symbol in _SECONDS
        ]
        audio = f" ({seconds[0]:.1f} s of audio)" if seconds else ""
        ends = sum(_bytes(tensor, symbols) for tensor in (*spec.inputs, *spec.outputs))
        needs = _size(ends + spec.workspace_bytes(symbols))
        return (
            f"{self._device} is out of memory in {name} at {length}{audio}: this call needs an "
            f"estimated {needs} beside {_size(self._parameter_bytes)} of parameters{self._of_all()}"
            "; close what else uses the device, or synthesize fewer phonemes at once"
        )

    def _of_all(self) -> str:
        return f", and the device has {_size(self._device.memory)}" if self._device.memory else ""


def _bytes(tensor: TensorSpec, symbols: Mapping[str, int]) -> int:
    from .shapes import Bindings

    return (
        math.prod(Bindings(dict(symbols)).evaluate(tensor.shape)) * np.dtype(tensor.dtype).itemsize
    )


def _out_of_memory(error: RuntimeError) -> bool:
    text = str(error).lower()
    return "out of memory" in text or "memoryallocation" in text


def _size(count: int) -> str:
    return f"{count / (1 << 30):.2f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
