"""From functions and weights to a report: references cached, files saved, wrong weights refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import WeightsInfo
from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.validation import Case, compare_functions, validator
from kokoro_pipeline.validation.references import ReferenceWeights
from kokoro_pipeline.validation.store import ReferenceStore

CASES = (Case("sˈi", max_frames=8), Case("mI", "af_bella", 1.3, max_frames=6))
"""With fewer frames an instance norm's variance is all rounding, in PyTorch too."""


@pytest.fixture(scope="module")
def kept(weights: ReferenceWeights, tmp_path_factory: pytest.TempPathFactory) -> ReferenceStore:
    """References of the cases: each is computed by the first test that needs it."""
    return ReferenceStore(tmp_path_factory.mktemp("references"), weights.sha256)


@pytest.fixture
def compare(
    functions: dict[str, Any], weights: ReferenceWeights, kept: ReferenceStore
) -> Callable[..., Any]:
    """`compare_functions` of the good functions over CASES, unless told otherwise."""

    def run(**changes: Any) -> Any:
        given = {"functions": functions, "weights": weights, "cases": CASES, "store": kept}
        given |= {"artifact": "in memory", "opt_level": 0} | changes
        positional = [given.pop(name) for name in ("functions", "weights", "cases")]
        return compare_functions(*positional, **given)

    return run


def test_reduced_precision_is_said_and_has_no_verdict_on_the_whole(
    compare: Callable[..., Any],
) -> None:
    report = compare(precision="bfloat16", cases=CASES[:1])
    assert report.passed
    assert report.whole is None
    assert "the decoder multiplies in bfloat16: its audio is held to 35 dB" in str(report)
    assert "dB of signal to noise" in str(report)


def test_references_are_computed_once_and_both_runs_agree(
    compare: Callable[..., Any], weights: ReferenceWeights, tmp_path: Path
) -> None:
    loads = []
    counted = replace(weights, models=lambda: loads.append(1) or weights.models())
    lines: list[str] = []
    store = ReferenceStore(tmp_path / "references", weights.sha256)
    reports = [
        compare(weights=counted, store=store, save_dir=tmp_path / "saved", progress=lines.append)
        for _ in range(2)
    ]
    assert len(loads) == 1
    assert [[case.reference for case in report.cases] for report in reports] == [
        ["computed", "computed"],
        ["cached", "cached"],
    ]
    first, second = (report.to_json() for report in reports)
    assert first["passed"], str(reports[0])
    assert first["measurements"] == second["measurements"]
    assert first["whole_audio"] == second["whole_audio"]
    assert any("[2/2] p002-af_bella-x1.30-t6: 4 tokens, 0.15 s" in line for line in lines)

    names = {path.name for path in (tmp_path / "saved").iterdir()}
    stems = ("01-p003-af_heart-t8", "02-p002-af_bella-x1.30-t6")
    suffixes = ("ours.wav", "float32.wav", "float64.wav", "npz")
    assert names == {f"{stem}.{suffix}" for stem in stems for suffix in suffixes}
    with np.load(tmp_path / "saved" / f"{stems[0]}.npz") as saved:
        assert saved["ours_whole_audio"].shape == saved["reference_audio"].shape == (1, 4800)
        assert saved["input_noise"].shape == (1, 4800, 9)
        assert np.array_equal(saved["ours_audio"].dtype, np.float32)


@pytest.mark.slow
def test_a_damaged_store_is_mended_and_told_of(
    compare: Callable[..., Any], weights: ReferenceWeights, tmp_path: Path
) -> None:
    store = ReferenceStore(tmp_path, weights.sha256)
    compare(store=store, cases=CASES[:1])
    (path,) = tmp_path.glob("*.npz")
    path.write_bytes(path.read_bytes()[:1000])
    report = compare(store=store, cases=CASES[:1])
    assert report.passed, str(report)
    assert report.cases[0].reference == "computed"
    assert any("damaged" in note and path.name in note for note in report.notes)
    assert compare(store=store, cases=CASES[:1]).cases[0].reference == "cached"


@pytest.mark.slow
def test_a_store_that_cannot_be_written_costs_time_only(
    compare: Callable[..., Any], weights: ReferenceWeights, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    report = compare(store=ReferenceStore(tmp_path / "file" / "references", weights.sha256))
    assert report.passed
    assert sum("cannot keep references" in note for note in report.notes) == 1


def test_an_artifact_of_some_components_is_compared_in_part(
    compare: Callable[..., Any], functions: dict[str, Any]
) -> None:
    report = compare(functions={"bert_forward": functions["bert_forward"]}, cases=CASES[1:])
    assert report.passed and report.whole is None
    assert "source_forward" in report.skipped and "bert_forward" not in report.skipped
    assert "not in this artifact: source_forward" in str(report)


def test_nothing_to_compare_is_refused(compare: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="no cases"):
        compare(cases=())
    with pytest.raises(InputError, match="bert_backward"):
        compare(functions={"bert_backward": None})


def test_a_missing_voice_is_replaced_and_told_of(
    compare: Callable[..., Any], weights: ReferenceWeights
) -> None:
    others = replace(weights, voices={"zf_xiaoni": weights.voices["af_heart"]})
    report = compare(weights=others, cases=CASES[1:])
    assert report.cases[0].voice == "zf_xiaoni"
    assert any("no voice 'af_bella'" in note for note in report.notes)


def test_a_save_folder_that_cannot_be_made_fails_before_the_work(
    compare: Callable[..., Any], weights: ReferenceWeights, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    unused = replace(weights, models=lambda: pytest.fail("worked first"))
    with pytest.raises(EnvironmentFault, match="file"):
        compare(weights=unused, save_dir=tmp_path / "file" / "saved")


@dataclass(frozen=True)
class Asked:
    spec: str
    seed: int


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """A stand-in for `weights.resolve`: what it was asked for; its weights have the hash 1111…"""
    import kokoro_pipeline.compiler.weights

    asked: list[Asked] = []

    def stand_in(spec: str = "auto", *, seed: int = 0, **_: Any) -> Any:
        asked.append(Asked(spec, seed))
        info = WeightsInfo(spec, None, "1" * 64, synthetic=spec == "synthetic", seed=seed)
        return SimpleNamespace(path=Path("weights"), info=info)

    monkeypatch.setattr(kokoro_pipeline.compiler.weights, "resolve", stand_in, raising=False)
    return asked


HUB = WeightsInfo("hexgrad/Kokoro-82M", "f3ff35", "1" * 64, synthetic=False, seed=None)
SYNTHETIC = WeightsInfo("synthetic", None, "1" * 64, synthetic=True, seed=5)


@pytest.mark.parametrize(
    ("recorded", "spec", "asked"),
    [
        (HUB, None, Asked("hexgrad/Kokoro-82M", 0)),
        (SYNTHETIC, None, Asked("synthetic", 5)),
        (SYNTHETIC, Path("folder"), Asked("folder", 5)),
        (replace(HUB, source="folder/of/weights"), None, Asked("folder/of/weights", 0)),
    ],
)
def test_the_weights_are_those_of_the_manifest_or_those_named(
    resolve: list[Asked], recorded: WeightsInfo, spec: Path | None, asked: Asked
) -> None:
    folder = validator.weights_of(recorded, spec)
    assert folder.info.sha256 == recorded.sha256
    assert resolve == [asked]


def test_other_weights_are_refused_naming_both(resolve: list[Asked]) -> None:
    recorded = replace(HUB, sha256="2" * 64)
    with pytest.raises(InputError) as caught:
        validator.weights_of(recorded, "synthetic")
    assert all(digits * 64 in str(caught.value) for digits in "12")
    assert "hexgrad/Kokoro-82M revision f3ff35" in str(caught.value)


def test_without_kokoro_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentFault, match=r"torch and kokoro: pip install .*\[build\]"):
        validator.require_torch()


def test_importing_the_package_imports_no_torch() -> None:
    program = (
        "import sys, kokoro_pipeline.validation as v; v.full_cases(); v.ValidationReport;"
        "assert not {'torch', 'kokoro', 'transformers', 'tvm', 'tvm_ffi'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
