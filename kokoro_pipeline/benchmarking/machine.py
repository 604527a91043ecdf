"""What the figures were measured on, and how much memory a process took."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ..runtime.engine.threads import available_cpus

_PROC_NAMES = ("model name", "Model", "Hardware")


@dataclass(frozen=True)
class Machine:
    """A description of this machine at this moment."""

    cpu: str
    usable_cpus: int
    """CPUs this process may run on."""
    cpus: int
    memory_bytes: int | None
    system: str
    python: str
    load: float | None
    """Processes that wanted a CPU during the last minute; above 0.3 the figures are doubtful."""

    @property
    def busy(self) -> bool:
        """Whether other work disturbs a measurement."""
        return self.load is not None and self.load > 0.3


@dataclass(frozen=True)
class ProcessMemory:
    """Resident memory of one process in bytes; None where the system does not tell."""

    peak: int
    """The most there was, mapped files included."""
    anonymous: int | None
    """Now, without files."""
    files: int | None
    """Now, of mapped files: the parameters and libraries, which processes share."""


def describe_machine() -> Machine:
    """This machine."""
    return Machine(
        cpu=_cpu_name(),
        usable_cpus=available_cpus(),
        cpus=os.cpu_count() or 1,
        memory_bytes=_memory(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def process_memory() -> ProcessMemory:
    """Memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        peak, anonymous, files = (
            int(fields[name].split()[0]) * 1024 for name in ("VmHWM", "RssAnon", "RssFile")
        )
        return ProcessMemory(peak, anonymous, files)
    import resource  # no such module on Windows

    # Not for Linux, where a process inherits the peak of the one that started it.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return ProcessMemory(peak if sys.platform == "darwin" else peak * 1024, None, None)


def installed_versions(*distributions: str) -> dict[str, str]:
    """Versions by distribution name, of those that are installed."""
    found = {}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in _PROC_NAMES and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
