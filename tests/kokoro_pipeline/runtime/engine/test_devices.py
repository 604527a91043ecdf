"""Which device runs an artifact, and the errors that do not involve a driver."""

from __future__ import annotations

import pytest

from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError
from kokoro_pipeline.runtime.engine import device
from kokoro_pipeline.runtime.engine.cuda_driver import CudaDevice, CudaDriver
from kokoro_pipeline.runtime.engine.device import Device, find_device, parse_device

CPU = TargetInfo("llvm", "generic")
CUDA = TargetInfo("cuda", "generic", (), "linux-x86_64", ("sm_80", "sm_90"))
METAL = TargetInfo("metal", "apple-m1", (), "macos-arm64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", ("auto", 0)),
        ("cpu", ("cpu", 0)),
        ("cuda", ("cuda", 0)),
        ("cuda:3", ("cuda", 3)),
        ("metal", ("metal", 0)),
    ],
)
def test_the_names_of_devices(text, expected):
    assert parse_device(text) == expected


@pytest.mark.parametrize("text", ["", "gpu", "CUDA", "cuda:", "cuda:-1", "cpu:0", "auto:0", 0])
def test_other_names_list_the_known(text):
    with pytest.raises(InputError, match=r"the known are auto, cpu, cuda, cuda:N"):
        parse_device(text)


@pytest.mark.parametrize("wanted", ["auto", "cpu"])
def test_the_cpu_asks_no_driver(wanted):
    def refuse() -> CudaDriver:
        raise AssertionError("the driver was asked")

    assert find_device(wanted, CPU, ask_driver=refuse) == Device("cpu", 0)


def test_metal_is_for_macs(monkeypatch):
    monkeypatch.setattr(device.sys, "platform", "linux")
    with pytest.raises(EnvironmentFault, match=r"compiled for Metal.*copy it to a Mac"):
        find_device("auto", METAL, "DIR")
    monkeypatch.setattr(device.sys, "platform", "darwin")
    assert str(find_device("metal", METAL)) == "metal:0"


@pytest.mark.parametrize(
    ("archs", "gpu", "runs"),
    [
        (("sm_80", "sm_90"), "sm_80", True),
        (("sm_80", "sm_90"), "sm_86", True),  # machine code of its generation
        (("sm_80", "sm_90"), "sm_100", True),  # PTX of sm_90
        (("sm_80", "sm_90"), "sm_75", False),
        (("sm_86",), "sm_80", False),
        (("sm_90",), "sm_89", False),
        ((), "sm_90", False),
    ],
)
def test_a_gpu_needs_code_for_it(archs, gpu, runs, monkeypatch):
    monkeypatch.setattr(device, "needed_version", lambda _library: 13)
    target = TargetInfo("cuda", "generic", (), "linux-x86_64", archs)
    driver = CudaDriver((13, 0), (CudaDevice("A GPU", gpu, 8 << 30, 100),))
    if runs:
        found = find_device("cuda", target, ask_driver=lambda: driver)
        assert found == Device("cuda", 0, "A GPU", 8 << 30)
    else:
        with pytest.raises(ArtifactError, match=rf'is {gpu}.*"arch": "{gpu}"'):
            find_device("cuda", target, ask_driver=lambda: driver)


def test_a_gpu_with_fewer_processors_than_blocks_that_wait_is_refused(monkeypatch):
    """It would never end: a block that waits keeps its processor."""
    monkeypatch.setattr(device, "needed_version", lambda _library: 13)
    small, enough = (CudaDevice(f"{n} of them", "sm_87", 8 << 30, n) for n in (7, 8))
    driver = CudaDriver((13, 0), (small, enough))
    target = TargetInfo("cuda", "generic", (), "linux-x86_64", ("sm_80",))
    with pytest.raises(EnvironmentFault, match=r"cuda:0 .* has 7 multiprocessors.*--target llvm"):
        find_device("cuda:0", target, ask_driver=lambda: driver)
    assert find_device("cuda:1", target, ask_driver=lambda: driver).name == "8 of them"


def test_a_build_says_why_it_is_not_validated(monkeypatch):
    """The builder asks the same question of the machine it runs on."""
    from kokoro_pipeline.building import options
    from kokoro_pipeline.compiler.codegen.linking import Linker
    from kokoro_pipeline.compiler.codegen.target import resolve_target

    def no_driver(_wanted: str, _target: TargetInfo) -> Device:
        raise EnvironmentFault("no NVIDIA driver on this machine")

    def plan(*target: str | None) -> options.BuildPlan:
        chosen = resolve_target(*target)
        return options.BuildPlan(chosen, 2, options.COMPONENT_NAMES, Linker("x", ("x",)), None)

    assert options.obstacle_here(plan("llvm")) is None
    monkeypatch.setattr(options, "find_device", no_driver)
    assert options.obstacle_here(plan("cuda")) == "no NVIDIA driver on this machine"
    other = "linux-aarch64" if plan("llvm").target.host.architecture == "x86_64" else "linux-x86_64"
    assert options.obstacle_here(plan("llvm", None, other)) == f"this machine is not {other}"
    whole = (*options.COMPONENT_NAMES, "noise_forward")
    assert plan("cuda").functions == (*whole, "align_forward")
    assert plan("llvm").functions == whole


@pytest.mark.parametrize(
    ("wanted", "target", "words"),
    [
        ("cpu", CUDA, r"compiled for cuda \(sm_80 sm_90\).*--target llvm"),
        ("metal", CUDA, r"compiled for cuda.*--target metal"),
        ("cuda:1", METAL, r"compiled for metal.*--target cuda"),
        ("metal", CPU, r"compiled for cpu.*--target metal"),
    ],
)
def test_a_library_for_another_device_is_refused(wanted, target, words):
    with pytest.raises(ArtifactError, match=f"DIR was {words}"):
        find_device(wanted, target, "DIR")
