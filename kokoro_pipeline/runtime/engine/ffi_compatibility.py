"""Which versions of apache-tvm and apache-tvm-ffi work together.

The two packages are built separately and linked through C++ symbols, and pip accepts pairs that
cannot be loaded together: the signature of `tvm::ffi::json::Stringify` changed in apache-tvm-ffi
0.1.13. The table lists the pairs that were tried; any other pair is "untested" and not rejected.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

TVM = "apache-tvm"
FFI = "apache-tvm-ffi"

SUPPORTED_TVM = SpecifierSet(">=0.27,<0.28")
"""The versions that kokoro_pipeline supports; the extension package supports more."""

Verdict = Literal["works", "broken", "untested", "missing"]


@dataclass(frozen=True)
class PairRule:
    """Versions of apache-tvm-ffi that are known to work or to fail with the versions `tvm`."""

    tvm: SpecifierSet
    works: SpecifierSet
    broken: SpecifierSet
    partner: str
    """The apache-tvm-ffi version to install with this apache-tvm."""


RULES = (
    PairRule(
        SpecifierSet("==0.25.0"), SpecifierSet("==0.1.12"), SpecifierSet(">=0.1.13"), "0.1.12"
    ),
    PairRule(
        SpecifierSet("==0.26.0"),
        SpecifierSet(">=0.1.13,<=0.1.15.post2"),
        SpecifierSet("<=0.1.12"),
        "0.1.15.post2",
    ),
    PairRule(
        SpecifierSet("==0.27.0.post1"),
        SpecifierSet(">=0.1.14.post0,<=0.1.15.post2"),
        SpecifierSet("<=0.1.12"),
        "0.1.15.post2",
    ),
)

RECOMMENDED = ("0.27.0.post1", "0.1.15.post2")
"""The (apache-tvm, apache-tvm-ffi) pair this package is tested with."""


@dataclass(frozen=True)
class Pair:
    """The installed versions (None if not installed) and whether they work together."""

    tvm: str | None
    ffi: str | None
    verdict: Verdict
    remedy: str
    """The command that fixes the installation; empty for a pair that works."""

    @property
    def supported(self) -> bool:
        """Whether kokoro_pipeline supports this version of apache-tvm."""
        version = _parse(self.tvm)
        return version is not None and SUPPORTED_TVM.contains(version, prereleases=True)

    def __str__(self) -> str:
        return f"{TVM} {self.tvm or 'absent'} with {FFI} {self.ffi or 'absent'}"


def judge_pair(tvm: str | None, ffi: str | None) -> Pair:
    """Look up apache-tvm `tvm` with apache-tvm-ffi `ffi` (None: not installed) in the table."""
    if tvm is None or ffi is None:
        return Pair(tvm, ffi, "missing", pair_install_command(*RECOMMENDED))
    tvm_version, ffi_version = _parse(tvm), _parse(ffi)
    if tvm_version is not None and ffi_version is not None:
        for rule in RULES:
            if not rule.tvm.contains(tvm_version, prereleases=True):
                continue
            if rule.works.contains(ffi_version, prereleases=True):
                return Pair(tvm, ffi, "works", "")
            if rule.broken.contains(ffi_version, prereleases=True):
                return Pair(tvm, ffi, "broken", pair_install_command(tvm, rule.partner))
    return Pair(tvm, ffi, "untested", pair_install_command(*RECOMMENDED))


def installed_pair() -> Pair:
    """The pair of this environment, read from package metadata without importing either."""
    return judge_pair(_installed(TVM), _installed(FFI))


def pair_install_command(tvm: str, ffi: str) -> str:
    """The pip command that installs a pair."""
    return f"pip install '{TVM}=={tvm}' '{FFI}=={ffi}'"


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _parse(version: str | None) -> Version | None:
    try:
        return None if version is None else Version(version)
    except InvalidVersion:
        return None
