"""What `kokoro-say` writes to, and what it leaves of it when it is interrupted or cannot go on."""

from __future__ import annotations

import os
import select
import shutil
import signal
import stat
import subprocess
import time
import wave
from pathlib import Path

import pytest

HELLO = "həlˈoʊ wˈɜːld"


@pytest.mark.parametrize(
    ("says", "sent", "code", "words"),
    [
        (True, signal.SIGINT, 130, "said until then"),
        (True, signal.SIGTERM, 143, "said until then"),
        (True, signal.SIGHUP, 129, "said until then"),
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


def spent(process: int) -> tuple[str, ...]:
    """The state of a process and its time on a processor, as Linux counts it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return fields[0], *fields[11:13]


@pytest.mark.parametrize("named", [False, True], ids=["standard-output", "named"])
def test_an_interrupt_gives_up_a_reader_that_takes_nothing(
    built, native_environment, toy_artifact, tmp_path, named
):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    program = subprocess.Popen(
        [
            *(built / "kokoro-say", "--stdin", "--artifact", toy_artifact),
            *("-o", pipe if named else "-"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL if named else writer,
        stderr=subprocess.PIPE,
        env=native_environment,
    )
    assert program.stdin is not None
    try:
        program.stdin.write(f"{HELLO}\n".encode() * 20)  # more than a pipe holds
        program.stdin.flush()
        deadline = time.monotonic() + 60
        before = None  # A program that speaks the next sentence is not waiting yet.
        while select.select([], [writer], [], 0)[1] or before != (before := spent(program.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.5)
        program.send_signal(signal.SIGTERM)
        _, error = program.communicate(timeout=30)
    finally:
        program.kill()
        os.close(reader)
        os.close(writer)
    shown = str(pipe) if named else "standard output"
    assert (program.returncode, error.decode()) == (
        143,
        f"kokoro-say: interrupted while {shown} waited for its reader\n",
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
        ("--help >&-", "standard output is closed"),
        ("--version >/dev/full", "cannot write the result: No space left on device"),
        ("info --help >/dev/full", "cannot write the result: No space left on device"),
    ],
)
def test_a_standard_stream_that_is_closed_or_full_is_told(
    built, native_environment, toy_artifact, tmp_path, words, said
):
    """Rust puts /dev/null in the place of a closed one, where the audio would vanish."""
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--phonemes a --artifact DIR -o a.wav", 0),
        ("--phonemes a --artifact none -o a.wav", 3),
        ("--phonemes a", 2),
    ],
)
def test_a_standard_error_that_takes_nothing_changes_no_result(
    built, native_environment, toy_artifact, tmp_path, words, code
):
    line = [built / "kokoro-say", *words.replace("DIR", str(toy_artifact)).split()]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(line, cwd=tmp_path, env=native_environment, stderr=full, check=False)
    assert done.returncode == code
    assert [file.name for file in tmp_path.iterdir()] == ["a.wav"] * (code == 0)


def test_in_a_folder_that_takes_no_new_files_a_file_is_written_over(
    built, native_environment, toy_artifact, tmp_path
):
    """It stays until the first samples, and its header has the right sizes at the end."""
    line = [built / "kokoro-say", "--stdin", "--artifact", toy_artifact]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and setpriv is not installed (util-linux)")
        line = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all", *line]
    whole, written = tmp_path / "whole.wav", tmp_path / "folder" / "a.wav"
    written.parent.mkdir()
    written.write_bytes(b"before" * 100_000)
    written.parent.chmod(0o555)

    def say(output: Path, *words: str) -> int:
        return subprocess.run(
            [*line, "-o", output, *words], env=native_environment, input=HELLO.encode(), check=False
        ).returncode

    assert (say(written, "--speed", "99"), say(written, "--voice", "nobody")) == (3, 3)
    assert written.read_bytes() == b"before" * 100_000
    assert (say(written), say(whole)) == (0, 0)
    assert written.read_bytes() == whole.read_bytes()
    assert [file.name for file in written.parent.iterdir()] == ["a.wav"]
