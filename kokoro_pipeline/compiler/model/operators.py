"""Custom operators that `torch.export` keeps intact: LSTM recurrence and masked attention.

Both have a plain torch implementation, so an exported program still runs, and can be checked, in
eager mode.
"""

from __future__ import annotations

import torch


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
