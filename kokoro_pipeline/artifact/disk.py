"""File system helpers whose errors name the path, the cause and a remedy."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import EnvironmentFault

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space, or write somewhere else with -o",
    errno.EDQUOT: "the disk quota is used up: free some space, or write somewhere else with -o",
    errno.EFBIG: "the file would be larger than this system or `ulimit -f` allows",
    errno.EROFS: "the file system is read-only: write somewhere else with -o",
    errno.EACCES: "permission denied: write somewhere else with -o",
    errno.EPERM: "permission denied: write somewhere else with -o",
    errno.ENOTDIR: "a part of the path is a file, not a folder: write somewhere else with -o",
    errno.ENAMETOOLONG: "the name is too long: write somewhere else with -o",
}

_BEGIN = 100
"""Bytes of its name that what takes the place of a file begins with."""


def fault(path: Path, error: OSError) -> EnvironmentFault:
    """Convert an OSError from writing to `path` to an EnvironmentFault.

    Of two files that the error names, as for a copy, the second is the one that is written.
    """
    cause = _REMEDIES.get(error.errno or 0, error.strerror or str(error))
    return EnvironmentFault(f"cannot write {error.filename2 or error.filename or path}: {cause}")


def beside(path: Path) -> Path:
    """A new hidden name in the folder of `path`, for what takes its place when it is complete."""
    return path.with_name(f".{beginning(path)}.{secrets.token_hex(4)}")


def beginning(path: Path) -> str:
    """What the name of a hidden sibling of `path` begins with, behind its point.

    A name has up to 255 bytes, and the sibling's is longer. A cut that splits a character leaves
    that one out.
    """
    return os.fsencode(path.name)[:_BEGIN].decode(errors="ignore")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert every OSError of the body to an EnvironmentFault about `path`."""
    try:
        yield
    except OSError as error:
        raise fault(path, error) from error


def sync(path: Path) -> None:
    """Flush the content of a file or folder to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(first: Path, second: Path) -> bool:
    """Swap two paths atomically, so that both always exist.

    Returns False if the system does not support this. Raises OSError if it does and fails.
    """
    swap = _swap_call()
    if swap is None:
        return False
    if swap(os.fsencode(first), os.fsencode(second)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(first))


def replace_folder(new: Path, final: Path, aside: Path) -> Path:
    """Put the folder `new` in the place of the folder `final`; returns where the old one is now.

    That is `new` where the system can exchange two folders in one step. Elsewhere it is `aside`,
    and for a moment neither is at `final`. Raises OSError; the old folder is at `final` then.
    """
    if exchange(new, final):
        return new
    final.rename(aside)
    try:
        new.rename(final)
    except OSError:
        aside.rename(final)
        raise
    return aside


def _swap_call() -> Callable[[bytes, bytes], int] | None:
    """The C library's atomic swap: renameat2 with RENAME_EXCHANGE, renamex_np with RENAME_SWAP."""
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        here, swap = ctypes.c_int(-100), ctypes.c_uint(2)
        return lambda first, second: library.renameat2(here, first, here, second, swap)
    if hasattr(library, "renamex_np"):
        return lambda first, second: library.renamex_np(first, second, ctypes.c_uint(2))
    return None
