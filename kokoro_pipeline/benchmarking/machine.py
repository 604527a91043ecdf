"""Description of the machine, and the memory usage of a process."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ..artifact.cpu import cpu_name
from ..runtime.engine.threads import available_cpus


@dataclass(frozen=True)
class Machine:
    """A description of this machine and its current load."""

    cpu: str
    usable_cpus: int
    """CPUs that this process may run on."""
    cpus: int
    memory_bytes: int | None
    system: str
    python: str
    load: float | None
    """Load average of the last minute; above 0.3, measurements are unreliable."""

    @property
    def busy(self) -> bool:
        """Whether other processes disturb a measurement."""
        return self.load is not None and self.load > 0.3


@dataclass(frozen=True)
class ProcessMemory:
    """Resident memory of a process in bytes; None if the system does not report it."""

    peak: int
    """Peak usage, including mapped files."""
    anonymous: int | None
    """Current usage without files."""
    files: int | None
    """Current usage of mapped files: parameters and libraries, which processes share."""


def describe_machine() -> Machine:
    """Describe this machine."""
    return Machine(
        cpu=cpu_name(),
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

    # Not used on Linux, where a process inherits the peak of its parent.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return ProcessMemory(peak if sys.platform == "darwin" else peak * 1024, None, None)


def installed_versions(*distributions: str) -> dict[str, str]:
    """The versions of installed distributions by name."""
    found = {}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
