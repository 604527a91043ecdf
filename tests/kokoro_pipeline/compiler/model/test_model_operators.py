"""The custom operators: their eager implementation, and the shapes for torch.export."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from kokoro_pipeline.compiler.model.blocks import BidirectionalLSTM
from kokoro_pipeline.compiler.model.operators import lstm_recurrence, masked_attention


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


@pytest.mark.parametrize("lengths", [[7], [1], [7, 2, 1, 5]], ids=str)
def test_lstm_equals_a_packed_torch_lstm_in_both_directions(lengths, generator):
    """`pack_padded_sequence` starts the backward direction at each row's own end."""
    lstm = torch.nn.LSTM(6, 5, batch_first=True, bidirectional=True).requires_grad_(False)
    x = torch.randn(len(lengths), max(lengths), 6, generator=generator)
    packed = pack_padded_sequence(x, torch.tensor(lengths), True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    for row, length in enumerate(lengths):
        x[row, length:] = torch.nan
    actual = BidirectionalLSTM(lstm)(x, torch.tensor(lengths))
    torch.testing.assert_close(actual, expected, atol=1e-6, rtol=0)
    assert all(not actual[row, length:].any() for row, length in enumerate(lengths))


@pytest.mark.parametrize("lengths", [[7], [1], [7, 2, 1, 5]], ids=str)
def test_attention_of_a_row_sees_its_own_keys_only(lengths, generator):
    q, k, v = torch.randn(3, len(lengths), max(lengths), 12, generator=generator)
    for row, length in enumerate(lengths):
        k[row, length:] = 1e4  # would win every comparison
    mixed = masked_attention(q, k, v, torch.tensor(lengths), 3)
    assert mixed.isfinite().all()
    for row, length in enumerate(lengths):

        def heads(x, row=row, length=length):
            return x[row, :length].reshape(length, 3, 4).transpose(0, 1)

        alone = torch.nn.functional.scaled_dot_product_attention(heads(q), heads(k), heads(v))
        expected = alone.transpose(0, 1).reshape(length, 12)
        torch.testing.assert_close(mixed[row, :length], expected, atol=1e-6, rtol=0)


OPERANDS = {
    "lstm_recurrence": lambda: (
        lstm_recurrence,
        (torch.zeros(2, 5, 24), torch.zeros(2, 12, 3), torch.tensor([5, 2])),
    ),
    "masked_attention": lambda: (
        masked_attention,
        (*torch.zeros(3, 2, 5, 12), torch.tensor([5, 2]), 3),
    ),
}


@pytest.mark.parametrize("operator", OPERANDS)
def test_schema_and_fake_shapes_agree_with_the_eager_operator(operator):
    function, operands = OPERANDS[operator]()
    torch.library.opcheck(function, operands, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("operator", OPERANDS)
def test_fake_results_are_contiguous_whatever_the_operands_are(operator):
    """Export records the strides; a transposed view may be an operand."""
    function, operands = OPERANDS[operator]()
    first = operands[0].transpose(0, 1).contiguous().transpose(0, 1)
    assert not first.is_contiguous()
    real = function(first, *operands[1:])
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = function(mode.from_tensor(first), *operands[1:])
    assert real.is_contiguous()
    assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())
