"""Writing: a reader sees a complete artifact or none, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_pipeline.artifact import disk, locks, writer
from kokoro_pipeline.artifact.manifest import Manifest, ParameterSpec
from kokoro_pipeline.artifact.reader import open_artifact, verify_artifact
from kokoro_pipeline.artifact.writer import ArtifactWriter
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

Make = Callable[..., Path]
Fill = Callable[..., list[ParameterSpec]]
Describe = Callable[..., Manifest]

# A build in a process of its own. `reach(stage)` is where the test kills or halts it.
BUILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import conftest
from kokoro_pipeline.artifact import disk, parameter_file as parameters, writer
from kokoro_pipeline.errors import KokoroError

output, stage = Path(sys.argv[1]), sys.argv[2]
seed, force = int(sys.argv[3]), sys.argv[4] == "force"

def reach(name):
    if stage == name:
        os.kill(os.getpid(), signal.SIGKILL)
    if stage == "halt" and name == "entered":
        print("entered", flush=True)
        sys.stdin.readline()

def before(module, attribute, name):
    original = getattr(module, attribute)
    def replaced(*arguments, **options):
        reach(name)
        return original(*arguments, **options)
    setattr(module, attribute, replaced)

def after(module, attribute, name):
    original = getattr(module, attribute)
    def replaced(*arguments, **options):
        result = original(*arguments, **options)
        reach(name)
        return result
    setattr(module, attribute, replaced)

def half_manifest(path, text, encoding):
    if stage == "manifest half written":
        path.write_bytes(text.encode()[: len(text) // 2])
        reach("manifest half written")
    path.write_bytes(text.encode())

after(writer, "file_sha256", "hashing")
before(writer, "sync", "syncing")
Path.write_text, original_write_text = half_manifest, Path.write_text
before(writer.ArtifactWriter, "_publish", "manifest written")
after(disk, "exchange", "swapped")

try:
    with writer.ArtifactWriter(output, force) as build:
        reach("entered")
        (build.directory / "params.bin").write_bytes(b"half")
        reach("parameters half written")
        Path.write_text = original_write_text
        specs = conftest.fill(build.directory, seed)
        Path.write_text = half_manifest
        reach("files written")
        build.commit(conftest.describe(specs))
    print("built")
except KokoroError as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""

STAGES = [
    "entered",
    "parameters half written",
    "files written",
    "hashing",
    "syncing",
    "manifest half written",
    "manifest written",
]


def start(output: Path, stage: str, seed: int = 1, force: bool = False) -> subprocess.Popen[str]:
    code = BUILD.format(tests=str(Path(__file__).parent))
    arguments = [str(output), stage, str(seed), "force" if force else "new"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture
def halted(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a build that waits in its body for a line on its standard input."""
    running: list[subprocess.Popen[str]] = []

    def launch(output: Path, force: bool = False) -> subprocess.Popen[str]:
        process = start(output, "halt", force=force)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "entered\n"
        return process

    yield launch
    for process in running:
        process.kill()
        process.communicate()


def identity(path: Path) -> str:
    return open_artifact(path).manifest.files["params.bin"].sha256


def test_commit_leaves_the_artifact_and_nothing_else(
    tmp_path: Path, fill_folder: Fill, make_manifest: Describe
) -> None:
    output = tmp_path / "new" / "folder" / "kokoro"
    with ArtifactWriter(output) as build:
        assert build.directory.parent == output.parent, "a rename must not cross file systems"
        assert not output.exists()
        specs = fill_folder(build.directory)
        assert build.commit(make_manifest(specs)) == output
    assert [entry.name for entry in output.parent.iterdir()] == ["kokoro"]
    assert all(result.passed for result in verify_artifact(output))


def test_preview_is_the_artifact_before_its_commit(
    tmp_path: Path, fill_folder: Fill, make_manifest: Describe
) -> None:
    with ArtifactWriter(tmp_path / "a") as build:
        manifest = make_manifest(fill_folder(build.directory))
        artifact = build.preview(manifest)
        assert artifact.parameters("double")[0].shape == (5, 7)
        assert set(artifact.manifest.files) >= {"model.so", "params.bin"}
        with pytest.raises(ArtifactError, match="unfinished build"):
            open_artifact(build.directory)
        build.commit(manifest)
    assert open_artifact(tmp_path / "a").manifest == artifact.manifest


@pytest.mark.parametrize("leave", ["error", "interrupt", "no commit"])
def test_leaving_without_commit_removes_everything(tmp_path: Path, leave: str) -> None:
    errors = {"error": ValueError("no"), "interrupt": KeyboardInterrupt(), "no commit": None}
    error = errors[leave]
    try:
        with ArtifactWriter(tmp_path / "a") as build:
            (build.directory / "model.so").write_bytes(b"x")
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt) as caught:
        assert caught is error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("existing", ["artifact", "folder", "file"])
def test_existing_output_is_refused_before_any_work(
    tmp_path: Path, make_artifact: Make, existing: str
) -> None:
    output = tmp_path / "a"
    if existing == "artifact":
        make_artifact(output)
    elif existing == "folder":
        output.mkdir()
    else:
        output.write_text("mine")
    with pytest.raises(ArtifactError, match=r"exists: .*--force"), ArtifactWriter(output):
        pytest.fail("the body ran")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("swap", ["atomic", "two renames"])
def test_force_replaces_an_artifact(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    output = make_artifact(tmp_path / "a", seed=1)
    old = identity(output)
    mapped = open_artifact(output).parameters("double")[0]
    before = mapped.copy()
    if swap == "two renames":
        monkeypatch.setattr(disk, "exchange", lambda first, second: False)
    make_artifact(output, seed=2, force=True)
    assert identity(output) != old
    assert (mapped == before).all(), "a running process keeps the artifact that it opened"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_force_takes_an_empty_folder_and_a_damaged_artifact(
    tmp_path: Path, make_artifact: Make
) -> None:
    (tmp_path / "a").mkdir()
    open_artifact(make_artifact(tmp_path / "a", force=True))
    (tmp_path / "a" / "manifest.json").unlink()
    open_artifact(make_artifact(tmp_path / "a", force=True))


def test_force_follows_a_link_and_keeps_it(tmp_path: Path, make_artifact: Make) -> None:
    real = make_artifact(tmp_path / "real", seed=1)
    old = identity(real)
    (tmp_path / "link").symlink_to("real")
    make_artifact(tmp_path / "link", seed=2, force=True)
    assert (tmp_path / "link").is_symlink()
    assert identity(real) != old


@pytest.mark.parametrize("existing", ["documents", "file"])
def test_force_deletes_nothing_but_artifacts(
    tmp_path: Path, make_artifact: Make, existing: str
) -> None:
    output = tmp_path / "a"
    if existing == "file":
        output.write_text("mine")
    else:
        output.mkdir()
        (output / "thesis.tex").write_text("mine")
    with pytest.raises(ArtifactError, match=r"thesis\.tex|not a folder"):
        make_artifact(output, force=True)
    mine = output if existing == "file" else output / "thesis.tex"
    assert mine.read_text() == "mine"


def test_a_failed_forced_build_keeps_the_old_artifact(tmp_path: Path, make_artifact: Make) -> None:
    output = make_artifact(tmp_path / "a")
    old = identity(output)
    with pytest.raises(ValueError, match="no"), ArtifactWriter(output, force=True):
        raise ValueError("no")
    assert identity(output) == old


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("force", [False, True])
def test_a_killed_build_leaves_nothing_that_loads(
    tmp_path: Path, make_artifact: Make, stage: str, force: bool
) -> None:
    output = tmp_path / "a"
    if force:
        make_artifact(output, seed=0)
        old = identity(output)
    process = start(output, stage, force=force)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    left = [entry for entry in tmp_path.iterdir() if entry != output]
    assert len(left) == 1, "the stage was reached"
    with pytest.raises(ArtifactError):
        open_artifact(left[0])
    if force:
        assert identity(output) == old
    else:
        with pytest.raises(ArtifactError):
            open_artifact(output)
    make_artifact(output, seed=3, force=force)
    open_artifact(output)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"], "the next build clears up"


def test_killed_after_the_swap_leaves_the_new_artifact(tmp_path: Path, make_artifact: Make) -> None:
    output = make_artifact(tmp_path / "a", seed=0)
    old = identity(output)
    process = start(output, "swapped", seed=1, force=True)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert identity(output) != old
    (left,) = (entry for entry in tmp_path.iterdir() if entry != output)
    with pytest.raises(ArtifactError, match="unfinished"):
        open_artifact(left)
    make_artifact(output, seed=3, force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_the_leftovers_of_other_outputs_are_left_alone(tmp_path: Path, make_artifact: Make) -> None:
    others = [".b.building-1-00000000", ".a.building", "a.building-1-00000000", ".a.building-1-x"]
    for name in others:
        (tmp_path / name).mkdir()
    make_artifact(tmp_path / "a")
    assert {entry.name for entry in tmp_path.iterdir()} == {"a", *others}


@pytest.mark.parametrize("force", [False, True])
def test_of_two_concurrent_builds_the_second_refuses_at_once(
    tmp_path: Path,
    make_artifact: Make,
    halted: Callable[..., subprocess.Popen[str]],
    force: bool,
) -> None:
    output = tmp_path / "a"
    if force:
        make_artifact(output, seed=0)
    first = halted(output, force)
    with pytest.raises(ArtifactError, match=rf"another build \(process {first.pid}\) is writing"):
        make_artifact(output, seed=2, force=force)
    said, _ = first.communicate("\n")
    assert said == "built\n"
    open_artifact(output)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_builds_of_different_outputs_do_not_meet(
    tmp_path: Path, make_artifact: Make, halted: Callable[..., subprocess.Popen[str]]
) -> None:
    first = halted(tmp_path / "a")
    make_artifact(tmp_path / "b")
    assert first.communicate("\n")[0] == "built\n"
    open_artifact(tmp_path / "a")
    open_artifact(tmp_path / "b")


@pytest.mark.parametrize("force", [False, True])
def test_a_crowd_of_builds_leaves_one_whole_artifact(tmp_path: Path, force: bool) -> None:
    output = tmp_path / "a"
    processes = [start(output, "none", seed, force) for seed in range(4)]
    said = [process.communicate()[0] for process in processes]
    built = said.count("built\n")
    assert built == 1 or (force and built > 1), said
    refused = [line for line in said if line != "built\n"]
    assert all("another build" in line or "exists" in line for line in refused), said
    assert all(result.passed for result in verify_artifact(output))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("force", [False, True])
def test_without_locks_the_first_to_finish_wins(
    tmp_path: Path,
    make_artifact: Make,
    fill_folder: Fill,
    make_manifest: Describe,
    monkeypatch: pytest.MonkeyPatch,
    force: bool,
) -> None:
    """File systems such as NFS may have no flock; then the rename decides."""
    monkeypatch.setattr(locks, "fcntl", None)
    output = tmp_path / "a"
    if force:
        make_artifact(output, seed=0)
    with (
        pytest.raises(ArtifactError, match=r"another build wrote .* in the meantime"),
        ArtifactWriter(output, force) as late,
    ):
        specs = fill_folder(late.directory, seed=1)
        make_artifact(output, seed=2, force=force)
        winner = identity(output)
        late.commit(make_manifest(specs))
    assert identity(output) == winner
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_foreign_lock_on_the_parent_is_named(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_PATIENCE", 0.1)
    with locks.locked_folder(tmp_path), pytest.raises(EnvironmentFault, match=r"kept .* locked"):
        make_artifact(tmp_path / "a")


def test_a_brief_lock_on_the_parent_is_waited_for(tmp_path: Path, make_artifact: Make) -> None:
    descriptor = locks.hold_folder(tmp_path)
    assert descriptor is not None
    release = threading.Timer(0.2, os.close, [descriptor])
    release.start()
    make_artifact(tmp_path / "a")
    release.join()


def test_output_below_a_file(tmp_path: Path, make_artifact: Make) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match=r"cannot write .*(file|folder)"):
        make_artifact(tmp_path / "file" / "a")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_read_only_output(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(self: Path, *args: object, **options: object) -> None:
        raise OSError(code, os.strerror(code), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EnvironmentFault, match=r"read-only|permission denied"):
        make_artifact(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["body", "hash", "manifest", "sync", "rename"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_in_every_stage(
    tmp_path: Path,
    fill_folder: Fill,
    make_manifest: Describe,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    code: int,
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    with (
        pytest.raises(EnvironmentFault, match=r"disk is full|quota"),
        ArtifactWriter(tmp_path / "a") as build,
    ):
        specs = fill_folder(build.directory)
        if place == "body":
            fail()
        monkeypatch.setattr(
            *{
                "hash": (writer, "file_sha256"),
                "manifest": (Path, "write_text"),
                "sync": (writer, "sync"),
                "rename": (Path, "rename"),
            }[place],
            fail,
        )
        build.commit(make_manifest(specs))
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("ld failed"), OSError("16 requested, 0 written")])
def test_errors_without_a_number_are_put_down_to_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The exit of a linker and numpy's tofile do not tell that the disk is full."""
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4096))
    with pytest.raises(EnvironmentFault, match="disk is full"), ArtifactWriter(tmp_path / "a"):
        raise error
    monkeypatch.undo()
    with pytest.raises(type(error)), ArtifactWriter(tmp_path / "a"):
        raise error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_real_limit_on_file_sizes(tmp_path: Path) -> None:
    """Here the kernel itself rejects the write, with EFBIG instead of ENOSPC."""
    limited = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    )
    code = limited + BUILD.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a"), "none", "1", "new"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert done.stdout.startswith("EnvironmentFault: cannot write"), done.stdout + done.stderr
    assert "larger than" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["manifest.json", "voices/a:b.npy"])
def test_unfit_files_are_refused(
    tmp_path: Path, fill_folder: Fill, make_manifest: Describe, name: str
) -> None:
    with (
        pytest.raises(ArtifactError, match="an artifact cannot hold"),
        ArtifactWriter(tmp_path / "a") as build,
    ):
        specs = fill_folder(build.directory)
        (build.directory / name).write_text("")
        build.commit(make_manifest(specs))


def test_a_manifest_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, fill_folder: Fill, make_manifest: Describe
) -> None:
    beyond = ParameterSpec("x", "float32", (1 << 20,), 0)
    with (
        pytest.raises(ArtifactError, match="ends at byte"),
        ArtifactWriter(tmp_path / "a") as build,
    ):
        fill_folder(build.directory)
        build.commit(make_manifest([beyond]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="needs an atomic swap")
def test_exchange_swaps_folders_in_one_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "is").write_text(name)
    if not disk.exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot swap names")
    assert (tmp_path / "a" / "is").read_text() == "b"
    with pytest.raises(FileNotFoundError):
        disk.exchange(tmp_path / "a", tmp_path / "absent")
