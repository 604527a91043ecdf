"""`benchmark`: what is passed to the measurement, what is rejected before, what is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers.comparison import PeerResult, PeerResults
from benchmarks.peers.verification import Agreement
from kokoro_pipeline.artifact.manifest import WeightsInfo
from kokoro_pipeline.benchmarking import benchmark, plot
from kokoro_pipeline.benchmarking.benchmark_report import (
    BETWEEN,
    ArtifactFacts,
    BenchmarkReport,
    FreshResult,
    KernelTable,
    SpeedResult,
    Utterance,
)
from kokoro_pipeline.benchmarking.cold_start import ColdStart
from kokoro_pipeline.benchmarking.kernels import KernelSpeed
from kokoro_pipeline.benchmarking.machine import Machine, ProcessMemory
from kokoro_pipeline.benchmarking.samples import summarize
from kokoro_pipeline.errors import CheckFailed
from kokoro_pipeline.runtime.engine.threads import available_cpus

QUIET = Machine("A CPU", 2, 2, 8_000_000_000, "Linux 6 x86_64", "3.11.7", 0.05)
UTTERANCE = Utterance("kæt", "af_heart", 2.0, 3, 1)
STEPS = {"bert_forward": 0.1, "decoder_forward": 0.3, BETWEEN: 0.0}


def speed_report(machine: Machine = QUIET) -> BenchmarkReport:
    total = summarize([0.5, 0.4, 0.6])
    memory = ProcessMemory(500_000_000, 100_000_000, 300_000_000)
    agreement = (Agreement("decoder_forward", "audio", 2e-5, 96.0, 1e-3),)

    def contender(name: str, ratio: float) -> PeerResult:
        return PeerResult(name, UTTERANCE, 1, total, total, ratio, STEPS, 7 * 10**8, agreement)

    return BenchmarkReport(
        artifact=ArtifactFacts(
            "kokoro",
            WeightsInfo("hexgrad/Kokoro-82M", "f3ff3571791e39", "0" * 64),
            "znver4",
            2,
            3_000_000,
            400_000_000,
            {"bert_forward": 50_000_000},
        ),
        machine=machine,
        versions={"tvm-kokoro": "0.1.0"},
        repeats=3,
        warm_up=1,
        speeds=(SpeedResult(UTTERANCE, 1, total, total, total, STEPS),),
        fresh=(
            FreshResult(
                UTTERANCE,
                1,
                ColdStart(0.9, 0.4, {"compiled calls": 0.5}, 2.0, memory, (0.9,)),
            ),
        ),
        peers=PeerResults((contender("ours", 1.0), contender("onnxruntime", 0.25))),
    )


def kernel_report() -> BenchmarkReport:
    kernels = (
        KernelSpeed("conv1d", 2e-3, 1e-3, 90.0, 100.0, 0.9, None, None),
        KernelSpeed("FFT", 2e-3, 1e-3, 400.0, 110.0, 4.0, 0.8, None),
        KernelSpeed("layer_norm", 2e-6, 1e-6, None, 100.0, None, None, 50.0),
    )
    return replace(
        speed_report(),
        speeds=(),
        fresh=(),
        peers=None,
        kernels=(KernelTable(1, "znver4", 16, 160, kernels),),
    )


@pytest.fixture
def measured(monkeypatch):
    """The requests passed to the measurement, which is not done."""
    requests = []
    for name, report in (("run_benchmark", speed_report()), ("run_kernels", kernel_report())):

        def measure(request, progress, name=name, report=report):
            requests.append((name, request))
            progress("measuring")
            return report

        monkeypatch.setattr(benchmark, name, measure)
    return requests


def test_defaults(run_cli, measured):
    assert run_cli("benchmark", "kokoro").code == 0
    ((name, request),) = measured
    assert name == "run_benchmark"
    assert request.artifact == Path("kokoro")
    assert request.seconds == (1.0, 4.0, 10.0)
    assert request.threads == tuple(sorted({1, available_cpus()}))
    assert (request.repeats, request.warm_up, request.against) == (5, 1, ())


def test_options_reach_the_measurement(run_cli, measured):
    words = [
        "--seconds",
        "0.5,30",
        "--threads",
        "2,1,2",
        "-r",
        "3",
        "--no-warmup",
        "--voice",
        "af_bella",
    ]
    against = ["--against", "pytorch,openvino", "--weights", "synthetic"]
    assert run_cli("benchmark", "kokoro", *words, *against).code == 0
    request = measured[0][1]
    assert request.seconds == (0.5, 30.0)
    assert request.threads == (2, 1)
    assert (request.repeats, request.warm_up, request.voice) == (3, 0, "af_bella")
    assert (request.against, request.weights) == (("pytorch", "openvino"), "synthetic")
    run_cli("benchmark", "kokoro", "--phonemes", "kæt")
    assert measured[1][1].phonemes == "kæt"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["kokoro", "-r", "0"],
        ["kokoro", "--threads", "0"],
        ["kokoro", "--threads", "two"],
        ["kokoro", "--seconds", "1,,2"],
        ["kokoro", "--seconds", "long"],
        ["kokoro", "--seconds", "1", "--phonemes", "kæt"],
        ["kokoro", "-o", "xml"],
        ["kokoro", "--kernels", "--against", "pytorch"],
        ["kokoro", "--kernels", "--plot", "rtf.png"],
        ["kokoro", "--kernels", "--seconds", "1"],
        ["kokoro", "--kernels", "--phonemes", "kæt"],
        ["kokoro", "--weights", "synthetic"],
    ],
)
def test_wrong_usage(run_cli, measured, words):
    ended = run_cli("benchmark", *words)
    assert ended.code == 2
    assert "usage:" in ended.err
    assert measured == []


def test_the_table_has_figures_and_the_machine(run_cli, measured):
    out = run_cli("benchmark", "kokoro").out
    for words in (
        "hexgrad/Kokoro-82M at f3ff3571791e",
        "A CPU, 2 of 2 CPUs, 8 GB of memory; Linux 6 x86_64, load 0.05",
        "medians of 3 repeats after 1 to warm up",
        "| 2.00 s | 3 | 1 | 1 | 0.250 | 500 (400–600) | 500 | 500 |",
        "| decoder_forward | 300.0 (75%) |",
        "| 2.00 s | 1 | 900 | 400 | 500 | 100 | 300 |",
        "| on disk and mapped, each once | 400 |",
        "| ours | 2.00 s | 1 | 0.250 | 500 (400–600) | 500 |  |  | 700 | 2e-05 | 96 |",
        "| onnxruntime | 2.00 s | 1 | 0.250 | 500 (400–600) | 500 | 0.250 | 4.00× | 700 |",
    ):
        assert words in out


@pytest.mark.parametrize("option", [["-o", "json"], ["--json"]])
def test_json_has_every_repeat(run_cli, measured, option):
    data = json.loads(run_cli("benchmark", "kokoro", *option).out)
    assert data["speeds"][0]["total"] == {
        "median": 0.5,
        "best": 0.4,
        "worst": 0.6,
        "values": [0.5, 0.4, 0.6],
    }
    assert data["speeds"][0]["rtf"] == 0.25
    peer = data["peers"][1]
    assert (peer["ratio"], peer["rtf"], peer["audio_snr_db"]) == (0.25, 0.25, 96.0)


def test_kernels(run_cli, measured):
    out = run_cli("benchmark", "kokoro", "--kernels", "--threads", "1").out
    assert measured[0][0] == "run_kernels"
    assert "| conv1d | 2000 | 1000 | 90.0 | 90% |  |  |" in out
    assert "| FFT | 2000 | 1000 | 400.0 | 400% | 80% |  |" in out
    assert "| layer_norm | 2 | 1 |  |  |  | 50.0 |" in out
    assert "Peak 100 to 110 GFLOP/s" in out
    assert "### Speed" not in out


def test_a_busy_machine_is_said_so(run_cli, monkeypatch):
    report = speed_report(replace(QUIET, load=3.2))
    monkeypatch.setattr(benchmark, "run_benchmark", lambda request, progress: report)
    ended = run_cli("benchmark", "kokoro")
    assert ended.code == 0
    assert "the load was 3.20" in ended.err


def test_a_peer_that_is_wrong_ends_in_1(run_cli, monkeypatch):
    def refuse(request, progress):
        raise CheckFailed("openvino is not timed")

    monkeypatch.setattr(benchmark, "run_benchmark", refuse)
    ended = run_cli("benchmark", "kokoro", "--against", "openvino")
    assert (ended.code, ended.out) == (1, "")
    assert "openvino is not timed" in ended.err


def test_a_plot_is_checked_before_and_drawn_after(run_cli, measured, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(plot, "check_plot", lambda path: drawn.append(("check", len(measured))))
    monkeypatch.setattr(plot, "plot_rtf", lambda report, path: drawn.append((path, len(measured))))
    file = tmp_path / "rtf.png"
    assert run_cli("benchmark", "kokoro", "--plot", file).code == 0
    assert drawn == [("check", 0), (file, 1)]


def test_a_real_folder_is_opened_first(run_cli, tmp_path):
    ended = run_cli("benchmark", tmp_path / "nowhere")
    assert ended.code == 3
    assert "nowhere" in ended.err


def test_an_unknown_peer_is_refused_before_any_work(run_cli, make_artifact, tmp_path):
    ended = run_cli("benchmark", make_artifact(tmp_path / "a"), "--against", "tensorflow")
    assert ended.code == 3
    assert "no peer tensorflow: there are pytorch" in ended.err
