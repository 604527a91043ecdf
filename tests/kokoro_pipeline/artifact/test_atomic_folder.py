"""A folder is there whole or not at all, and what it replaces stays until then."""

import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_pipeline.artifact import disk, locks
from kokoro_pipeline.artifact.atomic import new_folder
from kokoro_pipeline.errors import EnvironmentFault, InputError

pytestmark = pytest.mark.fast

KILLED = """
import os, signal, sys
from pathlib import Path
from kokoro_pipeline.artifact.atomic import new_folder
with new_folder(Path(sys.argv[1])) as folder:
    (folder / "part").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write(path: Path, text: str, *, replace: bool = False) -> None:
    with new_folder(path, replace=replace) as folder:
        (folder / "part").write_text(text)


def content(folder: Path) -> dict[str, str]:
    """The text of each file below the folder, by its path."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_text() for file in files}


def kill_a_writer(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert not path.exists()


@pytest.mark.parametrize("name", ["out", "out[1]*", "汉" * 82], ids=["plain", "pattern", "long"])
def test_what_a_killed_writer_left_is_cleared(tmp_path: Path, name: str) -> None:
    """Also where the name means something as a pattern, or has nearly 255 bytes."""
    kill_a_writer(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 1
    write(tmp_path / name, "y")
    assert content(tmp_path) == {f"{name}/part": "y"}


def test_what_a_running_writer_holds_stays(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out", replace=True) as first:
        (first / "part").write_text("first")
        write(tmp_path / "out", "second", replace=True)
        assert content(tmp_path / "out") == {"part": "second"}
    assert content(tmp_path) == {"out/part": "first"}


def test_without_locks_nothing_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead writer cannot be told from a running one then, whose folder would be deleted."""
    kill_a_writer(tmp_path / "out")
    monkeypatch.setattr(locks, "fcntl", None)
    write(tmp_path / "out", "y")
    assert sorted(content(tmp_path).values()) == ["x", "y"]


@pytest.mark.parametrize("swap", ["atomic", "two renames"])
def test_a_folder_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: str) -> None:
    if swap == "two renames":
        monkeypatch.setattr(disk, "exchange", lambda first, second: False)
    write(tmp_path / "out", "old")
    with pytest.raises(InputError, match="exists already"):
        write(tmp_path / "out", "new")
    write(tmp_path / "out", "new", replace=True)
    assert content(tmp_path) == {"out/part": "new"}


def test_a_failed_rename_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "exchange", lambda first, second: False)
    write(tmp_path / "out", "old")
    rename = Path.rename

    def failing(source: Path, target: Path) -> Path:
        if target == tmp_path / "out" and (source / "part").read_text() == "new":
            raise OSError(28, "No space left on device", str(target))
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(EnvironmentFault, match="the disk is full"):
        write(tmp_path / "out", "new", replace=True)
    assert content(tmp_path) == {"out/part": "old"}


def test_a_failed_body_leaves_the_old_folder(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out", replace=True):
        raise ZeroDivisionError
    assert content(tmp_path) == {"out/part": "old"}
