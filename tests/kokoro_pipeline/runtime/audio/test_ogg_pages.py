"""Ogg files are the same bytes for the same audio, and still are Ogg files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from kokoro_pipeline.runtime.audio import make_encoder
from kokoro_pipeline.runtime.audio.ogg import with_fixed_serial

soundfile = pytest.importorskip("soundfile")
AUDIO = 0.1 * np.random.Generator(np.random.Philox(3)).standard_normal(60_000, dtype=np.float32)


def encode(name: str, step: int) -> bytes:
    encoder = make_encoder(name, 24_000)
    parts = [encoder.encode(AUDIO[start : start + step]) for start in range(0, len(AUDIO), step)]
    return b"".join(parts) + encoder.finish().content


@pytest.mark.parametrize("step", [1_000, 60_000])
@pytest.mark.parametrize("name", ["ogg", "opus"])
def test_the_serial_number_is_fixed_and_the_checksums_hold(name, step):
    content = encode(name, step)
    serials, position = set(), 0
    while position < len(content):
        table = position + 27
        segments = content[table : table + content[position + 26]]
        serials.add(content[position + 14 : position + 18])
        position = table + len(segments) + sum(segments)
    assert serials == {(1).to_bytes(4, "little")}
    # A decoder drops every page whose checksum is wrong.
    assert len(soundfile.read(io.BytesIO(content))[0]) == len(AUDIO)


def test_a_page_of_that_number_keeps_the_checksum_of_libogg():
    content = bytearray(encode("opus", 60_000))
    again = with_fixed_serial(bytes(content))
    assert again == content
    damaged = bytes(content[:22] + bytes(4) + content[26:])
    assert with_fixed_serial(damaged) == content


def test_what_is_no_page_is_refused():
    with pytest.raises(AssertionError, match="byte 0"):
        with_fixed_serial(b"RIFF")
