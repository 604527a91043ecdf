"""A folder of weights in the hub's layout: opening, hashing, and reading model and voices."""

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
"""Shape of a voice pack: a style vector [1, 256] for each number of phonemes."""


@dataclass(frozen=True)
class WeightsFolder:
    """An opened weights folder.

    `fallback_reason` says why it holds synthetic weights where the real ones were preferred.
    """

    path: Path
    info: WeightsInfo
    fallback_reason: str | None = None

    def content_sha256(self) -> str:
        """SHA-256 of everything that goes into an artifact; `info.sha256` excludes voices."""
        digest = hashlib.sha256(self.info.sha256.encode())
        for file in layout.voice_files(self.path):
            digest.update(f"{file.name} {file_sha256(file)}".encode())
        return digest.hexdigest()


def open_folder(
    path: Path, *, source: str | None = None, revision: str | None = None
) -> WeightsFolder:
    """Open a folder, check that it is complete, and hash it.

    `source` is the origin of the folder, by default its path. This reads the whole checkpoint,
    which takes about a second.

    Raises InputError for an incomplete folder, a damaged checkpoint, and a folder that is marked as
    synthetic but holds other tensors, EnvironmentFault if torch is missing.
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
            f"seed {mark.seed}, but the tensors differ. Write the folder again, or remove that "
            "file if you put your own weights there"
        )
    return WeightsFolder(
        path, WeightsInfo("synthetic", None, sha256, synthetic=True, seed=mark.seed)
    )


def load_state(folder: WeightsFolder) -> State:
    """Load the checkpoint: component to tensor name to float32 tensor, in the model's order.

    Names have no `module.` prefix. Affine parameters of AdaIN that the file omits are filled in as
    the identity. Raises InputError, which lists every tensor that is missing, unexpected, or of a
    wrong shape or dtype.
    """
    config = load_config(folder.path / layout.CONFIG).raw
    checkpoint = folder.path / layout.CHECKPOINT
    return complete_state(read_checkpoint(checkpoint), expected_shapes(config), checkpoint)


def load_model(folder: WeightsFolder) -> nn.Module:
    """Load the stock `kokoro.KModel` with the folder's weights, in eval mode, without gradients.

    Raises the errors of `load_state`.
    """
    state = load_state(folder)
    model = empty_model(load_config(folder.path / layout.CONFIG).raw)
    for component, tensors in state.items():
        getattr(model, component).load_state_dict(tensors, strict=True)
    return model


def load_voices(folder: WeightsFolder) -> dict[str, np.ndarray]:
    """Load the voice packs of the folder by name, each float32 [510, 1, 256].

    Raises InputError for a file that cannot be read, has another shape or dtype, or contains NaN or
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
