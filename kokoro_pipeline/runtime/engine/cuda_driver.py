"""The NVIDIA driver and CUDA's runtime library, checked through ctypes before TVM uses them.

If one of them is missing or too old, TVM itself fails to load a library, or crashes later; the
checks here have messages for each case. Nothing of CUDA is loaded unless a CUDA device was
requested.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kokoro_pipeline.errors import EnvironmentFault

DRIVER_LIBRARY = "libcuda.so.1"
TVM_CUDA_LIBRARY = "libtvm_runtime_cuda.so"

_NO_DEVICE = 100
_STUB_LIBRARY = 34
_MISMATCH = (803, 804)
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…
_PROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


@dataclass(frozen=True)
class CudaDevice:
    """A GPU: its name, its architecture ("sm_90"), its memory in bytes, its multiprocessors."""

    name: str
    arch: str
    memory: int
    multiprocessors: int


@dataclass(frozen=True)
class CudaDriver:
    """The newest CUDA version that the driver supports, (13, 0) for 13.0, and its GPUs."""

    version: tuple[int, int]
    devices: tuple[CudaDevice, ...]


def read_driver(library: str = DRIVER_LIBRARY) -> CudaDriver:
    """Query the driver. Raises EnvironmentFault if there is none, or it fails to start."""
    try:
        driver = ctypes.CDLL(library)
    except OSError as error:
        raise EnvironmentFault(
            f"no NVIDIA driver on this machine ({library} does not load: {error}); install one, or "
            "run an artifact for the CPU: kokoro-pipeline build --target llvm"
        ) from error
    status = driver.cuInit(0)
    if status == _NO_DEVICE:
        raise EnvironmentFault(
            "the NVIDIA driver sees no GPU: check nvidia-smi, $CUDA_VISIBLE_DEVICES, and in a "
            "container the option that hands GPUs to it"
        )
    if status == _STUB_LIBRARY:
        raise EnvironmentFault(
            f"the {library} that is found is the toolkit's stub, which is for linking only: take "
            "its folder out of $LD_LIBRARY_PATH, and install the NVIDIA driver"
        )
    if status in _MISMATCH:
        raise EnvironmentFault(
            f"the NVIDIA driver's parts are of different versions ({_words(driver, status)}): "
            "restart the machine, or install the driver anew"
        )
    _check(driver, status, "cuInit")
    version, count = ctypes.c_int(), ctypes.c_int()
    _check(driver, driver.cuDriverGetVersion(ctypes.byref(version)), "cuDriverGetVersion")
    _check(driver, driver.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
    devices = tuple(_device(driver, index) for index in range(count.value))
    return CudaDriver((version.value // 1000, version.value % 1000 // 10), devices)


def needed_version(tvm_library: Path) -> int:
    """The CUDA major version that TVM's CUDA library requires: 13 if it links libcudart.so.13.

    Raises EnvironmentFault if it cannot be determined.
    """
    try:
        match = re.search(rb"libcudart\.so\.(\d+)\0", tvm_library.read_bytes())
    except OSError as error:
        raise EnvironmentFault(
            f"this TVM has no CUDA runtime ({tvm_library}: {error.strerror}): install apache-tvm "
            "0.27 from PyPI, which has it on Linux"
        ) from error
    if match is None:
        raise EnvironmentFault(f"{tvm_library} names no CUDA version; reinstall apache-tvm")
    return int(match[1])


def load_cuda_runtime(tvm_library: Path) -> None:
    """Load CUDA's runtime library and TVM's CUDA library into this process, once.

    Raises EnvironmentFault if one of them is missing or does not load.
    """
    _load_cuda_runtime(tvm_library)


def loaded_cuda_runtime(tvm_library: Path) -> str:
    """The name by which the loaded CUDA runtime library can be found in this process."""
    return f"libcudart.so.{needed_version(tvm_library)}"


@functools.cache
def _load_cuda_runtime(tvm_library: Path) -> None:
    major = needed_version(tvm_library)
    name = loaded_cuda_runtime(tvm_library)
    packages = [tvm_library.parent, *nvidia_folders("lib")]
    tried = [str(folder / name) for folder in packages] + [name]
    tried += [str(folder / name) for folder in _toolkit_folders()]
    if not _is_loaded(name) and not _first_that_loads(tried):
        raise EnvironmentFault(
            f"{name} is not there: pip install 'nvidia-cuda-runtime>={major},<{major + 1}', or "
            f"install NVIDIA's CUDA toolkit {major}"
        )
    try:
        ctypes.CDLL(str(tvm_library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise EnvironmentFault(f"{tvm_library.name} fails to load: {error}") from error


def installed_cuda_runtimes(name: str) -> Iterator[Path]:
    """Paths of CUDA's runtime library `name` in packages from PyPI and in the toolkit."""
    folders = [*nvidia_folders("lib"), *_toolkit_folders()]
    return (folder / name for folder in folders if (folder / name).is_file())


def _toolkit_folders() -> list[Path]:
    homes = filter(None, (os.environ.get("CUDA_HOME"), "/usr/local/cuda"))
    return [Path(home, "lib64") for home in homes]


def nvidia_folders(*parts: str) -> Iterator[Path]:
    """Folders `nvidia/*/parts` of NVIDIA's packages from PyPI, the newest CUDA first."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for root in spec.submodule_search_locations or () if spec is not None else ():
        for package in sorted(Path(root).glob("*"), reverse=True):
            folder = package.joinpath(*parts)
            if folder.is_dir():
                yield folder


def _is_loaded(library: str) -> bool:
    """Whether a library of this name is already loaded; a second copy would have its own state."""
    try:
        ctypes.CDLL(library, os.RTLD_NOLOAD | ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _first_that_loads(libraries: list[str]) -> bool:
    for library in libraries:
        try:
            # Global, so that TVM's library finds this one by name.
            ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return True
    return False


def _device(driver: ctypes.CDLL, index: int) -> CudaDevice:
    handle = ctypes.c_int()
    _check(driver, driver.cuDeviceGet(ctypes.byref(handle), index), "cuDeviceGet")
    name = ctypes.create_string_buffer(256)
    _check(driver, driver.cuDeviceGetName(name, len(name), handle), "cuDeviceGetName")
    numbers = []
    for attribute in (_MAJOR, _MINOR, _PROCESSORS):
        value = ctypes.c_int()
        status = driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        _check(driver, status, "cuDeviceGetAttribute")
        numbers.append(value.value)
    memory = ctypes.c_size_t()
    _check(driver, driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle), "cuDeviceTotalMem")
    text = name.value.decode("utf-8", errors="replace")
    major, minor, multiprocessors = numbers
    return CudaDevice(text, f"sm_{major}{minor}", memory.value, multiprocessors)


def _check(driver: ctypes.CDLL, status: int, call: str) -> None:
    if status != 0:
        raise EnvironmentFault(
            f"the NVIDIA driver does not work: {call} gives {_words(driver, status)}; "
            "check it with nvidia-smi"
        )


def _words(driver: ctypes.CDLL, status: int) -> str:
    text = ctypes.c_char_p()
    named: Callable[..., int] | None = getattr(driver, "cuGetErrorName", None)
    if named is None or named(status, ctypes.byref(text)) != 0 or text.value is None:
        return f"error {status}"
    return f"{text.value.decode()} ({status})"
