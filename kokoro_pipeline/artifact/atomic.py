"""Writing a folder so that it is there whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError
from .disk import beginning, replace_folder, sync, writing
from .locks import clear_leftovers, hold_folder


@contextlib.contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Context that yields a hidden sibling folder to write to.

    It is flushed to disk and renamed to `path` at the end of the body, or removed if the body
    fails; a folder that it replaces then stays as it was. Folders left over from killed processes
    with the same name are removed first.

    Raises InputError if `path` exists and is not an empty folder, unless `replace` is given, and
    EnvironmentFault if writing to the disk fails.
    """
    path = path.absolute()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not replace and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"{path} exists already: name a new folder, or remove it first")
        clear_leftovers(path.parent.glob(f"{glob.escape(_sign(path))}*"))
        sibling = _sibling(path)
        sibling.mkdir()
        lock = hold_folder(sibling)
        unused = sibling
        try:
            yield sibling
            for file in sibling.rglob("*"):
                sync(file)
            if replace and path.exists():
                unused = replace_folder(sibling, path, _sibling(path))
            else:
                sibling.rename(path)  # replaces an empty folder, fails for any other
            sync(path.parent)
        finally:
            shutil.rmtree(unused, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _sign(path: Path) -> str:
    return f".{beginning(path)}.writing-"


def _sibling(path: Path) -> Path:
    return path.with_name(f"{_sign(path)}{os.getpid()}-{secrets.token_hex(4)}")
