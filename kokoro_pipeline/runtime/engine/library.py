"""TVM's runtime without TVM's Python package: tvm_ffi, libtvm_runtime and an artifact's library.

`import tvm` takes seconds and loads the compiler, which running does not need. tvm_ffi provides
functions and tensors, libtvm_runtime registers the VM, and the artifact's library is loaded as a
module.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

from .ffi_compatibility import RECOMMENDED, TVM, Pair, installed_pair, pair_install_command
from .threads import forbid_binding

CPU_DEVICE = 1
POOLED_ALLOCATOR = 2

_load_lock = threading.RLock()


def load_runtime() -> ModuleType:
    """Load tvm_ffi and libtvm_runtime into this process, once, and return the tvm_ffi module.

    Raises EnvironmentFault if one of them is missing, or if the two are incompatible; the message
    names both versions and a pair that works.
    """
    with _load_lock:
        return _load_runtime()


@functools.cache
def _load_runtime() -> ModuleType:
    pair = installed_pair()
    if pair.verdict in ("broken", "missing") or not pair.supported:
        raise _bad_pair(pair)
    library = find_runtime_library()
    forbid_binding()
    try:
        tvm_ffi = import_tvm_ffi()
    except (ImportError, OSError, RuntimeError) as error:
        raise _bad_pair(pair, f"tvm_ffi fails to import: {error}") from error
    try:
        # Global, so that the artifact's library finds the symbols of the runtime.
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise _bad_pair(pair, f"{library.name} fails to load: {error}") from error
    return tvm_ffi


def import_tvm_ffi() -> ModuleType:
    """Import tvm_ffi without importing torch, which tvm_ffi does whenever torch is installed.

    If torch is already imported, it is used. Otherwise it can still be imported afterwards, but
    another thread that imports it during this call gets an ImportError.
    """
    if "tvm_ffi" in sys.modules or "torch" in sys.modules:
        return importlib.import_module("tvm_ffi")
    with _absent("torch"):
        return importlib.import_module("tvm_ffi")


def find_runtime_library() -> Path:
    """Find libtvm_runtime without importing tvm.

    It is searched in $TVM_LIBRARY_PATH, like TVM does, in the folder of the `tvm` package, and in
    that of the installed distribution.

    Raises EnvironmentFault if it is not found.
    """
    name = {"darwin": "libtvm_runtime.dylib", "win32": "tvm_runtime.dll"}.get(
        sys.platform, "libtvm_runtime.so"
    )
    folders = list(_library_folders())
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    searched = ", ".join(str(folder) for folder in folders) or "no folder: no tvm is installed"
    raise EnvironmentFault(
        f"{name} is not there (searched {searched}); "
        f"reinstall with: {pair_install_command(*RECOMMENDED)}"
    )


def _library_folders() -> Iterator[Path]:
    override = os.environ.get("TVM_LIBRARY_PATH")
    if override:
        yield Path(override)
    try:
        spec = importlib.util.find_spec("tvm")
    except (ImportError, ValueError):  # a finder that forbids it, a half-imported module
        spec = None
    if spec is not None:
        for folder in spec.submodule_search_locations or ():
            yield Path(folder) / "lib"
    try:
        distribution = importlib.metadata.distribution(TVM)
    except importlib.metadata.PackageNotFoundError:
        return
    yield Path(str(distribution.locate_file("tvm/lib")))


@contextmanager
def _absent(module: str) -> Iterator[None]:
    """Context in which `import module` raises ImportError."""
    sys.modules[module] = None  # type: ignore[assignment] # how Python marks a module as absent
    try:
        yield
    finally:
        if sys.modules.get(module, module) is None:
            del sys.modules[module]


def _bad_pair(pair: Pair, evidence: str = "") -> EnvironmentFault:
    reason = {
        "missing": "the TVM runtime is not installed",
        "broken": "these two are known not to load together",
        "untested": "this pair is not known to work",
        "works": "this pair is known to work, so the installation is damaged",
    }[pair.verdict]
    if pair.tvm is not None and not pair.supported:
        reason = f"kokoro_pipeline runs on {TVM} 0.27"
    good = pair_install_command(*RECOMMENDED)
    return EnvironmentFault(
        f"{pair}: {reason}{f' ({evidence})' if evidence else ''}. "
        f"The pair that works is {RECOMMENDED[0]} with {RECOMMENDED[1]}: {good}"
    )


class VirtualMachine:
    """The VM of an artifact's library. Create and use it on one thread only."""

    def __init__(
        self, library: Path, tvm_ffi: Any, device: int = CPU_DEVICE, index: int = 0
    ) -> None:
        """Load `library` and start its VM on a device, given by the DLPack code of its kind.

        Raises ArtifactError if the library cannot be loaded or does not contain a VM.
        """
        self._path = library
        try:
            self._module = tvm_ffi.load_module(str(library))
            self._vm = self._module["vm_load_executable"]()
            places = [(device, index)]
            if device != CPU_DEVICE:
                places.append((CPU_DEVICE, 0))  # shapes are computed there
            self._vm["vm_initialization"](
                *(word for place in places for word in (*place, POOLED_ALLOCATOR))
            )
        except (RuntimeError, OSError, AttributeError, ValueError) as error:
            raise ArtifactError(
                f"{library} cannot be loaded as a compiled model: {_first_line(error)}; "
                "build the artifact anew"
            ) from error

    def function(self, name: str) -> Any:
        """A function of the library by name. Raises ArtifactError if it does not exist."""
        try:
            return self._vm[name]
        except (AttributeError, RuntimeError, ValueError) as error:
            raise ArtifactError(
                f"{self._path} has no function {name}, which its manifest lists; "
                "build the artifact anew"
            ) from error

    def instrument(self, watch: Any) -> None:
        """Set the VM's instrument `watch(function, name, before, result, *arguments)`.

        It is called before and after every call that the VM makes; returning 0 before a call lets
        it proceed. None removes the instrument.
        """
        self._vm["set_instrument"](watch)


def trim_heap() -> None:
    """Give what was freed back to the system, which glibc keeps for the next time."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def release_pool(tvm_ffi: Any) -> None:
    """Release the unused memory that TVM's allocator keeps for reuse."""
    tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")()


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[-1] if text else type(error).__name__
