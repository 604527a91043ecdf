"""`kokoro-say` gives the bits of Python, and refuses input that it cannot speak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.runtime.audio.wav import encode_wav

HELLO = "həlˈoʊ wˈɜːld"
LONG = "ðɪs ɪz ɐ sˈɛntəns, ænd ɪt ɡˈoʊz ˈɑn. " * 40


def samples(path: Path) -> np.ndarray:
    """The samples of a WAV file of 32-bit floats, which the standard library does not read."""
    content = path.read_bytes()
    start = content.index(b"data") + 8
    return np.frombuffer(content[start:], "<f4")


@pytest.mark.parametrize(
    ("phonemes", "voice", "speed", "seed"),
    [
        (HELLO, "af_heart", 1.0, 0),
        (HELLO, "af_heart:0.6,af_bella:0.4", 0.7, 2**70 + 3),
        (LONG, "af_bella", 1.3, 7),
        ("a", "af_heart", 10.0, 1),
        (f"  «{HELLO}» g\N{COMBINING ACUTE ACCENT}  \n{HELLO}", "af_heart", 0.3, 5),
    ],
    ids=["plain", "blend", "long", "one-symbol", "unknown-symbols"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_bits_are_those_of_python(
    kokoro_say, toy_artifact, tmp_path, phonemes, voice, speed, seed
):
    joined = " ".join(phonemes.splitlines())
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        speech = tts.synthesize(joined, voice=voice, speed=speed, seed=seed)
    options = [
        *("--phonemes", phonemes, "--voice", voice, "--speed", str(speed), "--seed", str(seed)),
        *("--artifact", toy_artifact),
    ]
    floats = tmp_path / "a.wav"
    said = kokoro_say(*options, "--float", "-o", floats)
    assert said.returncode == 0, said.stderr.decode()
    assert floats.read_bytes() == encode_wav(speech.audio, 24_000, floating=True)[0]
    for threads in ("1", "3"):
        piped = kokoro_say(*options, "--threads", threads, "-o", "-")
        assert piped.stdout == encode_wav(speech.audio, 24_000)[0]
    assert b"NOT SPEECH" in piped.stderr
    unknown = [str(symbol.position) for symbol in speech.unknown]
    assert all(f"at {position}".encode() in piped.stderr for position in unknown)
    assert (b"left unspoken" in piped.stderr) == bool(unknown)
    assert "«".encode() not in piped.stderr  # a silent mark


def test_each_line_of_standard_input_is_an_utterance(kokoro_say, toy_artifact, tmp_path):
    lines = [HELLO, "", "a b c.", LONG]
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        audio = np.concatenate([tts.synthesize(line, seed=4).audio for line in lines if line])
    options = ["--stdin", "--seed", "4", "--artifact", toy_artifact]
    text = "\N{ZERO WIDTH NO-BREAK SPACE}" + "\r\n".join(lines)
    output = tmp_path / "a.wav"
    said = kokoro_say(*options, "-o", output, stdin=text.encode())
    assert said.returncode == 0, said.stderr.decode()
    assert output.read_bytes() == encode_wav(audio, 24_000)[0]
    piped = kokoro_say(*options, "-o", "-", stdin=text.encode()).stdout
    # The number of samples was not known when the header was written.
    assert piped[44:] == output.read_bytes()[44:]
    assert piped[4:8] == piped[40:44] == b"\xff" * 4


def test_a_line_is_spoken_before_the_next_one_comes(built, native_environment, toy_artifact):
    program = subprocess.Popen(
        [built / "kokoro-say", "--stdin", "--artifact", toy_artifact, "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=native_environment,
    )
    assert program.stdin is not None and program.stdout is not None
    try:
        for _ in range(3):
            program.stdin.write(f"{HELLO}\n".encode())
            program.stdin.flush()
            assert len(program.stdout.read(2000)) == 2000
        rest, _ = program.communicate(timeout=60)
        assert len(rest) > 0 and program.returncode == 0
    finally:
        program.kill()


def test_help_and_version(kokoro_say):
    assert b"--phonemes" in kokoro_say("--help").stdout
    assert kokoro_say("--version").stdout == b"kokoro-say 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        ([], 2, "-o FILE"),
        (["-o", "a.wav"], 2, "--phonemes TEXT or --stdin"),
        (["-o", "a.wav", "--phonemes", "a", "--stdin"], 2, "cannot be used with"),
        (["-o", "a.wav", "--phonemes", "a", "--speed", "x"], 2, "--speed"),
        (["-o", "a.wav", "--phonemes", "a", "--seed", "-1"], 2, "0 or above"),
        (["-o", "a.wav", "--phonemes", "a", "--threads", "0"], 2, "above 0"),
        (["-o", "a.wav", "--phonemes", "a", "--device", "gpu"], 2, "unknown device"),
        (["-o", "a.wav", "--phonemes", "a", "--device", "cuda"], 3, "compiled for cpu"),
        (["-o", "a.wav", "--phonemes", "a", "--threads", "1025"], 3, "from 1 to 1024"),
        (["-o", "a.wav", "--phonemes", "a", "--speed", "0"], 3, "speed is 0, expected"),
        (["-o", "a.wav", "--phonemes", "a", "--speed", "nan"], 3, "speed is NaN, expected"),
        (["-o", "a.wav", "--phonemes", ""], 3, "the phonemes are empty"),
        (["-o", "a.wav", "--phonemes", " \n\t"], 3, "the phonemes are empty"),
        (["-o", "a.wav", "--phonemes", "漢字"], 3, "2 symbols are not in the model's vocabulary"),
        (["-o", "a.wav", "--phonemes", b"\xff"], 3, "not valid UTF-8"),
        (["-o", "a.wav", "--phonemes", "a", "--voice", "nobody"], 3, "it has af_bella, af_heart"),
        (["-o", "a.wav", "--phonemes", "a", "--voice", "./nobody.npy"], 3, "No such file"),
        (["-o", "a.wav", "--phonemes", "a", "--voice", "af_heart:0"], 3, "not positive"),
        (["-o", "none/a.wav", "--phonemes", "a"], 3, "a folder you can write to?"),
        (["-o", ".", "--phonemes", "a"], 3, "it is a folder"),
        (["-o", "a.ogg", "--phonemes", "a"], 3, "unknown format .ogg"),
        (["-o", "a.wav/", "--phonemes", "a"], 3, "it names a folder"),
        (["-o", "a.wav", "--phonemes", "a", "--voice", b"./\xff.npy"], 3, "the voice is not valid"),
        (["-o", "a.wav", "--stdin"], 3, "the phonemes are empty"),
        (["nonsense"], 2, "nonsense"),
    ],
    ids=str,
)
def test_bad_input_is_refused(kokoro_say, toy_artifact, tmp_path, words, code, cause):
    said = kokoro_say(*words, *(["--artifact", toy_artifact] if words[:1] != ["nonsense"] else []))
    assert (said.returncode, said.stdout) == (code, b"")
    assert cause in said.stderr.decode()
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_line_that_is_not_utf8_or_unknown_is_refused(kokoro_say, toy_artifact, tmp_path):
    output = tmp_path / "a.wav"
    options = ["--stdin", "--artifact", toy_artifact, "-o", output]
    for line, cause in ((b"\xff\n", b" is not UTF-8"), ("漢\n".encode(), b": there is nothing to")):
        said = kokoro_say(*options, stdin=b"a\n" + line)
        assert said.returncode == 3
        assert b"error: line 2 of standard input" + cause in said.stderr
        assert not output.exists()
    said = kokoro_say(*options, stdin=b"a\n\nag\n")
    assert said.returncode == 0
    assert b"warning: line 3 of standard input: 1 symbol is not" in said.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_the_program_ends_with_an_idle_pool(kokoro_say, toy_artifact):
    """A destructor of TVM's pool would otherwise wait for workers, seconds on one core."""
    for _ in range(10):
        words = ["--phonemes", "a", "--artifact", toy_artifact, "--threads", "4", "-o", "-"]
        assert kokoro_say(*words).returncode == 0


@pytest.mark.slow
def test_the_whole_model_gives_the_bits_of_python(kokoro_say, artifact, tmp_path):
    """Every kernel of the real architecture, for one chunk and for several."""
    output = tmp_path / "a.wav"
    for phonemes in (HELLO, LONG):
        with kokoro_pipeline.load(artifact) as tts:
            audio = tts.synthesize(phonemes, seed=2).audio
        words = ["--phonemes", phonemes, "--seed", "2", "--artifact", artifact]
        assert kokoro_say(*words, "--float", "-o", output).returncode == 0
        assert np.array_equal(samples(output), audio)
