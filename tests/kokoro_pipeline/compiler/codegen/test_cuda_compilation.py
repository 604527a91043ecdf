"""Compiling CUDA text: the choice of the compiler, its options, and checks of its output."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kokoro_pipeline.compiler.codegen import cuda_compiler
from kokoro_pipeline.compiler.codegen.cuda_compiler import (
    KernelResources,
    Nvcc,
    Nvrtc,
    find_cuda_compiler,
    parse_resources,
)
from kokoro_pipeline.compiler.codegen.fatbin import read_fatbin, write_fatbin
from kokoro_pipeline.errors import EnvironmentFault

ARCHS = ("sm_80", "sm_90")
SOURCE = """
extern "C" __global__ void __launch_bounds__(256) wave(float* y, const float* x, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = i < n ? sinf(x[i]) / 3.0f : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[255 - threadIdx.x];
}
"""
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")


def real_nvrtc() -> Path | None:
    return next(iter(cuda_compiler._nvrtc_libraries()), None)


# The container


def entries(cubin: bytes = b"\x7fELF" + bytes(20), text: bytes = b".version 9.0\n.target sm_90\n"):
    return write_fatbin({90: cubin, 80: cubin[:21]}, {90: text})


def test_a_fat_binary_holds_what_was_put_in():
    data = entries()
    assert read_fatbin(data) == [("cubin", 80), ("cubin", 90), ("ptx", 90)]
    assert len(data) % 8 == 0


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF" + bytes(60), entries()[:-8], entries() + bytes(8)], ids=len
)
def test_what_is_no_fat_binary_is_refused(data):
    with pytest.raises(EnvironmentFault, match="no fat binary"):
        read_fatbin(data)


def test_ptx_without_a_version_is_refused():
    with pytest.raises(EnvironmentFault, match="PTX"):
        write_fatbin({}, {90: b"hello"})


@pytest.mark.cuda_build
@needs_nvcc
def test_the_container_is_the_toolkits_byte_for_byte(tmp_path):
    """Drivers read what nvcc writes."""
    assert NVCC is not None
    (tmp_path / "k.cu").write_text(SOURCE)

    def nvcc(output: str, *options: str) -> None:
        command = [NVCC, *options, "-o", str(tmp_path / output), str(tmp_path / "k.cu")]
        subprocess.run(command, check=True, capture_output=True)

    nvcc("sm_80-cubin", "-cubin", "-arch=sm_80")
    nvcc("sm_90-cubin", "-cubin", "-arch=sm_90")
    nvcc("compute_90-ptx", "-ptx", "-arch=compute_90")
    codes = ("80,code=sm_80", "90,code=sm_90", "90,code=compute_90")
    wanted = [word for code in codes for word in ("-gencode", f"arch=compute_{code}")]
    nvcc("theirs", "-fatbin", "-no-compress", *wanted)
    theirs = (tmp_path / "theirs").read_bytes()
    text = (tmp_path / "compute_90-ptx").read_bytes()
    cubins = {n: (tmp_path / f"sm_{n}-cubin").read_bytes() for n in (80, 90)}
    ours = write_fatbin(cubins, {90: text})
    assert sorted(read_fatbin(ours)) == sorted(read_fatbin(theirs))
    both = [_parts(ours), _parts(theirs)]
    for kind in (("cubin", 80), ("cubin", 90)):
        assert both[0][kind] == both[1][kind]
    # Comments are dropped from their text; every header field but its length must agree.
    head = [part[("ptx", 90)][:8] + part[("ptx", 90)][16:80] for part in both]
    assert head[0] == head[1]


def _parts(data: bytes) -> dict[tuple[str, int], bytes]:
    parts, place = {}, 16
    for kind in read_fatbin(data):
        header, size = struct.unpack_from("<4xIQ", data, place)
        parts[kind] = data[place : place + header + size]
        place += header + size
    return parts


# What ptxas says

WORDS = """\
ptxas info    : 24 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 25088 bytes smem
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 22 registers, used 0 barriers
"""


def test_the_resources_of_each_kernel_are_read():
    assert parse_resources(WORDS) == (
        KernelResources("first", "sm_80", 255, 12, 16, 25088),
        KernelResources("second", "sm_90", 22, 0, 0, 0),
    )
    assert parse_resources("") == ()


def test_words_that_cannot_be_read_are_no_zeroes():
    with pytest.raises(EnvironmentFault, match="did not say what first uses on sm_80"):
        parse_resources("Compiling entry function 'first' for 'sm_80'\nsomething new")


# nvcc, a stand-in


@pytest.fixture
def nvcc(tmp_path):
    """A program that records its options, prints `words` and writes `data`."""
    if os.name != "posix":
        pytest.skip("the stand-in is a shell script")

    def make(data: bytes = b"", words: str = "", status: int = 0) -> Nvcc:
        (tmp_path / "data").write_bytes(data)
        (tmp_path / "words").write_text(words)
        program = tmp_path / "nvcc"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/options\ncat {tmp_path}/words >&2\n'
            'while [ "$1" != -o ]; do shift; done\n'
            f'cp {tmp_path}/data "$2"\nexit {status}\n'
        )
        program.chmod(0o755)
        return Nvcc(str(program), "nvcc 0.0")

    return make


def test_nvcc_is_asked_for_each_architecture_and_ptx_of_the_newest(nvcc, tmp_path):
    data = entries()
    binary = nvcc(data, WORDS).compile(SOURCE, ARCHS)
    assert (binary.data, binary.compiler) == (data, "nvcc 0.0")
    assert [kernel.kernel for kernel in binary.resources] == ["first", "second"]
    options = (tmp_path / "options").read_text().split()
    assert [word for word in options if word.startswith("arch=")] == [
        "arch=compute_80,code=sm_80",
        "arch=compute_90,code=sm_90",
        "arch=compute_90,code=compute_90",
    ]
    assert "--ftz=false" in options
    assert not any("fast" in option for option in options)


def test_a_failing_nvcc_shows_its_words(nvcc):
    with pytest.raises(EnvironmentFault, match=r"exit status 2.*kernels.cu\(3\): error: no"):
        nvcc(words="kernels.cu(3): error: no", status=2).compile(SOURCE, ARCHS)


def test_an_architecture_that_nvcc_left_out_is_missed(nvcc):
    data = write_fatbin({80: b"\x7fELF"}, {90: b".version 9.0\n"})
    with pytest.raises(EnvironmentFault, match=r"\('cubin', 90\).*were asked for"):
        nvcc(data).compile(SOURCE, ARCHS)


def test_an_nvcc_that_cannot_be_started_is_no_traceback(tmp_path):
    with pytest.raises(EnvironmentFault, match="could not be started"):
        Nvcc(str(tmp_path / "nvcc"), "nvcc 0.0").compile(SOURCE, ARCHS)


# NVRTC, a stand-in: a library that keeps the options and gives back a text for each form

FAKE_NVRTC = r"""
#include <cstring>
#include <cstdio>
#include <string>
#include <vector>
static std::vector<std::string> options;
static std::string log_text, cubin("\x7f" "ELF cubin"), ptx(".version 9.0\n.target sm_90\n");
extern "C" {
const char* nvrtcGetErrorString(int code) { return code == 6 ? "COMPILATION" : "OTHER"; }
int nvrtcVersion(int* a, int* b) { *a = 13; *b = 9; return 0; }
int nvrtcCreateProgram(void** p, const char* source, const char*, int, const char**, const char**) {
  *p = (void*)(std::strstr(source, "__global__") ? 1L : 2L);
  return 0;
}
int nvrtcCompileProgram(void* p, int n, const char** given) {
  options.assign(given, given + n);
  std::FILE* file = std::fopen(OPTIONS, "a");
  for (auto& option : options) std::fprintf(file, "%s ", option.c_str());
  std::fprintf(file, "\n");
  std::fclose(file);
  if (p != (void*)1L) { log_text = "kernels.cu(1): error: nothing"; return 6; }
  log_text = "ptxas info    : Compiling entry function 'wave' for '" + options[0].substr(6) +
    "'\n 0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads\n Used 7 registers\n";
  return 0;
}
int nvrtcGetProgramLogSize(void*, size_t* n) { *n = log_text.size() + 1; return 0; }
int nvrtcGetProgramLog(void*, char* to) { std::strcpy(to, log_text.c_str()); return 0; }
int nvrtcGetCUBINSize(void*, size_t* n) { *n = cubin.size(); return 0; }
int nvrtcGetCUBIN(void*, char* to) { std::memcpy(to, cubin.data(), cubin.size()); return 0; }
int nvrtcGetPTXSize(void*, size_t* n) { *n = ptx.size() + 1; return 0; }
int nvrtcGetPTX(void*, char* to) { std::strcpy(to, ptx.c_str()); return 0; }
int nvrtcDestroyProgram(void**) { return 0; }
}
"""


@pytest.fixture(scope="module")
def nvrtc(tmp_path_factory) -> tuple[Nvrtc, Path]:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("the stand-in needs a C++ compiler")
    folder = tmp_path_factory.mktemp("nvrtc")
    (folder / "fake.cc").write_text(FAKE_NVRTC)
    options = folder / "options"
    library = folder / "libnvrtc.so.13"
    subprocess.run(
        [
            *(compiler, "-shared", "-fPIC", f'-DOPTIONS="{options}"'),
            *("-o", str(library), str(folder / "fake.cc")),
        ],
        check=True,
    )
    return Nvrtc(library), options


def test_nvrtc_compiles_each_architecture_and_packs_them(nvrtc):
    compiler, options = nvrtc
    options.unlink(missing_ok=True)
    binary = compiler.compile(SOURCE, ARCHS)
    assert binary.compiler == "NVRTC 13.9"
    assert read_fatbin(binary.data) == [("cubin", 80), ("cubin", 90), ("ptx", 90)]
    assert b"ELF cubin" in binary.data
    assert [(k.arch, k.registers, k.spill_bytes) for k in binary.resources] == [
        ("sm_80", 7, 4),
        ("sm_90", 7, 4),
    ]
    said = options.read_text().splitlines()
    assert [line.split()[0] for line in said] == ["-arch=sm_80", "-arch=sm_90", "-arch=compute_90"]
    assert all("--ftz=false" in line and "fast" not in line for line in said)


def test_a_failing_nvrtc_shows_its_words(nvrtc):
    with pytest.raises(EnvironmentFault, match=r"for sm_80 \(COMPILATION\).*error: nothing"):
        nvrtc[0].compile("nothing", ARCHS)


def test_a_library_that_does_not_load_is_named(tmp_path):
    (tmp_path / "libnvrtc.so.13").write_text("no library")
    with pytest.raises(EnvironmentFault, match=r"libnvrtc.so.13 does not load"):
        Nvrtc(tmp_path / "libnvrtc.so.13")


# Which is taken


@pytest.fixture
def installed(tmp_path, monkeypatch, nvrtc):
    """A machine with neither; the functions install one."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(cuda_compiler, "nvidia_folders", lambda *_parts: iter(()))
    monkeypatch.setattr(cuda_compiler, "_nvrtc_libraries", lambda: iter(()))
    programs = ["nvcc"]
    monkeypatch.setattr(cuda_compiler, "_nvcc_programs", lambda: iter(programs))
    return tmp_path


def test_neither_compiler_names_both_remedies(installed):
    with pytest.raises(EnvironmentFault) as caught:
        find_cuda_compiler()
    for words in ("pip install nvidia-cuda-nvrtc", "nvcc", "no driver"):
        assert words in str(caught.value)


def test_nvrtc_is_taken_where_there_is_no_nvcc(installed, nvrtc, monkeypatch):
    library = Path(nvrtc[0]._library._name)
    monkeypatch.setattr(cuda_compiler, "_nvrtc_libraries", lambda: iter([library]))
    assert find_cuda_compiler().name == "NVRTC 13.9"


def test_nvcc_comes_first(installed, nvrtc, monkeypatch):
    library = Path(nvrtc[0]._library._name)
    monkeypatch.setattr(cuda_compiler, "_nvrtc_libraries", lambda: iter([library]))
    (installed / "bin").mkdir()
    program = installed / "bin" / "nvcc"
    program.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.20'\n")
    program.chmod(0o755)
    assert find_cuda_compiler().name == "nvcc 12.6"


# The real ones


@pytest.mark.cuda_build
@needs_nvcc
def test_the_real_nvcc_compiles():
    assert NVCC is not None
    check(Nvcc(NVCC, "nvcc").compile(SOURCE, ARCHS))


@pytest.mark.cuda_build
@pytest.mark.skipif(real_nvrtc() is None, reason="NVRTC is not installed")
def test_the_real_nvrtc_compiles_and_its_stand_in_headers_suffice():
    library = real_nvrtc()
    assert library is not None
    text = (
        "#include <cuda/std/cstdint>\n#include <cuda/std/type_traits>\n"
        "static_assert(cuda::std::is_same_v<cuda::std::int64_t, long long> &&\n"
        "  cuda::std::is_signed<float>::value && !cuda::std::is_signed<unsigned>::value &&\n"
        '  cuda::std::is_integral<cuda::std::uint8_t>::value, "");\n'
    )
    check(Nvrtc(library).compile(text + SOURCE, ARCHS))


def check(binary):
    assert set(read_fatbin(binary.data)) == {("cubin", 80), ("cubin", 90), ("ptx", 90)}
    assert {kernel.arch for kernel in binary.resources} == set(ARCHS)
    for kernel in binary.resources:
        assert (kernel.kernel, kernel.shared_bytes, kernel.spill_bytes) == ("wave", 1024, 0)
        assert 8 <= kernel.registers <= 64
