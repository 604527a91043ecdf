"""The container of CUDA machine code for several architectures, as `cuModuleLoadData` takes it.

NVRTC compiles for one architecture at a time and NVIDIA's `fatbinary` comes with the toolkit alone,
so this writes the container: a header, then cubins and PTX one after another, uncompressed. The
driver takes the cubin of the GPU's own generation, or else compiles the PTX.
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
    """A fat binary of cubins and PTX texts by the number of their architecture (80 for sm_80).

    Raises EnvironmentFault where a text is no PTX.
    """
    entries = [_cubin_entry(arch, cubins[arch]) for arch in sorted(cubins)]
    entries += [_ptx_entry(arch, ptx[arch]) for arch in sorted(ptx)]
    body = b"".join(entries)
    return struct.pack("<IHHQ", _MAGIC, 1, 16, len(body)) + body


def read_fatbin(data: bytes) -> list[tuple[str, int]]:
    """("cubin" or "ptx", architecture) of each entry of a fat binary, whoever wrote it.

    Raises EnvironmentFault where the bytes are none.
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
    version = (8, 1)  # minor, major of the ELF layout, as `fatbinary` 13 writes them
    head = struct.pack("<HHIQIIHHI", _CUBIN, 0x101, 64, len(payload), 0, 0, *version, arch)
    return head + struct.pack("<QQQQ", 0, _LINUX_64_BIT, 0, 0) + payload


def _ptx_entry(arch: int, text: bytes) -> bytes:
    match = re.search(rb"^\.version (\d+)\.(\d+)", text, flags=re.MULTILINE)
    if match is None:
        raise EnvironmentFault("the CUDA compiler gave PTX without a version")
    # A C string: the driver compiles it as one.
    payload = text.rstrip(b"\0") + b"\0"
    payload += bytes(-len(payload) % _ALIGNMENT)
    version = (int(match[2]), int(match[1]))
    head = struct.pack("<HHIQIIHHI", _PTX, 0x101, 80, len(payload), 0, 64, *version, arch)
    options = struct.pack("<IIQ", 72, 0, 0)  # where the (empty) options for ptxas lie
    return head + struct.pack("<QQQQ", 0, _LINUX_64_BIT, 0, 0) + options + payload
