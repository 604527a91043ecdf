"""Fat binaries: containers of CUDA code for several architectures, as `cuModuleLoadData` takes.

NVRTC compiles for one architecture at a time, and NVIDIA's `fatbinary` is only part of the toolkit.
Therefore this module writes the container itself: a header, then cubins and PTX one after another,
uncompressed. The driver uses the cubin for the GPU's generation, or else compiles the PTX.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from kokoro_pipeline.errors import EnvironmentFault

_MAGIC = 0xBA55ED50
_PTX, _CUBIN = 1, 2
_LINUX_64_BIT = 0x11
_ALIGNMENT = 8


def write_fatbin(cubins: Mapping[int, bytes], ptx: Mapping[int, bytes]) -> bytes:
    """Write a fat binary of cubins and PTX, each keyed by architecture (80 for sm_80).

    Raises EnvironmentFault if a PTX text has no version directive.
    """
    entries = [_cubin_entry(arch, cubins[arch]) for arch in sorted(cubins)]
    entries += [_ptx_entry(arch, ptx[arch]) for arch in sorted(ptx)]
    body = b"".join(entries)
    return struct.pack("<IHHQ", _MAGIC, 1, 16, len(body)) + body


def read_fatbin(data: bytes) -> list[tuple[str, int]]:
    """List the entries of a fat binary as ("cubin" or "ptx", architecture).

    Raises EnvironmentFault if the bytes are not a fat binary.
    """
    found = []
    if len(data) < 16 or struct.unpack_from("<IHHQ", data) != (_MAGIC, 1, 16, len(data) - 16):
        raise EnvironmentFault("the CUDA compiler gave no fat binary")
    place = 16
    while place < len(data):
        kind, _, header, size = struct.unpack_from("<HHIQ", data, place)
        (arch,) = struct.unpack_from("<I", data, place + 28)
        found.append(({_PTX: "ptx", _CUBIN: "cubin"}.get(kind, f"kind {kind}"), arch))
        place += header + size
    return found


def _cubin_entry(arch: int, cubin: bytes) -> bytes:
    payload = cubin + bytes(-len(cubin) % _ALIGNMENT)
    version = (8, 1)  # minor and major version of the ELF layout, as `fatbinary` 13 writes them
    head = struct.pack("<HHIQIIHHI", _CUBIN, 0x101, 64, len(payload), 0, 0, *version, arch)
    return head + struct.pack("<QQQQ", 0, _LINUX_64_BIT, 0, 0) + payload


def _ptx_entry(arch: int, text: bytes) -> bytes:
    match = re.search(rb"^\.version (\d+)\.(\d+)", text, flags=re.MULTILINE)
    if match is None:
        raise EnvironmentFault("the CUDA compiler gave PTX without a version")
    # The driver reads the text as a C string.
    payload = text.rstrip(b"\0") + b"\0"
    payload += bytes(-len(payload) % _ALIGNMENT)
    version = (int(match[2]), int(match[1]))
    head = struct.pack("<HHIQIIHHI", _PTX, 0x101, 80, len(payload), 0, 64, *version, arch)
    options = struct.pack("<IIQ", 72, 0, 0)  # offset and size of the (empty) ptxas options
    return head + struct.pack("<QQQQ", 0, _LINUX_64_BIT, 0, 0) + options + payload
