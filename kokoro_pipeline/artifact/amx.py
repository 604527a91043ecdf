"""The permission to use the tiles of Intel AMX, which Linux gives to a process on request.

Without it the first instruction on tiles ends the process. It holds for all threads, those that run
already and those that start later, and for the children of a fork.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

from ..errors import ArtifactError

FEATURES = ("amx-bf16", "amx-tile")
"""LLVM's names of what the tile kernels need."""

_ARCH_PRCTL = 158
_GET_SUPPORTED, _GET_PERMITTED, _REQUEST = 0x1021, 0x1022, 0x1023
_TILE_CONFIGURATION, _TILE_DATA = 17, 18  # state components, bits of XCR0
_TILES = 1 << _TILE_CONFIGURATION | 1 << _TILE_DATA


def permit_tiles(where: str = "the artifact") -> str:
    """Request the permission for this process; returns the evidence as text.

    Raises ArtifactError, which names the call and the system's answer, if the kernel does not
    save the tiles (XCR0), or denies the permission, as it does on kernels before 5.16, under some
    container policies, and under qemu.
    """
    if not sys.platform.startswith("linux"):
        raise _denied(where, f"{sys.platform} gives no permission for them")
    supported = ctypes.c_uint64()
    answer = _arch_prctl(_GET_SUPPORTED, ctypes.addressof(supported))
    if answer:
        raise _denied(where, f"arch_prctl(ARCH_GET_XCOMP_SUPP) fails: {_words(answer)}")
    if supported.value & _TILES != _TILES:
        raise _denied(where, f"XCR0 is {supported.value:#x}, without bits 17 and 18 for tiles")
    answer = _arch_prctl(_REQUEST, _TILE_DATA)
    if answer:
        raise _denied(
            where, f"arch_prctl(ARCH_REQ_XCOMP_PERM, {_TILE_DATA}) fails: {_words(answer)}"
        )
    permitted = ctypes.c_uint64()
    answer = _arch_prctl(_GET_PERMITTED, ctypes.addressof(permitted))
    if answer or not permitted.value >> _TILE_DATA & 1:
        raise _denied(where, f"the permission was given and is {permitted.value:#x}")
    return "the kernel permits AMX tiles"


def _arch_prctl(code: int, argument: int) -> int:
    """The system call; returns 0 or the number of its error."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    arguments = (ctypes.c_long(_ARCH_PRCTL), ctypes.c_long(code), ctypes.c_ulong(argument))
    return ctypes.get_errno() or errno.EINVAL if call(*arguments) else 0


def _words(number: int) -> str:
    return f"{errno.errorcode.get(number, number)} ({os.strerror(number)})"


def _denied(where: str, evidence: str) -> ArtifactError:
    return ArtifactError(
        f"{where} computes with AMX tiles, which this system does not permit: {evidence}. Run it "
        "on Linux 5.16 or newer, outside of an emulator, where seccomp allows arch_prctl; or build "
        "one without tiles: kokoro-pipeline build --mcpu x86-64-v4 -o DIR"
    )
