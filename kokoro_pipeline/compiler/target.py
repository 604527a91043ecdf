"""What a library is compiled for."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm.target import codegen

from ..artifact.cpu import host_features, portable_mcpu, vector_features
from ..artifact.manifest import TargetInfo
from ..errors import InputError

KINDS = ("llvm",)
"""Target kinds that this version compiles for."""


@dataclass(frozen=True)
class BuildTarget:
    """A target kind and an LLVM CPU name, with what follows from them."""

    kind: str
    mcpu: str

    @property
    def tvm(self) -> tvm.target.Target:
        """TVM's own target. `Target("llvm")` alone would mean SSE2."""
        return tvm.target.Target({"kind": self.kind, "mcpu": self.mcpu})

    @property
    def info(self) -> TargetInfo:
        """For the manifest: the vector features that a CPU must have to run the library."""
        features = vector_features(codegen.llvm_get_cpu_features(self.tvm))
        return TargetInfo(kind=self.kind, mcpu=self.mcpu, features=features)


def resolve_target(kind: str = "llvm", mcpu: str | None = None) -> BuildTarget:
    """The target of a build; without `mcpu`, this machine's CPU.

    Raises InputError for a kind or CPU name that is not known, listing those that are.
    """
    if kind not in KINDS:
        raise InputError(f"unknown target {kind!r}: this version builds for {', '.join(KINDS)}")
    if mcpu is None:
        return BuildTarget(kind, host_mcpu())
    if not codegen.llvm_is_valid_cpu(mcpu, codegen.llvm_get_system_triple()):
        names = codegen.llvm_get_cpu_archlist(tvm.target.Target(kind))
        known = ", ".join(sorted(str(name) for name in names))
        raise InputError(f"unknown CPU {mcpu!r} for --mcpu: LLVM knows {known}")
    return BuildTarget(kind, mcpu)


def host_mcpu() -> str:
    """LLVM's name of this CPU, or of a level below it where the system hides features of it."""
    name = str(codegen.llvm_get_system_cpu())
    here = host_features()
    if set(BuildTarget("llvm", name).info.features) <= here:
        return name
    return portable_mcpu(here)
