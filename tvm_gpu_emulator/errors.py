"""What can go wrong in the emulator, by who can mend it."""

from __future__ import annotations


class EmulatorError(Exception):
    """Root of every error this package raises on purpose."""


class InputError(EmulatorError, ValueError):
    """The caller's module, target or option cannot be used as it is."""


class EnvironmentFault(EmulatorError):
    """The machine lacks something: a compiler, clang, addr2line, a version of TVM."""
