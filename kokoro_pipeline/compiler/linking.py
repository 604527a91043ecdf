"""Objects -> a shared library, with whichever linker the machine has."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EnvironmentFault


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


def _candidates() -> list[Linker]:
    """Every way to link that this machine might have, the usual first."""
    shared = ("-shared", "-fPIC")
    if sys.platform == "darwin":
        shared = ("-shared", "-fPIC", "-undefined", "dynamic_lookup")
    linkers = []
    if os.environ.get("CXX", "").strip():
        linkers.append(Linker("$CXX", (*shlex.split(os.environ["CXX"]), *shared)))
    for compiler in ("g++", "clang++", "c++", "gcc", "clang", "cc"):
        linkers.append(Linker(compiler, (compiler, *shared)))
    for linker in ("ld", "ld.lld"):
        linkers.append(Linker(linker, (linker, "-shared")))
    if importlib.util.find_spec("ziglang") is not None:
        linkers.append(Linker("ziglang", (sys.executable, "-m", "ziglang", "c++", *shared)))
    return linkers


def find_linker() -> Linker:
    """The first linker that is installed.

    Raises EnvironmentFault where there is none, naming what to install.
    """
    candidates = _candidates()
    for linker in candidates:
        if shutil.which(linker.command[0]) is not None:
            return linker
    tried = ", ".join(linker.name for linker in candidates)
    raise EnvironmentFault(
        f"no linker found (tried {tried}): install a C++ compiler (Debian: apt install g++, macOS: "
        "xcode-select --install), or a linker from PyPI: pip install ziglang"
    )


def export_library(executable: Any, output: Path, linker: Linker) -> None:
    """Write a compiled `tvm.runtime.Executable` as a shared library."""

    def link(target: str, objects: str | list[str], **_options: Any) -> None:
        linker.link(target, [objects] if isinstance(objects, str) else list(objects))

    # The attribute tells TVM that this function links objects rather than compiling C.
    link.object_format = "o"  # type: ignore[attr-defined]
    executable.export_library(str(output), fcompile=link)
