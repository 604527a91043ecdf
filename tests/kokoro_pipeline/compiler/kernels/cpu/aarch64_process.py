"""Compiled kernels for Linux on aarch64 in a process that qemu emulates."""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from kokoro_pipeline.compiler.codegen.target import resolve_target

EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
RUNNER = Path(__file__).with_name("aarch64_runner.c")
TARGET = resolve_target("llvm", host="linux-aarch64").tvm
"""What `build --host linux-aarch64` compiles for."""

_DTYPES = {"i": 0, "u": 1, "f": 2}  # DLPack's codes


def why_not() -> str:
    """What this machine lacks for emulation, with its remedy; "" if nothing."""
    if not any(map(shutil.which, EMULATORS)):
        return "no qemu-aarch64: apt install qemu-user-static"
    if importlib.util.find_spec("ziglang") is None:
        return "no linker for aarch64: pip install ziglang"
    return ""


class AArch64Process:
    """Kernels by their global symbol, each called as TVM's own: tensors and numbers in, the last
    tensors written. Tasks run one after the other, as many as TVM's pool here has threads.

    A call raises RuntimeError with the kernel's words where it fails or writes beside a tensor.
    """

    def __init__(self, functions: Sequence[Any], folder: Path) -> None:
        self._names = [str(f.attrs["global_symbol"]) for f in functions]
        module = tvm.IRModule(dict(zip(self._names, functions, strict=True)))
        program = _link(module, self._names, folder)
        emulator = next(filter(None, map(shutil.which, EMULATORS)))
        self._process = subprocess.Popen(
            [emulator, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __getitem__(self, name: str) -> Callable[..., None]:
        index = self._names.index(name)
        return lambda *arguments: self._call(index, arguments)

    def close(self) -> None:
        """End the process."""
        with self._process:
            self._process.stdin.close()

    def _call(self, index: int, arguments: tuple[Any, ...]) -> None:
        threads = tvm.get_global_func("runtime.NumThreads")()
        request = [struct.pack("<3i", index, threads, len(arguments))]
        for value in arguments:
            if isinstance(value, int):
                request.append(struct.pack("<2q", 0, value))
                continue
            array = value.numpy()
            dtype = (_DTYPES[array.dtype.kind], 8 * array.itemsize)
            request.append(struct.pack("<4q", 1, *dtype, array.ndim))
            request += [struct.pack(f"<{array.ndim}q", *array.shape), array.tobytes()]
        self._process.stdin.write(b"".join(request))
        self._process.stdin.flush()
        (length,) = struct.unpack("<i", self._read(4))
        if length:
            raise RuntimeError(self._read(length).decode())
        for value in arguments:
            if not isinstance(value, int):
                array = value.numpy()
                answer = np.frombuffer(self._read(array.nbytes), array.dtype)
                value.copyfrom(answer.reshape(array.shape))

    def _read(self, count: int) -> bytes:
        data = self._process.stdout.read(count)
        if len(data) < count:
            raise RuntimeError(f"the emulated process ended with status {self._process.wait()}")
        return data


def _link(module: tvm.IRModule, names: Sequence[str], folder: Path) -> Path:
    """The runner with the kernels in it, a program without a C library."""
    folder.mkdir(parents=True)
    code, table, program = folder / "kernels.o", folder / "kernels.inc", folder / "runner"
    tvm.compile(module, target=TARGET).mod.write_to_file(str(code))
    table.write_text("".join(f"K({name})\n" for name in names))
    headers = (tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path())
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    command += ["-nostdlib", "-static", "-ffreestanding", "-fno-sanitize=all", "-O1"]
    command += ["-Wall", "-Wextra", "-Werror", *(f"-I{path}" for path in headers)]
    command += [f'-DKERNELS="{table}"', str(RUNNER), str(code), "-o", str(program)]
    caches = {f"ZIG_{which}_CACHE_DIR": str(folder / "zig") for which in ("GLOBAL", "LOCAL")}
    linked = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **caches}
    )
    if linked.returncode:
        raise RuntimeError(f"zig cc could not link the runner: {linked.stderr}")
    return program
