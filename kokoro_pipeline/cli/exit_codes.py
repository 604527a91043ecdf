"""The exit codes of the process."""

from __future__ import annotations

OK = 0
FAILED_CHECK = 1
"""A requested check ran and failed."""
USAGE = 2
"""The command line is invalid."""
BAD_INPUT = 3
"""Bad input, file, network or toolchain: the cause is outside of this program."""
INTERNAL = 4
"""A defect of this program."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT."""
PIPE_CLOSED = 141
"""The reader of standard output closed the pipe: 128 + SIGPIPE."""
