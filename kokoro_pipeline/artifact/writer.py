"""Writing an artifact atomically: a reader sees all of it or nothing.

Everything is written to a hidden sibling of the output, `.NAME.building-PID-RANDOM`, which readers
reject. `commit` hashes the files, writes the manifest last, and renames the folder in one step. The
builder holds a lock on its folder, which the kernel releases when the process ends: a second build
of the same output sees the lock and fails, while the folder of a killed build is not locked and
gets removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ..errors import ArtifactError, EnvironmentFault, KokoroError
from .disk import fault, replace_folder, sync, writing
from .locks import clear_leftovers, hold_folder, locked_folder
from .manifest import (
    CONFIG_NAME,
    LIBRARY_NAMES,
    MANIFEST_NAME,
    PARAMETERS_NAME,
    VOICES_FOLDER,
    FileEntry,
    Manifest,
    is_safe_path,
)
from .reader import UNFINISHED, Artifact, file_sha256

_OWN_NAMES = {*LIBRARY_NAMES, MANIFEST_NAME, PARAMETERS_NAME, CONFIG_NAME, VOICES_FOLDER}
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NO_ROOM = 1 << 20
"""With less free space than this, in bytes, a failed build is attributed to a full disk."""


class ArtifactWriter:
    """Context manager for writing an artifact::

        with ArtifactWriter(Path("kokoro")) as writer:
            ...                                # write files below writer.directory
            writer.commit(manifest)

    On entry, folders left over from killed builds of the same output are removed. On exit without
    `commit`, everything that was written is removed.

    Raises ArtifactError if the output exists and `force` is not given, if the existing output is
    not an artifact, or if another build is writing the same output. Raises EnvironmentFault if the
    files cannot be written to the disk, including OSErrors of this kind from the body.
    """

    def __init__(self, output: Path, force: bool = False) -> None:
        self.output = output.absolute()
        """The output path as given, made absolute."""
        self.directory: Path
        """The folder to write to, while the context is active."""
        self._force = force
        # If the output is a symbolic link, its target is replaced, and the link is kept.
        self._final = Path(os.path.realpath(output))
        self._replaced: tuple[int, int] | None = None
        self._lock: int | None = None
        self._committed = False

    def __enter__(self) -> ArtifactWriter:
        parent = self._final.parent
        with writing(self.output):
            parent.mkdir(parents=True, exist_ok=True)
            # The parent lock makes the check for other builds and this registration atomic.
            with locked_folder(parent):
                self._check_output()
                self._clear_leftovers()
                self._replaced = _identity(self._final)
                self.directory = self._sibling()
                self.directory.mkdir()
                self._lock = hold_folder(self.directory)
        return self

    def preview(self, manifest: Manifest) -> Artifact:
        """The artifact in its current state, for trying it before `commit`.

        Nothing is written, and `open_artifact` still rejects the folder. Raises the same errors as
        `commit`.
        """
        with writing(self.directory):
            return Artifact(self.directory, self._complete(manifest))

    def commit(self, manifest: Manifest) -> Path:
        """Finish the artifact, filling in `manifest.files` and the hash of the manifest.

        Returns the path of the output. Raises ArtifactError if another build has written the output
        in the meantime or a file has an unsupported name, EnvironmentFault if the disk fails.
        """
        with writing(self.directory):
            complete = self._complete(manifest)
            text = complete.dumps()
            for name in complete.files:
                sync(self.directory / name)
            file = self.directory / MANIFEST_NAME
            file.write_text(text, encoding="utf-8")
            sync(file)
            for folder in {(self.directory / name).parent for name in complete.files}:
                sync(folder)
            sync(self.directory)
            self._publish()
        return self.output

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        disk_error = self._disk_error(error)
        if not self._committed:
            # Files that cannot be removed now are unlocked later, and removed by the next build.
            shutil.rmtree(self.directory, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if disk_error is not None:
            raise disk_error from error

    def _disk_error(self, error: BaseException | None) -> EnvironmentFault | None:
        """Convert an error of the body to an EnvironmentFault if the disk caused it.

        Linkers and numpy do not report an errno for a full disk, so a lack of free space counts as
        evidence as well.
        """
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            return fault(self.directory, error)
        if isinstance(error, Exception) and not isinstance(error, KokoroError):
            free = shutil.disk_usage(self._final.parent).free
            if free < _NO_ROOM:
                return fault(self.directory, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return None

    def _check_output(self) -> None:
        if not os.path.lexists(self._final):
            return
        if not self._force:
            raise ArtifactError(
                f"{self.output} exists: choose another -o, or replace the artifact with --force"
            )
        if not self._final.is_dir():
            raise ArtifactError(f"{self.output} is not a folder: choose another -o, or remove it")
        foreign = sorted(entry.name for entry in self._final.iterdir())
        foreign = [name for name in foreign if name not in _OWN_NAMES]
        if foreign:
            raise ArtifactError(
                f"{self.output} contains other files ({', '.join(foreign[:5])}), and --force "
                "would delete it: choose another -o, or move those files away"
            )

    def _clear_leftovers(self) -> None:
        unfinished = {}
        for entry in list(self._final.parent.iterdir()):
            match = UNFINISHED.fullmatch(entry.name)
            if match and match["output"] == self._final.name and not entry.is_symlink():
                unfinished[entry] = match["pid"]
        for running in clear_leftovers(unfinished):
            raise ArtifactError(
                f"another build (process {unfinished[running]}) is writing {self.output}: "
                "wait for it, or choose another -o"
            )

    def _sibling(self) -> Path:
        name = f".{self._final.name}.building-{os.getpid()}-{secrets.token_hex(4)}"
        return self._final.with_name(name)

    def _complete(self, manifest: Manifest) -> Manifest:
        files = {}
        for path in sorted(self.directory.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                continue
            name = path.relative_to(self.directory).as_posix()
            if not is_safe_path(name) or name == MANIFEST_NAME or not path.is_file():
                raise ArtifactError(f"an artifact cannot hold {name!r}")
            files[name] = FileEntry(file_sha256(path), path.stat().st_size)
        return replace(manifest, files=files).sealed()

    def _publish(self) -> None:
        with locked_folder(self._final.parent):
            if _identity(self._final) != self._replaced:
                raise ArtifactError(
                    f"another build wrote {self.output} in the meantime, and this one gives way: "
                    "use that artifact, or replace it with --force"
                )
            if self._replaced is None:
                self.directory.rename(self._final)
                self._committed = True
            else:
                self._check_output()
                self._swap()
            sync(self._final.parent)

    def _swap(self) -> None:
        """Replace the old artifact by the new one, and delete the old one."""
        old = replace_folder(self.directory, self._final, self._sibling())
        self._committed = True
        # Loaded libraries and mappings of the old artifact stay valid until they are closed.
        shutil.rmtree(old)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
