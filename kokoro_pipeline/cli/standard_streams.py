"""Standard streams that the shell closed: `<&-`, `>&-`, `2>&-`."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Closed(io.RawIOBase):
    """Standard output that nobody opened: writing to it fails, and not writing is no failure."""

    _refused = False

    def writable(self) -> bool:
        return True

    def write(self, content: Buffer) -> int:
        if self._refused:  # the flush at the end of the process is not another failure
            return memoryview(content).nbytes
        self._refused = True
        raise OSError(errno.EBADF, "standard output is closed")

    def fileno(self) -> int:
        return 1


def open_standard_streams() -> None:
    """Make the streams usable whose descriptors are closed.

    Python sets them to None, and the next files that the process opens would get the numbers 0 to
    2, so that an error message could end up in an audio file. Their numbers are therefore taken by
    the null device. What is written to a closed standard output raises OSError; messages to a
    closed standard error are dropped.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                opened = os.open(os.devnull, flags)
                if opened != descriptor:
                    os.dup2(opened, descriptor)
                    os.close(opened)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 # to the end of the process
