"""Compile translation units of a checkout into a library that overrides the wheel's functions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from patch_proof.cpp_source import Wheel
from patch_proof.wheel_tree import TreeError

NATIVE_SOURCES = Path(__file__).resolve().parent / "native"
# The flags of upstream's CMakeLists.txt that affect headers.
_FLAGS = ("-std=c++20", "-O1", "-fPIC", "-DNDEBUG", "-DTVM_INDEX_DEFAULT_I64=1")
# Functions that are not called in the library are dropped, together with their dependencies.
_SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fvisibility=hidden")
_TIMEOUT = 900.0  # seconds for one unit; an idle core needs twenty


def build_library(
    compiler: str,
    tree: Path,
    wheel: Wheel,
    units: Sequence[str],
    linked: Sequence[str],
    output: Path,
    *,
    jobs: int,
) -> None:
    """Compile and link `output`; loading it replaces the global functions of `units`.

    `units` are files of the tree. `linked` are further files of the tree or of `native`, for
    functions that the library of the wheel contains but does not export; their global functions
    are not registered.

    Raises TreeError with the message of the compiler or the linker, including missing symbols.
    """
    objects = output.parent / f"{output.stem}.objects"
    objects.mkdir()
    includes = (f"-I{tree}/include", f"-I{tree}/src", f"-I{wheel.ffi}/include")

    def compile_unit(numbered: tuple[int, str]) -> Path:
        number, unit = numbered
        source = NATIVE_SOURCES / unit if "/" not in unit else tree / unit
        prelude = "registered_again.h" if unit in units else "not_registered.h"
        target = objects / f"{number}.o"
        forced = ("-include", str(NATIVE_SOURCES / prelude))
        command = [compiler, *_FLAGS, *_SECTIONS, *includes, *forced]
        _run([*command, "-c", str(source), "-o", str(target)], f"{unit} does not compile")
        return target

    with ThreadPoolExecutor(jobs) as pool:
        compiled = list(pool.map(compile_unit, enumerate([*units, *linked])))
    hidden = objects / "hidden.map"
    hidden.write_text("{ local: *; };\n")
    link = [compiler, "-shared", "-Wl,--gc-sections", "-Wl,--no-undefined"]
    link += [f"-Wl,--version-script={hidden}", "-o", str(output), *map(str, compiled)]
    _run([*link, *map(str, wheel.libraries)], f"{output.name} does not link")


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired as error:
        raise TreeError(f"{what}: stopped after {_TIMEOUT:.0f} s") from error
    if done.returncode != 0:
        raise TreeError(f"{what}:\n{done.stderr.strip()[:4000]}")
