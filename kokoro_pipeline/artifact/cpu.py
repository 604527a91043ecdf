"""Compare the vector instructions of a CPU with those that a library was compiled for.

Features have LLVM's names ("avx512bf16", "fullfp16"); the tables below map them to the names of
Linux and macOS. The tables contain the features that generated code can use and that the system
reports. LLVM's list for a CPU also has features that no system reports, which therefore cannot be
compared.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import ArtifactError, EnvironmentFault
from . import amx
from .manifest import TargetInfo

Names = tuple[str, ...]

X86_FLAGS: Mapping[str, Names] = {
    "sse3": ("pni",),
    "ssse3": ("ssse3",),
    "sse4.1": ("sse4_1",),
    "sse4.2": ("sse4_2",),
    "sse4a": ("sse4a",),
    "avx": ("avx",),
    "avx2": ("avx2",),
    "fma": ("fma",),
    "fma4": ("fma4",),
    "xop": ("xop",),
    "f16c": ("f16c",),
    "gfni": ("gfni",),
    "avx512f": ("avx512f",),
    "avx512cd": ("avx512cd",),
    "avx512bw": ("avx512bw",),
    "avx512dq": ("avx512dq",),
    "avx512vl": ("avx512vl",),
    "avx512ifma": ("avx512ifma",),
    "avx512vbmi": ("avx512vbmi",),
    "avx512vbmi2": ("avx512_vbmi2",),
    "avx512vnni": ("avx512_vnni",),
    "avx512bitalg": ("avx512_bitalg",),
    "avx512vpopcntdq": ("avx512_vpopcntdq",),
    "avx512bf16": ("avx512_bf16",),
    "avx512fp16": ("avx512_fp16",),
    "avxvnni": ("avx_vnni",),
    "amx-tile": ("amx_tile",),
    "amx-bf16": ("amx_bf16",),
    # These are scalar, but compilers use them for addresses and loop counts if available.
    "popcnt": ("popcnt",),
    "lzcnt": ("abm",),
    "bmi": ("bmi1",),
    "bmi2": ("bmi2",),
    "movbe": ("movbe",),
}
"""LLVM feature to the flags of /proc/cpuinfo on x86-64, all of which are required."""

ARM_FLAGS: Mapping[str, Names] = {
    "fp-armv8": ("fp",),
    "neon": ("asimd",),
    "fullfp16": ("fphp", "asimdhp"),
    "fp16fml": ("asimdfhm",),
    "rdm": ("asimdrdm",),
    "complxnum": ("fcma",),
    "dotprod": ("asimddp",),
    "bf16": ("bf16",),
    "i8mm": ("i8mm",),
    "sve": ("sve",),
    "sve2": ("sve2",),
}
"""LLVM feature to Linux's capabilities of aarch64, all of which are required."""

ARM_CAPABILITIES: tuple[Mapping[str, int], Mapping[str, int]] = (
    {
        **{"fp": 0, "asimd": 1, "fphp": 9, "asimdhp": 10, "asimdrdm": 12, "fcma": 14},
        **{"asimddp": 20, "sve": 22, "asimdfhm": 23},
    },
    {"sve2": 1, "i8mm": 13, "bf16": 14},
)
"""Linux's names to their bits in AT_HWCAP and AT_HWCAP2."""

APPLE_FLAGS: Mapping[str, Names] = {
    "fp-armv8": ("floatingpoint",),
    "neon": ("neon",),
    "fullfp16": ("arm.FEAT_FP16",),
    "fp16fml": ("arm.FEAT_FHM",),
    "rdm": ("arm.FEAT_RDM",),
    "complxnum": ("arm.FEAT_FCMA",),
    "dotprod": ("arm.FEAT_DotProd",),
    "bf16": ("arm.FEAT_BF16",),
    "i8mm": ("arm.FEAT_I8MM",),
}
"""LLVM feature to the names under `hw.optional` of sysctl on macOS, all of which must be 1."""

X86_LEVELS: dict[str, frozenset[str]] = {
    "x86-64-v4": frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    "x86-64-v3": frozenset({"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}),
    "x86-64-v2": frozenset({"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"}),
}
"""The features that each level adds to the one below; the lowest is "x86-64"."""

_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


_NAME_FIELDS = ("model name", "Model", "Hardware")


def cpu_name() -> str:
    """The name of this CPU as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in _NAME_FIELDS and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def host_architecture() -> str:
    """ "x86_64" or "aarch64"; for other machines, the name that the system reports."""
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def vector_features(names: Iterable[str]) -> tuple[str, ...]:
    """Filter an LLVM feature list by the tables; returns sorted names without duplicates.

    A leading "+" is dropped; features disabled with "-" are omitted.
    """
    wanted = {name.removeprefix("+") for name in names}
    return tuple(sorted(wanted & (X86_FLAGS.keys() | ARM_FLAGS.keys())))


@functools.lru_cache(maxsize=1)
def host_features() -> frozenset[str]:
    """The vector features (LLVM's names) of the CPU that this process runs on.

    Raises EnvironmentFault if the system does not report them.
    """
    architecture = host_architecture()
    if sys.platform.startswith("linux") and architecture == "x86_64":
        return _translate(parse_cpuinfo(_read_cpuinfo()), X86_FLAGS)
    if sys.platform.startswith("linux") and architecture == "aarch64":
        return _translate(parse_capabilities(*_read_capabilities()), ARM_FLAGS)
    if sys.platform == "darwin" and architecture == "aarch64":
        return _translate(parse_sysctl(_read_sysctl()), APPLE_FLAGS)
    raise EnvironmentFault(
        f"cannot tell the CPU's features on {sys.platform}/{architecture}: artifacts run on Linux "
        "(x86-64, aarch64) and on macOS (arm64)"
    )


def parse_cpuinfo(text: str) -> frozenset[str]:
    """The flags that all CPUs in the /proc/cpuinfo of an x86 machine have in common."""
    lines = re.findall(r"^flags\s*:(.*)$", text, flags=re.MULTILINE)
    cpus = [frozenset(line.split()) for line in lines]
    return frozenset.intersection(*cpus) if cpus else frozenset()


def parse_capabilities(*words: int) -> frozenset[str]:
    """Linux's names for the bits that are set in AT_HWCAP and AT_HWCAP2."""
    return frozenset(
        name
        for word, bits in zip(words, ARM_CAPABILITIES, strict=True)
        for name, bit in bits.items()
        if word >> bit & 1
    )


def parse_sysctl(text: str) -> frozenset[str]:
    """The names under `hw.optional` that are 1 in the output of `sysctl hw.optional`."""
    return frozenset(re.findall(r"^hw\.optional\.(\S+): 1$", text, flags=re.MULTILINE))


def check_target(target: TargetInfo, where: str = "the artifact") -> str:
    """Check that this CPU has all vector features that a library needs.

    For a library that uses AMX, this also requests the permission for tiles, which the process then
    keeps. Call it before starting the threads that run the library.

    Returns the evidence as text. Raises ArtifactError, which names the missing features, or the
    system's answer, and a build command that works here, and EnvironmentFault if the system does
    not report the features.
    """
    if not target.features:
        return f"compiled for {target.mcpu}, needs no vector feature"
    here = host_features()
    missing = [name for name in target.features if name not in here]
    if missing:
        mcpu = portable_mcpu(here)
        raise ArtifactError(
            f"{where} was compiled for {target.mcpu}; this CPU lacks {', '.join(missing)}. "
            f"Build it on this machine, or with: kokoro-pipeline build --mcpu {mcpu} -o DIR"
        )
    evidence = f"compiled for {target.mcpu}, this CPU has {', '.join(target.features)}"
    if any(name in target.features for name in amx.FEATURES):
        evidence += f", and {amx.permit_tiles(where)}"
    return evidence


def portable_mcpu(features: frozenset[str]) -> str:
    """The highest of LLVM's generic CPU names that a CPU with these features supports."""
    if features & ARM_FLAGS.keys():
        return "generic"
    best = "x86-64"
    for level in reversed(X86_LEVELS):
        if not X86_LEVELS[level] <= features:
            return best
        best = level
    return best


def _translate(flags: frozenset[str], table: Mapping[str, Names]) -> frozenset[str]:
    return frozenset(name for name, needed in table.items() if flags.issuperset(needed))


def _read_cpuinfo() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentFault(
            f"cannot tell the CPU's features: {error}; mount /proc in this container"
        ) from error
    if not parse_cpuinfo(text):
        raise EnvironmentFault("cannot tell the CPU's features: /proc/cpuinfo lists no flags")
    return text


def _read_capabilities() -> tuple[int, int]:
    """AT_HWCAP and AT_HWCAP2 of this process.

    These are correct for an emulated CPU too, while /proc/cpuinfo describes the host machine.
    """
    ask = ctypes.CDLL(None).getauxval
    ask.argtypes, ask.restype = (ctypes.c_ulong,), ctypes.c_ulong
    return ask(16), ask(26)


def _read_sysctl() -> str:
    command = ["/usr/sbin/sysctl", "hw.optional"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentFault(f"cannot tell the CPU's features: {error}") from error
