"""`kokoro-say` gives the bits of Python, and refuses what Python refuses, with the same code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import wave
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.artifact.manifest import (
    Choices,
    ConvolutionChoice,
    FunctionSpec,
    Manifest,
    TensorSpec,
    loads,
)
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.cli import main
from kokoro_pipeline.runtime.audio.wav import encode_wav

HELLO = "həlˈoʊ wˈɜːld"
LONG = "ðɪs ɪz ɐ sˈɛntəns, ænd ɪt ɡˈoʊz ˈɑn. " * 40

Run = Callable[..., subprocess.CompletedProcess[bytes]]


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


@pytest.mark.parametrize(
    ("says", "sent", "code", "words"),
    [
        (True, signal.SIGINT, 130, "said until then"),
        (True, signal.SIGTERM, 143, "said until then"),
        (False, signal.SIGINT, 130, "before anything was said"),
    ],
)
def test_an_interrupt_leaves_a_valid_file_of_what_was_said(
    built, native_environment, toy_artifact, tmp_path, says, sent, code, words
):
    output = tmp_path / "out.wav"
    output.write_bytes(b"before")
    # The suite may run as a shell's background job, whose SIGINT starts out ignored.
    program = subprocess.Popen(
        [built / "kokoro-say", "--stdin", "--artifact", toy_artifact, "-o", output],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=native_environment,
        preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL),
    )
    assert program.stdin is not None
    if says:
        # Enough for the buffer of the file to be written out, which shows that it speaks.
        program.stdin.write(f"{HELLO}\n".encode() * 20)
        program.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(says <= p.stat().st_size for p in tmp_path.glob(".out.wav.*")):
        assert time.monotonic() < deadline
        # No pause: the signal is sent as soon as the temporary file is there.
    program.send_signal(sent)
    assert program.stderr is not None
    error = program.stderr.read()  # standard input stays open: the program waits for more
    program.wait(60)
    program.stdin.close()
    assert (program.returncode, words in error.decode()) == (code, True), error
    assert [p.name for p in tmp_path.iterdir()] == ["out.wav"]
    if says:
        with wave.open(str(output)) as read:
            assert read.getnframes() > 0
            assert len(read.readframes(read.getnframes())) == 2 * read.getnframes()
    else:
        assert output.read_bytes() == b"before"


def test_an_interrupt_gives_up_a_pipe_without_a_reader(
    built, native_environment, toy_artifact, tmp_path
):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = subprocess.Popen(
        [built / "kokoro-say", "--phonemes", HELLO, "--artifact", toy_artifact, "-o", pipe],
        stderr=subprocess.PIPE,
        env=native_environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        # The thread that waits for signals is there before the pipe is opened.
        deadline = time.monotonic() + 60
        while len(list(Path(f"/proc/{program.pid}/task").iterdir())) < 2:
            assert time.monotonic() < deadline
        program.send_signal(signal.SIGINT)
        _, error = program.communicate(timeout=60)
    finally:
        program.kill()
    assert (program.returncode, error) == (
        130,
        b"kokoro-say: interrupted before anything was said\n",
    )


def test_an_ignored_interrupt_stays_ignored(built, native_environment, toy_artifact, tmp_path):
    program = subprocess.Popen(
        [built / "kokoro-say", "--stdin", "--artifact", toy_artifact, "-o", tmp_path / "out.wav"],
        stdin=subprocess.PIPE,
        env=native_environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert program.stdin is not None
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".out.wav.*")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    program.communicate(f"{HELLO}\n".encode(), timeout=60)
    assert program.returncode == 0
    assert (tmp_path / "out.wav").stat().st_size > 1000


def test_an_existing_file_keeps_its_mode_and_a_link_stays_one(kokoro_say, toy_artifact, tmp_path):
    target = tmp_path / "target.wav"
    target.write_bytes(b"before")
    target.chmod(0o640)
    link = tmp_path / "link.wav"
    link.symlink_to(target)
    said = kokoro_say("--phonemes", HELLO, "--artifact", toy_artifact, "-o", link)
    assert said.returncode == 0
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    with wave.open(str(target)) as read:
        assert (read.getnchannels(), read.getsampwidth(), read.getframerate()) == (1, 2, 24_000)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "link.wav", "target.wav"]


def test_a_closed_pipe_ends_it_quietly(built, native_environment, toy_artifact):
    program = subprocess.Popen(
        [built / "kokoro-say", "--stdin", "--artifact", toy_artifact, "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=native_environment,
    )
    assert program.stdin and program.stdout and program.stderr
    program.stdout.close()
    program.stdin.write(f"{HELLO}\n".encode() * 50)
    program.stdin.close()
    error = program.stderr.read()
    assert program.wait(60) == 141
    assert error == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--phonemes a --artifact DIR -o - >&-", "standard output is closed"),
        ("--stdin --artifact DIR -o x.wav <&-", "standard input is closed: give --phonemes TEXT"),
        ("info DIR >&-", "standard output is closed"),
        ("verify DIR >&-", "standard output is closed"),
    ],
)
def test_a_closed_standard_stream_is_told(
    built, native_environment, toy_artifact, tmp_path, words, said
):
    """Rust puts /dev/null in its place, where the audio would vanish."""
    command = f"{built / 'kokoro-say'} {words.replace('DIR', str(toy_artifact))}"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=native_environment
    )
    assert (done.returncode, done.stderr) == (3, f"kokoro-say: error: {said}\n")
    assert not list(tmp_path.iterdir())


def test_a_stream_that_is_dev_null_is_open(built, native_environment, toy_artifact):
    command = [built / "kokoro-say", "info", toy_artifact]
    assert (
        subprocess.run(command, stdout=subprocess.DEVNULL, env=native_environment).returncode == 0
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_told(kokoro_say, toy_artifact):
    said = kokoro_say("--phonemes", HELLO, "--artifact", toy_artifact, "-o", "/dev/full")
    assert said.returncode == 3
    assert b"cannot write /dev/full: No space left on device" in said.stderr


def test_info_and_verify_say_what_python_says(kokoro_say, toy_artifact, capfd):
    for command in ("info", "verify"):
        native = kokoro_say(command, toy_artifact)
        assert main([command, str(toy_artifact)]) == native.returncode == 0
        wanted = capfd.readouterr().out
        # Python has functions, versions and files in the order of the file, the program sorted.
        words = [
            sorted(text.replace(",", " ").split()) for text in (native.stdout.decode(), wanted)
        ]
        assert words[0] == words[1]
        assert main([command, str(toy_artifact), "--json"]) == 0
        wanted = json.loads(capfd.readouterr().out)
        given = json.loads(kokoro_say(command, toy_artifact, "--json").stdout)
        if command == "verify":
            for report in (wanted, given):
                report["checks"].sort(key=lambda check: check["name"])
        assert given == wanted


@pytest.mark.parametrize(
    ("measured_on", "line"),
    [
        ("", b"convolutions  2 fft2048, 1 winograd (chosen by the model)\n"),
        ("znver4", b"convolutions  2 fft2048, 1 winograd (measured on znver4)\n"),
    ],
)
def test_info_says_what_computes_the_convolutions(
    kokoro_say, toy_artifact, tmp_path, capfd, measured_on, line
):
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    shapes = {
        "a": ConvolutionChoice("winograd", {"winograd": 3.5, "fft2048": 4}),
        "b": ConvolutionChoice("fft2048"),
        "c": ConvolutionChoice("fft2048"),
    }
    rewrite(folder, lambda m: replace(m, choices=Choices(measured_on, shapes)))
    assert main(["info", str(folder)]) == 0
    assert line in capfd.readouterr().out.encode()
    assert line in kokoro_say("info", folder).stdout


def test_a_seed_of_the_weights_may_have_any_size(kokoro_say, toy_artifact, tmp_path):
    """Found by comparing both readers on thousands of manifests with other values."""
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    rewrite(folder, lambda m: replace(m, weights=replace(m.weights, seed=2**70)))
    assert f"synthetic, seed {2**70} ".encode() in kokoro_say("info", folder).stdout


def test_a_pipe_in_place_of_a_manifest_is_refused_and_not_waited_for(kokoro_say, tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    said = kokoro_say("info", tmp_path)
    assert said.returncode == 3
    assert b"manifest.json is no file; build" in said.stderr


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
    for line, cause in ((b"\xff\n", b"line 2 of standard input"), ("漢\n".encode(), b"vocabulary")):
        said = kokoro_say("--stdin", "--artifact", toy_artifact, "-o", output, stdin=b"a\n" + line)
        assert said.returncode == 3
        assert cause in said.stderr
        assert not output.exists()


def rewrite(folder: Path, change: Callable[[Manifest], Manifest]) -> None:
    """Change the manifest and seal it again."""
    file = folder / "manifest.json"
    file.write_text(change(loads(file.read_text("utf-8"))).dumps(), "utf-8")


def reseal(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the JSON of the manifest to what Python would not write, with a hash that fits."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    change(manifest)
    manifest.pop("sha256")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(json.dumps({**manifest, "sha256": hashlib.sha256(text.encode()).hexdigest()}))


def edit(folder: Path, old: str, new: str, name: str = "manifest.json") -> None:
    """Change the text of the manifest, or of another file."""
    file = folder / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def relist(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, and list it as it is now."""
    file = folder / name
    file.write_bytes(content)

    def change(manifest: Manifest) -> Manifest:
        entry = replace(manifest.files[name], sha256=file_sha256(file), size=len(content))
        return replace(manifest, files={**manifest.files, name: entry})

    rewrite(folder, change)


def target(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: rewrite(
        folder, lambda manifest: replace(manifest, target=replace(manifest.target, **fields))
    )


def functions(change: Callable[[dict[str, FunctionSpec]], None]) -> Callable[[Path], None]:
    def apply(manifest: Manifest) -> Manifest:
        specs = dict(manifest.functions)
        change(specs)
        return replace(manifest, functions=specs)

    return lambda folder: rewrite(folder, apply)


def other_output(specs: dict[str, FunctionSpec]) -> None:
    outputs = (TensorSpec("d_en", "float32", ("B", 511, "n")),)
    specs["bert_forward"] = replace(specs["bert_forward"], outputs=outputs)


def nan_voice(folder: Path) -> None:
    pack = np.load(folder / "voices" / "af_heart.npy")
    pack[3, 0, 5] = np.nan
    np.save(folder / "voices" / "af_heart.npy", pack)


def nan_weights(folder: Path) -> None:
    parameters = np.fromfile(folder / "params.bin", np.float32)
    parameters[:] = np.nan
    relist(folder, "params.bin", parameters.tobytes())


def foreign_library(folder: Path) -> None:
    content = bytearray((folder / "model.so").read_bytes())
    content[18:20] = b"\xb7\x00" if content[18] == 62 else b"\x3e\x00"
    relist(folder, "model.so", bytes(content))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-folder": (shutil.rmtree, "does not exist"),
    "no-manifest": (lambda f: (f / "manifest.json").unlink(), "is not an artifact"),
    "no-json": (lambda f: (f / "manifest.json").write_text("{"), "not valid JSON"),
    "nan-in-json": (lambda f: edit(f, '"opt_level": 0', '"opt_level": NaN'), "not valid JSON"),
    "not-utf8": (lambda f: (f / "manifest.json").write_bytes(b"\xff"), "is damaged"),
    "newer": (lambda f: edit(f, '"schema_version": 5', '"schema_version": 6'), "newer"),
    "older": (lambda f: edit(f, '"schema_version": 5', '"schema_version": 4'), "older"),
    "schema-of-another-type": (
        lambda f: edit(f, '"schema_version": 5', '"schema_version": "5"'),
        "schema_version is",
    ),
    "edited": (lambda f: edit(f, '"opt_level": 0', '"opt_level": 1'), "content hashes to"),
    "library-truncated": (lambda f: os.truncate(f / "model.so", 1000), "has 1000 bytes"),
    "library-flipped": (
        lambda f: (f / "model.so").write_bytes((f / "model.so").read_bytes()[:-1] + b"?"),
        "its sha256 is",
    ),
    "library-of-another-machine": (foreign_library, "is a library for"),
    "library-is-text": (lambda f: relist(f, "model.so", b"x" * 64), "not a shared library"),
    "library-does-not-load": (
        lambda f: relist(f, "model.so", (f / "model.so").read_bytes()[:64] + bytes(4096)),
        "cannot be loaded as a compiled model",
    ),
    "parameters-missing": (lambda f: (f / "params.bin").unlink(), "lacks params.bin"),
    "parameters-truncated": (lambda f: os.truncate(f / "params.bin", 64), "has 64 bytes"),
    "parameters-nan": (nan_weights, "not finite"),
    "config-damaged": (lambda f: relist(f, "config.json", b"{}"), "lacks vocab, n_token"),
    "config-flipped": (
        lambda f: edit(f, '"n_token": 178', '"n_token": 179', "config.json"),
        "config.json is damaged: its sha256 is",
    ),
    "config-no-json": (lambda f: relist(f, "config.json", b"{"), "cannot read the model config"),
    "voice-missing": (lambda f: (f / "voices" / "af_heart.npy").unlink(), "lacks voices/af_heart"),
    "voice-nan": (nan_voice, "1 of the voice's values are NaN"),
    "other-tvm": (
        lambda f: rewrite(f, lambda m: replace(m, versions={"apache-tvm": "0.26.0"})),
        "was built with apache-tvm 0.26.0",
    ),
    "no-tvm-recorded": (lambda f: rewrite(f, lambda m: replace(m, versions={})), "not recorded"),
    "cpu-features": (target(features=("avx1024",)), "this CPU lacks avx1024"),
    "cuda": (target(kind="cuda", archs=("sm_90",)), "cuda"),
    "metal": (target(kind="metal"), "compiled for"),
    "a-function-less": (functions(lambda s: s.pop("source_forward")), "no source_forward"),
    "a-function-more": (
        functions(lambda s: s.update(more=replace(s["bert_forward"], parameters=()))),
        "has no function more",
    ),
    "choices-of-another-type": (
        lambda f: reseal(f, lambda m: m["choices"].update(measured_on=5)),
        "choices.measured_on is 5",
    ),
    "choice-that-took-less-than-nothing": (
        lambda f: reseal(
            f,
            lambda m: m["choices"]["convolutions"].update(
                {"8x8": {"algorithm": "fft", "microseconds": {"fft": -1}}}
            ),
        ),
        "choices.convolutions.8x8.microseconds.fft is -1",
    ),
    "other-output": (functions(other_output), "library and manifest do not belong together"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_python_refuses_is_refused_with_the_same_code(
    kokoro_say, toy_artifact, tmp_path, capfd, name
):
    damage, cause = DAMAGE[name]
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    damage(folder)
    output = tmp_path / "a.wav"
    words = ["--artifact", folder, "-o", output]
    code = main(["say", "--phonemes", HELLO, *map(str, words)])
    wanted = capfd.readouterr().err
    said = kokoro_say("--phonemes", HELLO, *words)
    assert (code, said.returncode) == (3, 3), wanted + said.stderr.decode()
    assert cause in said.stderr.decode()
    if name not in ("cuda", "metal"):  # which Python can run, on another machine
        assert cause in wanted
    assert not output.exists()
    assert kokoro_say("verify", folder).returncode == main(["verify", str(folder)])


@pytest.mark.parametrize("name", ["tvm_ffi", "tvm"])
def test_missing_libraries_are_named(kokoro_say, toy_artifact, tvm_libraries, name):
    kept = [folder for folder in tvm_libraries.split(":") if f"/{name}/" not in folder]
    said = kokoro_say(
        *("--phonemes", HELLO, "--artifact", toy_artifact, "-o", "a.wav"),
        environment={"KOKORO_TVM_LIBS": ":".join(kept)},
    )
    assert said.returncode == 3
    assert b"is not there (searched" in said.stderr and b"kokoro-pipeline bundle" in said.stderr


def test_libraries_are_not_taken_from_the_current_folder(
    built, toy_artifact, tvm_libraries, tmp_path
):
    for folder in tvm_libraries.split(":"):
        for file in Path(folder).glob("libtvm_*.so"):
            (tmp_path / file.name).symlink_to(file)
    rest = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    for value, cause in (("", "is not there"), (".", "not absolute"), ("lib", "not absolute")):
        said = subprocess.run(
            [built / "kokoro-say", "verify", toy_artifact],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**rest, "KOKORO_TVM_LIBS": value},
        )
        assert said.returncode == 1
        assert cause in said.stdout


def test_a_library_of_unknown_version_is_refused(kokoro_say, toy_artifact, tvm_libraries, tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    for place in tvm_libraries.split(":"):
        for file in Path(place).glob("libtvm_*.so"):
            shutil.copy(file, folder)
    words = ["--phonemes", HELLO, "--artifact", toy_artifact, "-o", "a.wav"]
    where = {"KOKORO_TVM_LIBS": str(folder)}
    for versions, cause in (
        (None, "cannot tell the version"),
        ("{}", "is damaged"),
        ('{"apache-tvm": "0.26.0"}', "this is apache-tvm 0.26.0"),
    ):
        if versions is not None:
            (folder / "tvm-versions.json").write_text(versions)
        said = kokoro_say(*words, environment=where)
        assert said.returncode == 3
        assert cause in said.stderr.decode()


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
