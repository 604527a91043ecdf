"""Convolutions in other dtypes than float32 keep them, and their precision."""

import torch
from frontend_cases import Case, fix_tests


def made_by(module):
    torch.manual_seed(0)
    return module.double()


def doubles(*shape):
    return lambda n: (torch.randn(*[n if s == "n" else s for s in shape]).double(),)


CONVOLUTION = [
    Case(
        "conv1d", made_by(torch.nn.Conv1d(3, 4, 3, padding=1)), doubles(2, 3, "n"), tolerance=1e-12
    ),
    Case(
        "conv1d_strided_groups",
        made_by(torch.nn.Conv1d(4, 8, 3, stride=2, dilation=2, groups=2, bias=False)),
        doubles(1, 4, 13),
        tolerance=1e-12,
    ),
    Case("conv2d", made_by(torch.nn.Conv2d(2, 3, 3)), doubles(1, 2, "n", 6), tolerance=1e-12),
    Case(
        "conv_transpose1d",
        made_by(torch.nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1, output_padding=1)),
        doubles(1, 3, "n"),
        tolerance=1e-12,
    ),
    Case("float32", torch.nn.Conv1d(3, 4, 3), lambda n: (torch.randn(1, 3, n),), wrong=None),
]
test_convolution, test_convolution_stock = fix_tests("convolution", CONVOLUTION)
