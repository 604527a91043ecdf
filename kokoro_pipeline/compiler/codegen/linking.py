"""Link objects to a shared library with any linker that the machine has."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_pipeline.errors import EnvironmentFault

if TYPE_CHECKING:
    from .target import Host

PackImports = Callable[[Any, bool, str, str], str]
"""(module, is_system_lib, symbol prefix, workspace) -> path of an object with the imports."""

# Symbols of the TVM runtime are resolved at load time: it is loaded before the library.
_UNDEFINED_LATER = ("-undefined", "dynamic_lookup")


@dataclass(frozen=True)
class Linker:
    """A command that takes `-o OUTPUT OBJECTS…`, and its name for messages."""

    name: str
    command: tuple[str, ...]

    def link(self, output: str, objects: list[str]) -> None:
        """Link objects to a shared library. Raises EnvironmentFault with the linker's output."""
        command = [*self.command, "-o", output, *objects]
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise EnvironmentFault(f"{self.name} could not be started: {error}") from error
        if result.returncode != 0:
            words = (result.stderr or result.stdout).strip()[-2000:]
            raise EnvironmentFault(
                f"{self.name} could not link {Path(output).name} "
                f"(exit status {result.returncode}): {words}"
            )


def _native_candidates() -> list[Linker]:
    """The linkers for this machine that might be installed, the most common first."""
    shared = ("-shared", "-fPIC")
    if sys.platform == "darwin":
        shared = ("-shared", "-fPIC", *_UNDEFINED_LATER)
    linkers = []
    if os.environ.get("CXX", "").strip():
        linkers.append(Linker("$CXX", (*shlex.split(os.environ["CXX"]), *shared)))
    for compiler in ("g++", "clang++", "c++", "gcc", "clang", "cc"):
        linkers.append(Linker(compiler, (compiler, *shared)))
    for linker in ("ld", "ld.lld"):
        linkers.append(Linker(linker, (linker, "-shared")))
    linkers += _ziglang(*shared)
    return linkers


def _cross_candidates(host: Host) -> list[Linker]:
    """The linkers for another machine that might be installed; $CXX, for this one, is ignored."""
    shared = ("-shared", "-fPIC")
    if host.system == "darwin":
        # Without an install name, a dylib records the path it was linked at.
        named = ("-install_name", f"@rpath/{host.library_name}")
        return _ziglang("-target", "aarch64-macos.11.0", *shared, *_UNDEFINED_LATER, *named)
    # The wheels of the TVM runtime require glibc 2.28, so every system that runs them has it.
    zig = _ziglang("-target", f"{host.architecture}-linux-gnu.2.28", *shared)
    compilers = [f"{host.triple}-{compiler}" for compiler in ("g++", "gcc")]
    return [*(Linker(compiler, (compiler, *shared)) for compiler in compilers), *zig]


def _ziglang(*options: str) -> list[Linker]:
    """ziglang, used as a linker only.

    The TVM runtime already loads libc, libm and libgcc. If zig linked them, it would first compile
    them, which takes half a minute.
    """
    if importlib.util.find_spec("ziglang") is None:
        return []
    return [Linker("ziglang", (sys.executable, "-m", "ziglang", "cc", *options, "-nostdlib"))]


def find_linker(host: Host | None = None) -> Linker:
    """The first installed linker for `host`, by default this machine.

    Raises EnvironmentFault if there is none; the message says what to install.
    """
    cross = host is not None and not host.is_here
    candidates = _cross_candidates(host) if host is not None and cross else _native_candidates()
    for linker in candidates:
        if shutil.which(linker.command[0]) is not None:
            return linker
    tried = ", ".join(linker.name for linker in candidates) or "ziglang"
    if host is not None and cross:
        debian = f"Debian: apt install g++-{host.triple.replace('_', '-')}, or "
        raise EnvironmentFault(
            f"nothing here links for {host.name} (tried {tried}): "
            f"{debian if host.system == 'linux' else ''}pip install ziglang, "
            f"or build on {host.name}"
        )
    raise EnvironmentFault(
        f"no linker found (tried {tried}): install a C++ compiler (Debian: apt install g++, macOS: "
        "xcode-select --install), or a linker from PyPI: pip install ziglang"
    )


def export_library(
    executable: Any, output: Path, linker: Linker, pack: PackImports | None = None
) -> None:
    """Write a compiled `tvm.runtime.Executable` as a shared library.

    `pack` creates the object that holds the imported modules; by default TVM does.

    Raises EnvironmentFault if linking fails.
    """

    def link(target: str, objects: str | list[str], **_options: Any) -> None:
        linker.link(target, [objects] if isinstance(objects, str) else list(objects))

    # The attribute tells TVM that this function links objects rather than compiles C.
    link.object_format = "o"  # type: ignore[attr-defined]
    executable.export_library(str(output), fcompile=link, fpack_imports=pack)
