"""`tvm_kokoro_ext.ops`: an LSTM with a dynamic length, and with rows of lengths of their own."""

import numpy as np
import pytest
import torch
from frontend_cases import compile_module, import_program
from torch import nn
from torch.nn.utils import rnn

from tvm_kokoro_ext import ops


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.lstm = ops.LSTM(nn.LSTM(3, 4, **options))

    def forward(self, x, lengths):
        output, (h, c) = self.lstm(x, lengths)
        return output, h, c


def packed(lstm, x, lengths):
    """What packing, the trained layer and unpacking give."""
    first = lstm.batch_first
    given = rnn.pack_padded_sequence(x, lengths, batch_first=first, enforce_sorted=False)
    output, (h, c) = lstm(given)
    total = x.shape[1 if first else 0]
    return rnn.pad_packed_sequence(output, batch_first=first, total_length=total)[0], h, c


OPTIONS = [
    {"batch_first": True},
    {"batch_first": True, "bidirectional": True, "num_layers": 2},
    {"bidirectional": True, "bias": False},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_dynamic_length_with_rows_of_their_own(options):
    torch.manual_seed(0)
    model = Encoder(**options).eval().requires_grad_(False)
    first = options.get("batch_first", False)
    auto = torch.export.Dim.AUTO
    x, lengths = torch.randn((2, 5, 3) if first else (5, 2, 3)), torch.tensor([5, 3])
    program = torch.export.export(
        model, (x, lengths), dynamic_shapes=({0: auto, 1: auto}, {0: auto})
    )
    run = compile_module(import_program(program, True))
    for time, rows in ((5, [5, 3]), (9, [1, 9, 4]), (2, [2, 1])):
        x = torch.randn((len(rows), time, 3) if first else (time, len(rows), 3))
        lengths = torch.tensor(rows)
        want = packed(model.lstm.trained, x, lengths)
        for mine, eager, theirs in zip(
            run(x.numpy(), lengths.numpy()), model(x, lengths), want, strict=True
        ):
            np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-5)
            np.testing.assert_allclose(eager.numpy(), theirs.numpy(), atol=1e-6)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = ops.LSTM(nn.LSTM(3, 4, batch_first=True))

    def forward(self, x, h, c):
        output, state = self.lstm(x, state=(h, c))
        return output, *state


def test_whole_rows_with_a_state():
    torch.manual_seed(0)
    model = Whole().eval().requires_grad_(False)
    state = torch.randn(1, 2, 4), torch.randn(1, 2, 4)
    shapes = ({1: torch.export.Dim.AUTO}, {}, {})
    program = torch.export.export(model, (torch.randn(2, 5, 3), *state), dynamic_shapes=shapes)
    run = compile_module(import_program(program, False))
    x = torch.randn(2, 11, 3)
    output, (h, c) = model.lstm.trained(x, state)
    for mine, theirs in zip(
        run(x.numpy(), *[s.numpy() for s in state]), (output, h, c), strict=True
    ):
        np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-5)


def test_projections_are_refused():
    with pytest.raises(ValueError, match="proj_size"):
        ops.LSTM(nn.LSTM(3, 4, proj_size=2))


@pytest.mark.parametrize("lengths", [[5, 0], [5, 6]])
def test_lengths_that_are_no_lengths_are_refused_by_torch(lengths):
    with pytest.raises(RuntimeError, match="[Ll]ength"):
        Encoder(batch_first=True)(torch.randn(2, 5, 3), torch.tensor(lengths))
