"""WAV: the bytes that other programs expect, in files and pipes, complete and without wrapping."""

from __future__ import annotations

import errno
import io
import os
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.runtime.audio import (
    AudioFile,
    AudioStream,
    check_writable,
    encode_wav,
    format_of,
    write_audio,
    write_wav,
)
from kokoro_pipeline.runtime.audio.rates import RATES

RATE = 24_000
TONE = (0.8 * np.sin(2 * np.pi * 440 * np.arange(2400) / RATE)).astype(np.float32)


def floats(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def chunks(content: bytes) -> dict[bytes, bytes]:
    """RIFF chunks, with every size checked."""
    assert content[:4] == b"RIFF"
    assert content[8:12] == b"WAVE"
    assert struct.unpack("<I", content[4:8])[0] == len(content) - 8
    found, position = {}, 12
    while position < len(content):
        name, size = (
            content[position : position + 4],
            *struct.unpack_from("<I", content, position + 4),
        )
        found[name] = content[position + 8 : position + 8 + size]
        assert len(found[name]) == size
        position += 8 + size + size % 2
    return found


def test_pcm_is_read_by_the_standard_library(tmp_path: Path) -> None:
    assert write_wav(tmp_path / "x.wav", TONE, RATE) == 0
    with wave.open(str(tmp_path / "x.wav")) as file:
        assert file.getparams()[:4] == (1, 2, RATE, TONE.size)
        read = np.frombuffer(file.readframes(TONE.size), "<i2")
    np.testing.assert_allclose(read / 32767, TONE, atol=0.5 / 32767 + 1e-7)


def test_float_keeps_every_bit() -> None:
    values = np.concatenate([TONE, floats([1.5, -2.0, 1e-30])])
    content, clipped = encode_wav(values, RATE, floating=True)
    assert clipped == 0
    parts = chunks(content)
    assert list(parts) == [b"fmt ", b"fact", b"data"]
    assert struct.unpack("<HHIIHHH", parts[b"fmt "]) == (3, 1, RATE, 4 * RATE, 4, 32, 0)
    assert struct.unpack("<I", parts[b"fact"]) == (values.size,)
    assert parts[b"data"] == values.tobytes()


def test_pcm_layout() -> None:
    parts = chunks(encode_wav(TONE, RATE)[0])
    assert list(parts) == [b"fmt ", b"data"]
    assert struct.unpack("<HHIIHH", parts[b"fmt "]) == (1, 1, RATE, 2 * RATE, 2, 16)


def test_soundfile_reads_the_same(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    # libsndfile divides by 32768, so a full-scale 32767 comes back one step smaller.
    for floating, tolerance in ((False, 1.5 / 32767), (True, 0.0)):
        write_wav(tmp_path / "x.wav", TONE, RATE, floating=floating)
        read, rate = soundfile.read(tmp_path / "x.wav", dtype="float32")
        assert rate == RATE
        np.testing.assert_allclose(read, TONE, rtol=0, atol=tolerance)


def test_clipping_is_counted_and_does_not_wrap() -> None:
    values = floats([1.0, -1.0, 1.0001, -3.0, 40_000.0, 0.0])
    content, clipped = encode_wav(values, RATE)
    assert clipped == 3
    pcm = np.frombuffer(chunks(content)[b"data"], "<i2")
    assert pcm.tolist() == [32767, -32767, 32767, -32767, 32767, 0]


@pytest.mark.parametrize("name", RATES)
def test_every_format_counts_what_it_clips(tmp_path: Path, name: str) -> None:
    pytest.importorskip("av" if name == "aac" else "soundfile")
    values = floats([1.0, -1.0, 1.0001, -3.0, 40_000.0, 0.0])
    assert write_audio(tmp_path / f"x.{name}", values, RATE) == 3


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5 / 32767, 0), (0.51 / 32767, 1), (-0.51 / 32767, -1), (-0.0, 0)]
)
def test_rounding_is_to_nearest(value: float, expected: int) -> None:
    content, _ = encode_wav(floats([value]), RATE)
    assert np.frombuffer(chunks(content)[b"data"], "<i2").tolist() == [expected]


def test_no_samples_and_other_layouts() -> None:
    for floating in (False, True):
        assert (
            chunks(encode_wav(np.empty(0, np.float32), RATE, floating=floating)[0])[b"data"] == b""
        )
    same = encode_wav(TONE[::3].copy(), RATE)
    assert encode_wav(TONE[::3], RATE) == same
    assert encode_wav(TONE[::3].astype(np.float64), RATE) == same
    assert (
        encode_wav(TONE[::3].astype(">f4"), RATE, floating=True)[0]
        == (encode_wav(TONE[::3].copy(), RATE, floating=True)[0])
    )


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (floats([0, np.nan]), "1 of 2 samples are NaN or infinite"),
        (floats([np.inf, -np.inf]), "2 of 2"),
        (np.zeros((2, 2), np.float32), r"float32 \[samples\], this is float32 \[2, 2\]"),
        (np.zeros(3, np.int16), "int16"),
    ],
)
def test_what_is_no_audio(tmp_path: Path, samples: np.ndarray, message: str) -> None:
    file = tmp_path / "x.wav"
    file.write_text("mine")
    with pytest.raises(InputError, match=message):
        write_wav(file, samples, RATE)
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "rates", "takes"),
    [
        ("wav", (0, -1, 1 << 32, 24000.5, "24000", None), r"wav .* 1 to 1073741823"),
        ("pcm", (0, 24000.5), r"pcm .* 1 to 1073741823"),
        ("flac", (0, 655_351), r"flac .* 1 to 655350"),
        ("ogg", (0, -1, 200_001), r"ogg .* 1 to 200000"),
        ("mp3", (12_345, 96_000), r"mp3 .* 8000, 11025, .*, 44100 and 48000"),
        ("opus", (12_345, 44_100), r"opus .* 8000, 12000, 16000, 24000 and 48000"),
        ("aac", (12_345, 24_001), r"aac .* 7350, 8000, .*, 88200 and 96000"),
    ],
)
def test_bad_rate(tmp_path: Path, name: str, rates: tuple[object, ...], takes: str) -> None:
    for rate in rates:
        with pytest.raises(InputError, match=takes) as caught:
            write_audio(tmp_path / f"x.{name}", TONE, rate)  # type: ignore[arg-type]
        assert f"sample rate {rate!r}" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_bad_rate_of_bytes() -> None:
    with pytest.raises(InputError, match="sample rate 0"):
        encode_wav(TONE, 0)


def test_every_rate_that_a_format_takes(tmp_path: Path) -> None:
    pytest.importorskip("soundfile")
    pytest.importorskip("av")
    for name, rates in RATES.items():
        for rate in (rates[0], np.int64(rates[-1])) if isinstance(rates, range) else rates:
            assert write_audio(tmp_path / f"x.{name}", TONE, rate) == 0


def test_more_than_riff_can_name() -> None:
    endless = np.broadcast_to(np.float32(0), (1 << 31,))
    checked = np.lib.stride_tricks.as_strided(endless, endless.shape, (0,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kokoro_pipeline.runtime.audio.wav.check_samples", lambda samples: samples)
        with pytest.raises(InputError, match="do not fit a WAV file"):
            encode_wav(checked, RATE)


class Unbuffered(io.RawIOBase):
    """Like the end of a pipe: it cannot seek, and takes 1000 bytes at a time."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError(errno.ESPIPE, "Illegal seek")

    def write(self, data: object) -> int:
        part = bytes(memoryview(data)[:1000])  # type: ignore[arg-type]
        self.taken += part
        return len(part)


@pytest.mark.parametrize("floating", [False, True])
def test_streams_that_cannot_seek(floating: bool) -> None:
    stream = Unbuffered()
    write_wav(stream, TONE, RATE, floating=floating)  # type: ignore[arg-type]
    assert bytes(stream.taken) == encode_wav(TONE, RATE, floating=floating)[0]


CHILD = """
import sys
import numpy as np
from kokoro_pipeline.runtime.audio import write_wav
from kokoro_pipeline.errors import EnvironmentFault
try:
    write_wav(sys.stdout.buffer, np.zeros(200_000, np.float32), 24_000)
except EnvironmentFault as error:
    sys.exit(f"refused: {error}")
"""


def child(**options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,  # type: ignore[call-overload]
    )


def test_a_pipe_on_standard_output() -> None:
    said, complaint = child(stdout=subprocess.PIPE).communicate()
    assert complaint == b""
    assert said == encode_wav(np.zeros(200_000, np.float32), RATE)[0]


def test_a_pipe_that_is_closed_early() -> None:
    process = child(stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(44)
    process.stdout.close()
    with process:
        assert b"refused: cannot write the audio: Broken pipe" in process.stderr.read()


needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_dev_full
def test_full_disk() -> None:
    with pytest.raises(EnvironmentFault, match="cannot write /dev/full: No space left"):
        write_wav("/dev/full", TONE, RATE)
    assert Path("/dev/full").exists()
    with (
        pytest.raises(EnvironmentFault, match="No space left"),
        Path("/dev/full").open("wb", buffering=0) as stream,
    ):
        write_wav(stream, TONE, RATE)


def test_a_file_that_fills_the_disk_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    real = Path.open

    def open_failing(self: Path, mode: str, buffering: int = -1) -> io.BytesIO:
        real(self, mode).close()  # the file is there, and then the disk is full
        return Failing()

    monkeypatch.setattr(Path, "open", open_failing)
    with pytest.raises(EnvironmentFault, match="No space left"):
        write_wav(tmp_path / "x.wav", TONE, RATE)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_survives_a_write_that_fails(tmp_path: Path) -> None:
    """Under a limit on the size of files, as on a full disk."""
    file = tmp_path / "old.wav"
    write_wav(file, TONE, RATE)
    old = file.read_bytes()
    program = (
        "import resource, signal, sys, numpy as np\n"
        "from kokoro_pipeline.runtime.audio import write_wav\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_wav(sys.argv[1], np.zeros(24000, np.float32), 24000)\n"
    )
    words = [sys.executable, "-c", program, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and f"cannot write {file}: File too large" in done.stderr
    assert file.read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["old.wav"]


def test_a_file_that_is_replaced_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "x.wav", tmp_path / "link.wav"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_wav(link, TONE, RATE)
    assert link.is_symlink() and file.read_bytes()[:4] == b"RIFF"
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("stem", [82 * "汉", "a" + 62 * "🙂", 251 * "x"], ids=len)
def test_a_name_of_any_length_can_be_replaced(tmp_path: Path, stem: str) -> None:
    path = tmp_path / f"{stem}.wav"
    for samples in (TONE[:10], TONE):
        write_audio(path, samples, RATE)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == encode_wav(TONE, RATE)[0]


def test_a_path_may_be_a_string(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_writable("a.wav")
    write_audio("a.wav", TONE, RATE)
    file = AudioFile("b.wav", RATE)
    file.write(TONE)
    file.finish()
    assert (file.path, format_of("x.pcm")) == (Path("b.wav"), "pcm")
    assert Path("a.wav").read_bytes() == Path("b.wav").read_bytes()


@pytest.mark.parametrize("name", ["wav", "flac", "aac"])
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("ends", ["finish", "interrupt"])
@pytest.mark.parametrize("again", ["finish", "interrupt", "discard", "write"])
def test_an_end_after_the_end_does_nothing(
    tmp_path: Path, name: str, existing: bool, ends: str, again: str
) -> None:
    pytest.importorskip("av" if name == "aac" else "soundfile")
    path = tmp_path / f"x.{name}"
    if existing:
        path.write_bytes(b"mine")
    file = AudioFile(path, RATE)
    file.write(TONE)
    first = getattr(file, ends)()
    kept = existing and ends == "interrupt"
    assert (path.read_bytes() == b"mine") is kept
    assert ends == "finish" or (first.exists() and (first != path) is kept)
    written = {entry: entry.read_bytes() for entry in tmp_path.iterdir()}
    if again == "write":
        with pytest.raises(InputError, match="is complete"):
            file.write(TONE)
    else:
        second = getattr(file, again)()
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir()} == written
    if again == "interrupt":
        assert second == (path if ends == "finish" else first)


@pytest.mark.parametrize("existing", [False, True])
def test_a_block_ends_its_file(tmp_path: Path, existing: bool) -> None:
    """By an exception the beginning is kept, beside a file that was there."""
    whole, kept = tmp_path / "whole.wav", tmp_path / "x.wav"
    for path in (whole, kept):
        if existing:
            path.write_bytes(b"mine")
    with AudioFile(whole, RATE) as file:
        file.write(TONE)
    with pytest.raises(ZeroDivisionError), AudioFile(kept, RATE) as file:
        file.write(TONE)
        raise ZeroDivisionError
    beginning = tmp_path / "x.partial.wav" if existing else kept
    assert whole.read_bytes() == beginning.read_bytes() == encode_wav(TONE, RATE)[0]
    assert not existing or kept.read_bytes() == b"mine"


def test_a_file_that_cannot_be_opened_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.wav"
    file.write_text("mine")

    def refuse(self: Path, mode: str, buffering: int = -1) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(EnvironmentFault, match="Permission denied"):
            write_wav(file, TONE, RATE)
        with pytest.raises(InputError, match="Permission denied"):
            check_writable(file)
    assert file.read_text() == "mine"


# ---- before synthesis


def test_writable_paths_are_left_as_they_were(tmp_path: Path) -> None:
    existing, link = tmp_path / "old.wav", tmp_path / "link.wav"
    existing.write_text("mine")
    link.symlink_to("target.wav")
    for path in (existing, tmp_path / "new.wav", link, tmp_path / "no suffix", tmp_path / "X.WAV"):
        check_writable(path)
    assert existing.read_text() == "mine"
    assert {entry.name for entry in tmp_path.iterdir()} == {"old.wav", "link.wav"}
    assert link.is_symlink()


@pytest.mark.parametrize(
    "name", ["folder", "folder.wav", "absent/x.wav", "file/x.wav", "x.mp5", ""]
)
def test_unwritable_paths(tmp_path: Path, name: str) -> None:
    for folder in ("folder", "folder.wav"):
        (tmp_path / folder).mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        check_writable(tmp_path / name)
    if "/" in name:
        with pytest.raises(EnvironmentFault, match="cannot write"):
            write_audio(tmp_path / name, TONE, RATE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_checking_a_named_pipe_does_not_wait_for_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")
    check_writable(Path(os.devnull))


# ---- other formats


@pytest.mark.parametrize("suffix", [".flac", ".mp3", ".ogg", ".opus", ".FLAC"])
def test_formats_of_the_audio_extra(tmp_path: Path, suffix: str) -> None:
    soundfile = pytest.importorskip("soundfile")
    file = tmp_path / f"x{suffix}"
    check_writable(file)
    assert write_audio(file, 2 * TONE, RATE) == int((np.abs(2 * TONE) > 1).sum())
    with file.open("rb") as stream:
        read, rate = soundfile.read(stream)
    assert rate == RATE
    assert abs(read.size / TONE.size - 1) < 1.5
    assert 0.8 < np.abs(read).max() < 1.5


@pytest.mark.parametrize("name", ["mp3", "ogg", "opus"])
def test_a_stream_tells_its_whole_length(name: str) -> None:
    soundfile = pytest.importorskip("soundfile")
    voice = np.random.Generator(np.random.Philox(3)).standard_normal(5 * RATE, np.float32) * 0.1
    voice[RATE : 3 * RATE] = 0  # a variable bit rate falls here
    content = io.BytesIO()
    stream = AudioStream(content, name, RATE)
    for start in range(0, voice.size, 5000):
        stream.write(voice[start : start + 5000])
    stream.finish()
    content.seek(0)
    read, _ = soundfile.read(content)
    assert 0 <= read.size - voice.size < RATE / 4  # MP3 pads at both ends


def test_float_is_for_wav(tmp_path: Path) -> None:
    pytest.importorskip("soundfile")
    with pytest.raises(InputError, match=r"\.wav files only"):
        write_audio(tmp_path / "x.flac", TONE, RATE, floating=True)
    write_audio(tmp_path / "x.wav", TONE, RATE, floating=True)


def test_formats_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    for action in (check_writable, lambda path: write_audio(path, TONE, RATE)):
        with pytest.raises(EnvironmentFault, match=r"pip install 'tvm-kokoro\[audio\]'.*wav"):
            action(tmp_path / "x.flac")
    check_writable(tmp_path / "x.wav")
    write_audio(tmp_path / "x.wav", TONE, RATE)
