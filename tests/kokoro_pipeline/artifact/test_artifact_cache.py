"""The cache: its key has everything that matters, and two processes build only once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_pipeline.artifact import cache, locks
from kokoro_pipeline.artifact.cache import artifact_cache_path, cache_root, list_cached
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

Make = Callable[..., Path]

KEY = {
    "weights_sha256": "a" * 64,
    "target": "llvm",
    "mcpu": "znver4",
    "tvm": "0.27.0.post1",
    "tvm_ffi": "0.1.15.post2",
    "opt_level": 1,
    "package_version": "0.1.0",
}
OTHER = {
    "weights_sha256": "b" * 64,
    "target": "cuda",
    "mcpu": "x86-64-v3",
    "tvm": "0.27.1",
    "tvm_ffi": "0.1.16",
    "opt_level": 2,
    "package_version": "0.2.0",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(root))
    return root


def key_path(**changes: object) -> Path:
    return artifact_cache_path(**{**KEY, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "xdg", "expected"),
    [
        ("/own", "/xdg", "/own"),
        (None, "/xdg", "/xdg/kokoro-pipeline"),
        ("", "/xdg", "/xdg/kokoro-pipeline"),
        (None, None, "/own-home/.cache/kokoro-pipeline"),
        (None, "", "/own-home/.cache/kokoro-pipeline"),
        (None, "relative", "/own-home/.cache/kokoro-pipeline"),
        ("~/mine", None, "/own-home/mine"),
    ],
)
def test_root(
    monkeypatch: pytest.MonkeyPatch, own: str | None, xdg: str | None, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/own-home")
    for name, value in (("KOKORO_PIPELINE_CACHE", own), ("XDG_CACHE_HOME", xdg)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_root() == Path(expected)


def test_every_part_of_the_key_makes_another_path() -> None:
    paths = [key_path(), *(key_path(**{name: value}) for name, value in OTHER.items())]
    assert len(set(paths)) == len(OTHER) + 1
    assert key_path() == key_path()


def test_names_are_readable_and_safe(own_cache: Path) -> None:
    path = key_path(target='{"kind": "llvm"}', mcpu="../../etc\0" + "x" * 300)
    assert path.parent == own_cache / "artifacts"
    assert len(path.name) < 120
    assert not set('/\0"{ ') & set(path.name)
    assert key_path().name.startswith("llvm-znver4-opt1-")


def test_built_once_then_opened(make_artifact: Make) -> None:
    problems: list[ArtifactError | None] = []

    def build(path: Path, problem: ArtifactError | None) -> None:
        problems.append(problem)
        make_artifact(path, force=problem is not None)

    artifact, built = cache.open_or_build(key_path(), build)
    assert built
    again, built = cache.open_or_build(key_path(), build)
    assert (again, built) == (artifact, False)
    assert problems == [None]
    (artifact.path / "model.so").write_bytes(b"")
    assert cache.open_or_build(key_path(), build)[1]
    assert "model.so is damaged" in str(problems[1])


def test_a_build_that_leaves_nothing_is_an_error() -> None:
    with pytest.raises(ArtifactError, match="does not exist"):
        cache.open_or_build(key_path(), lambda path, problem: None)


def test_two_at_once_build_once(make_artifact: Make) -> None:
    """Threads are used instead of processes, since flock belongs to the open file."""
    count, waited = itertools.count(), threading.Event()
    results: list[bool] = []

    def build(path: Path, problem: ArtifactError | None) -> None:
        next(count)
        assert waited.wait(20), "the other did not wait"
        make_artifact(path)

    def run() -> None:
        results.append(cache.open_or_build(key_path(), build, waited.set)[1])

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, True]
    assert next(count) == 1


def test_listing_describes_the_good_and_the_bad(own_cache: Path, make_artifact: Make) -> None:
    assert list_cached() == []
    good, bad = key_path(), key_path(mcpu="zzz")
    cache.open_or_build(good, lambda path, problem: make_artifact(path))
    make_artifact(bad)
    (bad / "params.bin").unlink()
    (own_cache / "artifacts" / ".x.building-1-00000000").mkdir()
    first, second = list_cached()
    assert first.path == good
    assert first.problem is None
    assert first.manifest is not None
    assert first.size == sum(f.stat().st_size for f in good.rglob("*") if f.is_file())
    assert second.path == bad
    assert second.manifest is None
    assert second.problem is not None
    assert "params.bin" in second.problem


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_artifact: Make
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(tmp_path / "file" / "x"))
    with pytest.raises(EnvironmentFault, match="cannot lock"):
        cache.open_or_build(key_path(), lambda path, problem: make_artifact(path))
    assert list_cached() == []


def test_a_system_without_locks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with pytest.raises(EnvironmentFault, match=r"no flock.*--artifact DIR"):
        cache.open_or_build(key_path(), lambda path, problem: None)
