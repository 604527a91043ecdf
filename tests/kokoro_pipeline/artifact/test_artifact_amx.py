"""The permission for AMX tiles: what the system may answer, and when it is asked at all."""

from __future__ import annotations

import ctypes
import errno
import platform
import shutil
import subprocess
import sys

import pytest

from kokoro_pipeline.artifact import amx, cpu
from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.errors import ArtifactError

TILES = TargetInfo("llvm", "sapphirerapids", ("amx-bf16", "amx-tile", "avx2"))
ALL = frozenset(TILES.features)


class Kernel:
    """A kernel whose answers to arch_prctl are given, and what it was asked."""

    def __init__(
        self, supported: int = 0x600E7, refuses: int = 0, gives: bool = True, lacks: int = 0
    ) -> None:
        self.supported, self.refuses, self.gives, self.lacks = supported, refuses, gives, lacks
        self.permitted = 0xE7
        self.asked: list[int] = []

    def arch_prctl(self, code: int, argument: int) -> int:
        self.asked.append(code)
        if self.lacks:
            return self.lacks
        if code == 0x1023:
            assert argument == 18
            if self.refuses:
                return self.refuses
            if self.gives:
                self.permitted |= 1 << 17 | 1 << 18
            return 0
        value = self.supported if code == 0x1021 else self.permitted
        ctypes.c_uint64.from_address(argument).value = value
        return 0


@pytest.fixture
def kernel(monkeypatch):
    def pretend(features=ALL, **answers):
        made = Kernel(**answers)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(amx, "_arch_prctl", made.arch_prctl)
        monkeypatch.setattr(cpu, "host_features", lambda: frozenset(features))
        return made

    return pretend


def test_tiles_that_are_permitted(kernel):
    made = kernel()
    evidence = cpu.check_target(TILES, "DIR")
    assert "this CPU has amx-bf16" in evidence and "permits AMX tiles" in evidence
    assert 0x1023 in made.asked


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ({"refuses": errno.EPERM}, ("ARCH_REQ_XCOMP_PERM, 18", "EPERM")),
        ({"refuses": errno.ENOTSUP}, ("ARCH_REQ_XCOMP_PERM, 18", "ENOTSUP")),
        ({"lacks": errno.EPERM}, ("ARCH_GET_XCOMP_SUPP", "EPERM")),
        ({"lacks": errno.EINVAL}, ("ARCH_GET_XCOMP_SUPP", "EINVAL")),
        ({"supported": 0xE7}, ("XCR0 is 0xe7", "17 and 18")),
        ({"gives": False}, ("is 0xe7",)),
    ],
    ids=["seccomp", "no support", "seccomp, all of it", "old kernel, qemu", "XCR0", "ignored"],
)
def test_a_denial_names_the_answer_and_the_remedy(kernel, answers, named):
    kernel(**answers)
    with pytest.raises(ArtifactError) as caught:
        cpu.check_target(TILES, "DIR")
    for words in ("DIR computes with AMX tiles", *named, "build --mcpu x86-64-v4"):
        assert words in str(caught.value)


def test_a_cpu_without_amx_is_named_before_the_kernel_is_asked(kernel):
    made = kernel(features=ALL - {"amx-tile", "amx-bf16"})
    with pytest.raises(ArtifactError, match="this CPU lacks amx-bf16, amx-tile"):
        cpu.check_target(TILES, "DIR")
    assert made.asked == []


def test_without_tiles_the_kernel_is_not_asked(kernel):
    made = kernel()
    cpu.check_target(TargetInfo("llvm", "sapphirerapids", ("avx2",)))
    assert made.asked == []


def test_another_system_gives_no_permission(kernel, monkeypatch):
    kernel()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ArtifactError, match="darwin gives no permission"):
        amx.permit_tiles("DIR")


UNDER_SECCOMP = """
import ctypes, struct, sys
from kokoro_pipeline.artifact import amx
from kokoro_pipeline.errors import ArtifactError

# Load the number of the system call; arch_prctl fails with EPERM, every other is allowed.
filters = [(0x20, 0, 0, 0), (0x15, 0, 1, 158), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in filters))
program = struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code))
prctl = ctypes.CDLL(None, use_errno=True).prctl
longs = [ctypes.c_ulong(value) for value in (1, 0, 0, 0)]
if prctl(38, *longs) or prctl(22, ctypes.c_ulong(2), program):
    sys.exit(77)
try:
    amx.permit_tiles("DIR")
except ArtifactError as error:
    print(error)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="arch_prctl is a call of Linux on x86-64",
)
def test_a_container_that_forbids_the_call():
    ended = subprocess.run(
        [sys.executable, "-c", UNDER_SECCOMP], capture_output=True, text=True, check=False
    )
    if ended.returncode == 77:
        pytest.skip("this system takes no seccomp filter")
    assert ended.returncode == 0, ended.stderr
    assert "ARCH_GET_XCOMP_SUPP) fails: EPERM" in ended.stdout


UNDER_QEMU = """
from kokoro_pipeline.artifact import cpu
from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.errors import ArtifactError

features = ("amx-bf16", "amx-tile")
# The emulator may show the flags of the machine that it runs on.
cpu.host_features = lambda: frozenset(features)
try:
    cpu.check_target(TargetInfo("llvm", "sapphirerapids", features), "DIR")
except ArtifactError as error:
    print(error)
"""


@pytest.mark.qemu
def test_an_emulator_without_amx():
    emulator = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if emulator is None or platform.machine() != "x86_64":
        pytest.skip("no qemu-x86_64 for this machine's Python: apt install qemu-user-static")
    ended = subprocess.run(
        [emulator, sys.executable, "-c", UNDER_QEMU], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "DIR computes with AMX tiles, which this system does not permit" in ended.stdout
    assert "outside of an emulator" in ended.stdout
