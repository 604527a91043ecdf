"""Compile translation units to a shared library, with a cache of object files."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import EnvironmentFault
from .faults import UnsupportedKernel
from .kernel_text import GENERATED, Unit

NATIVE = Path(__file__).parent / "native"
"""Headers that replace those of CUDA and Metal, and the scheduler."""

_COMMON = (
    "-std=c++17",
    "-fPIC",
    "-w",
    "-march=native",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-U_FORTIFY_SOURCE",
    "-fno-stack-protector",
)
# Like device compilers: fuse multiply-adds, do not set errno, allow reading floats as integers.
_KERNEL = (
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fwrapv",
)
_FAST = ("-O2",)
_CHECKED = (
    "-O2",
    "-fno-tree-vectorize",
    "-g1",
    "-gdwarf-4",  # addr2line of binutils 2.40 confuses the files that #line names in DWARF 5
    "-fsanitize=thread",
    "-fsanitize=bounds,alignment",
)
_NO_COMPILER = "the emulator compiles kernels with g++, which is not here: apt-get install g++"


def find_compiler() -> str:
    """The path of g++. Raises EnvironmentFault if it is not installed."""
    found = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("g++")
    if found is None:
        raise EnvironmentFault(_NO_COMPILER)
    return found


@functools.cache
def default_cache() -> Path:
    """A folder for the object files of this process, removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="gpu_emulator."))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def build_library(units: Sequence[Unit], source: str, check: bool, cache: Path | None) -> Path:
    """Compile and link; returns the path of a new library, which the caller has to remove.

    `source` is the generated text, for messages. `cache` is a folder for object files, by default
    one of this process.

    Raises UnsupportedKernel if the compiler finds a name or construct that the emulator does not
    support, EnvironmentFault if there is no compiler.
    """
    compiler = find_compiler()
    folder = default_cache() if cache is None else cache
    folder.mkdir(parents=True, exist_ok=True)
    base = _fingerprint(compiler)
    kernel_options = (*_COMMON, *_KERNEL, *(_CHECKED if check else _FAST))
    scheduler = (NATIVE / "scheduler.cc").read_text(encoding="utf-8")
    jobs = [(unit.text, kernel_options) for unit in units]
    jobs.append((scheduler, (*_COMMON, "-O2")))

    def compiled(job: tuple[str, tuple[str, ...]]) -> Path:
        return _object_file(compiler, folder, base, source, *job)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compiled, jobs))
    # Every caller gets its own library, so that its state (reports, statistics) is not shared.
    handle, name = tempfile.mkstemp(prefix="library.", suffix=".so", dir=default_cache())
    os.close(handle)
    # Every unit contains the device functions of the prelude; any copy of them can be used.
    linking = [compiler, "-shared", "-Wl,-z,muldefs", "-o", name, *map(str, objects), "-lm", "-ldl"]
    done = subprocess.run(linking, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentFault(f"linking the emulated kernels failed:\n{done.stderr[:2000]}")
    return Path(name)


def line_numbers(library: Path, offsets: Sequence[int]) -> dict[int, int]:
    """Lines of the generated text by code offset, as far as the debug information has them.

    Raises EnvironmentFault if addr2line is missing (part of binutils, which g++ depends on).
    """
    wanted = sorted({offset for offset in offsets if offset > 0})
    if not wanted:
        return {}
    # The offset is a return address, so the call is before it.
    command = ["addr2line", "-i", "-a", "-e", str(library), *(hex(o - 1) for o in wanted)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise EnvironmentFault("addr2line is not here: apt-get install binutils") from error
    lines: dict[int, int] = {}
    current = 0
    for text in done.stdout.splitlines():
        if text.startswith("0x"):
            current = int(text, 16) + 1
            continue
        found = re.search(rf"(?:^|/){GENERATED}:(\d+)", text)
        if found and current not in lines:
            lines[current] = int(found[1])
    return lines


@functools.cache
def _fingerprint(compiler: str) -> str:
    """A hash of what object files depend on besides their source: compiler, processor, headers."""
    digest = hashlib.sha256()
    command = [compiler, "-march=native", "-Q", "--help=target", "--version"]
    digest.update(subprocess.run(command, capture_output=True, check=False).stdout)
    for header in sorted(NATIVE.rglob("*")):
        if header.is_file():
            digest.update(header.read_bytes())
    return digest.hexdigest()


def _object_file(
    compiler: str, folder: Path, base: str, source: str, text: str, options: tuple[str, ...]
) -> Path:
    digest = hashlib.sha256("\0".join((base, *options, text)).encode()).hexdigest()
    result = folder / f"{digest[:32]}.o"
    if result.is_file():
        return result
    # Write to a temporary folder and rename, since processes may share the cache.
    with tempfile.TemporaryDirectory(prefix="unit.", dir=folder) as work:
        unit, output = Path(work, "unit.cc"), Path(work, "unit.o")
        unit.write_text(text, encoding="utf-8")
        includes = (f"-I{NATIVE}", f"-I{NATIVE / 'include'}")
        command = [compiler, *options, *includes, "-c", str(unit), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnsupportedKernel(_explain(done.stderr, source))
        output.replace(result)
    return result


def _explain(errors: str, source: str) -> str:
    """Convert an error of the compiler to a message about the generated text."""
    assembly = re.search(rf"^{GENERATED}:(\d+): Error: ", errors, re.M)
    if assembly is not None:
        return (
            f"line {assembly[1]} of the generated text: inline PTX that is not emulated\n"
            f"  {source.splitlines()[int(assembly[1]) - 1].strip()[:300]}"
        )
    found = re.search(rf"^{GENERATED}:(\d+):\d+: (?:fatal )?error: (.*)$", errors, re.M)
    if found is None:
        return f"the emulator cannot compile the generated text:\n{errors[:3000]}"
    number = int(found[1])
    lines = source.splitlines()
    text = lines[number - 1].strip() if number <= len(lines) else ""
    name = re.search(
        r"‘([^’]+)’ (?:was not declared|has not been declared|does not name)", found[2]
    )
    what = f"the emulator does not have {name[1]}" if name else found[2]
    return f"line {number} of the generated text: {what}\n  {text[:300]}"
