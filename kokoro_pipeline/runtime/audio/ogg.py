"""Ogg pages with a serial number that does not change from run to run.

libsndfile draws the serial number of a stream at random, so that the same audio would be other
bytes each time. A file holds one stream, for which every number is as good.
"""

from __future__ import annotations

import zlib

_SERIAL = 1
_HEADER = 27
"""Bytes of a page's header before the table of its segments."""
_REVERSED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))
_ALL_ONES = 0xFFFFFFFF


def with_fixed_serial(pages: bytes) -> bytes:
    """The same whole pages with a fixed serial number and their checksums made anew."""
    content = bytearray(pages)
    position = 0
    while position < len(content):
        if content[position : position + 4] != b"OggS":
            raise AssertionError(f"no Ogg page begins at byte {position} of {len(content)}")
        table = position + _HEADER
        segments = content[table : table + content[position + 26]]
        end = table + len(segments) + sum(segments)
        content[position + 14 : position + 18] = _SERIAL.to_bytes(4, "little")
        content[position + 22 : position + 26] = bytes(4)
        checksum = _checksum(bytes(content[position:end]))
        content[position + 22 : position + 26] = checksum.to_bytes(4, "little")
        position = end
    return bytes(content)


def _checksum(page: bytes) -> int:
    """CRC-32 as Ogg has it: zlib's polynomial, with every bit in the other order."""
    mirrored = zlib.crc32(page.translate(_REVERSED), _ALL_ONES) ^ _ALL_ONES
    return int(f"{mirrored:032b}"[::-1], 2)
