"""Custom operators that `torch.export` keeps intact: LSTM, attention, harmonic source, noise.

All have a plain torch implementation, so an exported program still runs, and can be checked, in
eager mode.
"""

from __future__ import annotations

import torch

from kokoro_pipeline import normals

from .stft import spectrum


@torch.library.custom_op("kokoro_pipeline::lstm_recurrence", mutates_args=())
def lstm_recurrence(
    gates: torch.Tensor, recurrent: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Run a bidirectional LSTM over projected inputs.

    gates: float32 [B, n, 8H], `x @ W_ih.T + b_ih + b_hh` of the forward direction, then of the
    backward direction, each in torch's gate order i, f, g, o.
    recurrent: float32 [2, 4H, H], `W_hh` of both directions.
    lengths: int64 [B], 1 to n; steps from `lengths[b]` on are not read, and the result there is 0.
    Returns float32 [B, n, 2H]. The backward direction starts at `lengths[b] - 1`, as in
    `torch.nn.LSTM` after `pack_padded_sequence`.
    """
    batch, steps, _ = gates.shape
    hidden = recurrent.shape[-1]
    output = gates.new_zeros(batch, steps, 2 * hidden)
    for row in range(batch):
        length = int(lengths[row])
        for direction in range(2):
            h = gates.new_zeros(hidden)
            c = gates.new_zeros(hidden)
            order = range(length) if direction == 0 else range(length - 1, -1, -1)
            for step in order:
                lanes = slice(direction * 4 * hidden, (direction + 1) * 4 * hidden)
                i, f, g, o = (gates[row, step, lanes] + recurrent[direction] @ h).chunk(4)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                output[row, step, direction * hidden : (direction + 1) * hidden] = h
    return output


@lstm_recurrence.register_fake
def _(gates: torch.Tensor, recurrent: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return gates.new_empty(gates.shape[0], gates.shape[1], 2 * recurrent.shape[-1])


@torch.library.custom_op("kokoro_pipeline::masked_attention", mutates_args=())
def masked_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: torch.Tensor, heads: int
) -> torch.Tensor:
    """Multi-head attention that ignores the keys of row b from `lengths[b]` on.

    query, key, value: float32 [B, n, heads * D]. lengths: int64 [B], 1 to n.
    Scores are scaled by D ** -0.5.
    Returns float32 [B, n, heads * D]; rows of padding queries are finite but meaningless.
    """
    batch, steps, width = query.shape

    def split(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(batch, steps, heads, width // heads).transpose(1, 2)

    exists = torch.arange(steps) < lengths[:, None]
    mixed = torch.nn.functional.scaled_dot_product_attention(
        split(query), split(key), split(value), attn_mask=exists[:, None, None, :]
    )
    return mixed.transpose(1, 2).reshape(batch, steps, width).contiguous()


@masked_attention.register_fake
def _(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: torch.Tensor, heads: int
) -> torch.Tensor:
    return torch.empty_like(query, memory_format=torch.contiguous_format)


def excitation(
    f0: torch.Tensor,
    noise: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    sample_rate: int,
    block: int,
    amplitude: float,
    voiced_noise: float,
    unvoiced_noise: float,
    voiced_threshold: float,
) -> torch.Tensor:
    """The waveform of a harmonic source, float64 [1, block * m]; see `harmonic_source`."""
    f0 = f0.double()
    blocks = f0.shape[1]
    # Cycles per sample, then cycles at the centre of each block.
    harmonics = torch.arange(1, weight.shape[1] + 1, dtype=torch.float64)
    increment = (f0[:, :, None] * harmonics) / sample_rate
    increment = increment - torch.floor(increment)
    cycles = torch.cumsum(increment, dim=1) * block
    # Positions of the samples relative to the block centres, clamped to the outer centres.
    sample = torch.arange(blocks * block)
    position = (sample.double() + 0.5) / block
    centre = position - 0.5
    left = torch.floor(centre).clamp(min=0.0)
    share = (centre - left).clamp(min=0.0)[None, :, None]
    left_index = left.to(torch.int64)
    right_index = torch.clamp(left_index + 1, max=blocks - 1)
    phase = cycles[:, left_index] * (1.0 - share) + cycles[:, right_index] * share
    sines = torch.sin((phase - torch.floor(phase)) * (2 * torch.pi)) * amplitude
    voiced = (f0[:, torch.floor(position).to(torch.int64)] > voiced_threshold).double()[:, :, None]
    level = voiced * voiced_noise + (1.0 - voiced) * unvoiced_noise
    mixed = sines * voiced + level * noise.double()
    return torch.tanh((mixed * weight[0]).sum(dim=2) + bias)


@torch.library.custom_op("kokoro_pipeline::harmonic_source", mutates_args=())
def harmonic_source(
    f0: torch.Tensor,
    noise: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    basis: torch.Tensor,
    sample_rate: int,
    block: int,
    hop: int,
    amplitude: float,
    voiced_noise: float,
    unvoiced_noise: float,
    voiced_threshold: float,
) -> torch.Tensor:
    """Mix the harmonics of a pitch with noise, and transform the waveform, in float64.

    f0: float32 [1, m] in Hz, each value for `block` samples; a block is voiced above
    `voiced_threshold`. noise: float32 [1, block * m, H].
    weight: float64 [1, H] of harmonics 1 to H, and bias: float64 [1], before a tanh. Sines have the
    peak `amplitude` where voiced; noise is scaled by `voiced_noise` there and by `unvoiced_noise`
    elsewhere.
    basis: float64 [2K, 1, taps], the real parts of the transform first; see `stft.spectrum`.
    Returns float32 [1, 2K, block * m / hop + 1]: magnitudes, then phases in radians.
    """
    wave = excitation(
        f0,
        noise,
        weight,
        bias,
        sample_rate,
        block,
        amplitude,
        voiced_noise,
        unvoiced_noise,
        voiced_threshold,
    )
    return torch.cat(spectrum(wave, basis, hop), dim=1).float()


@harmonic_source.register_fake
def _(
    f0: torch.Tensor,
    noise: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    basis: torch.Tensor,
    sample_rate: int,
    block: int,
    hop: int,
    *levels: float,
) -> torch.Tensor:
    return f0.new_empty(1, basis.shape[0], f0.shape[1] * (block // hop) + 1)


@torch.library.custom_op("kokoro_pipeline::standard_normals", mutates_args=())
def standard_normals(
    frames: torch.Tensor, key: torch.Tensor, rows: int, columns: int
) -> torch.Tensor:
    """Draw float32 [1, rows * t, columns] of standard normals from a key.

    frames: int64 [t], of which only the length counts. key: int64 [2], two words of 32 bits.
    `kokoro_pipeline.normals` defines the values.
    """
    count = frames.shape[0] * rows * columns
    values = normals.standard_normals(key.numpy(), 0, count)
    return torch.from_numpy(values).float().reshape(1, -1, columns)


@standard_normals.register_fake
def _(frames: torch.Tensor, key: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    return torch.empty(1, frames.shape[0] * rows, columns)
