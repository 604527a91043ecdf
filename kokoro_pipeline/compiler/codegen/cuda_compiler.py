"""Compile CUDA C++ to machine code, without a GPU and without a driver.

Uses nvcc if it is installed, else NVRTC, which is available from PyPI. Fast math is off, so that
sin, exp and atan2 keep the accuracy that `validate` demands. Multiply-adds are contracted, as on
the CPU.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.engine.cuda_driver import nvidia_folders

from .fatbin import read_fatbin, write_fatbin

_EXACT = ("--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--fmad=true")
_STANDARD = "-std=c++17"


@dataclass(frozen=True)
class KernelResources:
    """The resources that ptxas assigned to one kernel on one architecture.

    `registers`, `stack_bytes` and `spill_bytes` (stored to memory for lack of registers) are per
    thread; `shared_bytes` is the statically allocated shared memory per block.
    """

    kernel: str
    arch: str
    registers: int
    spill_bytes: int
    stack_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class CudaBinary:
    """A fat binary: machine code for each architecture, and PTX for the newest."""

    data: bytes
    resources: tuple[KernelResources, ...]
    compiler: str


class CudaCompiler(Protocol):
    """Compiles CUDA C++ to a fat binary."""

    @property
    def name(self) -> str:
        """The compiler and its version, for messages."""

    def compile(self, source: str, archs: Sequence[str]) -> CudaBinary:
        """Compile to machine code for `archs` (such as "sm_80", oldest first) and PTX for the last.

        Raises EnvironmentFault with the compiler's output.
        """


@dataclass(frozen=True)
class Nvcc:
    """The nvcc program of the CUDA toolkit."""

    program: str
    name: str

    def compile(self, source: str, archs: Sequence[str]) -> CudaBinary:
        """As `CudaCompiler` says."""
        numbers = [arch.removeprefix("sm_") for arch in archs]
        codes = [f"arch=compute_{number},code=sm_{number}" for number in numbers]
        codes.append(f"arch=compute_{numbers[-1]},code=compute_{numbers[-1]}")
        with tempfile.TemporaryDirectory(prefix="kokoro-cuda-") as folder:
            text, output = Path(folder, "kernels.cu"), Path(folder, "kernels.fatbin")
            text.write_text(source, encoding="utf-8")
            command = [self.program, "-O3", _STANDARD, "-fatbin", "-Xptxas", "-v", *_EXACT]
            for code in codes:
                command += ["-gencode", code]
            command += ["-o", str(output), str(text)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                raise EnvironmentFault(f"{self.name} could not be started: {error}") from error
            words = done.stdout + done.stderr
            if done.returncode != 0 or not output.is_file():
                raise EnvironmentFault(
                    f"{self.name} could not compile the kernels (exit status {done.returncode}): "
                    f"{words.strip()[-2000:]}"
                )
            data = output.read_bytes()
        _check_entries(data, archs, self.name)
        return CudaBinary(data, parse_resources(words), self.name)


class Nvrtc:
    """The compiler library NVRTC, from the package nvidia-cuda-nvrtc or the toolkit."""

    def __init__(self, library: Path) -> None:
        """Load the library. Raises EnvironmentFault if that fails."""
        try:
            # NVRTC looks for this library by its bare name, so it must be loaded already.
            for builtins in sorted(library.parent.glob("libnvrtc-builtins.so*")):
                ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
            self._library = ctypes.CDLL(str(library))
        except OSError as error:
            raise EnvironmentFault(f"{library} does not load: {error}") from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.name = f"NVRTC {major.value}.{minor.value}"
        self._include = library.parent.parent / "include"

    def compile(self, source: str, archs: Sequence[str]) -> CudaBinary:
        """As `CudaCompiler` says."""
        cubins: dict[int, bytes] = {}
        resources: list[KernelResources] = []
        for arch in archs:
            log, cubins[_number(arch)] = self._program(source, arch, "CUBIN")
            resources += parse_resources(log)
        newest = archs[-1].replace("sm_", "compute_")
        _, text = self._program(source, newest, "PTX")
        data = write_fatbin(cubins, {_number(newest): text})
        _check_entries(data, archs, self.name)
        return CudaBinary(data, tuple(resources), self.name)

    def _program(self, source: str, arch: str, form: str) -> tuple[str, bytes]:
        """Compile one program; returns the compiler's log and the code as "CUBIN" or "PTX"."""
        options = [f"-arch={arch}", _STANDARD, "-default-device", *_EXACT]
        if form == "CUBIN":
            options.append("--ptxas-options=-v")
        if self._include.is_dir():
            options.append(f"-I{self._include}")
        names, texts = zip(*_HEADERS.items(), strict=True)
        program = ctypes.c_void_p()
        self._check(
            self._library.nvrtcCreateProgram(
                ctypes.byref(program),
                source.encode(),
                b"kernels.cu",
                len(names),
                (ctypes.c_char_p * len(names))(*(text.encode() for text in texts)),
                (ctypes.c_char_p * len(names))(*(name.encode() for name in names)),
            )
        )
        try:
            words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(program, len(options), words)
            log = self._bytes(program, "ProgramLog").decode("utf-8", errors="replace")
            if status != 0:
                raise EnvironmentFault(
                    f"{self.name} could not compile the kernels for {arch} "
                    f"({self._words(status)}): {log.strip()[-2000:]}"
                )
            return log, self._bytes(program, form)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, form: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{form}Size")(program, ctypes.byref(size)))
        room = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{form}")(program, room))
        data = room.raw[: size.value]
        return data if form == "CUBIN" else data.rstrip(b"\0")

    def _check(self, status: int) -> None:
        if status != 0:
            raise EnvironmentFault(f"NVRTC failed: {self._words(status)}")

    def _words(self, status: int) -> str:
        return str(self._library.nvrtcGetErrorString(status).decode())


# The parts of libcu++ that TVM's CUDA code includes. libcu++ is a separate package, and these
# definitions need nothing but the language.
_HEADERS = {
    "cuda/std/cstdint": """\
namespace cuda { namespace std {
using int8_t = signed char; using uint8_t = unsigned char;
using int16_t = short; using uint16_t = unsigned short;
using int32_t = int; using uint32_t = unsigned int;
using int64_t = long long; using uint64_t = unsigned long long;
} }
""",
    "cuda/std/type_traits": """\
namespace cuda { namespace std {
template <bool V> struct truth_ { static constexpr bool value = V; };
template <class A, class B> struct is_same : truth_<false> {};
template <class A> struct is_same<A, A> : truth_<true> {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class A> struct is_floating_point : truth_<
    is_same_v<A, float> || is_same_v<A, double>> {};
template <class A> struct is_unsigned : truth_<
    is_same_v<A, bool> || is_same_v<A, unsigned char> || is_same_v<A, unsigned short> ||
    is_same_v<A, unsigned int> || is_same_v<A, unsigned long> ||
    is_same_v<A, unsigned long long>> {};
template <class A> struct is_integral : truth_<
    is_unsigned<A>::value || is_same_v<A, char> || is_same_v<A, signed char> ||
    is_same_v<A, short> || is_same_v<A, int> || is_same_v<A, long> || is_same_v<A, long long>> {};
template <class A> struct is_signed : truth_<
    is_floating_point<A>::value || (is_integral<A>::value && !is_unsigned<A>::value)> {};
template <bool C, class A = void> struct enable_if {};
template <class A> struct enable_if<true, A> { using type = A; };
template <bool C, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
} }
""",
}


def find_cuda_compiler() -> CudaCompiler:
    """Find a CUDA compiler: nvcc, else NVRTC.

    nvcc is searched in $CUDA_HOME, $CUDA_PATH, $PATH, the package nvidia-cuda-nvcc and
    /usr/local/cuda; NVRTC in the package nvidia-cuda-nvrtc and in the toolkit.

    Raises EnvironmentFault if neither is found; the message says how to install either.
    """
    for program in _nvcc_programs():
        found = shutil.which(program)
        if found is not None:
            return Nvcc(found, f"nvcc {_nvcc_version(found)}")
    for library in _nvrtc_libraries():
        return Nvrtc(library)
    raise EnvironmentFault(
        "no CUDA compiler found, and --target cuda compiles ahead of time: "
        "pip install nvidia-cuda-nvrtc (no GPU and no driver needed), or install NVIDIA's CUDA "
        "toolkit for nvcc (its bin folder in PATH, or $CUDA_HOME)"
    )


def parse_resources(words: str) -> tuple[KernelResources, ...]:
    """Parse the output of `ptxas -v` into the resources of each kernel and architecture.

    Raises EnvironmentFault if the output for a kernel is incomplete.
    """
    found = []
    pieces = re.split(r"Compiling entry function '([^']+)' for '(\w+)'", words)
    for kernel, arch, said in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        spills = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", said)
        registers = re.search(r"Used (\d+) registers", said)
        shared = re.search(r"(\d+)(?:\+\d+)? bytes smem", said)
        if registers is None or spills is None:
            raise EnvironmentFault(
                f"ptxas did not say what {kernel} uses on {arch}: {said.strip()[:500]}"
            )
        found.append(
            KernelResources(
                kernel=kernel,
                arch=arch,
                registers=int(registers[1]),
                spill_bytes=int(spills[2]),
                stack_bytes=int(spills[1]),
                shared_bytes=int(shared[1]) if shared else 0,
            )
        )
    return tuple(found)


def _nvcc_programs() -> Iterator[str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield str(Path(os.environ[variable], "bin", "nvcc"))
    yield "nvcc"
    for folder in nvidia_folders("bin"):
        yield str(folder / "nvcc")
    yield "/usr/local/cuda/bin/nvcc"


def _nvrtc_libraries() -> Iterator[Path]:
    for folder in nvidia_folders("lib"):
        yield from sorted(folder.glob("libnvrtc.so.*"))
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            yield from sorted(Path(root, "lib64").glob("libnvrtc.so.*"))


def _nvcc_version(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return "(version unknown)"
    match = re.search(r"release ([\d.]+)", done.stdout)
    return match[1] if match else "(version unknown)"


def _number(arch: str) -> int:
    return int(arch.partition("_")[2])


def _check_entries(data: bytes, archs: Sequence[str], name: str) -> None:
    """Raise EnvironmentFault if code for an architecture is missing.

    Otherwise the library would only fail when it is loaded.
    """
    wanted = {("cubin", _number(arch)) for arch in archs} | {("ptx", _number(archs[-1]))}
    found = set(read_fatbin(data))
    if not wanted <= found:
        raise EnvironmentFault(f"{name} made {sorted(found)} where {sorted(wanted)} were asked for")
