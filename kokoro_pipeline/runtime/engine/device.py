"""The device that the functions of an artifact run on: `--device auto|cpu|cuda:N|metal`.

The requested device is used, or an error says why it cannot be. `auto` is the device that the
artifact was compiled for and not the best one of the machine, since the artifact has no other code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError

from .cuda_driver import (
    TVM_CUDA_LIBRARY,
    CudaDriver,
    load_cuda_runtime,
    needed_version,
    read_driver,
)
from .library import find_runtime_library

AUTO = "auto"
CPU = "cpu"
KNOWN = "auto, cpu, cuda, cuda:N (N is the GPU's number, from 0), metal"

MIN_MULTIPROCESSORS = 8
"""Multiprocessors that a CUDA artifact needs: so many blocks of its LSTMs wait for each other."""

_CODES = {CPU: 1, "cuda": 2, "metal": 8}  # DLPack's
_DRIVER_OF_CUDA = {12: "525", 13: "580"}


@dataclass(frozen=True)
class Device:
    """An available device, with the vendor's name and its memory in bytes (0 if unknown)."""

    kind: str = CPU
    index: int = 0
    name: str = ""
    memory: int = 0

    @property
    def code(self) -> int:
        """DLPack's code of the device kind."""
        return _CODES[self.kind]

    def __str__(self) -> str:
        said = self.kind if self.kind == CPU else f"{self.kind}:{self.index}"
        return f"{said} ({self.name})" if self.name else said


def parse_device(text: str) -> tuple[str, int]:
    """Parse "auto", "cpu", "cuda", "cuda:N" or "metal" into (kind, index).

    Raises InputError for anything else.
    """
    match = (
        re.fullmatch(r"(auto|cpu|metal|cuda)(?::(\d+))?", text) if isinstance(text, str) else None
    )
    if match is None or (match[2] and match[1] != "cuda"):
        raise InputError(f"unknown device {text!r}: the known are {KNOWN}")
    return match[1], int(match[2] or 0)


def find_device(
    wanted: str,
    target: TargetInfo,
    where: str = "the artifact",
    ask_driver: Callable[[], CudaDriver] = read_driver,
) -> Device:
    """The requested device, after checking that it is available and can run code for `target`.

    Raises InputError for an unknown device or an index out of range, ArtifactError if the library
    is for another kind of device or another GPU, and EnvironmentFault if the machine lacks the
    device, the driver, or the required version of it, or the GPU is too small.
    """
    kind, index = parse_device(wanted)
    if kind == AUTO:
        kind = target.device
    if kind != target.device:
        built = f"{target.device} ({' '.join(target.archs)})" if target.archs else target.device
        flag = "llvm" if kind == CPU else kind
        raise ArtifactError(
            f"{where} was compiled for {built}, and --device {wanted} was asked for: leave out "
            f"--device, or build another with: kokoro-pipeline build --target {flag} -o DIR"
        )
    if kind == "cuda":
        return _cuda(index, target, where, ask_driver())
    if kind == "metal" and sys.platform != "darwin":
        raise EnvironmentFault(
            f"{where} was compiled for Metal, which Macs have and {sys.platform} has not: copy it "
            "to a Mac, or build for this machine with: kokoro-pipeline build -o DIR"
        )
    return Device(kind, index)


def start_device(device: Device) -> None:
    """Load the libraries that TVM needs for the device. The TVM runtime must be loaded already.

    Raises EnvironmentFault if one of them is missing or does not load.
    """
    if device.kind == "cuda":
        load_cuda_runtime(find_runtime_library().with_name(TVM_CUDA_LIBRARY))
    elif device.kind == "metal":
        _load_metal_runtime()


def _cuda(index: int, target: TargetInfo, where: str, driver: CudaDriver) -> Device:
    needed = needed_version(find_runtime_library().with_name(TVM_CUDA_LIBRARY))
    if driver.version[0] < needed:
        release = _DRIVER_OF_CUDA.get(needed)
        raise EnvironmentFault(
            f"the NVIDIA driver is for CUDA {driver.version[0]}.{driver.version[1]}, the TVM "
            f"runtime needs {needed}.0: install driver {release or 'of that version'} or newer; "
            f"for a data center's GPU cuda-compat-{needed}-0 with its folder in $LD_LIBRARY_PATH "
            "does too"
        )
    if index >= len(driver.devices):
        names = ", ".join(f"cuda:{i} ({found.name})" for i, found in enumerate(driver.devices))
        raise InputError(f"there is no cuda:{index}: this machine has {names or 'no GPU'}")
    gpu = driver.devices[index]
    if not _runs(gpu.arch, target.archs):
        built = ", ".join(target.archs) or "no architecture"
        wish = f'{{"kind": "cuda", "arch": "{gpu.arch}"}}'
        raise ArtifactError(
            f"{where} has code for {built}, and cuda:{index} ({gpu.name}) is {gpu.arch}: build for "
            f"it with: kokoro-pipeline build --target '{wish}' -o DIR"
        )
    if gpu.multiprocessors < MIN_MULTIPROCESSORS:
        raise EnvironmentFault(
            f"cuda:{index} ({gpu.name}) has {gpu.multiprocessors} multiprocessors, and the LSTMs "
            f"need {MIN_MULTIPROCESSORS} at the same time: take a larger GPU (or slice of one), or "
            "run an artifact for the CPU: kokoro-pipeline build --target llvm -o DIR"
        )
    return Device("cuda", index, gpu.name, gpu.memory)


def _runs(arch: str, built: tuple[str, ...]) -> bool:
    """Whether there is machine code for the GPU's generation, or PTX for an earlier one."""

    def split(name: str) -> tuple[int, int]:
        number = int(name.partition("_")[2])
        return number // 10, number % 10

    here, there = split(arch), [split(name) for name in built]
    same = any(major == here[0] and minor <= here[1] for major, minor in there)
    return same or (bool(there) and max(there) <= here)


def _load_metal_runtime() -> None:
    import ctypes

    library = find_runtime_library().with_name("libtvm_runtime_metal.dylib")
    try:
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise EnvironmentFault(
            f"{library.name} fails to load: {error}; reinstall apache-tvm 0.27 from PyPI"
        ) from error
