"""A folder of weights in the hub's layout: opened and hashed; read as tensors, model and voices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kokoro_pipeline.artifact.manifest import WeightsInfo
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.config import load_config
from kokoro_pipeline.errors import InputError

from . import layout
from .architecture import empty_model, expected_shapes
from .checkpoint import (
    State,
    check_sums,
    complete_state,
    fingerprint,
    load_tensors,
    read_checkpoint,
)
from .requirements import building_module

if TYPE_CHECKING:
    from torch import nn

VOICE_SHAPE = (510, 1, 256)
"""Of a voice pack: a row for each number of phonemes, each [1, 256]."""


@dataclass(frozen=True)
class WeightsFolder:
    """An opened folder. `fallback_reason` says why it is the stand-in where real weights were hoped
    for.
    """

    path: Path
    info: WeightsInfo
    fallback_reason: str | None = None

    def content_sha256(self) -> str:
        """Of all that an artifact takes from the folder: `info.sha256` knows no voices."""
        digest = hashlib.sha256(self.info.sha256.encode())
        for file in layout.voice_files(self.path):
            digest.update(f"{file.name} {file_sha256(file)}".encode())
        return digest.hexdigest()


def open_folder(
    path: Path, *, source: str | None = None, revision: str | None = None
) -> WeightsFolder:
    """Open a folder: check that it is whole, and hash it. `source` is where it comes from, else its
    own path.

    Reads the whole checkpoint, about a second. Raises InputError for a folder that lacks a part, a
    checkpoint that is damaged, and a folder marked synthetic that holds other tensors than its mark
    says; EnvironmentFault where torch is missing.
    """
    layout.require_layout(path)
    config = path / layout.CONFIG
    load_config(config)
    checkpoint = path / layout.CHECKPOINT
    check_sums(checkpoint)
    sha256 = fingerprint(read_checkpoint(checkpoint), config.read_bytes())
    mark = layout.read_mark(path)
    if mark is None:
        return WeightsFolder(path, WeightsInfo(source or str(path.resolve()), revision, sha256))
    if mark.sha256 != sha256:
        raise InputError(
            f"{path / layout.SYNTHETIC_MARK} says that the folder holds the synthetic weights of "
            f"seed {mark.seed}, but the tensors are others. Write the folder again, or remove that "
            "file if you put weights of your own there"
        )
    return WeightsFolder(
        path, WeightsInfo("synthetic", None, sha256, synthetic=True, seed=mark.seed)
    )


def load_state(folder: WeightsFolder) -> State:
    """The checkpoint: component to tensor name to float32 tensor, complete, in the model's order.

    Names have no `module.` prefix; AdaIN affines that the file omits are the identity. Raises
    InputError naming every tensor that is missing, unexpected, of a wrong shape or dtype.
    """
    config = load_config(folder.path / layout.CONFIG).raw
    checkpoint = folder.path / layout.CHECKPOINT
    return complete_state(read_checkpoint(checkpoint), expected_shapes(config), checkpoint)


def load_model(folder: WeightsFolder) -> nn.Module:
    """The stock `kokoro.KModel` with the folder's weights, in eval mode, without gradients.

    Raises as `load_state` does.
    """
    state = load_state(folder)
    model = empty_model(load_config(folder.path / layout.CONFIG).raw)
    for component, tensors in state.items():
        getattr(model, component).load_state_dict(tensors, strict=True)
    return model


def load_voices(folder: WeightsFolder) -> dict[str, np.ndarray]:
    """The folder's voice packs by name, each float32 [510, 1, 256].

    Raises InputError naming a file that cannot be read, has another shape or dtype, or holds NaN or
    infinity.
    """
    torch = building_module("torch")
    packs = {}
    for file in layout.voice_files(folder.path):
        pack = load_tensors(file)
        if not isinstance(pack, torch.Tensor) or pack.dtype != torch.float32:
            raise InputError(f"the voice {file} is no float32 tensor")
        if tuple(pack.shape) not in (VOICE_SHAPE, (VOICE_SHAPE[0], VOICE_SHAPE[2])):
            raise InputError(
                f"the voice {file} has shape {list(pack.shape)}, not {list(VOICE_SHAPE)}"
            )
        if not bool(torch.isfinite(pack).all()):
            raise InputError(f"the voice {file} holds NaN or infinity")
        packs[file.stem] = pack.reshape(VOICE_SHAPE).contiguous().numpy()
    return packs
