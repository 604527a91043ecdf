"""Determine the machine that a shared library is for from the first bytes of the file.

Loading a library for another machine fails with a message of the dynamic loader that names neither
of the two machines.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from ..errors import ArtifactError
from .cpu import host_architecture

_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
_MACHO_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
_MACHO_64 = 0xFEEDFACF
_HEADER_BYTES = 20


def library_machine(path: Path) -> tuple[str, str]:
    """(system, architecture) of a 64-bit little-endian ELF ("linux") or Mach-O ("darwin") library.

    Raises ArtifactError for any other file, or if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
    if len(header) == _HEADER_BYTES:
        if header[:6] == b"\x7fELF\x02\x01":
            (machine,) = struct.unpack_from("<H", header, 18)
            return "linux", _ELF_MACHINES.get(machine, f"ELF machine {machine}")
        magic, machine = struct.unpack_from("<II", header)
        if magic == _MACHO_64:
            return "darwin", _MACHO_MACHINES.get(machine, f"Mach-O machine {machine:#x}")
    raise ArtifactError(f"{path} is not a shared library: it starts with {header.hex(' ')}")


def check_machine(path: Path) -> str:
    """Check that the library is for this system and architecture.

    Returns the evidence as text. Raises ArtifactError if it is for another machine.
    """
    built = library_machine(path)
    here = ("linux" if sys.platform.startswith("linux") else sys.platform, host_architecture())
    if built != here:
        raise ArtifactError(
            f"{path} is a library for {' on '.join(reversed(built))}, this machine is "
            f"{' on '.join(reversed(here))}: build the artifact here with kokoro-pipeline build"
        )
    return f"a library for {built[1]} on {built[0]}"
