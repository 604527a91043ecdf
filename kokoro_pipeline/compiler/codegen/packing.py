"""Replace CUDA source by machine code in the modules that a library imports.

Without a driver, TVM cannot create its CUDA module and would put the source into the library, which
then needs a compiler when it is loaded. Therefore the source is kept until the library is written,
compiled here, and replaced in the bytes that TVM packs.

The byte format is TVM's: a length, the import tree, then for each module its kind and its
serialized content. A CUDA module serializes its format, its function table and its code. Code whose
format is not "cuda" is passed to the driver unchanged.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tvm_ffi

from kokoro_pipeline.errors import EnvironmentFault

from .cuda_compiler import CudaBinary

_FORCE = "TVM_COMPILE_FORCE_FALLBACK"
_TEXT, _BINARY = "cuda", "fatbin"


@contextmanager
def device_code_kept_as_text() -> Iterator[None]:
    """Context in which device code is generated as source, without a driver or a compiler.

    This holds even if TVM's runtime for the device is loaded.
    """
    before = os.environ.get(_FORCE)
    os.environ[_FORCE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_FORCE]
        else:
            os.environ[_FORCE] = before


def device_sources(module: Any, kind: str) -> list[str]:
    """The source of each module of the given device kind ("cuda", "metal") among the imports."""
    return [found.inspect_source("") for found in _modules(module) if found.kind == kind]


def cuda_packer(
    compile_source: Callable[[str], CudaBinary], host_target: str
) -> tuple[Callable[[Any, bool, str, str], str], list[CudaBinary]]:
    """Create the `pack` function of `linking.export_library` for a library with CUDA code.

    It packs the imports of a module with their CUDA source compiled. `host_target` is a TVM target
    as JSON. Returns the function and the list to which it appends the compiled binaries. The
    function raises EnvironmentFault if TVM's byte format is not the expected one.
    """
    binaries: list[CudaBinary] = []

    def pack(module: Any, system_lib: bool, prefix: str, workspace: str) -> str:
        blob = bytes(tvm_ffi.get_global_func("runtime.ModulePackImportsToTensor")(module).numpy())
        for source in device_sources(module, _TEXT):
            binary = compile_source(source)
            blob = _replace(blob, source.encode(), binary.data)
            binaries.append(binary)
        blob = struct.pack("<Q", len(blob) - 8) + blob[8:]
        if _string(_TEXT) * 2 in blob:
            raise EnvironmentFault("a CUDA module was left as text; please report this")
        make = tvm_ffi.get_global_func("codegen.codegen_blob")
        output = Path(workspace, f"{prefix}devc.o")
        make(blob, system_lib, host_target, prefix).write_to_file(str(output))
        return str(output)

    return pack, binaries


def _modules(module: Any) -> Iterator[Any]:
    """Iterate over all modules without duplicates, each before its imports."""
    pending, seen = [module], set()
    while pending:
        found = pending.pop()
        handle = found.__hash__()
        if handle not in seen:
            seen.add(handle)
            yield found
            pending += list(found.imports)


def _replace(blob: bytes, text: bytes, code: bytes) -> bytes:
    """Replace the source and the format of one packed CUDA module by machine code."""
    saved = struct.pack("<Q", len(text)) + text
    if blob.count(saved) != 1:
        raise EnvironmentFault(
            "TVM packed a CUDA module in a way that is not known; install apache-tvm 0.27"
        )
    end = blob.index(saved)
    # The kind, the length of the serialized content, and the format, which comes first in it.
    start = blob.rindex(_string(_TEXT), 0, end)
    kind = start - 8 - len(_string(_TEXT))
    (length,) = struct.unpack_from("<Q", blob, start - 8)
    if blob[kind : start - 8] != _string(_TEXT) or start + length != end + len(saved):
        raise EnvironmentFault(
            "TVM saved a CUDA module in a way that is not known; install apache-tvm 0.27"
        )
    table = blob[start + len(_string(_TEXT)) : end]
    payload = _string(_BINARY) + table + struct.pack("<Q", len(code)) + code
    return blob[: start - 8] + struct.pack("<Q", len(payload)) + payload + blob[end + len(saved) :]


def _string(text: str) -> bytes:
    """A string as TVM's streams serialize it."""
    return struct.pack("<Q", len(text)) + text.encode()
