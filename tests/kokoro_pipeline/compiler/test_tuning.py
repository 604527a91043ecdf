"""Tuning: what is measured and chosen within the time, by a bench whose times are given."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import replace
from importlib import metadata
from typing import ClassVar

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from kokoro_pipeline.artifact.cpu import host_features, portable_mcpu
from kokoro_pipeline.artifact.manifest import (
    Choices,
    FileEntry,
    FunctionSpec,
    Manifest,
    TargetInfo,
    WeightsInfo,
)
from kokoro_pipeline.building import builder
from kokoro_pipeline.building.options import check_options
from kokoro_pipeline.building.sources import Stages
from kokoro_pipeline.compiler import tuning, tuning_file
from kokoro_pipeline.compiler.codegen.target import host_mcpu
from kokoro_pipeline.compiler.kernels.cpu.choose_conv1d import (
    DIRECT,
    Candidate,
    ConvShape,
    choose,
    named,
)
from kokoro_pipeline.compiler.kernels.cpu.core import DEFAULT_CORE, Core
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.compiler.lowering.cpu_backend import CpuBackend
from kokoro_pipeline.compiler.lowering.find_convolutions import find_convolutions
from kokoro_pipeline.compiler.passes.pipeline import cpu_backend
from kokoro_pipeline.compiler.tuning import Choice, MachineBench, modelled, shortlist, tune
from kokoro_pipeline.errors import ArtifactError, CheckFailed, InputError
from kokoro_pipeline.version import __version__

LEVEL = portable_mcpu(host_features())
"""A CPU of this machine without AMX, on whose tiles a convolution has one way to be computed."""

VECTORS = VectorTarget(16, 32)
SMALL, LARGE = ConvShape(128, 128, 3, 320), ConvShape(256, 256, 7, 3200)
FOUND = {SMALL: {1: 1}, LARGE: {1: 2, 3: 1}}


class Clock:
    """A clock that only its bench moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class GivenTimes:
    """A bench with given seconds by the name of a candidate; compiling takes time, too."""

    def __init__(self, clock: Clock, compiling: float = 1.0, **seconds: float) -> None:
        self.clock, self.compiling, self.seconds = clock, compiling, seconds
        self.asked: list[ConvShape] = []
        self.inexact: set[str] = set()

    def calls(self, shape, candidates):
        self.asked.append(shape)
        self.clock.now += self.compiling

        def call_of(candidate):
            def call(dilation: int) -> float:
                seconds = self.seconds.get(candidate.name, 0.01) * dilation
                self.clock.now += seconds
                return seconds

            return call

        return {c: call_of(c) for c in candidates if c.name not in self.inexact}


def run(bench: GivenTimes, found=FOUND, **options) -> dict[ConvShape, Choice]:
    return tune(VECTORS, DEFAULT_CORE, found, bench, clock=bench.clock, **options)


def test_the_fastest_of_the_shortlist_is_chosen_and_all_times_are_kept():
    other = shortlist(VECTORS, DEFAULT_CORE, LARGE)[2]
    bench = GivenTimes(Clock(), **{other.name: 0.005})
    chosen = run(bench)
    assert chosen[LARGE].candidate == other
    assert chosen[LARGE].seconds[other.name] == pytest.approx(0.005 * (2 * 1 + 1 * 3))
    measured = {candidate.name for candidate in shortlist(VECTORS, DEFAULT_CORE, LARGE)}
    assert set(chosen[LARGE].seconds) == measured
    assert bench.asked == [LARGE, SMALL]  # what takes most of the time comes first


def test_noise_does_not_displace_what_the_model_chooses():
    first, other, *_ = shortlist(VECTORS, DEFAULT_CORE, LARGE)
    assert first == choose(VECTORS, DEFAULT_CORE, LARGE)
    bench = GivenTimes(Clock(), **{other.name: 0.0099})
    assert run(bench)[LARGE].candidate == first


def test_candidates_that_are_not_exact_enough_are_none():
    first, *rest = shortlist(VECTORS, DEFAULT_CORE, LARGE)
    bench = GivenTimes(Clock(), **{first.name: 1e-6})
    bench.inexact = {first.name}
    chosen = run(bench)[LARGE]
    assert chosen.candidate in rest
    assert first.name not in chosen.seconds
    bench.inexact = {first.name, *(candidate.name for candidate in rest)}
    with pytest.raises(CheckFailed, match="256->256 k7, 3200 rows is exact enough"):
        run(bench)


@pytest.mark.slow
@pytest.mark.parametrize("compiling", [0.1, 5.0, 25.0])
def test_the_time_is_kept_and_the_rest_left_to_the_model(compiling):
    found = {replace(LARGE, rows=100 * n): {1: 3} for n in range(1, 30)}
    clock, said = Clock(), []
    bench = GivenTimes(clock, compiling)
    started = clock.now
    chosen = run(bench, found, progress=said.append)
    # A compilation cannot be ended; the next is not begun unless one as long would fit.
    assert clock.now - started <= tuning.LIMIT
    assert set(chosen) == set(found)
    measured = {shape for shape, choice in chosen.items() if choice.seconds}
    assert measured == set(bench.asked)
    if compiling > 1:
        assert len(measured) < len(found)
        assert "keep the model's choice" in said[-1]
    for shape in set(found) - measured:
        assert chosen[shape] == Choice(choose(VECTORS, DEFAULT_CORE, shape))


def test_of_candidates_with_the_same_blocks_one_is_measured():
    listed = shortlist(VECTORS, DEFAULT_CORE, ConvShape(1024, 1024, 3, 160))
    assert len([c for c in listed if c.transform is not None and c.tiles >= 30]) <= 1
    assert len(listed) <= tuning.MOST_CANDIDATES


def test_an_interruption_passes_through():
    bench = GivenTimes(Clock())

    def interrupted(*_):
        raise KeyboardInterrupt

    bench.calls = interrupted
    with pytest.raises(KeyboardInterrupt):
        run(bench)


# On this machine


@pytest.mark.slow
def test_every_candidate_of_a_shape_runs_and_is_exact():
    target = tvm.target.Target({"kind": "llvm", "mcpu": host_mcpu()})
    backend = CpuBackend.of(target, True, {})
    for shape in (ConvShape(64, 64, 7, 300), ConvShape(64, 64, 3, 200)):
        with MachineBench(target, Core(l3=1 << 20)) as bench:
            listed = [*shortlist(backend.target, backend.core, shape)[:3], DIRECT]
            calls = bench.calls(shape, list(dict.fromkeys(listed)))
        assert list(calls) == list(dict.fromkeys(listed))


def test_a_wrong_candidate_is_noticed():
    random = np.random.default_rng(3)
    x, w = (random.standard_normal(s, np.float32) for s in ((40, 8), (6, 8, 3)))
    padded = np.pad(x.astype(np.float64), ((3, 3), (0, 0)))
    exact = sum(padded[3 * k : 3 * k + 40] @ w[:, :, k].T.astype(np.float64) for k in range(3))
    assert tuning._is_exact(x, w, 3, exact.astype(np.float32))
    for change in (1e-3, np.nan, np.inf):
        wrong = exact.astype(np.float32)
        wrong[-1] += change
        assert not tuning._is_exact(x, w, 3, wrong)
    assert not tuning._is_exact(x, w, 1, exact.astype(np.float32))


# Which convolutions there are


def module_of(*convs: tuple[int, int, int, int]) -> tvm.IRModule:
    """A function `decoder_forward` of convolutions (CI, CO, K, dilation) one after another."""
    length = tirx.Var("t", "int64")
    x = relax.Var("x", relax.TensorType((1, convs[0][0], 20 * length), "float32"))
    t = relax.Var("t", relax.TensorType((length,), "float32"))
    weights = [
        relax.Var(f"w{i}", relax.TensorType((co, ci, k), "float32"))
        for i, (ci, co, k, _) in enumerate(convs)
    ]
    builder_ = relax.BlockBuilder()
    with builder_.function("decoder_forward", [x, t, *weights]):
        with builder_.dataflow():
            y = x
            for weight, (_, _, k, d) in zip(weights, convs, strict=True):
                y = builder_.emit(relax.op.nn.conv1d(y, weight, padding=d * (k // 2), dilation=d))
            out = builder_.emit_output(y)
        builder_.emit_func_output(out)
    return builder_.get()


def test_shapes_are_found_with_their_dilations_and_rows():
    backend = CpuBackend(True, VECTORS)
    module = module_of((128, 128, 3, 1), (128, 128, 7, 1), (128, 128, 3, 5), (128, 1, 1, 1))
    assert find_convolutions(module, backend) == {
        ConvShape(128, 128, 3, 3200): Counter({1: 1, 5: 1}),
        ConvShape(128, 128, 7, 3200): Counter({1: 1}),
    }


def test_what_multiplies_on_tiles_or_below_the_highest_level_has_no_choice():
    module = module_of((128, 128, 3, 1))
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})
    assert find_convolutions(module, cpu_backend(2, target)) == {}
    assert find_convolutions(module, CpuBackend(False, VECTORS)) == {}


def test_a_given_choice_is_what_is_lowered():
    shape = ConvShape(128, 128, 7, 3200)
    for name in ("fft16x24", "fft64x16", "direct"):
        choice = named(VECTORS, shape, name)
        backend = CpuBackend(True, VECTORS, choices=((shape, choice),))
        kernel = backend.conv1d(shape.conv(3), builder_fusion(), "float32")
        symbol = str(kernel.make(*kernel.static).attrs["global_symbol"])
        if choice.transform is None:
            assert symbol.startswith("conv1d_")
        else:
            assert symbol.startswith(f"{choice.transform.algorithm}_conv1d_k7_")
            assert f"_t{choice.tiles}_" in symbol
            assert kernel.recipe.startswith(choice.transform.algorithm)


def builder_fusion():
    from kokoro_pipeline.compiler.lowering.backend import Fusion

    return Fusion(rows=3200)


# What a manifest keeps, and what is refused


TARGET = TargetInfo("llvm", "znver4", ("avx512f",), "linux-x86_64")
VERSIONS = {"apache-tvm": metadata.version("apache-tvm")}


def tuned(**changes) -> Manifest:
    choices = {
        shape: Choice(choose(VECTORS, DEFAULT_CORE, shape), {"direct": 1}) for shape in FOUND
    }
    entry = FileEntry("a" * 64, 4096)
    manifest = Manifest(
        package_version=__version__,
        weights=WeightsInfo("synthetic", None, "0" * 64, True, 0),
        versions=VERSIONS,
        target=TARGET,
        opt_level=2,
        functions={},
        files={"model.so": entry, "params.bin": entry},
        choices=tuning_file.recorded(choices, "a CPU"),
    )
    return replace(manifest, **changes)


def written(tmp_path, manifest: Manifest):
    file = tmp_path / "manifest.json"
    file.write_text(manifest.dumps(), encoding="utf-8")
    return file


@pytest.mark.parametrize("form", ["file", "folder"])
def test_what_was_measured_is_repeated_as_it_was(tmp_path, form):
    file = written(tmp_path, tuned())
    manifest = tuning_file.tuned_manifest(file if form == "file" else tmp_path, TARGET)
    kept = tuning_file.repeated(manifest, VECTORS, FOUND)
    assert kept == tuned().choices
    chosen = tuning_file.choices_of(kept, VECTORS, FOUND)
    assert chosen == {shape: choose(VECTORS, DEFAULT_CORE, shape) for shape in FOUND}
    # A build of some of the components needs some of the shapes.
    some = tuning_file.repeated(manifest, VECTORS, {SMALL: {1: 1}})
    assert list(some.convolutions) == [str(SMALL)]


REFUSED = {
    "another CPU": (
        tuned(target=replace(TARGET, mcpu="icelake-server")),
        "measured for llvm on linux-x86_64, icelake-server.*this build is for.*znver4",
    ),
    "other features": (tuned(target=replace(TARGET, features=("avx2",))), r"\(avx2\).*\(avx512f\)"),
    "another system": (tuned(target=replace(TARGET, host="linux-aarch64")), "linux-aarch64"),
    "another precision": (tuned(target=replace(TARGET, precision="bfloat16")), "bfloat16"),
    "another version": (tuned(package_version="0.0.1"), "with tvm-kokoro 0.0.1, this build uses"),
    "another TVM": (tuned(versions={"apache-tvm": "0.1"}), "with apache-tvm 0.1, this build uses"),
    "an unknown TVM": (tuned(versions={}), "with apache-tvm unknown"),
    "not tuned": (tuned(choices=Choices()), "built without --tune"),
    "the model's choices": (
        tuned(choices=replace(tuned().choices, measured_on="")),
        "built without --tune",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tune_file_of_another_build_is_refused(tmp_path, name):
    manifest, why = REFUSED[name]
    with pytest.raises(ArtifactError, match=why) as refused:
        tuning_file.tuned_manifest(written(tmp_path, manifest), TARGET)
    assert "build --tune" in str(refused.value)


DAMAGED = {
    "truncated": (lambda text: text[:-40], "not valid JSON"),
    "edited": (lambda text: text.replace("a CPU", "b CPU"), "content hashes to"),
    "not a manifest": (lambda _: "[]", "is list, not an object"),
    "empty": (lambda _: "", "not valid JSON"),
    "of an older schema": (
        lambda text: json.dumps({**json.loads(text), "schema_version": 3}),
        "older",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_tune_file_is_refused(tmp_path, name):
    change, why = DAMAGED[name]
    file = tmp_path / "manifest.json"
    file.write_text(change(tuned().dumps()), encoding="utf-8")
    with pytest.raises(ArtifactError, match=why):
        tuning_file.tuned_manifest(file, TARGET)


def test_a_tune_file_that_is_no_text_or_not_there_is_refused(tmp_path):
    file = tmp_path / "manifest.json"
    with pytest.raises(InputError, match="--tune-from .*No such file"):
        tuning_file.tuned_manifest(file, TARGET)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ArtifactError, match="damaged"):
        tuning_file.tuned_manifest(file, TARGET)
    with pytest.raises(InputError, match="--tune-from"):
        tuning_file.tuned_manifest(tmp_path / "no" / "folder", TARGET)


def test_unknown_algorithms_and_missing_shapes_are_refused():
    manifest = tuned()
    with pytest.raises(ArtifactError, match="no choice for the convolution 64->64 k3, 9 rows"):
        tuning_file.repeated(manifest, VECTORS, {ConvShape(64, 64, 3, 9): {1: 1}})
    kept = dict(manifest.choices.convolutions)
    kept[str(LARGE)] = replace(kept[str(LARGE)], algorithm="fft48x8")
    strange = replace(manifest, choices=replace(manifest.choices, convolutions=kept))
    with pytest.raises(ArtifactError, match=r"no candidate 'fft48x8' .* there are direct, fft16x"):
        tuning_file.repeated(strange, VECTORS, FOUND)


# The options of a build


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tune": True, "tune_from": "x"}, "give one"),
        ({"tune": True, "opt": 1}, "--tune with --target llvm and --opt 1"),
        ({"tune_from": "x", "opt": 0}, "--tune-from with --target llvm and --opt 0"),
        ({"tune": True, "target": "metal"}, "--tune with --target metal"),
        (
            {"tune": True, "mcpu": "apple-m1", "host": "macos-arm64"},
            "which cannot run what is built: this machine is not macos-arm64",
        ),
        ({"tune_from": "no-such-file"}, "No such file"),
    ],
)
def test_tuning_that_makes_no_sense_is_refused_before_anything_is_read(tmp_path, options, why):
    with pytest.raises(InputError, match=why):
        builder.build("synthetic", output=tmp_path / "a", **{"target": "llvm", **options})
    assert not list(tmp_path.iterdir())


def test_a_cpu_whose_code_this_machine_cannot_run_is_not_measured_here(tmp_path, monkeypatch):
    monkeypatch.setattr("kokoro_pipeline.artifact.cpu.host_features", lambda: frozenset({"sse3"}))
    with pytest.raises(
        InputError, match=r"cannot run what is built: .*this CPU lacks.*--tune-from"
    ):
        builder.build("synthetic", output=tmp_path / "a", mcpu="icelake-server", tune=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, CheckFailed("none is exact enough")])
@pytest.mark.parametrize("existing", [False, True], ids=["new", "replaced"])
def test_an_interrupted_tuning_leaves_nothing_half_written(tmp_path, monkeypatch, error, existing):
    """The build up to the tuning is replaced by nothing: the modules are those of a stand-in."""
    output = tmp_path / "kokoro"
    if existing:
        output.mkdir()
        written(output, tuned())
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    monkeypatch.setattr(builder, "open_source", lambda *_: SourceStandIn())
    monkeypatch.setattr(builder, "merge_components", lambda _: module_of((128, 128, 3, 1)))

    def fails(*_):
        raise error

    monkeypatch.setattr(builder, "run_tuning", fails)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        builder.build("synthetic", output=output, force=existing, tune=True, mcpu=LEVEL)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert not any(entry.name.startswith(".kokoro") for entry in tmp_path.iterdir())


class SourceStandIn:
    functions: ClassVar[dict[str, FunctionSpec]] = {}

    def modules(self, parameters, stages):
        return []


def test_the_model_is_what_an_untuned_build_records():
    made = modelled(VECTORS, DEFAULT_CORE, FOUND)
    kept = tuning_file.recorded(made)
    assert kept.measured_on == ""
    assert [choice.microseconds for choice in kept.convolutions.values()] == [{}, {}]
    assert isinstance(next(iter(made.values())).candidate, Candidate)


@pytest.mark.slow
def test_a_tuned_build_is_repeated_without_measuring(tmp_path, monkeypatch):
    options = {"components": ["decoder_forward"], "validate": False, "mcpu": LEVEL}
    # Time for one shape or two; the others keep the model's choice.
    monkeypatch.setattr(builder, "run_tuning", functools.partial(tune, limit=12.0))
    one = builder.build("synthetic", output=tmp_path / "one", tune=True, **options).manifest
    assert one.choices.measured_on
    assert any(choice.microseconds for choice in one.choices.convolutions.values())

    def fails(*_):
        raise AssertionError("nothing is to be measured")

    monkeypatch.setattr(builder, "run_tuning", fails)
    file = tmp_path / "copied.json"
    file.write_bytes((tmp_path / "one" / "manifest.json").read_bytes())
    two = builder.build("synthetic", output=tmp_path / "two", tune_from=file, **options).manifest
    assert two.choices == one.choices
    assert two.files["params.bin"] == one.files["params.bin"]
    for name in two.functions:
        assert two.functions[name].parameters == one.functions[name].parameters


def test_a_build_says_where_there_is_nothing_to_tune(monkeypatch):
    plan = check_options("llvm", None, None, "float32", None, None, tune=True)
    monkeypatch.setattr(builder, "find_convolutions", lambda *_: {})
    said: list[str] = []
    made, choices = builder._choose(plan, tvm.IRModule(), Stages(said.append))
    assert (made, choices.convolutions) == ({}, {})
    assert choices.measured_on
    assert said == [
        f"tune: nothing to measure, as {plan.target} computes every convolution in one way"
    ]
