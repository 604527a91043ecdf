"""A folder that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from kokoro_pipeline.artifact.disk import sync, writing
from kokoro_pipeline.artifact.locks import HeldError, hold_folder
from kokoro_pipeline.errors import InputError


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A hidden sibling to fill in the body: named `path` when the body ends, removed if it fails.

    What killed processes left behind of the same name is cleared first. Raises InputError where
    `path` exists and is no empty folder, EnvironmentFault where the disk refuses.
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
            sibling.rename(path)  # replaces an empty folder, refuses any other
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
    """Remove unfinished folders of this name that no living process holds."""
    for leftover in path.parent.glob(f"{_sign(path)}*"):
        try:
            lock = hold_folder(leftover)
        except HeldError:
            continue
        shutil.rmtree(leftover, ignore_errors=True)
        if lock is not None:
            os.close(lock)
