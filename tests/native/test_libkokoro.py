"""The C ABI: its header, its examples, its threads, and its refusals."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kokoro_pipeline
from kokoro_pipeline.runtime.audio.wav import encode_wav

HELLO = "həlˈoʊ wˈɜːld"
LONG = "ðɪs ɪz ɐ sˈɛntəns, ænd ɪt ɡˈoʊz ˈɑn. " * 30
NATIVE = Path(__file__).resolve().parents[2] / "native"
HEADER = NATIVE / "libkokoro" / "kokoro.h"
"""What a C program includes."""


def compile_program(source: Path, output: Path, *words: str | Path) -> None:
    compiler = ["gcc", "-std=c11"] if source.suffix == ".c" else ["g++", "-std=c++11"]
    line = [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", output]
    subprocess.run([*line, f"-I{HEADER.parent}", *words], check=True, timeout=120)


@pytest.fixture(scope="module")
def expected(toy_artifact: Path) -> Iterator[Callable[..., Any]]:
    """What Python says for phonemes."""
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        yield tts.synthesize


def test_the_header_is_current(cargo, tmp_path):
    if shutil.which("cbindgen") is None:
        pytest.skip("cbindgen is not installed (apt-get install cbindgen)")
    made = tmp_path / "kokoro.h"
    words = ["--quiet", "--config", "cbindgen.toml", "src/lib.rs", "--output", made]
    subprocess.run(["cbindgen", *words], cwd=HEADER.parent, check=True, timeout=60)
    assert made.read_text("utf-8") == HEADER.read_text("utf-8")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("linked", ["shared", "static"])
def test_the_example_in_c(built, native_environment, toy_artifact, expected, tmp_path, linked):
    program, output = tmp_path / "speak", tmp_path / "a.wav"
    if linked == "shared":
        words = [f"-L{built}", "-lkokoro", f"-Wl,-rpath,{built}"]
    else:
        words = [built / "libkokoro.a", "-ldl", "-lpthread", "-lm"]
    compile_program(NATIVE / "examples" / "speak.c", program, *words)
    done = subprocess.run(
        [program, toy_artifact, HELLO, output],
        env=native_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    audio = expected(HELLO).audio
    content = output.read_bytes()
    assert content[44:] == audio.tobytes()
    assert content[:4] == encode_wav(audio, 24_000)[0][:4]
    failed = subprocess.run(
        [program, tmp_path / "none", HELLO, output],
        env=native_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert failed.returncode == 3
    assert "does not exist" in failed.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_example_in_cpp(built, native_environment, toy_artifact, expected, tmp_path):
    program = tmp_path / "stream"
    source = NATIVE / "examples" / "stream.cc"
    compile_program(source, program, f"-L{built}", "-lkokoro", f"-Wl,-rpath,{built}")
    done = subprocess.run(
        [program, toy_artifact, LONG, "af_bella", "2"],
        env=native_environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    speech = expected(LONG, voice="af_bella", speed=2)
    assert len(speech.chunks) > 1
    assert done.stdout == speech.audio.tobytes()
    with Path("/dev/full").open("wb") as full:
        line = [program, toy_artifact, LONG]
        assert (
            subprocess.run(line, env=native_environment, stdout=full, check=False).returncode == 5
        )


def test_the_example_in_rust(built, native_environment, toy_artifact, expected, tmp_path):
    output = tmp_path / "a.wav"
    line = [built / "examples" / "speak", toy_artifact, HELLO, output]
    subprocess.run(line, env=native_environment, check=True, timeout=60, capture_output=True)
    assert output.read_bytes() == encode_wav(expected(HELLO).audio, 24_000)[0]


def test_the_library_needs_no_more_than_the_system(built):
    """TVM is loaded at run time, from where it is searched."""
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed (apt-get install binutils)")
    allowed = ("libc.so", "libm.so", "libgcc_s.so", "libdl.so", "libpthread.so", "ld-linux")
    for file in ("libkokoro.so", "kokoro-say"):
        said = subprocess.run(["readelf", "-dW", built / file], capture_output=True, text=True)
        needed = [line.split("[")[1] for line in said.stdout.splitlines() if "NEEDED" in line]
        assert [name for name in needed if not name.startswith(allowed)] == []
    assert (built / "kokoro-say").stat().st_size <= 2 << 20
    assert (
        "soname: [libkokoro.so]"
        in subprocess.run(
            ["readelf", "-dW", built / "libkokoro.so"], capture_output=True, text=True
        ).stdout
    )


THREADS = """
import ctypes, sys, threading
import numpy as np

library, artifact, long = sys.argv[1:]
kokoro = ctypes.CDLL(library)
kokoro.kokoro_error.restype = ctypes.c_char_p
kokoro.kokoro_version.restype = ctypes.c_char_p


class Speech(ctypes.Structure):
    _fields_ = [
        ("samples", ctypes.POINTER(ctypes.c_float)), ("sample_count", ctypes.c_size_t),
        ("durations", ctypes.POINTER(ctypes.c_int64)), ("duration_count", ctypes.c_size_t),
        ("unknown_count", ctypes.c_size_t),
    ]


def speak(handle, phonemes, voice=None, speed=1.0, seed=0):
    speech = Speech()
    code = kokoro.kokoro_synthesize(
        handle, phonemes, voice, ctypes.c_double(speed), ctypes.c_uint64(seed), ctypes.byref(speech)
    )
    if code:
        assert speech.sample_count == 0 and not speech.samples
        return code, kokoro.kokoro_error()
    audio = np.ctypeslib.as_array(speech.samples, (speech.sample_count,)).tobytes()
    durations = list(speech.durations[: speech.duration_count])
    unknown = speech.unknown_count
    kokoro.kokoro_speech_free(ctypes.byref(speech))
    kokoro.kokoro_speech_free(ctypes.byref(speech))  # zeros by now
    return audio, durations, unknown


def opened():
    handle = ctypes.c_void_p()
    code = kokoro.kokoro_open(artifact.encode(), 2, b"cpu", ctypes.byref(handle))
    assert code == 0, kokoro.kokoro_error()
    return handle


handle, long = opened(), long.encode()
assert kokoro.kokoro_version() == b"0.1.0"
assert kokoro.kokoro_is_synthetic(handle) == 1
right = {text: speak(handle, text) for text in (b"a", b"a b g", long)}
assert right[b"a b g"][2] == 1 and sum(right[b"a"][1]) * 2400 == len(right[b"a"][0])

# Eight threads share two synthesizers, and errors stay with the thread that made them.
second, wrong = opened(), []


def work(number):
    for turn in range(6):
        text = list(right)[(number + turn) % 3]
        if speak((handle, second)[turn % 2], text) != right[text]:
            wrong.append((number, turn))
        code, error = speak(handle, b"a", voice=b"nobody%d" % number)
        if code != 3 or b"nobody%d" % number not in error or kokoro.kokoro_error() != error:
            wrong.append(error)
    if speak(handle, b"a") != right[b"a"] or kokoro.kokoro_error() != b"":
        wrong.append("a success leaves no error")


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert wrong == [], wrong

# Refusals.
for arguments, cause in (
    ((None, b"a"), b"synthesizer is NULL"),
    ((handle, None), b"phonemes is NULL"),
    ((handle, b""), b"phonemes are empty"),
    ((handle, b"\\xff"), b"not UTF-8"),
    ((handle, b"a", b"\\xff"), b"voice is not UTF-8"),
    ((handle, b"a", None, 0.0), b"speed is 0"),
    ((handle, b"a", None, float("nan")), b"speed is NaN"),
):
    code, error = speak(*arguments)
    assert code == 3 and cause in error, error
nothing = ctypes.c_void_p(1)
assert kokoro.kokoro_open(b"/none", 0, None, ctypes.byref(nothing)) == 3 and not nothing.value
assert kokoro.kokoro_open(artifact.encode(), 0, b"gpu", ctypes.byref(nothing)) == 3
assert b"unknown device" in kokoro.kokoro_error()
assert kokoro.kokoro_open(artifact.encode(), 0, None, None) == 3
assert kokoro.kokoro_open(None, 0, None, ctypes.byref(nothing)) == 3
one, zero = ctypes.c_double(1), ctypes.c_uint64(0)
assert kokoro.kokoro_synthesize(handle, b"a", None, one, zero, None) == 3

# Streaming.
Callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
parts = []


def stream(callback, text=long, speed=one):
    return kokoro.kokoro_stream(handle, text, None, speed, zero, callback, None)


def collect(user, samples, count, answer=0):
    parts.append(ctypes.string_at(samples, count * 4))
    return answer


assert stream(Callback(collect)) == 0
assert len(parts) > 1 and b"".join(parts) == right[long][0]
parts.clear()
assert stream(Callback(lambda *words: collect(*words, answer=1))) == 5 and len(parts) == 1
assert stream(Callback()) == 3 and b"callback is NULL" in kokoro.kokoro_error()
parts.clear()
# The second chunk is too long at this speed, which its turn shows.
text, slow = b"a" * 300 + b". " + b"a" * 500, ctypes.c_double(0.55)
assert speak(handle, text, speed=0.55)[0] == 3
assert stream(Callback(collect), text, slow) == 3 and len(parts) == 1
assert b"over the limit of 8192" in kokoro.kokoro_error()

kokoro.kokoro_close(second)
kokoro.kokoro_close(handle)
kokoro.kokoro_close(None)
kokoro.kokoro_speech_free(None)
print("done")
"""


def test_eight_threads_refusals_and_streaming(built, native_environment, toy_artifact):
    done = subprocess.run(
        [sys.executable, "-c", THREADS, built / "libkokoro.so", toy_artifact, LONG],
        env=native_environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("program", ["kokoro-say", "speak"])
def test_valgrind_finds_no_invalid_access_and_no_leak(
    built, native_environment, toy_artifact, tmp_path, program
):
    if program == "kokoro-say":
        words = [built / program, "--phonemes", LONG, "--artifact", toy_artifact, "--threads", "2"]
        words += ["-o", tmp_path / "a.wav"]
    else:
        compiled = tmp_path / "speak"
        source = NATIVE / "examples" / "speak.c"
        compile_program(source, compiled, "-g", f"-L{built}", "-lkokoro", f"-Wl,-rpath,{built}")
        words = [compiled, toy_artifact, HELLO, tmp_path / "a.wav"]
    leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99"]
    done = subprocess.run(
        ["valgrind", "--quiet", *leaks, *words],
        env=native_environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
