"""The six functions as modules that every runtime can take: stock operations in place of ours.

The mathematics and the parameters are `kokoro_pipeline.compiler.model`'s. What differs: `nn.LSTM`
and plain attention in place of the custom operators (a benchmark has one row and no padding), and a
harmonic source in float32, for OpenVINO has no float64.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from kokoro_pipeline.compiler.model.bert import BertForward
from kokoro_pipeline.compiler.model.components import fold_weight_norm
from kokoro_pipeline.compiler.model.decoder import DecoderForward
from kokoro_pipeline.compiler.model.duration import DurationForward
from kokoro_pipeline.compiler.model.f0n import F0NForward
from kokoro_pipeline.compiler.model.source import SourceForward
from kokoro_pipeline.compiler.model.stft import BINS, HOP, N_FFT, ForwardSTFT
from kokoro_pipeline.compiler.model.stock import StockModule
from kokoro_pipeline.compiler.model.text_encoder import TextEncoderForward


class UnpaddedLSTM(nn.Module):
    """The stock layer in place of `BidirectionalLSTM`: float32 [1, n, C] to [1, n, 2H]."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.lstm = lstm

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.lstm(x)[0]


class UnpaddedBert(BertForward):
    """`bert_forward` with torch's own attention."""

    @staticmethod
    def _layer(layer: StockModule, x: Tensor, lengths: Tensor) -> Tensor:
        attention = layer.attention
        heads = attention.num_attention_heads

        def split(y: Tensor) -> Tensor:
            return y.reshape(1, y.shape[1], heads, y.shape[2] // heads).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(
            split(attention.query(x)), split(attention.key(x)), split(attention.value(x))
        )
        mixed = mixed.transpose(1, 2).reshape(1, x.shape[1], x.shape[2])
        x = attention.LayerNorm(x + attention.dense(mixed))
        hidden = functional.gelu(layer.ffn(x), approximate="tanh")
        return layer.full_layer_layer_norm(layer.ffn_output(hidden) + x)


class Float32STFT(nn.Module):
    """`ForwardSTFT` in float32: wave [1, L] -> magnitude, phase [1, 11, L / 5 + 1].

    Reflection is done by an operator instead of indexing, which OpenVINO 2026.4 folds incorrectly.
    """

    def __init__(self) -> None:
        super().__init__()
        basis = ForwardSTFT().basis.detach().float()
        self.basis = nn.Parameter(basis, requires_grad=False)

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        padded = functional.pad(wave[:, None], (N_FFT // 2, N_FFT // 2), mode="reflect")
        spectrum = functional.conv1d(padded, self.basis, stride=HOP)
        real, imaginary = spectrum[:, :BINS], spectrum[:, BINS:]
        return torch.sqrt(real * real + imaginary * imaginary), torch.atan2(imaginary, real)


class Float32Source(SourceForward):
    """`source_forward` in float32, with phases kept below one cycle wherever they are summed.

    The increments of whole blocks are reduced before the running sum, and interpolation adds the
    increment of the next block instead of the difference of two large phases. The error is about
    1e-3 of the peak, while that of the stock model in float32 is a fifth of the peak.
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__(model)
        for name in ("weight", "bias"):
            value = getattr(self, name).detach().float()
            setattr(self, name, nn.Parameter(value, requires_grad=False))
        stft: StockModule = Float32STFT()
        self.stft = stft

    def forward(self, F0: Tensor, noise: Tensor) -> Tensor:
        return torch.cat(self.stft(self.waveform(F0, noise)), dim=1)

    def waveform(self, F0: Tensor, noise: Tensor) -> Tensor:
        blocks = F0.shape[1]
        amplitude, voiced_noise, unvoiced_noise, threshold = self.levels
        harmonics = torch.arange(1, noise.shape[2] + 1, dtype=torch.float32)
        # Cycles per sample, then cycles of each harmonic per block [1, m, 9].
        increment = F0[:, :, None] * (harmonics / self.sample_rate)
        cycles = (increment - torch.floor(increment)) * self.block
        wrapped = torch.cumsum(cycles - torch.floor(cycles), dim=1)
        wrapped = wrapped - torch.floor(wrapped)
        # A sample is `share` of a block after the centre of block `left`; the share is 0 after the
        # last and before the first centre.
        position = (torch.arange(self.block, dtype=torch.float32) + 0.5) / self.block
        first_half = (position < 0.5)[:, None]
        after = torch.where(position < 0.5, position + 0.5, position - 0.5)[:, None]
        previous = torch.cat([wrapped[:, :1], wrapped[:, :-1]], dim=1)
        to_here = torch.cat([torch.zeros_like(cycles[:, :1]), cycles[:, 1:]], dim=1)
        to_next = torch.cat([cycles[:, 1:], torch.zeros_like(cycles[:, :1])], dim=1)
        phase = torch.where(
            first_half,
            previous[:, :, None] + to_here[:, :, None] * after,
            wrapped[:, :, None] + to_next[:, :, None] * after,
        )  # [1, m, 300, 9]
        sines = torch.sin((phase - torch.floor(phase)) * (2 * torch.pi)) * amplitude
        voiced = torch.gt(F0, threshold).float()[:, :, None, None]
        level = voiced * voiced_noise + (1.0 - voiced) * unvoiced_noise
        noise = noise.reshape(1, blocks, self.block, noise.shape[2])
        mixed = sines * voiced + level * noise
        wave = torch.tanh((mixed * self.weight[0]).sum(dim=3) + self.bias)
        return wave.reshape(1, blocks * self.block)


def portable_modules(model: StockModule) -> dict[str, nn.Module]:
    """The six functions by name, over the parameters of a stock `kokoro.KModel` in eval mode.

    Inputs and outputs are those of `kokoro_pipeline.compiler.model.components.SIGNATURES`, for one
    row without padding. The model's weight norms are folded in place.
    """
    fold_weight_norm(model)
    # The replacements have other types than the original modules.
    duration: StockModule = DurationForward(model)
    layers = model.predictor.text_encoder.lstms
    duration.lstms = nn.ModuleList(UnpaddedLSTM(lstm) for lstm in layers[0::2])
    duration.lstm = UnpaddedLSTM(model.predictor.lstm)
    text_encoder: StockModule = TextEncoderForward(model)
    text_encoder.lstm = UnpaddedLSTM(model.text_encoder.lstm)
    f0n: StockModule = F0NForward(model)
    f0n.shared = UnpaddedLSTM(model.predictor.shared)
    modules: dict[str, nn.Module] = {
        "bert_forward": UnpaddedBert(model),
        "duration_forward": duration,
        "text_encoder_forward": text_encoder,
        "f0n_forward": f0n,
        "source_forward": Float32Source(model),
        "decoder_forward": DecoderForward(model),
    }
    for module in modules.values():
        module.eval().requires_grad_(False)
    return modules
