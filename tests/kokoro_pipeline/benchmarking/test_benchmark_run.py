"""The whole benchmark on the toy artifact, with our own contender in place of peers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import comparison
from benchmarks.peers.ours import OurContender
from kokoro_pipeline.benchmarking import benchmark
from kokoro_pipeline.benchmarking.benchmark import BenchmarkRequest, run_benchmark
from kokoro_pipeline.benchmarking.benchmark_report import BETWEEN
from kokoro_pipeline.benchmarking.plot import check_plot, plot_rtf, rtf_curves
from kokoro_pipeline.benchmarking.tables import markdown
from kokoro_pipeline.cli.console import plain
from kokoro_pipeline.errors import CheckFailed, EnvironmentFault, InputError

PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks"


def silent(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def report(toy_artifact):
    request = BenchmarkRequest(toy_artifact, seconds=(2.0, 0.5), repeats=1, warm_up=0)
    return run_benchmark(request, silent)


@pytest.mark.slow
def test_lengths_are_met_and_in_order(report):
    short, long = (result.utterance for result in report.speeds)
    assert short.seconds == pytest.approx(0.5, abs=0.3)
    assert long.seconds == pytest.approx(2.0, abs=0.3)


def test_every_figure_is_there(report, toy_artifact):
    for result in report.speeds:
        assert result.rtf == result.total.median / result.utterance.seconds > 0
        assert result.first_audio == result.total  # one chunk
        assert list(result.steps)[-1] == BETWEEN
    for long_text in report.long_texts:
        assert min(*long_text.first_audio.values, *long_text.sentence_alone.values) > 0
    assert [result.threads for result in report.long_texts] == [1]
    for fresh in report.fresh:
        cold = fresh.cold_start
        assert cold.seconds == pytest.approx(sum(cold.laps.values()))
        assert 0 < cold.outside < cold.seconds
        assert cold.memory.peak > 10e6
        assert cold.audio_seconds == pytest.approx(fresh.utterance.seconds)
    size = (toy_artifact / "params.bin").stat().st_size
    assert report.artifact.parameter_bytes == size
    assert sum(report.artifact.parameters_of.values()) <= size


def test_the_report_is_markdown_and_json(report):
    text = markdown(report)
    for words in (
        "### Speed",
        "### Steps, ms",
        "### First audio of a text",
        "### Fresh processes",
        "### Parameters",
        "load",
    ):
        assert words in text
    assert "Against peers" not in text
    data = json.loads(json.dumps(plain(report.to_json()), allow_nan=False))
    assert data["speeds"][0]["total"]["values"]
    assert data["machine"]["cpu"]


class StandIn:
    """Runs any role in this process; peers are our own contender under other names."""

    factor = 1.0
    fails: str | None = None

    def __init__(self, kind, role, threads, **options):
        self.role = role
        type(self).started.append((role, threads))
        self._ours = OurContender(role, threads, artifact=str(type(self).artifact))

    def call(self, method, **arguments):
        if method == "weights":
            return "weights folder"
        if method == "answer":
            return type(self).answer(Path(arguments["case"]), Path(arguments["output"]))
        if method == "export":
            return type(self).exported.append(arguments["directory"])
        if method == "verify" and self.role == self.fails:
            raise CheckFailed("audio: 1e+00 of the peak")
        value = getattr(self._ours, method)(**arguments)
        if method == "run" and self.role != "ours":
            value = replace(value, seconds=4.0 * type(self).ours_seconds)
        elif method == "run":
            type(self).ours_seconds = 1.0
            value = replace(value, seconds=1.0)
        return value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def stand_in(toy_artifact, write_reference, monkeypatch):
    StandIn.artifact, StandIn.answer = toy_artifact, staticmethod(write_reference)
    StandIn.started, StandIn.exported, StandIn.fails = [], [], None
    StandIn.ours_seconds = 1.0
    for module in (benchmark, comparison):
        monkeypatch.setattr(module, "ContenderProcess", StandIn)
    monkeypatch.setattr(comparison, "check_peers", tuple)
    monkeypatch.setattr(comparison, "PEER_PAUSE", 0.0)
    return StandIn


def compare(toy_artifact, *peers, **options):
    request = BenchmarkRequest(
        toy_artifact,
        phonemes=PHONEMES,
        repeats=2,
        warm_up=0,
        threads=(1, 2),
        against=peers,
        **options,
    )
    return run_benchmark(request, silent)


@pytest.mark.slow
def test_peers_take_turns_with_us_at_every_number_of_threads(stand_in, toy_artifact):
    report = compare(toy_artifact, "pytorch", "onnxruntime")
    assert [(r.name, r.threads) for r in report.peers] == [
        (name, threads) for threads in (1, 2) for name in ("ours", "pytorch", "onnxruntime")
    ]
    for result in report.peers:
        assert result.ratio == (1.0 if result.name == "ours" else 0.25)
        assert result.worst_error < 1e-3
    assert len(stand_in.exported) == 1
    text = markdown(report)
    assert "4.00×" in text
    assert "### Steps of all, ms" in text


def test_nothing_is_exported_for_torch_alone(stand_in, toy_artifact):
    compare(toy_artifact, "pytorch")
    assert stand_in.exported == []


def test_a_peer_that_computes_something_else_is_not_timed(stand_in, toy_artifact):
    stand_in.fails = "openvino"
    with pytest.raises(CheckFailed, match="openvino is not timed: audio"):
        compare(toy_artifact, "openvino")


def test_several_chunks_are_refused_before_peers_start(stand_in, toy_artifact):
    request = BenchmarkRequest(toy_artifact, seconds=(120.0,), against=("pytorch",))
    with pytest.raises(InputError, match="at shorter lengths"):
        run_benchmark(request, silent)
    assert {role for role, _ in stand_in.started} == {"ours"}


@pytest.mark.parametrize(
    ("peers", "kind", "words"),
    [
        (("tensorflow",), InputError, "no peer tensorflow: there are pytorch, torch.compile"),
        (("onnxruntime",), EnvironmentFault, r"pip install 'tvm-kokoro\[bench\]'"),
        (("pytorch",), EnvironmentFault, r"pip install 'tvm-kokoro\[build,bench\]'"),
    ],
)
def test_peers_that_cannot_run_are_refused(toy_artifact, monkeypatch, peers, kind, words):
    missing = {"onnxruntime"} if peers == ("onnxruntime",) else {"torch", "kokoro"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in missing else object()
    )
    with pytest.raises(kind, match=words):
        run_benchmark(BenchmarkRequest(toy_artifact, against=peers), silent)


@pytest.mark.slow
def test_a_curve_for_each_runtime_and_number_of_threads(report, stand_in, toy_artifact):
    curves = rtf_curves(report)
    assert list(curves) == ["ours, 1 thread"]
    (short, _), (long, _) = curves["ours, 1 thread"]
    assert short < long
    compared = rtf_curves(compare(toy_artifact, "pytorch"))
    assert set(compared) == {
        f"{name}, {threads}"
        for name in ("ours", "pytorch")
        for threads in ("1 thread", "2 threads")
    }


@pytest.mark.parametrize("name", ["rtf", "rtf.jpeg", "nowhere/rtf.png"])
def test_a_plot_that_cannot_be_written_is_refused_before_the_work(tmp_path, name):
    with pytest.raises(InputError, match="--plot"):
        check_plot(tmp_path / name)


def test_the_plot_is_a_picture(report, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra bench is not installed")
    check_plot(tmp_path / "rtf.png")
    plot_rtf(report, tmp_path / "rtf.png")
    assert (tmp_path / "rtf.png").read_bytes().startswith(b"\x89PNG")
