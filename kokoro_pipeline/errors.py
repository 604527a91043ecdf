"""The errors of this package, classified by what has to be fixed.

Messages name the cause, the evidence and the next command.
"""

from __future__ import annotations


class KokoroError(Exception):
    """Base class of the errors that this package raises on purpose.

    `exit_code` is the exit status of the command line.
    """

    exit_code = 3


class InputError(KokoroError, ValueError):
    """A text, voice, array, option or file given by the caller cannot be used."""


class ArtifactError(KokoroError):
    """An artifact folder is missing, damaged, or made for another schema or machine."""


class EnvironmentFault(KokoroError):
    """The machine or installation lacks something: a compiler, a package, the network, disk."""


class CheckFailed(KokoroError):
    """A requested check (validation, verification) ran and failed."""

    exit_code = 1
