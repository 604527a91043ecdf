"""What the process says to its caller."""

from __future__ import annotations

OK = 0
FAILED_CHECK = 1
"""A check that was asked for ran and did not hold."""
USAGE = 2
"""The command line itself is wrong."""
BAD_INPUT = 3
"""Bad input, file, network or toolchain: something outside this program has to change."""
INTERNAL = 4
"""A defect of this program."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT."""
PIPE_CLOSED = 141
"""The reader of standard output went away: 128 + SIGPIPE."""
