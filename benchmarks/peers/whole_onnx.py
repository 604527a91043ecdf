"""Export of the whole of Kokoro as one ONNX graph, as the public files were made."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from kokoro.custom_stft import CustomSTFT
from kokoro.model import KModelForONNX

from kokoro_pipeline.compiler.weights import load_model, load_voices, resolve

from .onnx_export import OPSET

_TOKENS = 48


def export_whole(weights: str | Path, path: Path, opset: int = OPSET) -> None:
    """Write the stock model, with kokoro's own replacement for the complex STFT.

    Inputs are tokens int64 [1, n], style float32 [1, 256] and speed float32 [1], outputs audio
    float32 [samples] and durations int64 [n]. `weights` are as for `resolve`.
    """
    folder = resolve(weights)
    model = load_model(folder)
    stft = model.decoder.generator.stft  # type: ignore[union-attr] # as nn.Module types it
    model.decoder.generator.stft = CustomSTFT(  # type: ignore[union-attr]
        filter_length=stft.filter_length, hop_length=stft.hop_length, win_length=stft.win_length
    )
    tokens = torch.randint(1, 100, (1, _TOKENS), generator=torch.Generator().manual_seed(0))
    style = torch.from_numpy(next(iter(load_voices(folder).values()))[_TOKENS - 3])
    with warnings.catch_warnings(), torch.no_grad():
        # Of constants in the trace, and of the old exporter: the newer one fixes lengths of LSTMs.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            KModelForONNX(model).eval(),
            (tokens, style, torch.ones(1)),
            str(path),
            input_names=["tokens", "style", "speed"],
            output_names=["audio", "durations"],
            dynamic_axes={"tokens": {1: "n"}, "audio": {0: "samples"}, "durations": {0: "n"}},
            opset_version=opset,
            dynamo=False,
        )
