"""Kokoro-82M in plain PyTorch, without kokoro and without our operators.

This is for comparisons on a machine that only has torch. Modules have the names of the tensors in
the checkpoint, with folded weight norms. Batches of rows of equal length are supported. The device
is not synchronized, so that each half can be captured as a CUDA graph: `timing` before the
durations are read, and `render` after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

STYLE = 128
HARMONICS = 9
SAMPLE_RATE = 24_000
BLOCK = 300
"""Samples per value of F0."""
SINE_LEVEL, VOICED_NOISE, VOICED_HZ = 0.1, 0.003, 10.0
FRAME_OF_BOTH = 0.5**0.5


class AdaptiveNorm(nn.Module):
    """Instance norm of [B, C, L], followed by the scale and shift of a style."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(channels, affine=True)
        self.fc = nn.Linear(STYLE, 2 * channels)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        scale, shift = self.fc(style)[:, :, None].chunk(2, dim=1)
        return (1 + scale) * self.norm(x) + shift


class AdaptiveLayerNorm(nn.Module):
    """Layer norm of [B, n, C], followed by the scale and shift of a style."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc = nn.Linear(STYLE, 2 * channels)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        scale, shift = self.fc(style)[:, None].chunk(2, dim=2)
        return (1 + scale) * functional.layer_norm(x, x.shape[2:], eps=1e-5) + shift


class ChannelNorm(nn.Module):
    """Layer norm of [B, C, n] over the channels, with the checkpoint's names of parameters."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.layer_norm(x.transpose(1, 2), self.gamma.shape, self.gamma, self.beta, 1e-5)
        return y.transpose(1, 2)


class LeakyBlock(nn.Module):
    """Two convolutions after adaptive norms, and a shortcut; may double the length."""

    def __init__(self, before: int, after: int, double: bool = False) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(before, after, 3, padding=1)
        self.conv2 = nn.Conv1d(after, after, 3, padding=1)
        self.norm1 = AdaptiveNorm(before)
        self.norm2 = AdaptiveNorm(after)
        self.conv1x1 = nn.Conv1d(before, after, 1, bias=False) if before != after else None
        pool = nn.ConvTranspose1d(
            before, before, 3, stride=2, padding=1, output_padding=1, groups=before
        )
        self.pool = pool if double else None

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        y = functional.leaky_relu(self.norm1(x, style), 0.2)
        if self.pool is not None:
            y, x = self.pool(y), x.repeat_interleave(2, dim=2)
        y = functional.leaky_relu(self.norm2(self.conv1(y), style), 0.2)
        y = self.conv2(y)
        if self.conv1x1 is not None:
            x = self.conv1x1(x)
        return (y + x) * FRAME_OF_BOTH


class SnakeBlock(nn.Module):
    """Three pairs of convolutions after adaptive norms and Snake, each with a residual."""

    def __init__(self, channels: int, taps: int, dilations: Sequence[int]) -> None:
        super().__init__()

        def conv(dilation: int) -> nn.Conv1d:
            reach = dilation * (taps - 1) // 2
            return nn.Conv1d(channels, channels, taps, dilation=dilation, padding=reach)

        def alphas() -> nn.ParameterList:
            return nn.ParameterList(nn.Parameter(torch.ones(1, channels, 1)) for _ in dilations)

        self.convs1 = nn.ModuleList(conv(dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(conv(1) for _ in dilations)
        self.adain1 = nn.ModuleList(AdaptiveNorm(channels) for _ in dilations)
        self.adain2 = nn.ModuleList(AdaptiveNorm(channels) for _ in dilations)
        self.alpha1, self.alpha2 = alphas(), alphas()

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        first = zip(self.adain1, self.alpha1, self.convs1, strict=True)
        second = zip(self.adain2, self.alpha2, self.convs2, strict=True)
        for stages in zip(first, second, strict=True):
            y = x
            for norm, alpha, conv in stages:
                y = norm(y, style)
                y = conv(y + torch.sin(alpha * y) ** 2 / alpha)
            x = x + y
        return x


class Attention(nn.Module):
    """ALBERT's self-attention, with its norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.dense = nn.Linear(width, width), nn.Linear(width, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        parts = [
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        mixed = functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)
        return self.LayerNorm(x + self.dense(mixed))


class BertLayer(nn.Module):
    """The layer that ALBERT applies repeatedly."""

    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.full_layer_layer_norm = nn.LayerNorm(width, eps=1e-12)
        self.attention = Attention(width, heads)
        self.ffn, self.ffn_output = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        hidden = functional.gelu(self.ffn(x), approximate="tanh")
        return self.full_layer_layer_norm(self.ffn_output(hidden) + x)


class Embeddings(nn.Module):
    """Embeddings of tokens, positions and the single token type."""

    def __init__(self, tokens: int, positions: int, width: int) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(tokens, width)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, ids: Tensor) -> Tensor:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        kind = self.token_type_embeddings.weight[0]
        return self.LayerNorm(self.word_embeddings(ids) + kind + positions)


_EMBEDDED = 128
"""Features of an embedded token, as ALBERT has them by default."""


class BertStack(nn.Module):
    """The projection to ALBERT's width, followed by its layer, repeated as configured."""

    def __init__(self, config: dict[str, Any], embedded: int) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.embedding_hidden_mapping_in = nn.Linear(embedded, width)
        layer = BertLayer(width, config["intermediate_size"], config["num_attention_heads"])
        group = nn.Module()
        group.albert_layers = nn.ModuleList([layer])
        self.albert_layer_groups = nn.ModuleList([group])
        self.count = int(config["num_hidden_layers"])

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding_hidden_mapping_in(x)
        layer = self.get_submodule("albert_layer_groups.0.albert_layers.0")
        for _ in range(self.count):
            x = layer(x)
        return x


class Bert(nn.Module):
    """ids int64 [B, n] -> [B, n, 768]."""

    def __init__(self, config: dict[str, Any], tokens: int) -> None:
        super().__init__()
        positions = config["max_position_embeddings"]
        self.embeddings = Embeddings(tokens, positions, _EMBEDDED)
        self.encoder = BertStack(config, _EMBEDDED)

    def forward(self, ids: Tensor) -> Tensor:
        return self.encoder(self.embeddings(ids))


def _lstm(inputs: int, width: int) -> nn.LSTM:
    return nn.LSTM(inputs, width // 2, batch_first=True, bidirectional=True)


class DurationEncoder(nn.Module):
    """Alternating LSTMs and adaptive norms, with the style concatenated to the features."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.lstms = nn.ModuleList()
        for _ in range(depth):
            self.lstms += [_lstm(width + STYLE, width), AdaptiveLayerNorm(width)]

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        styles = style[:, None].expand(-1, x.shape[1], -1)
        for lstm, norm in zip(self.lstms[0::2], self.lstms[1::2], strict=True):
            x = norm(lstm(torch.cat([x, styles], dim=2))[0], style)
        return torch.cat([x, styles], dim=2)


class Predictor(nn.Module):
    """Predicts durations, pitch and energy."""

    def __init__(self, width: int, depth: int, longest: int) -> None:
        super().__init__()
        self.text_encoder = DurationEncoder(width, depth)
        self.lstm, self.shared = _lstm(width + STYLE, width), _lstm(width + STYLE, width)
        self.duration_proj = nn.Module()
        self.duration_proj.linear_layer = nn.Linear(width, longest)
        half = width // 2

        def curve() -> nn.ModuleList:
            return nn.ModuleList(
                [LeakyBlock(width, width), LeakyBlock(width, half, True), LeakyBlock(half, half)]
            )

        self.F0, self.N = curve(), curve()
        self.F0_proj, self.N_proj = nn.Conv1d(half, 1, 1), nn.Conv1d(half, 1, 1)

    def durations(self, d: Tensor) -> Tensor:
        """Frames per token [B, n], before dividing by the speed and rounding."""
        x = self.lstm(d)[0]
        return torch.sigmoid(self.get_submodule("duration_proj.linear_layer")(x)).sum(dim=2)

    def curves(self, en: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
        """F0 and N [B, 2t] for en [B, t, 640]."""
        shared = self.shared(en)[0].transpose(1, 2)
        f0 = n = shared
        for block in self.F0:
            f0 = block(f0, style)
        for block in self.N:
            n = block(n, style)
        return self.F0_proj(f0)[:, 0], self.N_proj(n)[:, 0]


class TextEncoder(nn.Module):
    """ids int64 [B, n] -> [B, n, 512]."""

    def __init__(self, tokens: int, width: int, taps: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.cnn = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, width, taps, padding=(taps - 1) // 2),
                ChannelNorm(width),
                nn.LeakyReLU(0.2),
            )
            for _ in range(depth)
        )
        self.lstm = _lstm(width, width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids).transpose(1, 2)
        for layer in self.cnn:
            x = layer(x)
        return self.lstm(x.transpose(1, 2))[0]


class Source(nn.Module):
    """The harmonic source: F0 [B, m] and noise [B, 300m, 9] -> wave [B, 300m], like in kokoro.

    Its phases reach 1e5 rad, so float32 has the same error here as in kokoro itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.l_linear = nn.Linear(HARMONICS, 1)

    def forward(self, f0: Tensor, noise: Tensor) -> Tensor:
        harmonics = torch.arange(1, HARMONICS + 1, device=f0.device, dtype=f0.dtype)
        turns = (f0[:, :, None] * harmonics / SAMPLE_RATE) % 1
        phase = turns.cumsum(dim=1).transpose(1, 2) * (2 * torch.pi * BLOCK)
        phase = functional.interpolate(phase, scale_factor=BLOCK, mode="linear").transpose(1, 2)
        voiced = (f0 > VOICED_HZ).to(f0.dtype).repeat_interleave(BLOCK, dim=1)[:, :, None]
        level = voiced * VOICED_NOISE + (1 - voiced) * (SINE_LEVEL / 3)
        mixed = voiced * SINE_LEVEL * torch.sin(phase) + level * noise
        return torch.tanh(self.l_linear(mixed))[:, :, 0]


class Spectrum(nn.Module):
    """The transform of the source and the inverse for the decoder's output, n_fft 20 and hop 5.

    `torch.istft` reads back from the device to check its windows, which cannot be captured in a
    CUDA graph; the inverse here computes the same sum without that check.
    """

    window: Tensor
    inverse_basis: Tensor
    envelope: Tensor

    def __init__(self, n_fft: int, hop: int) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        window = torch.hann_window(n_fft)
        exact = window.double()
        bins = torch.arange(n_fft // 2 + 1, dtype=torch.float64)
        angle = 2 * torch.pi * bins[:, None] * torch.arange(n_fft) / n_fft
        twice = torch.where((bins == 0) | (bins == n_fft // 2), 1.0, 2.0)[:, None] / n_fft
        basis = torch.cat([twice * angle.cos(), -twice * angle.sin()]) * exact
        self.register_buffer("window", window, persistent=False)
        self.register_buffer("inverse_basis", basis[:, None].float(), persistent=False)
        self.register_buffer("envelope", (exact**2)[None, None].float(), persistent=False)

    def forward(self, wave: Tensor) -> Tensor:
        spectrum = torch.stft(
            wave, self.n_fft, self.hop, self.n_fft, self.window, return_complex=True
        )
        return torch.cat([spectrum.abs(), spectrum.angle()], dim=1)

    def inverse(self, magnitude: Tensor, phase: Tensor) -> Tensor:
        parts = torch.cat([magnitude * phase.cos(), magnitude * phase.sin()], dim=1)
        wave = self._add(parts, self.inverse_basis)
        return (wave / self._add(torch.ones_like(parts[:1, :1]), self.envelope))[:, 0]

    def _add(self, columns: Tensor, basis: Tensor) -> Tensor:
        return functional.conv_transpose1d(columns, basis, stride=self.hop, padding=self.n_fft // 2)


class Generator(nn.Module):
    """Features [B, 512, 2t] and the source's spectrum -> wave."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        channels, rates = config["upsample_initial_channel"], config["upsample_rates"]
        n_fft, hop = config["gen_istft_n_fft"], config["gen_istft_hop_size"]
        self.m_source = Source()
        self.noise_convs, self.noise_res = nn.ModuleList(), nn.ModuleList()
        self.ups, self.resblocks = nn.ModuleList(), nn.ModuleList()
        sizes, dilations = config["resblock_kernel_sizes"], config["resblock_dilation_sizes"]
        for stage, (rate, taps) in enumerate(
            zip(rates, config["upsample_kernel_sizes"], strict=True)
        ):
            half = channels // 2
            up = nn.ConvTranspose1d(channels, half, taps, rate, padding=(taps - rate) // 2)
            self.ups.append(up)
            rest = 1
            for later in rates[stage + 1 :]:
                rest *= later
            if stage + 1 < len(rates):
                conv = nn.Conv1d(n_fft + 2, half, 2 * rest, rest, padding=(rest + 1) // 2)
            else:
                conv = nn.Conv1d(n_fft + 2, half, 1)
            self.noise_convs.append(conv)
            self.noise_res.append(SnakeBlock(half, 7 if stage + 1 < len(rates) else 11, (1, 3, 5)))
            for size, spread in zip(sizes, dilations, strict=True):
                self.resblocks.append(SnakeBlock(half, size, spread))
            channels = half
        self.conv_post = nn.Conv1d(channels, n_fft + 2, 7, padding=3)
        self.stft = Spectrum(n_fft, hop)
        self.blocks = len(sizes)

    def forward(self, x: Tensor, style: Tensor, har: Tensor) -> Tensor:
        for stage, up in enumerate(self.ups):
            source = self.noise_res[stage](self.noise_convs[stage](har), style)
            x = up(functional.leaky_relu(x, 0.1))
            if stage + 1 == len(self.ups):
                x = functional.pad(x, (1, 0), mode="reflect")
            x = x + source
            blocks = self.resblocks[stage * self.blocks : (stage + 1) * self.blocks]
            x = torch.stack([block(x, style) for block in blocks]).mean(dim=0)
        x = self.conv_post(functional.leaky_relu(x, 0.01))
        magnitude, phase = x.chunk(2, dim=1)
        return self.stft.inverse(magnitude.exp(), phase.sin())


class Decoder(nn.Module):
    """Maps the acoustic features of every frame, pitch and energy to the wave."""

    def __init__(self, width: int, config: dict[str, Any]) -> None:
        super().__init__()
        inner, beside = 1024, 64
        self.encode = LeakyBlock(width + 2, inner)
        joined = inner + beside + 2
        self.decode = nn.ModuleList(LeakyBlock(joined, inner) for _ in range(3))
        self.decode.append(LeakyBlock(joined, config["upsample_initial_channel"], True))
        self.F0_conv, self.N_conv = (nn.Conv1d(1, 1, 3, stride=2, padding=1) for _ in range(2))
        self.asr_res = nn.Sequential(nn.Conv1d(width, beside, 1))
        self.generator = Generator(config)

    def forward(self, asr: Tensor, f0: Tensor, n: Tensor, style: Tensor, har: Tensor) -> Tensor:
        curves = [self.F0_conv(f0[:, None]), self.N_conv(n[:, None])]
        x = self.encode(torch.cat([asr, *curves], dim=1), style)
        beside = self.asr_res(asr)
        for block in self.decode:
            x = block(torch.cat([x, beside, *curves], dim=1), style)
        return self.generator(x, style, har)


class PlainKokoro(nn.Module):
    """The complete model; `config` is the dictionary of a Kokoro `config.json`."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, tokens = config["hidden_dim"], config["n_token"]
        depth, taps = config["n_layer"], config["text_encoder_kernel_size"]
        self.bert = Bert(config["plbert"], tokens)
        self.bert_encoder = nn.Linear(config["plbert"]["hidden_size"], width)
        self.predictor = Predictor(width, depth, config["max_dur"])
        self.text_encoder = TextEncoder(tokens, width, taps, depth)
        self.decoder = Decoder(width, config["istftnet"])

    def timing(self, ids: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
        """Frames per token float32 [B, n], before rounding, and d [B, n, 640].

        The inputs are ids int64 [B, n] and style [B, 256].
        """
        d = self.predictor.text_encoder(self.bert_encoder(self.bert(ids)), style[:, STYLE:])
        return self.predictor.durations(d), d

    def render(
        self, ids: Tensor, d: Tensor, tokens: Tensor, style: Tensor, noise: Tensor
    ) -> Tensor:
        """Audio [B, 600t]; `tokens` int64 [B, t] is the token of each frame, noise [B, 600t, 9]."""
        f0, n = self.predictor.curves(_spread(d, tokens), style[:, STYLE:])
        asr = _spread(self.text_encoder(ids), tokens).transpose(1, 2)
        har = self.decoder.generator.stft(self.decoder.generator.m_source(f0, noise))
        return self.decoder(asr, f0, n, style[:, :STYLE], har)


def _spread(x: Tensor, tokens: Tensor) -> Tensor:
    """Repeat the features [B, n, C] of tokens over frames: [B, t, C]."""
    return x.gather(1, tokens[:, :, None].expand(-1, -1, x.shape[2]))


def load_plain(config: dict[str, Any], state: dict[str, Tensor]) -> PlainKokoro:
    """The model with the tensors of a checkpoint (full names, folded weight norms).

    ALBERT's pooler, which does not affect the output, is omitted. Raises RuntimeError if names or
    shapes do not match.
    """
    with torch.device("meta"):
        model = PlainKokoro(config)
    # The constants of the spectrum are not tensors of the checkpoint.
    model.decoder.generator.stft = Spectrum(
        config["istftnet"]["gen_istft_n_fft"], config["istftnet"]["gen_istft_hop_size"]
    )
    used = {name: value for name, value in state.items() if not name.startswith("bert.pooler.")}
    model.load_state_dict(used, strict=True, assign=True)
    return model.eval().requires_grad_(False)
