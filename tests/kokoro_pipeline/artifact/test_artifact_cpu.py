"""CPU features: common names for LLVM, Linux and macOS, and an error instead of SIGILL."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kokoro_pipeline.artifact import binary, cpu
from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

HASWELL = "pni ssse3 sse4_1 sse4_2 popcnt movbe avx f16c abm bmi1 avx2 bmi2 fma"
GRAVITON = "fp asimd fphp asimdhp asimdrdm asimddp"
APPLE = "hw.optional.floatingpoint: 1\nhw.optional.neon: 1\nhw.optional.arm.FEAT_DotProd: 1\n"
APPLE += "hw.optional.arm.FEAT_BF16: 0\nhw.optional.arm.FEAT_FP16: 1\n"


@pytest.fixture(autouse=True)
def fresh_cache() -> Iterator[None]:
    cpu.host_features.cache_clear()
    yield
    cpu.host_features.cache_clear()


def pretend(monkeypatch: pytest.MonkeyPatch, system: str, machine: str, said: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(cpu, "_read_cpuinfo", lambda: said)
    monkeypatch.setattr(cpu, "_read_capabilities", lambda: capabilities(said))
    monkeypatch.setattr(cpu, "_read_sysctl", lambda: said)


def capabilities(said: str) -> tuple[int, ...]:
    """The capability words of an aarch64 machine with the named capabilities."""
    return tuple(
        sum(1 << bit for name, bit in bits.items() if name in said.split())
        for bits in cpu.ARM_CAPABILITIES
    )


@pytest.mark.parametrize(
    ("system", "machine", "said", "present", "absent"),
    [
        ("linux", "x86_64", f"flags\t\t: {HASWELL}\n", "avx2 fma sse4.2 lzcnt bmi", "avx512f"),
        ("linux", "aarch64", GRAVITON, "neon fullfp16 dotprod rdm", "sve bf16"),
        ("linux", "aarch64", "fp asimd asimdhp", "neon", "fullfp16"),
        ("linux", "aarch64", "fp asimd sve sve2 bf16 i8mm", "sve sve2 bf16 i8mm", "fp16fml rdm"),
        ("darwin", "arm64", APPLE, "neon dotprod fullfp16", "bf16 sve"),
    ],
)
def test_host_features(
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    machine: str,
    said: str,
    present: str,
    absent: str,
) -> None:
    pretend(monkeypatch, system, machine, said)
    assert set(present.split()) <= cpu.host_features()
    assert not set(absent.split()) & cpu.host_features()


def test_features_of_unequal_cores_are_those_of_all() -> None:
    assert cpu.parse_cpuinfo("flags : avx avx2\nflags : avx\n") == {"avx"}
    assert cpu.parse_cpuinfo("model name : x\n") == frozenset()


def test_capability_bits_are_those_of_the_kernel_header() -> None:
    """musl's copy of Linux's asm/hwcap.h, which ziglang brings."""
    zig = pytest.importorskip("ziglang", reason="the header comes with ziglang")
    header = Path(zig.__file__).parent / "lib/libc/musl/arch/aarch64/bits/hwcap.h"
    defined = dict(re.findall(r"#define (\w+)\s+\(1 << (\d+)\)", header.read_text()))
    for prefix, bits in zip(("HWCAP_", "HWCAP2_"), cpu.ARM_CAPABILITIES, strict=True):
        assert bits == {name: int(defined[prefix + name.upper()]) for name in bits}


def test_every_arm_feature_can_be_told() -> None:
    known = {name for bits in cpu.ARM_CAPABILITIES for name in bits}
    assert known == {name for names in cpu.ARM_FLAGS.values() for name in names}


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("linux", "riscv64")])
def test_unknown_system_is_refused(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    pretend(monkeypatch, system, machine, "")
    with pytest.raises(EnvironmentFault, match="cannot tell the CPU's features"):
        cpu.host_features()


def test_cpuinfo_hidden_by_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(EnvironmentFault, match="mount /proc"):
        cpu._read_cpuinfo()
    monkeypatch.setattr(Path, "read_text", lambda self, *args, **options: "")
    with pytest.raises(EnvironmentFault, match="lists no flags"):
        cpu._read_cpuinfo()


def test_vector_features_keep_what_can_be_compared() -> None:
    llvm = ["64bit", "+avx2", "avx512bf16", "-avx512f", "fast-lzcnt", "avx2", "shstk", "sse4.2"]
    assert cpu.vector_features(llvm) == ("avx2", "avx512bf16", "sse4.2")
    assert cpu.vector_features(["v8a", "neon", "fullfp16", "lse"]) == ("fullfp16", "neon")


@pytest.mark.skipif(sys.platform != "linux", reason="asks this machine's Linux")
def test_this_machine_says_something() -> None:
    assert cpu.host_features()
    assert cpu.host_features() == set(cpu.vector_features(cpu.host_features()))


@pytest.mark.parametrize(
    ("machine", "said", "needs", "missing", "mcpu"),
    [
        ("x86_64", HASWELL, ("avx2", "avx512f", "avx512vl"), "avx512f, avx512vl", "x86-64-v3"),
        ("x86_64", "pni ssse3 sse4_1 sse4_2 popcnt", ("avx2",), "avx2", "x86-64-v2"),
        ("x86_64", "pni", ("avx2",), "avx2", "x86-64 "),
        ("x86_64", HASWELL, ("neon",), "neon", "x86-64-v3"),
        ("aarch64", GRAVITON, ("neon", "sve"), "sve", "generic"),
    ],
)
def test_missing_features_and_the_remedy_are_named(
    monkeypatch: pytest.MonkeyPatch,
    machine: str,
    said: str,
    needs: tuple[str, ...],
    missing: str,
    mcpu: str,
) -> None:
    pretend(monkeypatch, "linux", machine, f"flags : {said}\n")
    with pytest.raises(ArtifactError) as caught:
        cpu.check_target(TargetInfo("llvm", "some-cpu", needs), "DIR")
    assert f"DIR was compiled for some-cpu; this CPU lacks {missing}." in str(caught.value)
    assert f"kokoro-pipeline build --mcpu {mcpu}" in str(caught.value)


def test_present_features_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "linux", "x86_64", f"flags : {HASWELL}\n")
    assert "avx2" in cpu.check_target(TargetInfo("llvm", "haswell", ("avx2", "fma")))
    assert "no vector feature" in cpu.check_target(TargetInfo("llvm", "x86-64", ()))


def test_every_level_holds_known_features() -> None:
    for features in cpu.X86_LEVELS.values():
        assert features <= cpu.X86_FLAGS.keys()
    assert cpu.portable_mcpu(frozenset(cpu.X86_FLAGS)) == "x86-64-v4"


@pytest.mark.parametrize(
    ("header", "machine"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0", ("linux", "x86_64")),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\xb7\0", ("linux", "aarch64")),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\xf3\0", ("linux", "ELF machine 243")),
        (b"\xcf\xfa\xed\xfe\x0c\0\0\x01" + bytes(12), ("darwin", "aarch64")),
    ],
)
def test_library_of_another_machine_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: bytes, machine: tuple[str, str]
) -> None:
    library = tmp_path / "model.so"
    library.write_bytes(header)
    assert binary.library_machine(library) == machine
    pretend(monkeypatch, "linux", "x86_64", "")
    if machine == ("linux", "x86_64"):
        assert "x86_64 on linux" in binary.check_machine(library)
    else:
        with pytest.raises(ArtifactError, match=f"{machine[1]} on {machine[0]}, this machine is"):
            binary.check_machine(library)


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"MZ" + bytes(30), b"\x7fELF\x01\x01" + bytes(20)]
)
def test_no_library(tmp_path: Path, content: bytes) -> None:
    library = tmp_path / "model.so"
    library.write_bytes(content)
    with pytest.raises(ArtifactError, match="not a shared library"):
        binary.library_machine(library)
