"""The compiled functions of an artifact on a device, and tensors that stay there between them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..artifact.manifest import FunctionSpec, TensorSpec
from ..artifact.reader import Artifact
from ..config import SAMPLE_RATE, SAMPLES_PER_FRAME
from ..errors import EnvironmentFault
from .arrays import Array, aligned_empty, kernel_ready
from .device import Device
from .library import VirtualMachine, release_pool

_SECONDS = {"t": SAMPLES_PER_FRAME / SAMPLE_RATE, "m": SAMPLES_PER_FRAME / SAMPLE_RATE / 2}
"""Seconds of audio in one of what a symbol counts."""

Fetch = Callable[[Any, Array], None]


class Resident:
    """A tensor on a device. `numpy.asarray` copies it to the host; a compiled function of the same
    artifact takes it as it is."""

    def __init__(self, tensor: Any, fetch: Fetch) -> None:
        """`fetch(tensor, array)` copies to the host, on whichever thread that needs."""
        self.tensor = tensor
        self.shape: tuple[int, ...] = tuple(int(size) for size in tensor.shape)
        self.dtype = np.dtype(str(tensor.dtype))
        self._fetch = fetch

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """A copy on the host. Raises ValueError for `copy=False`, which a device cannot give."""
        if copy is False:
            raise ValueError("a tensor on a device cannot be had without a copy")
        array = aligned_empty(self.shape, self.dtype)
        self._fetch(self.tensor, array)
        return array if dtype is None else array.astype(dtype)


class DeviceExecutable:
    """Make and call it in one thread only. The parameters are copied to the device once.

    Raises ArtifactError where the library or the parameters cannot be used, EnvironmentFault where
    the device has no room for them.
    """

    def __init__(self, artifact: Artifact, tvm_ffi: Any, device: Device) -> None:
        self._tvm_ffi = tvm_ffi
        self._device = device
        self._specs: Mapping[str, FunctionSpec] = artifact.manifest.functions
        self._place = tvm_ffi.Device(device.code, device.index)
        self._allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        self._upload_bytes = tvm_ffi.get_global_func("runtime.TVMTensorCopyFromBytes")
        self._download_bytes = tvm_ffi.get_global_func("runtime.TVMTensorCopyToBytes")
        machine = VirtualMachine(artifact.library, tvm_ffi, device.code, device.index)
        self._functions = {name: machine.function(name) for name in self._specs}
        self._parameter_bytes = 0
        self._parameters = self._upload_parameters(artifact)

    def call(
        self, name: str, symbols: Mapping[str, int], inputs: Sequence[Array | Resident]
    ) -> list[Any]:
        """Call function `name`; returns its outputs as tensors of the device.

        `symbols` are the sizes the inputs' shapes stand for. Raises EnvironmentFault, with the
        length and an estimate, where the device runs out of memory.
        """

        def run() -> list[Any]:
            tensors = [
                given.tensor if isinstance(given, Resident) else self._upload(given)
                for given in inputs
            ]
            result = self._functions[name](*tensors, *self._parameters[name])
            return [result] if hasattr(result, "__dlpack__") else list(result)

        try:
            return run()
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
        # What other lengths left behind is kept for reuse: give that back, and try once more.
        release_pool(self._tvm_ffi)
        try:
            return run()
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            raise EnvironmentFault(self._no_room(name, symbols)) from error

    def fetch(self, tensor: Any, array: Array) -> None:
        """Copy a tensor to an array of its shape and dtype, after all that is under way."""
        if array.nbytes:
            self._download_bytes(tensor, array.ctypes.data_as(ctypes.c_void_p), array.nbytes)

    def _upload(self, array: Array) -> Any:
        ready = kernel_ready(array)
        shape = self._tvm_ffi.Shape([int(size) for size in array.shape])
        tensor = self._allocate(shape, self._tvm_ffi.dtype(str(array.dtype)), self._place, None)
        if array.nbytes:
            self._upload_bytes(tensor, ready.ctypes.data_as(ctypes.c_void_p), array.nbytes)
        return tensor

    def _upload_parameters(self, artifact: Artifact) -> dict[str, list[Any]]:
        uploaded: dict[str, Any] = {}
        found: dict[str, list[Any]] = {}
        for name, spec in self._specs.items():
            arrays = artifact.parameters(name)
            for parameter, array in zip(spec.parameters, arrays, strict=True):
                if parameter.name in uploaded:  # functions share some
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
