"""`say` without an artifact: built once, found the second time, never synthetic by accident."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_pipeline.artifact.manifest import TargetInfo, WeightsInfo
from kokoro_pipeline.cli.cached_artifact import cached_artifact
from kokoro_pipeline.cli.console import Console
from kokoro_pipeline.errors import EnvironmentFault

HUB = "hexgrad/Kokoro-82M"
REAL = WeightsInfo(HUB, "f3ff3571791e39611d31c381e3a41a3af07b4987", "1" * 64)
SYNTHETIC = WeightsInfo("synthetic", None, "2" * 64, synthetic=True, seed=0)


@pytest.fixture
def console() -> Console:
    return Console(io.StringIO(), io.StringIO())


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Machine:
    """Weights that resolve to `info`, and a build that writes an artifact of them."""

    def __init__(self, make_artifact: Callable[..., Path], info: WeightsInfo = REAL) -> None:
        self.make_artifact = make_artifact
        self.info = info
        self.resolved: list[str] = []
        self.built: list[Path] = []
        self.unreachable = False
        self.voices = ""

    def resolve(self, spec: str, **_: object) -> SimpleNamespace:
        self.resolved.append(spec)
        if self.unreachable:
            raise EnvironmentFault(f"{spec} is out of reach")
        content = self.info.sha256 + self.voices
        return SimpleNamespace(info=self.info, content_sha256=lambda: content)

    def build(self, _weights: str, output: Path, _console: Console) -> None:
        self.built.append(output)
        self.make_artifact(output, weights=self.info)


@pytest.fixture
def machine(make_artifact, stand_in) -> Machine:
    made = Machine(make_artifact)
    stand_in("kokoro_pipeline.compiler.weights", resolve=made.resolve)
    stand_in("kokoro_pipeline.compiler.passes.pipeline", OPT_LEVELS={0: "plain", 1: "fast"})
    stand_in("kokoro_pipeline.compiler.codegen.target", host_cpu=lambda: "generic")
    return made


def test_the_second_time_there_is_no_build_no_network_and_no_weights(machine, console):
    first = cached_artifact(HUB, console, machine.build)
    assert machine.built == [first]
    machine.unreachable = True
    assert cached_artifact(HUB, console, machine.build) == first
    assert machine.built == [first]
    assert machine.resolved == [HUB]


def test_auto_means_the_real_weights(machine, console):
    cached_artifact("auto", console, machine.build)
    assert machine.resolved == [HUB]


def test_out_of_reach_is_an_error_even_where_a_synthetic_artifact_is_cached(
    machine, console, make_artifact, cache
):
    make_artifact(cache / "artifacts" / "stand-in", weights=SYNTHETIC)
    machine.unreachable = True
    with pytest.raises(EnvironmentFault, match="out of reach"):
        cached_artifact(HUB, console, machine.build)
    assert machine.built == []


def test_synthetic_asked_for_is_built_and_found(machine, console):
    machine.info = SYNTHETIC
    first = cached_artifact("synthetic", console, machine.build)
    assert cached_artifact("synthetic", console, machine.build) == first
    assert machine.built == [first]


def test_a_folder_is_known_by_its_hash_and_not_by_its_name(machine, console):
    machine.info = WeightsInfo("folder", None, "3" * 64)
    first = cached_artifact("folder", console, machine.build)
    assert cached_artifact("folder", console, machine.build) == first
    assert machine.built == [first]
    machine.info = WeightsInfo("folder", None, "4" * 64)
    second = cached_artifact("folder", console, machine.build)
    machine.voices = "another"
    third = cached_artifact("folder", console, machine.build)
    assert machine.built == [first, second, third]
    assert len(set(machine.built)) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"package_version": "0.0.1"},
        {"versions": {"apache-tvm": "0.26.0", "apache-tvm-ffi": "0.1.15.post2"}},
        {"versions": {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.0"}},
        {"target": TargetInfo("llvm", "of tomorrow", ("avx4096",))},
        {"weights": SYNTHETIC},
    ],
    ids=str,
)
def test_what_others_made_is_not_used(machine, console, make_artifact, cache, changes):
    other = make_artifact(cache / "artifacts" / "other", **{"weights": REAL, **changes})
    assert cached_artifact(HUB, console, machine.build) != other
    assert len(machine.built) == 1


def test_a_damaged_artifact_is_built_anew_and_that_is_said(machine, console):
    first = cached_artifact(HUB, console, machine.build)
    library = first / "model.so"
    content = bytearray(library.read_bytes())
    content[-1] ^= 1
    library.write_bytes(content)
    assert cached_artifact(HUB, console, machine.build) == first
    assert machine.built == [first, first]
    assert "is built anew" in console.stderr.getvalue()


def test_of_several_the_one_that_uses_most_of_this_cpu(machine, console, make_artifact, cache):
    from kokoro_pipeline.artifact.cpu import host_features

    features = tuple(sorted(host_features()))
    for name, used in (("b", ()), ("a", features), ("c", features[:1])):
        target = TargetInfo("llvm", "x", used)
        make_artifact(cache / "artifacts" / name, weights=REAL, target=target)
    assert cached_artifact(HUB, console, machine.build).name == "a"
