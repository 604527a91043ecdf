"""Writing a bundle to a folder or an archive, whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
from pathlib import Path

from ..artifact.atomic import new_folder
from ..artifact.disk import beside, sync, writing
from ..errors import ArtifactError
from .parts import BUNDLE_NAME, PROGRAM, Parts


def write_bundle(parts: Parts, output: Path, *, force: bool = False) -> int:
    """Write the parts to a folder, or to a file if the name ends in .tar.gz; returns the bytes.

    Raises ArtifactError if there is something already, unless it is a bundle and `force` is given,
    and if the output lies in the artifact, which would not be whole then. Raises EnvironmentFault
    if it cannot be written; what was there then stays as it was.
    """
    packed = output.name.endswith(".tar.gz")
    final = Path(os.path.realpath(output))
    _check_output(output, packed=packed, force=force)
    artifact = os.path.realpath(parts.artifact)
    if final.is_relative_to(artifact):
        raise ArtifactError(f"{output} lies in the artifact {artifact}: name another output")
    if packed:
        return _write_file(parts, output, final)
    with new_folder(final, replace=force) as folder:
        _write_folder(parts, folder)
    return sum(file.stat().st_size for file in final.rglob("*") if file.is_file())


def _write_file(parts: Parts, output: Path, final: Path) -> int:
    growing = beside(final)
    try:
        with writing(output):
            final.parent.mkdir(parents=True, exist_ok=True)
            _write_archive(parts, growing, output.name.removesuffix(".tar.gz"))
            sync(growing)
            growing.replace(final)
            return final.stat().st_size
    finally:
        growing.unlink(missing_ok=True)


def _check_output(output: Path, *, packed: bool, force: bool) -> None:
    if not output.exists():
        return
    if not force:
        raise ArtifactError(f"{output} exists: name another output, or replace it with --force")
    if output.is_dir() == packed or (not packed and not (output / BUNDLE_NAME).is_file()):
        raise ArtifactError(f"{output} exists and is not a bundle: name another output")


def _write_folder(parts: Parts, folder: Path) -> None:
    for path, content in parts.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_text(content, "utf-8")
        else:
            shutil.copyfile(content, file)
        file.chmod(_mode(path))


def _write_archive(parts: Parts, file: Path, top: str) -> None:
    # Parameters hardly shrink, so that a higher level would only take longer.
    with (
        file.open("xb") as raw,
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path, content in sorted(parts.files.items()):
            _add(archive, f"{top}/{path}", content, _mode(path))


def _add(archive: tarfile.TarFile, path: str, content: Path | str, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.mode = mode
    if isinstance(content, str):
        data = content.encode("utf-8")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
        return
    with content.open("rb") as stream:
        entry.size = os.fstat(stream.fileno()).st_size
        archive.addfile(entry, stream)


def _mode(path: str) -> int:
    return 0o755 if path == PROGRAM else 0o644
