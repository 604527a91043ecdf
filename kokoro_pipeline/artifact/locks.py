"""Advisory locks (BSD flock), which the kernel releases when their process ends."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import EnvironmentFault

try:
    import fcntl
except ImportError:  # a system without flock: Windows
    fcntl = None  # type: ignore[assignment]

_HELD = (errno.EWOULDBLOCK, errno.EACCES)
_UNSUPPORTED = (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL)


_PATIENCE = 60.0
"""Seconds to wait for a folder's lock, which is only held while files are renamed or deleted."""
_PAUSE = 0.02


class HeldError(Exception):
    """Another process holds the lock."""


def hold_folder(path: Path, *, patience: float = 0.0) -> int | None:
    """Lock a folder until the returned descriptor is closed or the process ends.

    Returns None if this system or file system does not support such locks. Raises HeldError if the
    lock is still taken after `patience` seconds, OSError if the folder cannot be opened.
    """
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            if error.errno in _HELD and time.monotonic() < deadline:
                time.sleep(_PAUSE)
                continue
            os.close(descriptor)
            if error.errno in _HELD:
                raise HeldError(str(path)) from error
            if error.errno in _UNSUPPORTED:
                return None
            raise


def clear_leftovers(folders: Iterable[Path]) -> list[Path]:
    """Delete the folders whose writers were killed; returns those that a running one has locked.

    Without locks a dead writer cannot be told from a running one, so such a folder stays. A folder
    that disappears meanwhile counts as deleted. Raises OSError if a folder cannot be deleted.
    """
    held = []
    for folder in folders:
        try:
            lock = hold_folder(folder)
        except HeldError:
            held.append(folder)
            continue
        except FileNotFoundError:
            continue
        if lock is not None:
            try:
                shutil.rmtree(folder)
            finally:
                os.close(lock)
    return held


@contextlib.contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a folder during the body, if the system supports such locks.

    Raises EnvironmentFault if another process does not release it in time.
    """
    try:
        descriptor = hold_folder(path, patience=_PATIENCE)
    except HeldError:
        raise EnvironmentFault(
            f"another program has kept {path} locked for {_PATIENCE:.0f} s (see lslocks)"
        ) from None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def locked_file(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a lock file, which is created and never removed, during the body.

    `on_wait` is called once, before waiting for another process. Raises EnvironmentFault if the
    file cannot be written or the system does not support such locks.
    """
    if fcntl is None:
        raise EnvironmentFault(
            f"cannot lock {path}: this system has no flock; use kokoro-pipeline build -o DIR "
            "and say with --artifact DIR"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise EnvironmentFault(f"cannot lock {path}: {error.strerror}") from error
    try:
        _wait_for(descriptor, path, on_wait)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path, on_wait: Callable[[], None] | None) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except OSError as error:
        if error.errno not in _HELD:
            raise EnvironmentFault(
                f"cannot lock {path}: {error.strerror}; set KOKORO_PIPELINE_CACHE to a local folder"
            ) from error
    if on_wait is not None:
        on_wait()
    fcntl.flock(descriptor, fcntl.LOCK_EX)
