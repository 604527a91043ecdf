"""Find the constants of the synthetic weights.

`python -m kokoro_pipeline.compiler.weights.calibrate OUT.json`, run once by hand; its result is
stored as package data and never recomputed. It walks through the stock model in the order of a
sentence, layer by layer: a layer's scale is chosen so that its output has the spread wanted,
rounded to three digits, and the layer is drawn again before the next one is measured. Heads whose
mean matters
(durations, F0, N, log magnitude) get their offsets from several sentences and voices.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from kokoro_pipeline.config import default_config

from . import stock_stages
from .architecture import empty_model, expected_shapes
from .constants import Constants, VoiceScales
from .draws import Draw, Spread, draw_tensor
from .synthetic import synthetic_voice

GENERATOR = 1
SEED = 0
VOICES = {
    name: VoiceScales(base=0.4, drift=0.15, jitter=0.06)
    for name in ("af_heart", "af_bella", "am_michael", "bf_emma")
}

LSTM_GATE_SPREAD = 1.0
"""Spread of the input's contribution to the gates; the recurrent one is about half of it."""

FRAMES_A_TOKEN = 3.6
F0_MEAN, F0_SPREAD = 130.0, 95.0
CURVE_INPUT_MEAN = 0.4
LOG_MAGNITUDE = -1.5

_PHONEMES = 100

# Target spread of the output of a layer, by the name of the layer.
TARGETS: tuple[tuple[str, float], ...] = (
    # BERT applies one layer twelve times. As in a power iteration, the part that all tokens have in
    # common grows and their differences do not, unless the residual branches are weak and the
    # attention is sharp.
    (r"attention\.(query|key)$", 1.8),
    (r"attention\.dense$", 0.2),
    (r"ffn_output$", 0.16),
    (r"\.fc$", 0.35),
    (r"decoder\.[FN]0?_conv$", 0.8),
    (r"(resblocks|noise_res)\.\d+\.convs2\.\d+$", 0.6),
    (r"conv_post$", 0.5),
    (r"duration_proj\.linear_layer$", 1.3),
    (r"F0_proj$", F0_SPREAD),
    (r"", 1.0),
)


def target_spread(module: str) -> float:
    """The target spread for the output of the module of this name."""
    return next(spread for pattern, spread in TARGETS if re.search(pattern, module))


def spread_in_time(module: nn.Module, output: Tensor) -> float:
    """The standard deviation around each channel's mean over time, or of all values."""
    if output.ndim < 3:
        return float(output.std())
    axis = 1 if isinstance(module, nn.Linear) else -1
    return float(output.var(dim=axis).mean().sqrt())


# Offset, scale and spread with which a tensor is first drawn, before its scale is measured.
FIRST_DRAWS: tuple[tuple[str, tuple[float, ...], float, Spread], ...] = (
    (r"(LayerNorm|layer_norm|\.norm)\.weight$|\.gamma$", (1.0,), 0.3, "split"),
    (r"bert.*(LayerNorm|layer_norm)\.bias$", (0.0,), 0.04, "split"),  # added twelve times
    (r"\.norm\.bias$|\.beta$", (0.0,), 0.2, "split"),
    (r"\.alpha", (1.0,), 0.6, "split"),
    (r"weight_g$", (1.0,), 0.3, "even"),
    (r"[FN]0?_conv\.weight_v$", (1.0,), 0.5, "even"),  # one channel: smooth, do not differentiate
    (r"l_linear\.weight$", (0.0,), 2.0, "split"),
    (r"bias_[ih]h_l0", (0.0,), 0.3, "even"),
    (r"weight_hh_l0", (0.0,), 0.1, "even"),
    (r"(attention\.dense|ffn_output)\.bias$", (0.0,), 0.02, "split"),  # added twelve times
    # [gamma, beta]: this beta gives the output of the leaky ReLU after it a mean near 0, so that
    # the level of the curves does not depend on the seed and the voice.
    (r"predictor\.[FN]0?\.\d\.norm\d\.fc\.bias$", (0.0, -0.6), 0.1, "split"),
    (r"bias$", (0.0,), 0.1, "split"),
    (r"embeddings\.position", (0.0,), 0.8, "even"),
    (r"embeddings\.token_type", (0.0,), 0.3, "even"),
    (r"word_embeddings|text_encoder\.embedding", (0.0,), 1.7, "even"),
)


def first_draw(name: str, shape: tuple[int, ...]) -> Draw:
    """The draw of a tensor before its scale is measured; rows of weights have a norm near 1."""
    for pattern, offset, scale, spread in FIRST_DRAWS:
        if re.search(pattern, name):
            return Draw(shape, offset, scale, spread)
    return Draw(shape, (0.0,), significant(math.sqrt(3.0 / math.prod(shape[1:]))), "even")


def significant(value: float) -> float:
    """Round a value to three significant decimal digits."""
    return float(f"{value:.3g}")


class Calibration:
    """The current draws and the model that contains them."""

    def __init__(self) -> None:
        config = default_config().raw
        self.model = empty_model(config)
        self.parameters = dict(self.model.named_parameters())
        self.draws = {
            f"{component}.{name}": first_draw(f"{component}.{name}", shape)
            for component, tensors in expected_shapes(config).items()
            for name, shape in tensors.items()
        }
        assert self.draws.keys() == self.parameters.keys()
        for name in self.draws:
            self.load(name)
        self.done: set[str] = set()

    def load(self, name: str) -> None:
        """Copy the current draw of a tensor into the model."""
        self.parameters[name].copy_(torch.from_numpy(draw_tensor(SEED, name, self.draws[name])))

    def rescale(self, name: str, factor: float) -> None:
        """Multiply the scale and offset of a tensor by a factor."""
        draw = self.draws[name]
        self.draws[name] = dataclasses.replace(
            draw,
            scale=significant(draw.scale * factor),
            offset=tuple(significant(value * factor) for value in draw.offset),
        )
        self.load(name)

    def shift(self, name: str, *offset: float) -> None:
        """Set the offsets of a tensor."""
        self.draws[name] = dataclasses.replace(
            self.draws[name], offset=tuple(significant(value) for value in offset)
        )
        self.load(name)

    @contextmanager
    def watching(self, *prefixes: str) -> Iterator[None]:
        """Context in which every layer under the prefixes is scaled at its first call."""
        handles = []
        for name, module in self.model.named_modules():
            if not name.startswith(prefixes) or name in self.done:
                continue
            if isinstance(module, nn.LSTM):
                handles.append(module.register_forward_pre_hook(self._lstm_hook(name)))
            elif isinstance(module, nn.Linear | nn.Conv1d | nn.ConvTranspose1d):
                handles.append(module.register_forward_hook(self._layer_hook(name)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _lstm_hook(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
            if name in self.done:
                return
            self.done.add(name)
            data = (
                inputs[0].data if isinstance(inputs[0], nn.utils.rnn.PackedSequence) else inputs[0]
            )
            for suffix in ("", "_reverse"):
                weight = f"{name}.weight_ih_l0{suffix}"
                share = data.reshape(-1, data.shape[-1]) @ self.parameters[weight].T
                spread = max(
                    float(share.std(dim=0).square().mean().sqrt()), 0.4 * float(share.std())
                )
                self.rescale(weight, LSTM_GATE_SPREAD / spread)

        return hook

    def _layer_hook(self, name: str) -> Callable[..., Tensor | None]:
        weight = f"{name}.weight_g" if f"{name}.weight_g" in self.parameters else f"{name}.weight"

        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor | None:
            if name in self.done:
                return None
            self.done.add(name)
            self.rescale(weight, target_spread(name) / spread_in_time(module, output))
            return module(*inputs)  # with the new weight; this hook now does nothing

        return hook

    def calibrate(self) -> Constants:
        """Calibrate all layers in one pass through the model."""
        packs = [synthetic_voice(SEED, name, scales) for name, scales in VOICES.items()]
        styles = [torch.from_numpy(pack)[_PHONEMES - 1] for pack in packs]
        cases = [(stock_stages.sentence(i, _PHONEMES), style) for i in range(2) for style in styles]
        self._before_the_decoder(cases)
        traces = [stock_stages.prosody(self.model, *case) for case in cases]
        self._curve_input("decoder.F0_conv", [trace.f0 for trace in traces])
        self._curve_input("decoder.N_conv", [trace.energy for trace in traces])
        self._decoder(traces[0])
        return Constants(GENERATOR, self.draws, VOICES)

    def _before_the_decoder(self, cases: list[tuple[Tensor, Tensor]]) -> None:
        """Calibrate everything up to F0 and N: layers on the first case, heads on all cases."""
        with self.watching("bert", "predictor", "text_encoder"):
            stock_stages.prosody(self.model, *cases[0])
        self._durations([(stock_stages.bert(self.model, ids), style) for ids, style in cases])
        traces = [stock_stages.prosody(self.model, *case) for case in cases]
        self._level("predictor.F0_proj", [trace.f0 for trace in traces], F0_MEAN, F0_SPREAD)
        self._level("predictor.N_proj", [trace.energy for trace in traces], 0.0, 1.0)

    def _curve_input(self, name: str, curves: list[Tensor]) -> None:
        """Calibrate the one-channel convolution through which the decoder reads F0 or N."""
        layer = self.model.get_submodule(name)
        with self.watching(name):
            layer(curves[0][:, None])
        mean = float(torch.cat([layer(curve[:, None]) for curve in curves], -1).mean())
        bias = f"{name}.bias"
        self.shift(bias, self.draws[bias].offset[0] - mean + CURVE_INPUT_MEAN)

    def _decoder(self, trace: stock_stages.Prosody) -> None:
        """Calibrate the layers of the decoder, and the level of its output spectrum."""
        last = self.model.get_submodule("decoder.generator.conv_post")
        seen: list[Tensor] = []
        handle = last.register_forward_hook(lambda module, inputs, output: seen.append(output))
        har = stock_stages.harmonics(self.model, trace.f0)  # the source keeps its first draws
        with self.watching("decoder"):
            stock_stages.decode(self.model, trace, har)
        handle.remove()
        magnitude, phase = seen[-1].chunk(2, dim=1)
        self.shift(
            "decoder.generator.conv_post.bias",
            LOG_MAGNITUDE - float(magnitude.mean()),
            -float(phase.mean()),
        )

    def _durations(self, cases: list[tuple[Tensor, Tensor]]) -> None:
        """Choose the offset of the duration head for FRAMES_A_TOKEN frames per token on average."""
        bias = "predictor.duration_proj.linear_layer.bias"
        low, high = -8.0, 2.0
        for _ in range(12):
            self.shift(bias, (low + high) / 2)
            frames = [stock_stages.duration(self.model, *case)[0] for case in cases]
            if float(torch.cat(frames, -1).mean()) < FRAMES_A_TOKEN:
                low = (low + high) / 2
            else:
                high = (low + high) / 2

    def _level(self, head: str, curves: list[Tensor], mean: float, spread: float) -> None:
        """Scale and shift a head to the target mean and spread over all curves."""
        values = torch.cat(curves, -1)
        factor = spread / float(values.std())
        offset = self.draws[f"{head}.bias"].offset[0]
        self.rescale(f"{head}.weight", factor)
        self.shift(f"{head}.bias", offset + mean - factor * float(values.mean() - offset))


def main(arguments: list[str] | None = None) -> int:
    """Calibrate and write the constants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the JSON file to write")
    options = parser.parse_args(arguments)
    torch.set_grad_enabled(False)
    options.output.write_text(Calibration().calibrate().to_json(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
