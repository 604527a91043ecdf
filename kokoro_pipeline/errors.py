"""What can go wrong, by who can mend it. Messages name cause, evidence and the next command."""

from __future__ import annotations


class KokoroError(Exception):
    """Root of every error this package raises on purpose. `exit_code` is the command line's."""

    exit_code = 3


class InputError(KokoroError, ValueError):
    """The caller's text, voice, array, option or file cannot be used as it is."""


class ArtifactError(KokoroError):
    """An artifact folder is missing, damaged, of another schema or made for another machine."""


class EnvironmentFault(KokoroError):
    """The machine or its installation lacks something: a compiler, a package, the network, disk."""


class CheckFailed(KokoroError):
    """A check that was asked for ran and did not hold (validation, verification)."""

    exit_code = 1
