"""Objects -> a shared library, with whichever linker the machine has."""

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
"""(module, is_system_lib, symbol prefix, workspace) -> path of an object that holds the imports."""

# The TVM runtime is loaded before the library and gives it these symbols.
_UNDEFINED_LATER = ("-undefined", "dynamic_lookup")


@dataclass(frozen=True)
class Linker:
    """A command that takes `-o OUTPUT OBJECTS…`, and the name a person knows it by."""

    name: str
    command: tuple[str, ...]

    def link(self, output: str, objects: list[str]) -> None:
        """Link objects to a shared library. Raises EnvironmentFault with the linker's own words."""
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
    """Every way to link for this machine that it might have, the usual first."""
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
    """Every way to link for another machine; $CXX is this one's and has no part in it."""
    shared = ("-shared", "-fPIC")
    if host.system == "darwin":
        # Without a name of its own a dylib carries the path it was linked at.
        named = ("-install_name", f"@rpath/{host.library_name}")
        return _ziglang("-target", "aarch64-macos.11.0", *shared, *_UNDEFINED_LATER, *named)
    # The runtime's wheels ask for glibc 2.28, so what they run on has it.
    zig = _ziglang("-target", f"{host.architecture}-linux-gnu.2.28", *shared)
    compilers = [f"{host.triple}-{compiler}" for compiler in ("g++", "gcc")]
    return [*(Linker(compiler, (compiler, *shared)) for compiler in compilers), *zig]


def _ziglang(*options: str) -> list[Linker]:
    """ziglang as a linker alone: the TVM runtime brings libc, libm and libgcc, which zig would
    compile for half a minute when first asked to link them."""
    if importlib.util.find_spec("ziglang") is None:
        return []
    return [Linker("ziglang", (sys.executable, "-m", "ziglang", "cc", *options, "-nostdlib"))]


def find_linker(host: Host | None = None) -> Linker:
    """The first linker that is installed and links for `host`, by default this machine.

    Raises EnvironmentFault where there is none, naming what to install.
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
    """Write a compiled `tvm.runtime.Executable` as a shared library; `pack` makes the object that
    holds its imported modules, by default TVM itself."""

    def link(target: str, objects: str | list[str], **_options: Any) -> None:
        linker.link(target, [objects] if isinstance(objects, str) else list(objects))

    # The attribute tells TVM that this function links objects rather than compiling C.
    link.object_format = "o"  # type: ignore[attr-defined]
    executable.export_library(str(output), fcompile=link, fpack_imports=pack)
