"""Creating a folder atomically."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError
from .disk import sync, writing
from .locks import HeldError, hold_folder


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Context that yields a hidden sibling folder to write to.

    It is renamed to `path` at the end of the body, or removed if the body fails. Folders left over
    from killed processes with the same name are removed first.

    Raises InputError if `path` exists and is not an empty folder, EnvironmentFault if writing to
    the disk fails.
    """
    path = path.absolute()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"{path} exists already: name a new folder, or remove it first")
        _clear_leftovers(path)
        sibling = path.with_name(f"{_sign(path)}{os.getpid()}-{secrets.token_hex(4)}")
        sibling.mkdir()
        lock = hold_folder(sibling)
        try:
            yield sibling
            for file in sibling.rglob("*"):
                sync(file)
            sibling.rename(path)  # replaces an empty folder, fails for any other
            sync(path.parent)
        except BaseException:
            shutil.rmtree(sibling, ignore_errors=True)
            raise
        finally:
            if lock is not None:
                os.close(lock)


def _sign(path: Path) -> str:
    return f".{path.name}.writing-"


def _clear_leftovers(path: Path) -> None:
    """Remove unfinished folders of this name that are not locked by a running process."""
    for leftover in path.parent.glob(f"{_sign(path)}*"):
        try:
            lock = hold_folder(leftover)
        except HeldError:
            continue
        shutil.rmtree(leftover, ignore_errors=True)
        if lock is not None:
            os.close(lock)
