"""CUDA text is replaced by machine code in the library, and nothing else changes."""

from __future__ import annotations

import os
import struct

import pytest

from kokoro_pipeline.compiler.codegen import packing
from kokoro_pipeline.compiler.codegen.cuda_compiler import CudaBinary, KernelResources
from kokoro_pipeline.compiler.codegen.fatbin import write_fatbin
from kokoro_pipeline.compiler.codegen.linking import export_library, find_linker
from kokoro_pipeline.compiler.codegen.packing import (
    cuda_packer,
    device_code_kept_as_text,
    device_sources,
)
from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.errors import EnvironmentFault

CODE = write_fatbin({80: b"\x7fELF machine code of eighty"}, {90: b".version 9.0\n"})
BINARY = CudaBinary(CODE, (KernelResources("k", "sm_80", 8, 0, 0, 0),), "fake 1.0")
TARGET = resolve_target("cuda")


@pytest.fixture(scope="module")
def executable(compile_wave):
    return compile_wave(TARGET)


@pytest.fixture
def library(executable, tmp_path):
    sources: list[str] = []

    def compile_source(source: str) -> CudaBinary:
        sources.append(source)
        return BINARY

    pack, binaries = cuda_packer(compile_source, str(TARGET.host_tvm))
    export_library(executable, tmp_path / "model.so", find_linker(), pack)
    return (tmp_path / "model.so").read_bytes(), sources, binaries


def test_code_generation_needs_no_driver_and_keeps_the_text(executable):
    (source,) = device_sources(executable.mod, "cuda")
    assert 'extern "C" __global__' in source
    assert "sinf(" in source
    assert device_sources(executable.mod, "metal") == []


def test_the_library_holds_machine_code_and_no_text(library):
    data, sources, binaries = library
    assert binaries == [BINARY]
    assert len(sources) == 1
    assert CODE in data
    assert b"__global__" not in data
    assert b"sinf(" not in data


def test_the_packed_bytes_keep_the_form_that_tvm_reads(library):
    """Length first; then of the CUDA module: its kind, its length, format, functions, code."""
    data, _, _ = library
    saved = struct.pack("<Q", len(CODE)) + CODE
    end = data.index(saved) + len(saved)
    form = struct.pack("<Q", 6) + b"fatbin"
    start = data.rindex(form, 0, end)
    (length,) = struct.unpack_from("<Q", data, start - 8)
    assert start + length == end
    assert data[start - 20 : start - 8] == struct.pack("<Q", 4) + b"cuda"
    tree = data.rindex(struct.pack("<Q", 18) + b"relax.VMExecutable", 0, start)
    heads = [at for at in range(tree - 8) if struct.unpack_from("<Q", data, at)[0] == end - at - 8]
    assert heads, "no length before the import tree says where the packed bytes end"


def test_a_module_packed_in_another_way_is_refused():
    blob = struct.pack("<Q", 4) + b"cuda" + struct.pack("<Q", 3) + b"abc"
    with pytest.raises(EnvironmentFault, match="not known"):
        packing._replace(blob, b"text", b"code")
    # the length that the module saved does not reach to the end of the text
    module = struct.pack("<Q", 4) + b"cuda" + struct.pack("<Q", 4) + b"text"
    wrong = struct.pack("<Q", 4) + b"cuda" + struct.pack("<Q", len(module) + 1) + module
    with pytest.raises(EnvironmentFault, match="not known"):
        packing._replace(wrong, b"text", b"code")
    right = struct.pack("<Q", 4) + b"cuda" + struct.pack("<Q", len(module)) + module
    assert b"text" not in packing._replace(right, b"text", b"code")


def test_a_failing_compiler_stops_the_link(executable, tmp_path):
    def fail(_source: str) -> CudaBinary:
        raise EnvironmentFault("no CUDA compiler")

    pack, _ = cuda_packer(fail, str(TARGET.host_tvm))
    with pytest.raises(EnvironmentFault, match="no CUDA compiler"):
        export_library(executable, tmp_path / "model.so", find_linker(), pack)
    assert not (tmp_path / "model.so").exists()


@pytest.mark.parametrize("before", [None, "0"])
def test_the_environment_is_left_as_it_was(before, monkeypatch):
    name = "TVM_COMPILE_FORCE_FALLBACK"
    monkeypatch.delenv(name, raising=False)
    if before is not None:
        monkeypatch.setenv(name, before)
    with pytest.raises(KeyError), device_code_kept_as_text():
        assert os.environ[name] == "1"
        raise KeyError
    assert os.environ.get(name) == before


def test_metal_is_text_that_the_system_compiles(compile_wave):
    (source,) = device_sources(compile_wave(resolve_target("metal")).mod, "metal")
    assert "kernel void" in source
