"""Build targets: a device kind with its architectures, and the CPU and system of the host.

`--target` gives the device in one of three forms: a kind (`llvm`, `cuda`, `metal`), a TVM target
tag (`nvidia/nvidia-a100`, `apple/m1-gpu`), or a TVM target as JSON, whose host part is the CPU.
`--host` gives the system to link the library for, by default this one.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tvm
from tvm.target import codegen

from kokoro_pipeline.artifact import amx
from kokoro_pipeline.artifact.cpu import (
    host_architecture,
    host_features,
    portable_mcpu,
    vector_features,
)
from kokoro_pipeline.artifact.manifest import PRECISIONS, TargetInfo
from kokoro_pipeline.errors import ArtifactError, InputError

KINDS = ("llvm", "cuda", "metal")
"""Target kinds that this version compiles for."""

CUDA_ARCHS = (
    *("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90"),
    *("sm_100", "sm_103", "sm_110", "sm_120", "sm_121"),
)
"""CUDA architectures that machine code can be generated for, the oldest first."""

TENSOR_CORE_ARCHS = CUDA_ARCHS[1:]
"""Architectures whose tensor cores multiply tf32, bfloat16 and float16 and add in float32."""

DEFAULT_CUDA_ARCHS = ("sm_80", "sm_90")
"""Architectures of plain `--target cuda`; PTX for the last one supports newer GPUs."""

_CPU_WITH_UNIT = {"amx-bf16": "sapphirerapids", "avx512f": "x86-64-v4", "avx2": "x86-64-v3"}
"""Units of x86-64 that kernels use, the best first, with the oldest CPU or level that has each."""

# TVM's defaults differ between versions; these limits hold on every listed GPU.
_CUDA_LIMITS = {
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}
# TVM assumes SIMD groups of 16 threads; Apple's GPUs have 32.
_METAL_LIMITS = {"thread_warp_size": 32}


@dataclass(frozen=True)
class Host:
    """A system that libraries are linked for."""

    name: str
    system: str
    """The value of `sys.platform`: "linux" or "darwin"."""
    architecture: str
    triple: str
    mcpu: str
    """The default CPU when the host is not this machine."""

    @property
    def library_name(self) -> str:
        """Name of the library in an artifact."""
        return "model.dylib" if self.system == "darwin" else "model.so"

    @property
    def is_here(self) -> bool:
        """Whether this machine has the host's system and architecture."""
        return (self.system, self.architecture) == (_system(), host_architecture())


HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host("linux-x86_64", "linux", "x86_64", "x86_64-linux-gnu", "x86-64-v3"),
        Host("linux-aarch64", "linux", "aarch64", "aarch64-linux-gnu", "generic"),
        Host("macos-arm64", "darwin", "aarch64", "arm64-apple-macos11", "apple-m1"),
    )
}
"""The values of `--host`."""


@dataclass(frozen=True)
class BuildTarget:
    """A target kind, the CPU and system of its host, and the GPU's architectures."""

    kind: str
    mcpu: str
    host: Host = field(default_factory=lambda: this_host())
    archs: tuple[str, ...] = ()
    """CUDA architectures to generate machine code for, oldest first; () for the other kinds."""
    attributes: tuple[tuple[str, Any], ...] = ()
    """Further attributes from a tag or JSON, passed on to TVM."""
    precision: str = "float32"
    """The precision of the decoder's products, one of `PRECISIONS`."""

    @property
    def host_tvm(self) -> tvm.target.Target:
        """The TVM target of the host code. `Target("llvm")` alone would mean SSE2."""
        config: dict[str, Any] = {"kind": "llvm", "mcpu": self.mcpu}
        if self.kind == "llvm":
            config.update(self.attributes)
        if not self.host.is_here:
            config["mtriple"] = self.host.triple
        return tvm.target.Target(config)

    @property
    def tvm(self) -> tvm.target.Target:
        """The TVM target, which for a device includes the host.

        CUDA code is generated for the oldest architecture, so it is valid for all of them.
        """
        if self.kind == "llvm":
            return self.host_tvm
        config: dict[str, Any] = {"kind": self.kind, **dict(self.attributes)}
        if self.kind == "cuda":
            config = {**_CUDA_LIMITS, **config, "arch": self.archs[0]}
        else:
            config = {**_METAL_LIMITS, **config}
        return tvm.target.Target(config, host=self.host_tvm)

    @property
    def has_tiles(self) -> bool:
        """Whether kernels for this target may use the tiles of AMX."""
        return self.kind == "llvm" and bool(
            codegen.target_has_features(list(amx.FEATURES), self.host_tvm)
        )

    def without_tiles(self) -> BuildTarget:
        """The same target without AMX, which a CPU then does not need to have."""
        features = codegen.llvm_get_cpu_features(self.host_tvm)
        tiles = sorted(str(name) for name in features if str(name).startswith("amx-"))
        if not tiles:
            return self
        attributes = dict(self.attributes)
        attributes["mattr"] = [*attributes.get("mattr", ()), *(f"-{name}" for name in tiles)]
        return replace(self, attributes=tuple(sorted(attributes.items())))

    def at_level(self, opt_level: int) -> BuildTarget:
        """The target for an optimization level; below 2 no kernel uses tiles.

        Where a kernel for CUDA has to run on a GPU without the tensor cores that "float32" takes,
        the precision becomes "float32-fma".

        Raises InputError if the level does not support the precision.
        """
        chosen = self if opt_level >= 2 else self.without_tiles()
        if self.kind == "cuda" and opt_level >= 1 and self.precision == "float32":
            lacking = set(self.archs) - set(TENSOR_CORE_ARCHS)
            return replace(self, precision="float32-fma") if lacking else self
        if self.precision != "float32" and opt_level < (2 if self.kind == "llvm" else 1):
            raise InputError(
                f"--precision {self.precision} with --opt {opt_level}: that level computes in "
                "float32; leave out one of them"
            )
        return chosen

    @property
    def info(self) -> TargetInfo:
        """The target as recorded in the manifest.

        It includes the vector features that a CPU must have to run the library. Only kernels use
        AMX, so a library for a device, or for a system without tile kernels, does not need it.
        """
        features = vector_features(codegen.llvm_get_cpu_features(self.host_tvm))
        if not self.has_tiles:
            features = tuple(name for name in features if name not in amx.FEATURES)
        return TargetInfo(
            self.kind, self.mcpu, features, self.host.name, self.archs, self.precision
        )

    def __str__(self) -> str:
        archs = f" {' '.join(self.archs)}" if self.archs else ""
        reduced = "" if self.precision == "float32" else f" in {self.precision}"
        tiles = " with AMX tiles" if self.has_tiles else ""
        return f"{self.kind}{archs}{reduced} on {self.host.name}, {self.mcpu}{tiles}"


def resolve_target(
    target: str = "llvm",
    mcpu: str | None = None,
    host: str | None = None,
    precision: str = "float32",
) -> BuildTarget:
    """Resolve the options of a build to its target.

    `target`: a kind, a tag or JSON, as described in the module's docstring. `mcpu`: an LLVM CPU
    name, by default that of this machine, or the default CPU of another host. `host`: a name in
    `HOSTS` or its LLVM triple, by default this machine, or a Mac for Metal. `precision`: one of
    `PRECISIONS`.

    Raises InputError for an unknown kind, tag, architecture, host or CPU name, listing the known
    ones, and for an unsupported combination.
    """
    config = _config(target)
    kind = config.pop("kind")
    spoken_host = config.pop("host", None)
    if isinstance(spoken_host, Mapping):
        mcpu = mcpu or _text(spoken_host, "mcpu", target)
        host = host or _text(spoken_host, "mtriple", target)
    archs: tuple[str, ...] = ()
    if kind == "cuda":
        archs = _cuda_archs(config.pop("arch", DEFAULT_CUDA_ARCHS), target)
    elif kind == "llvm":
        mcpu = mcpu or _text(config, "mcpu", target)
        host = host or _text(config, "mtriple", target)
        config = {name: config[name] for name in config if name not in ("mcpu", "mtriple")}
    where = _host(host, kind)
    if kind == "metal" and where.system != "darwin":
        raise InputError(
            f"--target metal on --host {where.name}: Metal runs on Macs only; "
            "leave out --host, or give --host macos-arm64"
        )
    if kind == "cuda" and where.system == "darwin":
        raise InputError(
            f"--target cuda on --host {where.name}: CUDA runs on Linux only; "
            "give --host linux-x86_64 or linux-aarch64"
        )
    for_here = mcpu is None and where.is_here and "mattr" not in config
    if mcpu is None:
        mcpu = host_mcpu() if where.is_here else where.mcpu
    elif not codegen.llvm_is_valid_cpu(mcpu, where.triple):
        names = codegen.llvm_get_cpu_archlist(
            tvm.target.Target({"kind": "llvm", "mtriple": where.triple})
        )
        known = ", ".join(sorted(str(name) for name in names))
        raise InputError(f"unknown CPU {mcpu!r} for --mcpu: on {where.name} LLVM knows {known}")
    if precision not in PRECISIONS:
        raise InputError(f"unknown --precision {precision}: the known are {', '.join(PRECISIONS)}")
    found = BuildTarget(kind, mcpu, where, archs, tuple(sorted(config.items())), precision)
    try:
        found.tvm  # noqa: B018 -- TVM checks the attributes when the target is made
    except (ValueError, TypeError, RuntimeError) as error:
        words = str(error).splitlines()[0]
        raise InputError(f"TVM takes no such target {target!r}: {words}") from error
    # The code for this machine uses its AMX only where the system permits it.
    if for_here and found.has_tiles and not tiles_here():
        found = found.without_tiles()
    _check_precision(found)
    return found


def _check_precision(target: BuildTarget) -> None:
    """Raise InputError for a precision in which no unit of the target multiplies."""
    precision, kind = target.precision, target.kind
    if precision == "float32" or (precision == "bfloat16" and target.has_tiles):
        return
    if precision == "float32-fma":
        if kind == "cuda":
            return
        raise InputError(
            f"--precision float32-fma with --target {kind}: it keeps float32 off CUDA's tensor "
            "cores, and this target has none; leave out --precision, or give --target cuda"
        )
    if kind == "llvm" and precision == "bfloat16":
        raise InputError(
            f"--precision bfloat16 with --target llvm for {target.mcpu}: only AMX multiplies in it "
            "on a CPU, and this target has none, or this system does not permit it; leave out "
            "--precision, or give --mcpu sapphirerapids or a newer CPU, or --target cuda"
        )
    if kind != "cuda":
        raise InputError(
            f"--precision {precision} with --target {kind}: only CUDA's tensor cores multiply in "
            "it here; leave out --precision, or give --target cuda"
        )
    lacking = [arch for arch in target.archs if arch not in TENSOR_CORE_ARCHS]
    if lacking:
        raise InputError(
            f"--precision {precision} with {', '.join(lacking)}: tensor cores multiply in it from "
            f"{TENSOR_CORE_ARCHS[0]} on; leave out --precision, or the architecture"
        )


def host_mcpu() -> str:
    """LLVM's name for this CPU, as a value of `mcpu`.

    LLVM goes by the model that the CPU reports. A hypervisor may hide features of that model: then
    the name is that of a lower level. It may also report the model of an older CPU: then the name
    is that of a CPU with the units that this one has (AMX on a "rocketlake").
    """
    name = str(codegen.llvm_get_system_cpu())
    here = host_features()

    def runs_here(mcpu: str) -> bool:
        """Whether code for `mcpu`, which can leave out AMX, runs on this CPU."""
        return here.issuperset(BuildTarget("llvm", mcpu).without_tiles().info.features)

    if not runs_here(name):
        return portable_mcpu(here)
    unnamed = here.difference(BuildTarget("llvm", name).info.features)
    for unit, other in _CPU_WITH_UNIT.items():
        if unit in unnamed and runs_here(other):
            return other
    return name


def host_cpu() -> str:
    """What code for this machine depends on: `host_mcpu()`, and whether it may use AMX."""
    name = host_mcpu()
    return f"{name}+amx" if BuildTarget("llvm", name).has_tiles and tiles_here() else name


def tiles_here() -> bool:
    """Whether this machine has AMX and permits this process to use it."""
    if not host_features().issuperset(amx.FEATURES):
        return False
    try:
        amx.permit_tiles()
    except ArtifactError:
        return False
    return True


def this_host() -> Host:
    """The entry of `HOSTS` for this machine. Raises InputError if there is none."""
    for host in HOSTS.values():
        if host.is_here:
            return host
    raise InputError(
        f"no artifact can be built for {_system()}/{host_architecture()} itself: name a host with "
        f"--host, one of {', '.join(HOSTS)}"
    )


def _system() -> str:
    return "linux" if sys.platform.startswith("linux") else sys.platform


def _config(target: str) -> dict[str, Any]:
    """The attributes given by a kind, a tag or JSON; "kind" is one of `KINDS`."""
    if target.lstrip().startswith("{"):
        try:
            config = json.loads(target)
        except ValueError as error:
            raise InputError(f"--target {target!r} is not valid JSON: {error}") from None
        if "tag" in config:
            config = {**_tagged(str(config.pop("tag"))), **config}
    elif "/" in target:
        config = _tagged(target)
    else:
        config = {"kind": target}
    kind = config.get("kind")
    if kind not in KINDS:
        raise InputError(
            f"unknown target {kind if isinstance(kind, str) else target!r}: this version builds "
            f"for {', '.join(KINDS)}; CUDA architectures are {', '.join(CUDA_ARCHS)}; tags as "
            "nvidia/nvidia-a100 and apple/m1-gpu, and JSON as "
            '{"kind": "cuda", "arch": "sm_90"}, are taken too'
        )
    return config


def _text(config: Mapping[str, Any], name: str, target: str) -> str | None:
    value = config.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} is {value!r} in --target {target}, expected a name")
    return value


def _tagged(tag: str) -> dict[str, Any]:
    known = tvm.target.list_tags()
    if tag not in known:
        vendor = tag.partition("/")[0] + "/"
        near = sorted(name for name in known if name.startswith(vendor)) or sorted(known)
        raise InputError(f"unknown target tag {tag!r}: TVM knows {', '.join(near)}")
    config = json.loads(str(tvm.target.Target(tag)))
    # TVM derives these. Keeping "tag" would restore the attributes that the caller overrides.
    derived = ("tag", "keys")
    return {
        name: value
        for name, value in config.items()
        if name not in derived and not name.startswith("feature.")
    }


def _cuda_archs(said: Any, target: str) -> tuple[str, ...]:
    """Architectures from old to new, without duplicates and without suffixes such as "a"."""
    wanted = (
        [said] if isinstance(said, str) else list(said) if isinstance(said, list | tuple) else []
    )
    archs = {
        re.sub(r"(?<=\d)[af]$", "", arch) if isinstance(arch, str) else arch for arch in wanted
    }
    unknown = sorted(str(arch) for arch in archs if arch not in CUDA_ARCHS)
    if unknown or not archs:
        raise InputError(
            f"unknown CUDA architecture {', '.join(unknown) or repr(said)} in --target {target}: "
            f"the known are {', '.join(CUDA_ARCHS)}"
        )
    return tuple(sorted(archs, key=CUDA_ARCHS.index))


def _host(said: str | None, kind: str) -> Host:
    if said is None:
        return HOSTS["macos-arm64"] if kind == "metal" else this_host()
    if said in HOSTS:
        return HOSTS[said]
    architecture = said.partition("-")[0].lower()
    system = "darwin" if re.search("apple|darwin|macos", said) else "linux"
    architecture = {"arm64": "aarch64", "amd64": "x86_64"}.get(architecture, architecture)
    spelled = "-" in said and (system == "darwin" or "linux" in said)
    for host in HOSTS.values():
        if spelled and (host.system, host.architecture) == (system, architecture):
            return host
    raise InputError(
        f"unknown host {said!r}: the known are "
        f"{', '.join(f'{host.name} ({host.triple})' for host in HOSTS.values())}"
    )
