"""PyTorch's results, with which all contenders are compared, and the export as ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from kokoro_pipeline.artifact.reader import read_artifact
from kokoro_pipeline.compiler.model.components import fold_weight_norm
from kokoro_pipeline.compiler.model.source import SourceForward
from kokoro_pipeline.compiler.weights import load_model
from kokoro_pipeline.config import STYLE_DIM
from kokoro_pipeline.runtime.speech.alignment import spread, token_of_frame
from kokoro_pipeline.validation.reference import ReferenceModel
from kokoro_pipeline.validation.validator import weights_of

from .chunk_inputs import load_case
from .onnx_export import export_onnx
from .portable import portable_modules
from .pytorch import set_up


class ReferenceRole:
    """The stock model in float32, with the source in float64: see `verification`."""

    def __init__(self, role: str, threads: int, *, artifact: str, weights: str = "") -> None:
        """Load the model. `weights` are as for `build`, or empty for those of the artifact.

        Raises InputError if they are not the weights of the artifact.
        """
        set_up(threads)
        self._folder = weights_of(read_artifact(Path(artifact)).manifest.weights, weights or None)
        model = load_model(self._folder)
        fold_weight_norm(model)
        self._source = SourceForward(model)
        self._model = ReferenceModel(model, torch.float32)

    def weights(self) -> str:
        """The folder of the weights."""
        return str(self._folder.path)

    def export(self, directory: str) -> None:
        """Write the six functions as ONNX."""
        export_onnx(portable_modules(self._model.model), Path(directory))

    def answer(self, case: str, output: str) -> None:
        """Write the inputs and outputs of all functions for a case, for use by `verify`."""
        given = load_case(Path(case))
        style = given.style[:, :STYLE_DIM], given.style[:, STYLE_DIM:]
        decoder_style, predictor_style = (np.ascontiguousarray(half) for half in style)
        tokens = token_of_frame(given.frames)
        d_en = self._model.bert(given.input_ids)
        duration, d = self._model.duration(d_en, predictor_style)
        t_en = self._model.text_encoder(given.input_ids)
        en = spread(np.swapaxes(d, 1, 2), tokens)
        asr = spread(t_en, tokens)
        f0, n = self._model.f0n(en, predictor_style)
        with torch.no_grad():
            har = self._source(torch.from_numpy(f0), torch.from_numpy(given.noise)).numpy()
        audio = self._model.decoder(asr, f0, n, decoder_style, har)
        np.savez(
            output,
            input_ids=given.input_ids,
            lengths=np.array([given.input_ids.shape[1]], np.int64),
            predictor_style=predictor_style,
            decoder_style=decoder_style,
            noise=given.noise,
            d_en=d_en,
            duration=duration,
            d=d,
            t_en=t_en,
            en=en,
            F0=f0,
            N=n,
            asr=asr,
            har=har,
            audio=audio,
        )
