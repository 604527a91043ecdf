"""The findings of `doctor` about CUDA: never required, with a remedy for each problem."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kokoro_pipeline.cli import doctor_cuda
from kokoro_pipeline.cli.isolated import NoAnswerError
from kokoro_pipeline.errors import EnvironmentFault

H100 = {"version": [13, 0], "gpus": [["NVIDIA H100", "sm_90", 80 << 30]]}
NONE = {"fault": "no NVIDIA driver on this machine; install one, or build for the CPU"}
UNSEEN = {"fault": "the NVIDIA driver sees no GPU: check nvidia-smi"}


@pytest.mark.parametrize(
    ("told", "state", "detail", "remedy"),
    [
        (H100, "ok", "CUDA 13.0: NVIDIA H100 (sm_90, ", ""),
        (NONE, "absent", "no NVIDIA driver on this machine", "install one"),
        (UNSEEN, "absent", "the NVIDIA driver sees no GPU", "nvidia-smi"),
        (NoAnswerError("killed by signal 11"), "warning", "killed by signal 11", "nvidia-smi"),
    ],
    ids=["there", "no driver", "no gpu", "crash"],
)
def test_the_driver(monkeypatch, told, state, detail, remedy):
    def ask(_code: str, *, timeout: float) -> Any:
        if isinstance(told, Exception):
            raise told
        return told

    monkeypatch.setattr(doctor_cuda, "ask", ask)
    (finding,) = doctor_cuda.cuda_driver()
    assert finding.state == state
    assert detail in finding.detail
    assert remedy in finding.remedy


def test_this_machines_driver_is_asked_in_another_process():
    """Whatever the machine has, there is an answer, and no driver is loaded here."""
    (finding,) = doctor_cuda.cuda_driver()
    assert finding.state in ("ok", "absent")
    assert finding.detail


@pytest.mark.parametrize("there", [True, False])
def test_the_compiler(stand_in, there):
    def find() -> SimpleNamespace:
        if not there:
            raise EnvironmentFault("no CUDA compiler found, and --target cuda needs one: install")
        return SimpleNamespace(name="nvcc 13.0")

    stand_in("kokoro_pipeline.compiler.codegen.cuda_compiler", find_cuda_compiler=find)
    (finding,) = doctor_cuda.cuda_compiler()
    assert finding.state == ("ok" if there else "absent")
    assert ("nvcc 13.0" in finding.detail) == there
    assert ("nvidia-cuda-nvrtc" in finding.remedy) != there
