"""PyTorch operators for TVM, where torch's own cannot be exported. This module needs torch.

`torch.export` fixes the length of `nn.LSTM`, and takes no packed sequences. `LSTM` replaces the
module, and `lstm` is the operator; both take any length, and rows with lengths of their own:

    self.lstm = tvm_kokoro_ext.ops.LSTM(nn.LSTM(8, 16, bidirectional=True, batch_first=True))
    …
    output, (h, c) = self.lstm(x, lengths)  # in place of packing, the LSTM and unpacking

They compute forwards only: train with `nn.LSTM`, and replace it before the export.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils import rnn


@torch.library.custom_op("tvm_kokoro_ext::lstm_of_lengths", mutates_args=())
def lstm_of_lengths(
    x: Tensor,
    lengths: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: list[Tensor],
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """See `lstm`; here every argument is given."""
    packed = rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    assert order is not None and back is not None
    data, h, c = torch._VF.lstm(
        packed.data,
        packed.batch_sizes,
        (h0.index_select(1, order), c0.index_select(1, order)),
        weights,
        has_biases,
        num_layers,
        0.0,
        False,
        bidirectional,
    )
    sequences = rnn.PackedSequence(data, packed.batch_sizes, order, back)
    output, _ = rnn.pad_packed_sequence(sequences, batch_first=True, total_length=x.shape[1])
    return output, h.index_select(1, back), c.index_select(1, back)


@lstm_of_lengths.register_fake
def _(
    x: Tensor,
    lengths: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: list[Tensor],
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    batch, time, _ = x.shape
    width = h0.shape[2] * (2 if bidirectional else 1)
    return x.new_empty(batch, time, width), torch.empty_like(h0), torch.empty_like(c0)


def lstm(
    x: Tensor,
    lengths: Tensor | None,
    weights: list[Tensor],
    *,
    num_layers: int = 1,
    has_biases: bool = True,
    bidirectional: bool = False,
    state: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The LSTM of padded rows: what packing, `nn.LSTM` and unpacking give.

    Parameters
    ----------
    x
        [batch, time, input], float.
    lengths
        [batch], int64, each from 1 to time: how much of a row is valid. None means all of it.
    weights
        As `nn.LSTM` has them: for each layer and direction W_ih [4·hidden, input], W_hh [4·hidden,
        hidden] and, with `has_biases`, b_ih and b_hh [4·hidden].
    num_layers, has_biases, bidirectional
        As in `nn.LSTM`.
    state
        The first h and c, [layers · directions, batch, hidden]; None means zeros.

    Returns
    -------
    output, (h, c)
        [batch, time, directions · hidden], 0 beyond a row's length, and the state after each row's
        last valid step, [layers · directions, batch, hidden].
    """
    batch = x.shape[0]
    if lengths is None:
        lengths = x.new_ones((batch,), dtype=torch.int64) * x.shape[1]
    if state is None:
        rows = num_layers * (2 if bidirectional else 1)
        zeros = x.new_zeros(rows, batch, weights[1].shape[1])
        state = (zeros, zeros)
    output, h, c = lstm_of_lengths(
        x, lengths, *state, list(weights), num_layers, has_biases, bidirectional
    )
    return output, (h, c)


class LSTM(nn.Module):
    """A trained `nn.LSTM` that can be exported with a dynamic length.

    Parameters
    ----------
    trained
        The module, whose parameters are shared. Projections (`proj_size`) are not supported.

    Raises
    ------
    ValueError
        If it has projections.
    """

    def __init__(self, trained: nn.LSTM) -> None:
        super().__init__()
        if trained.proj_size:
            raise ValueError(
                "nn.LSTM(proj_size=…) is not supported: use an LSTM without projection and apply "
                "the projection to its output"
            )
        self.trained = trained

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        state: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """`x` and the output are [batch, time, …] where the trained module has `batch_first`.

        Otherwise they are [time, batch, …]. The rest is as in `lstm`.
        """
        own = self.trained
        if not own.batch_first:
            x = x.transpose(0, 1)
        output, state = lstm(
            x,
            lengths,
            [weight for layer in own.all_weights for weight in layer],
            num_layers=own.num_layers,
            has_biases=own.bias,
            bidirectional=own.bidirectional,
            state=state,
        )
        return (output if own.batch_first else output.transpose(0, 1)), state
