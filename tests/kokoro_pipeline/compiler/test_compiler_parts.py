"""The parameter table, the target, the pass list and its dumps, the options of a build."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import tvm

from kokoro_pipeline.artifact.cpu import host_features, vector_features
from kokoro_pipeline.building import builder, options, sources
from kokoro_pipeline.compiler import weights
from kokoro_pipeline.compiler.codegen import target
from kokoro_pipeline.compiler.codegen.target import BuildTarget, host_mcpu, resolve_target
from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable
from kokoro_pipeline.compiler.passes import pipeline
from kokoro_pipeline.compiler.passes.pipeline import OPT_LEVELS, phases, run_phases
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError

# Parameters


def test_a_derived_parameter_is_computed_once():
    table, calls = ParameterTable(), []
    table.add("f/w", np.arange(6.0).reshape(2, 3))
    table.add("f/b", np.ones(2))

    def transform(w: np.ndarray, b: np.ndarray) -> np.ndarray:
        calls.append(1)
        return w.T + b[0]

    names = {table.derive(("f/w", "f/b"), "packed.v16", transform) for _ in range(3)}
    assert names == {"f/w+f/b@packed.v16"}
    assert len(calls) == 1
    (name,) = names
    np.testing.assert_array_equal(table[name], np.arange(6.0).reshape(2, 3).T + 1)
    assert table[name].flags.c_contiguous
    assert name in table
    assert list(table) == ["f/w", "f/b", name]


def test_another_recipe_or_source_is_another_parameter():
    table = ParameterTable({"a": np.ones(2), "b": np.zeros(2)})
    names = [
        table.derive(("a",), "x", lambda a: a + 1),
        table.derive(("a",), "y", lambda a: a + 2),
        table.derive(("b",), "x", lambda b: b + 1),
    ]
    assert [table[name][0] for name in names] == [2, 3, 1]


def test_a_name_is_taken_once():
    table = ParameterTable()
    assert table.add("f/w", np.ones(2)) == "f/w"
    with pytest.raises(KeyError, match="'f/w' exists already"):
        table.add("f/w", np.zeros(2))
    assert table["f/w"][0] == 1


# Target


def test_the_host_is_the_default():
    chosen = resolve_target()
    assert (chosen.kind, chosen.mcpu) == ("llvm", host_mcpu())
    assert set(chosen.info.features) <= host_features()
    assert str(chosen.tvm.attrs["mcpu"]) == chosen.mcpu


def test_an_mcpu_brings_its_features():
    info = resolve_target("llvm", "x86-64-v3").info
    assert {"avx2", "fma"} <= set(info.features)
    assert not any(feature.startswith("avx512") for feature in info.features)
    assert info.features == vector_features(info.features)


def test_an_unknown_kind_lists_those_that_are_known():
    with pytest.raises(InputError, match=r"unknown target 'rocm'.*llvm, cuda, metal"):
        resolve_target("rocm")


def test_an_unknown_cpu_lists_those_that_are_known():
    with pytest.raises(InputError, match=r"unknown CPU 'pentium9'.*x86-64-v3"):
        resolve_target("llvm", "pentium9")


def test_a_system_that_hides_features_gets_a_level_below(monkeypatch):
    """A container or a hypervisor may mask AVX-512 of a CPU that LLVM knows by name."""
    monkeypatch.setattr(target.codegen, "llvm_get_system_cpu", lambda: "znver4")
    v3 = frozenset(BuildTarget("llvm", "x86-64-v3").info.features)
    monkeypatch.setattr(target, "host_features", lambda: v3)
    assert host_mcpu() == "x86-64-v3"
    everything = frozenset(BuildTarget("llvm", "znver4").info.features)
    monkeypatch.setattr(target, "host_features", lambda: everything)
    assert host_mcpu() == "znver4"


def test_hidden_amx_costs_only_amx(monkeypatch):
    monkeypatch.setattr(target.codegen, "llvm_get_system_cpu", lambda: "sapphirerapids")
    everything = frozenset(BuildTarget("llvm", "sapphirerapids").info.features)
    monkeypatch.setattr(target, "host_features", lambda: everything - {"amx-tile", "amx-bf16"})
    assert host_mcpu() == "sapphirerapids"
    assert not resolve_target().has_tiles


@pytest.mark.parametrize(
    ("reported", "actual", "expected"),
    [
        ("rocketlake", "sapphirerapids", "sapphirerapids"),
        ("rocketlake", "graniterapids", "sapphirerapids"),
        ("haswell", "icelake-server", "x86-64-v4"),
        ("westmere", "znver3", "x86-64-v3"),
        ("rocketlake", "icelake-server", "rocketlake"),
        ("znver5", "znver5", "znver5"),
    ],
)
def test_a_cpu_that_reports_an_older_model_keeps_its_units(monkeypatch, reported, actual, expected):
    monkeypatch.setattr(target.codegen, "llvm_get_system_cpu", lambda: reported)
    here = frozenset(BuildTarget("llvm", actual).info.features)
    monkeypatch.setattr(target, "host_features", lambda: here)
    assert host_mcpu() == expected


# The pass list


@pytest.fixture(scope="module")
def small() -> torch.nn.Module:
    # Of its own seed: what other tests drew before would decide how close float32 comes.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Conv1d(16, 16, 3, padding=1)


@pytest.mark.parametrize("opt", OPT_LEVELS)
def test_every_level_computes_the_same(opt, small, compile_program):
    x = torch.randn(1, 16, 20, generator=torch.Generator().manual_seed(1))
    program = compile_program(small, [x], opt=opt)
    expected = small(x).detach().numpy()
    np.testing.assert_allclose(program(x.numpy()), expected, atol=2e-6)


def test_levels_count_up_from_plain_legalization():
    assert sorted(OPT_LEVELS) == list(range(len(OPT_LEVELS)))
    assert OPT_LEVELS[0].startswith("plain legalization")


@pytest.mark.parametrize("opt", OPT_LEVELS)
def test_a_dump_holds_the_module_after_each_phase(opt, small, tmp_path, compile_program):
    x = torch.zeros(1, 16, 20)
    program = compile_program(small, [x], opt=opt)
    built, folder = resolve_target().tvm, tmp_path / "deep" / "dump"
    todo = phases(opt, built, program.parameters, ["program"])
    run_phases(program.modules["imported"], todo, built, folder)
    files = sorted(file.name for file in folder.iterdir())
    assert files == [
        f"{number:02d}_{name}.py"
        for number, name in enumerate(["imported", *(phase.name for phase in todo)])
    ]
    text = {file: (folder / file).read_text("utf-8") for file in files}
    assert "R.nn.conv1d" in text["00_imported.py"]
    assert "R.nn.conv1d" not in text[files[-1]]
    assert "vm." in text[files[-1]]


@pytest.mark.parametrize("kind", ["llvm", "cuda", "metal"])
@pytest.mark.parametrize("opt", OPT_LEVELS)
def test_every_pass_has_a_name_that_instruments_show(kind, opt):
    """Each is a pass of TVM, and none is there twice in a phase under two names."""
    target = resolve_target(kind).tvm
    for phase in phases(opt, target, ParameterTable(), ["program"]):
        assert all(isinstance(each, tvm.transform.Pass) for each in phase.passes), phase.name
        assert all(each.info.name for each in phase.passes), phase.name


def test_instruments_of_tvm_see_the_passes_of_a_build(small, compile_program):
    @tvm.instrument.pass_instrument
    class Names:
        def __init__(self):
            self.seen = []

        def run_after_pass(self, _module, info):
            self.seen.append(info.name)

    program = compile_program(small, [torch.zeros(1, 16, 20)])
    target, names = resolve_target().tvm, Names()
    with tvm.transform.PassContext(instruments=[names]):
        run_phases(
            program.modules["imported"], phases(2, target, program.parameters, ["program"]), target
        )
    assert {"ClipTakes", "LowerToKernels", "ScheduleLoops", "VMShapeLower"} <= set(names.seen)


def test_without_a_dump_folder_nothing_is_written(small, tmp_path, monkeypatch, compile_program):
    monkeypatch.chdir(tmp_path)
    compile_program(small, [torch.zeros(1, 16, 20)])
    program = compile_program(small, [torch.zeros(1, 16, 20)])
    built = resolve_target().tvm
    run_phases(
        program.modules["imported"], phases(0, built, program.parameters, ["program"]), built
    )
    assert list(tmp_path.iterdir()) == []


# Options of a build, all refused before any work


@pytest.fixture
def no_work(monkeypatch):
    """Make the first step of a build, resolving the weights, fail."""

    def refuse(*_args, **_options):
        raise AssertionError("the build began to work")

    monkeypatch.setattr(sources, "resolve", refuse)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opt": 9}, r"unknown --opt 9: the levels are 0: plain"),
        ({"opt": -1}, r"unknown --opt -1"),
        ({"components": ["vocoder", "bert_forward"]}, r"unknown component vocoder: .*f0n_forward"),
        ({"components": []}, r"unknown component \(none given\)"),
        ({"target": "rocm"}, r"unknown target 'rocm'"),
        ({"host": "windows"}, r"unknown host 'windows'"),
        ({"mcpu": "pentium9"}, r"unknown CPU 'pentium9'"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_before_any_work(options, words, no_work, tmp_path):
    with pytest.raises(InputError, match=words):
        builder.build("synthetic", output=tmp_path / "a", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_output_is_refused_before_any_work(no_work, tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ArtifactError, match="--force"):
        builder.build("synthetic", output=tmp_path / "a")
    assert list((tmp_path / "a").iterdir()) == []


def test_no_linker_is_said_before_any_work(no_work, tmp_path, monkeypatch):
    def none(_host):
        raise EnvironmentFault("no linker found")

    monkeypatch.setattr(options, "find_linker", none)
    with pytest.raises(EnvironmentFault, match="no linker found"):
        builder.build("synthetic", output=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_dump_folder_that_cannot_be_is_said_before_any_work(no_work, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EnvironmentFault, match="file"):
        builder.build("synthetic", output=tmp_path / "a", debug_dump=tmp_path / "file" / "dump")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_weights_that_cannot_be_had_leave_nothing(tmp_path):
    with pytest.raises(InputError):
        builder.build(str(tmp_path / "nowhere"), output=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_fallback_to_synthetic_weights_is_a_loud_warning(synthetic_folder, tmp_path, monkeypatch):
    """It has the reason, and the command for the real weights."""
    folder = weights.resolve(str(synthetic_folder))
    fallen = weights.WeightsFolder(folder.path, folder.info, "the hub is out of reach: no route")
    monkeypatch.setattr(sources, "resolve", lambda *_args, **_options: fallen)

    def stop(_folder):
        raise InterruptedError

    monkeypatch.setattr(sources, "load_model", stop)
    with warnings.catch_warnings(record=True) as caught, pytest.raises(InterruptedError):
        warnings.simplefilter("always")
        builder.build("auto", output=tmp_path / "a")
    (said,) = [w for w in caught if w.category is sources.SyntheticWeightsWarning]
    assert re.search(r"DO NOT|do NOT SPEAK", str(said.message))
    assert "no route" in str(said.message)
    assert "--weights hexgrad/Kokoro-82M" in str(said.message)
    assert Path(said.filename) == Path(__file__)
    assert list(tmp_path.iterdir()) == []


def test_the_components_keep_their_order_whatever_was_asked(monkeypatch):
    wanted = ["decoder_forward", "bert_forward", "bert_forward"]
    plan = options.check_options("llvm", None, None, "float32", None, wanted)
    assert plan.components == ("bert_forward", "decoder_forward")
    assert plan.opt_level == max(pipeline.OPT_LEVELS)
