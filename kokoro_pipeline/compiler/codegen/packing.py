"""The modules that a library imports, with CUDA text replaced by machine code.

Without a driver TVM's own CUDA module cannot be made, and TVM puts the text into the library, which
then needs a compiler where it is loaded. So the text is kept until the library is written, compiled
here, and put in its place in the bytes that TVM packs.

The bytes are TVM's: a length, the import tree, then for each module its kind and what it saved of
itself. A CUDA module saved its format, its table of functions, and its code; a code whose format is
not "cuda" is handed to the driver as it is.
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
    """Inside, code generation for a device asks for no driver and no compiler, even where TVM's
    runtime for the device is loaded: its modules hold their text."""
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
    """The texts of the modules of a device kind ("cuda", "metal") among a module's imports."""
    return [found.inspect_source("") for found in _modules(module) if found.kind == kind]


def cuda_packer(
    compile_source: Callable[[str], CudaBinary], host_target: str
) -> tuple[Callable[[Any, bool, str, str], str], list[CudaBinary]]:
    """For `linking.export_library`: a function that packs a module's imports with their CUDA text
    compiled, for a host target of TVM as JSON; and the list that it adds the binaries to."""
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
    """Every module once, the importing before the imported."""
    pending, seen = [module], set()
    while pending:
        found = pending.pop()
        handle = found.__hash__()
        if handle not in seen:
            seen.add(handle)
            yield found
            pending += list(found.imports)


def _replace(blob: bytes, text: bytes, code: bytes) -> bytes:
    """The packed modules with one CUDA module's text replaced by code, its format by that."""
    saved = struct.pack("<Q", len(text)) + text
    if blob.count(saved) != 1:
        raise EnvironmentFault(
            "TVM packed a CUDA module in a way that is not known; install apache-tvm 0.27"
        )
    end = blob.index(saved)
    # The kind, the length of what the module saved, and the format that it saved first.
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
    """A string as TVM's streams write it."""
    return struct.pack("<Q", len(text)) + text.encode()
