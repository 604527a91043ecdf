"""`build`, `validate`, `weights`: what is passed to the building half, and the output."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from kokoro_pipeline import validation
from kokoro_pipeline.artifact.manifest import TargetInfo, WeightsInfo
from kokoro_pipeline.compiler.codegen.cuda_compiler import KernelResources
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

HUB = "hexgrad/Kokoro-82M"
REAL = WeightsInfo(HUB, "f3ff35", "1" * 64)


@pytest.fixture
def builder(stand_in, make_manifest):
    """A builder that records its arguments."""

    class Builder:
        weights = REAL
        not_validated: str | None = None

        def __init__(self) -> None:
            self.asked: list[dict[str, object]] = []

        def build(self, **options):
            self.asked.append(options)
            options["progress"]("importing bert_forward")
            return SimpleNamespace(
                path=options["output"],
                stages=[("export", 1.0), ("compile", 3.0)],
                manifest=make_manifest(weights=self.weights),
                kernels=(KernelResources("conv", "sm_90", 64, 0, 0, 25088),),
                not_validated=self.not_validated,
            )

    made = Builder()
    stand_in("kokoro_pipeline.building.builder", build=made.build)
    return made


def test_every_option_reaches_the_builder(run_cli, builder, tmp_path):
    ended = run_cli(
        *("build", "-o", tmp_path / "a", "--weights", HUB, "--target", "llvm", "--mcpu", "znver4"),
        *("--opt", "0", "--components", "bert_forward,f0n_forward", "--force", "--no-validate"),
        *("--debug-dump", tmp_path / "dump", "--seed", "3", "--host", "linux-aarch64"),
        *("--precision", "tf32", "--tune-from", tmp_path / "other"),
    )
    assert ended.code == 0
    (asked,) = builder.asked
    del asked["progress"]
    assert asked == {
        "weights": HUB,
        "target": "llvm",
        "output": tmp_path / "a",
        "mcpu": "znver4",
        "host": "linux-aarch64",
        "precision": "tf32",
        "opt": 0,
        "components": ("bert_forward", "f0n_forward"),
        "force": True,
        "validate": False,
        "debug_dump": tmp_path / "dump",
        "seed": 3,
        "tune": False,
        "tune_from": tmp_path / "other",
        "config": None,
        "voices": (),
    }


def test_the_defaults(run_cli, builder, tmp_path):
    assert run_cli("build", "-o", tmp_path / "a").code == 0
    (asked,) = builder.asked
    assert (asked["weights"], asked["target"], asked["seed"]) == ("auto", "llvm", 0)
    assert (asked["mcpu"], asked["opt"], asked["components"]) == (None, None, None)
    assert (asked["validate"], asked["force"]) == (True, False)
    assert (asked["tune"], asked["tune_from"]) == (False, None)


def test_it_says_where_the_time_went_and_progress_only_to_a_terminal(run_cli, builder, tmp_path):
    ended = run_cli("build", "-o", tmp_path / "a")
    assert ended.err == ""
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines == [
        [str(tmp_path / "a")],
        ["export", "1.00", "s", "25%"],
        ["compile", "3.00", "s", "75%"],
        ["total", "4.00", "s"],
    ]


@pytest.mark.parametrize(
    ("spec", "why"), [("auto", "are what could be had"), ("synthetic", "were asked for")]
)
@pytest.mark.parametrize("json_too", [[], ["--json"]], ids=["text", "json"])
def test_synthetic_weights_are_announced_loudly(run_cli, builder, tmp_path, spec, why, json_too):
    builder.weights = WeightsInfo("synthetic", None, "0" * 64, synthetic=True, seed=0)
    output = tmp_path / "a"
    ended = run_cli("build", "-o", output, "--weights", spec, *json_too)
    assert ended.code == 0
    assert f"SYNTHETIC WEIGHTS {why}" in ended.err
    assert f"kokoro-pipeline build --weights {HUB} -o {output} --force" in ended.err


def test_json_is_the_report(run_cli, builder, tmp_path):
    told = json.loads(run_cli("build", "-o", tmp_path / "a", "--json").out)
    assert told["path"] == str(tmp_path / "a")
    assert told["synthetic"] is False
    assert told["stages"][0] == {"name": "export", "seconds": 1.0}
    assert told["manifest"]["weights"]["source"] == HUB
    assert told["not_validated"] is None
    (kernel,) = told["kernels"]
    assert kernel == {
        "kernel": "conv",
        "arch": "sm_90",
        "registers": 64,
        "spill_bytes": 0,
        "stack_bytes": 0,
        "shared_bytes": 25088,
    }


def test_a_build_that_could_not_be_validated_says_so(run_cli, builder, tmp_path):
    """On stderr whether or not it is a terminal, with the command for where it can run."""
    builder.not_validated = "no NVIDIA driver on this machine"
    ended = run_cli("build", "-o", tmp_path / "a", "--target", "cuda")
    assert ended.code == 0
    assert "NOT VALIDATED: no NVIDIA driver" in ended.err
    assert f"kokoro-pipeline validate {tmp_path / 'a'}" in ended.err


@pytest.fixture
def target(stand_in):
    """A compiler that supports a single CPU, and a linker."""
    info = TargetInfo("llvm", "znver4", ("avx2",), "linux-x86_64")

    class Chosen:
        kind, host = "llvm", None

        def __init__(self) -> None:
            self.info = info

        def at_level(self, opt: int) -> Chosen:
            return self

        def __str__(self) -> str:
            return "llvm on linux-x86_64, znver4"

    stand_in("kokoro_pipeline.compiler.passes.pipeline", OPT_LEVELS={0: "plain", 1: "direct"})
    stand_in(
        "kokoro_pipeline.compiler.codegen.target",
        resolve_target=lambda kind, mcpu, host, precision: Chosen(),
    )
    stand_in(
        "kokoro_pipeline.compiler.codegen.linking",
        find_linker=lambda host: SimpleNamespace(name="g++"),
    )
    stand_in("kokoro_pipeline.compiler.codegen.cuda_compiler", find_cuda_compiler=None)


def test_a_dry_run_says_what_it_would_do_and_does_nothing(run_cli, builder, target, tmp_path):
    output = tmp_path / "a"
    told = json.loads(run_cli("build", "--dry-run", "-o", output, "--json").out)
    assert told["opt_level"] == 1
    assert told["target"] == {
        "kind": "llvm",
        "mcpu": "znver4",
        "features": ["avx2"],
        "host": "linux-x86_64",
        "archs": [],
        "precision": "float32",
    }
    assert len(told["components"]) == 6
    assert "1: direct" in run_cli("build", "--dry-run").out
    assert builder.asked == []
    assert not output.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "."], "--force"),
        (["--opt", "7"], "0: plain; 1: direct"),
        (["--components", "bert"], "bert_forward"),
    ],
    ids=str,
)
def test_a_dry_run_fails_where_a_build_would(run_cli, target, words, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ended = run_cli("build", "--dry-run", *words)
    assert (ended.code, ended.out) == (3, "")
    assert said in ended.err


def test_a_dry_run_checks_the_options_of_tuning_as_a_build_does(
    run_cli, target, stand_in, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    asked = []

    def check_options(*options, from_graph):
        assert not from_graph
        asked.append(options)
        if options[-1] is not None:
            raise ArtifactError("measured for another CPU")

    stand_in("kokoro_pipeline.building.options", check_options=check_options)
    assert json.loads(run_cli("build", "--dry-run", "--json").out)["tune"].startswith("chosen")
    assert asked == []
    told = json.loads(run_cli("build", "--dry-run", "--tune", "--json").out)
    assert told["tune"] == "measured on this machine"
    ended = run_cli("build", "--dry-run", "--tune-from", "other")
    assert (ended.code, ended.out) == (3, "")
    assert "measured for another CPU" in ended.err
    assert [options[-2:] for options in asked] == [(True, None), (False, Path("other"))]


def test_one_of_the_options_of_tuning_is_given(run_cli, tmp_path):
    ended = run_cli("build", "-o", tmp_path / "a", "--tune", "--tune-from", "other")
    assert ended.code == 2
    assert "not allowed with argument --tune" in ended.err


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_validate_asks_for_a_comparison_and_fails_on_a_miss(
    run_cli, monkeypatch, tmp_path, passed, code
):
    asked = []

    class Report:
        def __init__(self) -> None:
            self.passed = passed

        def to_json(self):
            return {"passed": passed}

        def __str__(self) -> str:
            return "a table"

    def validate(artifact, *, weights, device, save_dir, progress):
        asked.append((artifact, weights, device, save_dir))
        progress("case 1")
        return Report()

    monkeypatch.setattr(validation, "validate", validate)
    ended = run_cli(
        "validate", "DIR", "--weights", "W", "--save-dir", tmp_path, "--device", "cuda:1"
    )
    assert (ended.code, ended.out, ended.err) == (code, "a table\n", "")
    assert asked == [(Path("DIR"), "W", "cuda:1", tmp_path)]
    ended = run_cli("validate", "DIR", "--json")
    assert (ended.code, json.loads(ended.out)) == (code, {"passed": passed})


@pytest.fixture
def weights(stand_in, tmp_path):
    """Modules for weights with a single folder of two voices."""
    (tmp_path / "voices").mkdir()
    for name in ("b", "a"):
        (tmp_path / "voices" / f"{name}.pt").touch()
    synthetic = WeightsInfo("synthetic", None, "0" * 64, synthetic=True, seed=5)

    def resolve(spec, *, seed=0, progress=True):
        if spec == "nowhere":
            raise EnvironmentFault("the hub is out of reach")
        info, reason = (synthetic, "no route") if spec == "auto" else (REAL, None)
        return SimpleNamespace(path=tmp_path, info=info, fallback_reason=reason)

    def write_synthetic(directory, seed=0):
        assert (directory, seed) == (Path("OUT"), 5)
        return SimpleNamespace(path=tmp_path, info=synthetic, fallback_reason=None)

    stand_in("kokoro_pipeline.compiler.weights", resolve=resolve, write_synthetic=write_synthetic)
    return tmp_path


def test_weights_synthetic_writes_and_warns(run_cli, weights):
    ended = run_cli("weights", "synthetic", "-o", "OUT", "--seed", "5", "--json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert (told["synthetic"], told["seed"], told["voices"]) == (True, 5, ["a", "b"])
    assert "SYNTHETIC" in ended.err


def test_weights_show_says_what_they_are_and_why_they_are_synthetic(run_cli, weights):
    ended = run_cli("weights", "show", HUB)
    assert (ended.code, ended.err) == (0, "")
    assert "f3ff35" in ended.out
    ended = run_cli("weights", "show")
    assert "no route" in ended.err
    assert "SYNTHETIC" in ended.err
    assert run_cli("weights", "show", "nowhere").code == 3


def test_weights_download_fetches_the_real_ones(run_cli, weights):
    assert json.loads(run_cli("weights", "download", "--json").out)["source"] == HUB


def test_a_folder_without_voices_is_said_to_have_none(run_cli, tmp_path):
    ended = run_cli("voices", "--weights", tmp_path)
    assert (ended.code, ended.out) == (3, "")
    assert "holds no voices" in ended.err


def test_voices_lists_those_of_weights(run_cli, weights):
    assert run_cli("voices", "--weights", HUB).out == "a\nb\n"
