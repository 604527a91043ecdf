"""Open an ONNX file as weights: check it, and find its configuration and voices."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kokoro_pipeline.artifact.manifest import WeightsInfo
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.config import default_config, load_config
from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command
from kokoro_pipeline.runtime.voices import check_pack, list_voices, read_voice_file

if TYPE_CHECKING:
    from onnx import ModelProto

_OLDEST_OPSET = 13
"""Since then axes and sizes are inputs of all operators, as in every graph of Kokoro."""
_IR_VERSION = b"\x08"
"""The first byte of a serialized ModelProto: its first field, which exporters write first."""


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file that can be read.

    `info.sha256` is that of the file, or of the hashes of the file and of its external data.
    """

    path: Path
    info: WeightsInfo
    config: Path | None
    """The configuration beside it or that was given; None for the one of Kokoro-82M."""
    voice_files: tuple[Path, ...]

    @property
    def config_text(self) -> bytes:
        """The bytes of the configuration."""
        if self.config is not None:
            return self.config.read_bytes()
        return default_config_text()

    def load(self) -> ModelProto:
        """Read the model with its external data, as a graph in float32.

        Raises InputError if it is damaged, or quantized in a way that is not read.
        """
        onnx = _onnx()
        from .floats import in_float32

        model = _parsed(self.path)
        try:
            onnx.load_external_data_for_model(model, str(self.path.parent))
        except (OSError, ValueError) as error:
            raise _damaged(self.path, error) from error
        model = in_float32(model, str(self.path))
        try:
            onnx.checker.check_model(model)
        except (ValueError, onnx.checker.ValidationError) as error:
            raise _damaged(self.path, error) from error
        return model

    def voices(self) -> dict[str, np.ndarray]:
        """The voice packs by name, each float32 [510, 1, 256].

        A file is a pack (.npy, .pt, .bin), or an archive of packs by name, as kokoro-onnx has it.
        Raises InputError for a file that holds neither.
        """
        packs: dict[str, np.ndarray] = {}
        for file in self.voice_files:
            found = _archive(file)
            packs.update({file.stem: read_voice_file(file)} if found is None else found)
        return packs


def is_onnx(weights: str | Path) -> bool:
    """Whether weights are named by a file that is, or is called, an ONNX model."""
    path = Path(weights).expanduser()
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(1) == _IR_VERSION or path.suffix.lower() == ".onnx"


def open_onnx(
    weights: str | Path, config: str | Path | None = None, voices: Sequence[str | Path] = ()
) -> OnnxFile:
    """Open an ONNX file.

    `config` is a `config.json`, by default that beside the file, else that of Kokoro-82M. `voices`
    are folders of voice packs, packs, and archives of packs; by default the folder `voices` beside
    the file, if there is one.

    Raises InputError if the file is damaged, of an unknown opset or without its external data, or
    if the configuration or a voice is missing, and EnvironmentFault if `onnx` is not installed.
    """
    path = Path(weights).expanduser()
    onnx = _onnx()
    model = _parsed(path)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    newest = onnx.defs.onnx_opset_version()
    if not _OLDEST_OPSET <= opset <= newest:
        raise InputError(
            f"{path} has opset {opset or 'none'}, and the graphs of opset {_OLDEST_OPSET} to "
            f"{newest} (onnx {onnx.__version__}) are read. Export it with opset_version=17, or "
            f"convert it by onnx.version_converter"
        )
    data = _external(model, path)
    beside = path.parent / "config.json"
    chosen = Path(config) if config is not None else beside if beside.is_file() else None
    load_config(chosen)
    digest = hashlib.sha256()
    for file in data:
        digest.update(file_sha256(file).encode())
    sha256 = file_sha256(path)
    if data:
        sha256 = hashlib.sha256(f"{sha256} {digest.hexdigest()}".encode()).hexdigest()
    info = WeightsInfo(str(path.resolve()), None, sha256)
    return OnnxFile(path, info, chosen, _voice_files(path, voices))


def default_config_text() -> bytes:
    """The configuration of Kokoro-82M as it is shipped."""
    import json

    return json.dumps(default_config().raw, ensure_ascii=False, indent=2).encode()


def _parsed(path: Path) -> Any:
    onnx = _onnx()
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, DecodeError) as error:
        raise _damaged(path, error) from error
    if not model.graph.node or not model.opset_import:
        raise _damaged(path, ValueError("it has no graph"))
    return model


def _external(model: Any, path: Path) -> list[Path]:
    """The files that hold tensors of the model, which must be beside it."""
    onnx = _onnx()
    names = set()
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            names |= {entry.value for entry in tensor.external_data if entry.key == "location"}
    files = [path.parent / name for name in sorted(names)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"{path} has its weights in {', '.join(missing)}, which is not beside it: copy it to "
            f"{path.parent}, or export the graph with external_data=False"
        )
    return files


def _voice_files(path: Path, voices: Sequence[str | Path]) -> tuple[Path, ...]:
    given = [Path(voice).expanduser() for voice in voices]
    if not voices and (path.parent / "voices").is_dir():
        given = [path.parent / "voices"]
    files: list[Path] = []
    for place in given:
        if place.is_file():
            files.append(place)
            continue
        folder = place / "voices" if (place / "voices").is_dir() else place
        names = list_voices(folder) if folder.is_dir() else []
        found = [file for file in sorted(folder.glob("*")) if file.stem in names]
        if not found:
            raise InputError(f"--voices {place} holds no voice: give packs (.npy, .pt, .bin)")
        files += [file for file in found if file.suffix in (".npy", ".pt", ".bin")]
    return tuple(files)


def _archive(file: Path) -> dict[str, np.ndarray] | None:
    """The packs of an archive of numpy; None for another file."""
    if not zipfile.is_zipfile(file):
        return None
    with zipfile.ZipFile(file) as entries:
        if not all(name.endswith(".npy") for name in entries.namelist()):
            return None  # a pack that torch wrote
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: check_pack(archive[name], f"{file}: {name}") for name in archive.files}
    except InputError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} is damaged: {error}; fetch it again") from error


def _damaged(path: Path, error: Exception) -> InputError:
    words = " ".join(str(error).split())[:300]
    return InputError(
        f"{path} cannot be read as an ONNX model ({type(error).__name__}: {words}): it is damaged, "
        'or something else. Fetch or export it again, and see: python -c "import onnx; '
        f"onnx.checker.check_model('{path.name}')\""
    )


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise EnvironmentFault(
            f"an ONNX file is read with the package onnx, which this Python cannot import "
            f"({error}): {install_command('onnx')}"
        ) from error
    return onnx
