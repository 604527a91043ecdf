"""The frame: exit codes, one line for a failure, what goes to which stream."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.cli import frame
from kokoro_pipeline.cli.command import Command, UsageError
from kokoro_pipeline.errors import ArtifactError, CheckFailed, EnvironmentFault, InputError

NAMES = [
    *("build", "say", "batch", "serve", "validate", "verify", "info", "doctor"),
    *("weights", "voices", "phonemize", "lexicon", "benchmark", "bundle", "assets"),
]


@pytest.fixture
def command_that(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Make `kokoro-pipeline try` run a function."""

    def install(action: Callable[[], Any]) -> None:
        command = Command("try", "try it", lambda parser: None, lambda args, console: action() or 0)
        monkeypatch.setattr(frame, "COMMANDS", (command,))

    return install


def raising(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def test_the_commands_are_those_of_the_issue():
    assert [command.name for command in frame.COMMANDS] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(run_cli, name):
    ended = run_cli(name, "--help")
    assert ended.code == 0
    assert f"kokoro-pipeline {name}" in ended.out
    assert ended.err == ""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("weights", "lexicon")])
def test_a_program_may_read_every_result(run_cli, name):
    assert "--json" in run_cli(name, "--help").out


def test_a_program_may_read_what_is_wrong_in_a_lexicon(run_cli):
    assert "--json" in run_cli("lexicon", "check", "--help").out


def test_version(run_cli):
    ended = run_cli("--version")
    assert (ended.code, ended.out) == (0, f"kokoro-pipeline {kokoro_pipeline.__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["sing"],
        ["build"],
        ["say", "hello"],
        ["say", "-o", "x.wav"],
        ["say", "hello", "-f", "file", "-o", "x.wav"],
        ["say", "hello", "-o", "x.wav", "--seed", "-1"],
        ["say", "hello", "-o", "x.wav", "--threads", "0"],
        ["say", "hello", "-o", "x.wav", "--speed", "fast"],
        ["say", "hello", "-o", "x.wav", "--artifact", "a", "--weights", "b"],
        ["say", "hello", "-o", "-", "--json"],
        ["build", "-o", "x", "--components", "a,,b"],
        ["build", "-o", "x", "--opt", "fast"],
        ["verify"],
        ["info", "a", "b"],
        ["validate", "a", "--device", "tpu"],
        ["weights"],
        ["weights", "synthetic"],
        ["voices"],
        ["phonemize"],
        ["info", "x", "--no-such-option"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2_and_shows_the_usage(run_cli, words):
    ended = run_cli(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("usage: kokoro-pipeline")
    assert "error: " in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sya", "hello"], "did you mean say?"),
        (["say", "hello", "--format", "flc"], "did you mean flac?"),
        (["say", "hello", "-o", "x.wav", "--sped", "2"], "--sped 2; did you mean --speed?"),
        (["say", "hello", "-o", "x.wav", "--otput=x"], "--otput=x; did you mean --output?"),
        (["weights", "show", "--sed", "1"], "did you mean --seed?"),
        (["say", "hello", "there", "-o", "x.wav"], "there; put a text of several words in quotes"),
        (["info", "a", "b"], "unrecognized arguments: b"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_wrong_usage_says_what_may_have_been_meant(run_cli, words, said):
    ended = run_cli(*words)
    assert ended.code == 2
    assert said in ended.err
    assert "did you mean" in said or "did you mean" not in ended.err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("the text is empty"), 3, "the text is empty"),
        (ArtifactError("it is damaged"), 3, "it is damaged"),
        (EnvironmentFault("no compiler"), 3, "no compiler"),
        (CheckFailed("too far"), 1, "too far"),
        (UsageError("give -o"), 2, "give -o"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "/x"), 3, "/x: Permission denied"),
        (MemoryError(), 3, "memory"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 3, "'tvm-kokoro[build]'"),
        (ModuleNotFoundError("x", name="misaki.en"), 3, "'tvm-kokoro[text]'"),
        (ModuleNotFoundError("x", name="tvm_ffi"), 3, "pip install apache-tvm-ffi"),
        (ImportError("undefined symbol", name="tvm"), 3, "kokoro-pipeline doctor"),
        (ModuleNotFoundError("x", name="kokoro_pipeline.nowhere"), 4, "this is a bug"),
        (ImportError("x", name="kokoro_pipeline.runtime.text"), 4, "this is a bug"),
        (ZeroDivisionError("division by zero"), 4, "this is a bug"),
        (RuntimeError("first\nsecond"), 4, "RuntimeError: first (this is a bug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_a_failure_is_one_line_and_a_code(run_cli, command_that, error, code, said):
    command_that(raising(error))
    ended = run_cli("try")
    assert ended.code == code
    assert ended.out == ""
    last = ended.err.splitlines()[-1]
    assert last.startswith("kokoro-pipeline: error: ")
    assert said in last
    assert "Traceback" not in ended.err
    if code != 2:
        assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("words", [["--debug", "try"], ["try", "--debug"]], ids=" ".join)
@pytest.mark.parametrize("error", [InputError("bad"), ZeroDivisionError("zero")], ids=repr)
def test_debug_shows_the_traceback_on_stderr(run_cli, command_that, words, error):
    command_that(raising(error))
    ended = run_cli(*words)
    assert ended.out == ""
    assert "Traceback" in ended.err
    assert "raise error" in ended.err


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_debug_may_stand_anywhere(run_cli, stand_in, place):
    def resolve(*_: Any, **__: Any) -> None:
        raise InputError("no such weights")

    stand_in("kokoro_pipeline.compiler.weights", resolve=resolve)
    words = ["weights", "show", "nowhere"]
    ended = run_cli(*words[:place], "--debug", *words[place:])
    assert ended.code == 3
    assert "Traceback" in ended.err


def test_an_internal_error_says_how_to_see_more(run_cli, command_that):
    command_that(raising(ZeroDivisionError("zero")))
    assert "rerun with --debug" in run_cli("try").err


@pytest.fixture
def our_warning() -> Iterator[type[Warning]]:
    category = type(
        "OursWarning", (UserWarning,), {"__module__": "kokoro_pipeline.runtime.speech.result"}
    )
    yield category


def test_our_warnings_are_always_said_and_others_only_with_debug(
    run_cli, command_that, our_warning
):
    def warn() -> None:
        warnings.warn("a symbol is unknown", our_warning, stacklevel=1)
        warnings.warn("some library's chatter", FutureWarning, stacklevel=1)

    command_that(warn)
    quiet = run_cli("try")
    assert quiet.err == "kokoro-pipeline: warning: a symbol is unknown\n"
    loud = run_cli("--debug", "try")
    assert "a symbol is unknown" in loud.err
    assert "FutureWarning: some library's chatter" in loud.err


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kokoro_pipeline", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["info"], 2),
        (["info", "there-is-no-such-folder"], 3),
        (["say", "", "-o", "x.wav"], 3),
    ],
    ids=str,
)
def test_the_process_ends_with_the_code(tmp_path, words, code):
    done = process(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [["voices", "--check", "pack.npy"], ["--help"], ["say", "--help"]], ids=" ".join
)
def test_a_closed_pipe_is_no_traceback(tmp_path, words):
    """`kokoro-pipeline … | head -0` must end without output."""
    np.save(tmp_path / "pack.npy", np.zeros((510, 1, 256), np.float32))
    program = (
        "import os, sys\n"
        "from kokoro_pipeline.cli import main\n"
        "reader, writer = os.pipe()\n"
        "os.dup2(writer, 1); os.close(writer); os.close(reader)\n"
        f"sys.exit(main({words!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words",
    [
        ["voices", "--check", "pack.npy"],
        ["voices", "--check", "pack.npy", "--json"],
        ["--help"],
        ["--version"],
        ["build", "--help"],
    ],
    ids=" ".join,
)
def test_a_full_disk_under_stdout_is_one_line(tmp_path, words):
    np.save(tmp_path / "pack.npy", np.zeros((510, 1, 256), np.float32))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kokoro_pipeline", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
    assert (done.returncode, done.stderr) == (
        3,
        "kokoro-pipeline: error: cannot write to standard output: No space left on device\n",
    )


def test_interrupting_the_process_is_130():
    """Ctrl-C in a command that waits for standard input.

    A background job of a shell starts with SIGINT ignored, and its children inherit that.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "kokoro_pipeline", "phonemize", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        deadline = time.monotonic() + 30
        # Waiting in read(0, …): the interpreter and the frame are up.
        while time.monotonic() < deadline and not _reads_stdin(running.pid):
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err == "kokoro-pipeline: error: interrupted\n"


def _reads_stdin(pid: int) -> bool:
    where = Path(f"/proc/{pid}/wchan")
    try:
        return "pipe" in where.read_text()
    except OSError:
        return False


def test_data_is_utf8_whatever_the_locale(tmp_path):
    """A phoneme on stdout must not end in an encoding error under an ASCII locale."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process("info", "nˈoʊ", cwd=tmp_path, env=environment)
    assert done.returncode == 3
    assert "nˈoʊ" in done.stderr
