"""Convolutions in other dtypes than float32 keep them, and their precision."""

import math

import pytest
import torch
import tvm
from frontend_cases import Case, fix_tests
from torch.nn import functional
from tvm import relax

from tvm_kokoro_ext import _compat


def made_by(module):
    torch.manual_seed(0)
    return module.double()


def doubles(*shape):
    return lambda n: (torch.randn(*[n if s == "n" else s for s in shape]).double(),)


def modulated(x):
    """A kernel for each example of a batch, as in StyleGAN: the examples are groups."""
    n = x.shape[0]
    weight = x.mean((2, 3)).reshape(n, 1, 3, 1, 1) + torch.arange(24.0).reshape(1, 2, 3, 2, 2)
    rows = x.reshape(1, 3 * n, *x.shape[2:])
    made = functional.conv2d(rows, weight.reshape(2 * n, 3, 2, 2), None, 2, 1, 2, groups=n)
    turned = weight.transpose(1, 2).reshape(3 * n, 2, 2, 2)
    larger = functional.conv_transpose2d(rows, turned, None, 2, 1, 1, n, 2)
    return made.reshape(n, 2, *made.shape[2:]), larger


def by_channel(x):
    """Depthwise, over a symbolic number of channels, with a bias; with two results of each."""
    n, bias = x.shape[1], torch.arange(2.0 * x.shape[1])
    one = torch.tensor([0.5, -1.0, 2.0]).repeat(n, 1, 1)
    two = torch.arange(6.0).reshape(2, 1, 3).repeat(n, 1, 1)
    turned = functional.conv_transpose1d(x, one, bias[:n], stride=2, groups=n)
    half = functional.conv1d(x.half(), one.half(), padding=1, groups=n)
    return (
        functional.conv1d(x, one, groups=n),
        functional.conv1d(x, two, bias, 2, 1, 1, n),
        turned,
        half,
    )


def pairs_of_channels(x):
    """Two channels in each group; and two groups of an unknown number of channels."""
    n = x.shape[1]
    weight = torch.arange(12.0).reshape(2, 2, 3).repeat(n, 1, 1)
    halves = functional.conv1d(x.repeat(1, 2, 1), torch.ones(4, n, 2), groups=2)
    return functional.conv1d(x.repeat(1, 2, 1), weight, groups=n), halves


def by_kernels_of_any_size(x, kernel):
    """Padding of symbolic size keeps the length."""
    kept = {"padding": "same", "dilation": 2}
    plane = functional.conv2d(x[..., None], kernel[..., None], **kept)
    half = functional.conv1d(x.half(), kernel.half(), **kept)
    return functional.conv1d(x, kernel, torch.ones(4), **kept), plane, half


def by_windows_of_any_size(x):
    """A stride, a padding and a dilation that are symbolic, of one axis or two."""
    n, weight = x.shape[2], torch.arange(36.0).reshape(4, 3, 3) / 36
    plane = functional.conv2d(x[..., None], weight[..., None], stride=(n // 4, 1))
    return (
        functional.conv1d(x, weight, torch.ones(4), stride=n // 4),
        functional.conv1d(x, weight, padding=n // 2),
        functional.conv1d(x.half(), weight.half(), dilation=n // 4),
        plane,
    )


def padded_by_a_stride(x):
    """Outputs padded up to the dilation: of one axis or two, in groups, without a batch."""
    row, plane = torch.arange(24.0).reshape(4, 2, 3) / 24, torch.arange(36.0).reshape(4, 3, 3, 1)
    grouped = {"stride": 2, "padding": 2, "output_padding": 3, "groups": 2, "dilation": 4}
    return (
        functional.conv_transpose1d(x, row, torch.ones(4), **grouped),
        functional.conv_transpose1d(x[0], row, stride=1, output_padding=1, dilation=2),
        functional.conv_transpose1d(x.half(), row.half(), output_padding=2, dilation=3),
        functional.conv_transpose2d(
            x[..., None], plane / 36, stride=(1, 2), output_padding=(2, 1), dilation=(3, 1)
        ),
    )


CONVOLUTION = [
    Case(
        "output_padded_by_a_stride",
        padded_by_a_stride,
        lambda n: (torch.randn(2, 4, n),),
        tolerance=2e-2,  # that of halves
    ),
    Case(
        "windows",
        by_windows_of_any_size,
        lambda n: (torch.randn(2, 3, n + 9),),
        tolerance=2e-2,  # that of halves
        symbolic=(True,),
    ),
    Case(
        "same",
        by_kernels_of_any_size,
        lambda n: (torch.randn(2, 3, n + 7), torch.randn(4, 3, n)),
        tolerance=2e-2,  # that of halves
        symbolic=(True,),
    ),
    Case("modulated", modulated, lambda n: (torch.randn(n, 3, 5, 6),), tolerance=1e-4),
    Case("by_channel", by_channel, lambda n: (torch.randn(2, n, 9),), tolerance=1e-3),
    Case("pairs", pairs_of_channels, lambda n: (torch.randn(2, n, 6),), tolerance=1e-4),
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


def transposed(function, weight, **options):
    """A transposed convolution of its argument by numbers of the shape `weight`."""
    numbers = torch.linspace(-1, 1, math.prod(weight)).reshape(weight)
    return lambda x: function(x, numbers.to(x.dtype), **options)


def signals(*shape, dtype=torch.float32):
    return lambda n: (torch.randn([n if size == "n" else size for size in shape]).to(dtype),)


LINE, PLANE = functional.conv_transpose1d, functional.conv_transpose2d
PHASES = [
    Case(name, transposed(function, weight, **options), signals(*shape, dtype=dtype), None, bound)
    for name, function, weight, shape, dtype, bound, options in [
        ("exact", LINE, (4, 3, 8), (2, 4, "n"), torch.float32, 1e-5, {"stride": 4, "padding": 2}),
        ("odd", LINE, (3, 2, 7), (1, 3, "n"), torch.float64, 1e-12, {"stride": 3, "padding": 5}),
        ("gaps", LINE, (2, 1, 2), (2, 2, "n"), torch.float32, 1e-5, {"stride": 5}),
        (
            "groups",
            LINE,
            (4, 2, 5),
            (1, 4, "n"),
            torch.float32,
            1e-5,
            {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
        ),
        (
            "dilation",
            LINE,
            (2, 2, 3),
            (1, 2, "n"),
            torch.float32,
            1e-5,
            {"stride": 2, "dilation": 3},
        ),
        ("half", LINE, (4, 3, 4), (1, 4, "n"), torch.float16, 2e-2, {"stride": 2}),
        (
            "plane",
            PLANE,
            (3, 2, 4, 3),
            (2, 3, "n", 5),
            torch.float32,
            1e-5,
            {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)},
        ),
        ("one_axis", PLANE, (2, 2, 3, 4), (1, 2, 5, "n"), torch.float32, 1e-5, {"stride": (1, 2)}),
    ]
]
test_phases, _ = fix_tests("transposed_phases", PHASES)


@pytest.mark.parametrize(("target", "by_zeros"), [("llvm", False), ("cuda", True)])
@pytest.mark.parametrize("stride", [1, 2])
def test_gpus_and_a_stride_of_one_keep_the_kernel_of_stock(target, by_zeros, stride):
    module = transposed_module(stride)
    with tvm.target.Target(target):
        made = relax.transform.LegalizeOps()(module).script()
    assert ("phases" in made) == (stride > 1 and not by_zeros)


def transposed_module(stride):
    x, weight = (
        relax.Var(name, _compat.tensor_type(shape, "float32"))
        for name, shape in (("x", [1, 2, 5]), ("weight", [2, 3, 4]))
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, weight]):
        made = relax.op.nn.conv1d_transpose(x, weight, strides=stride)
        builder.emit_func_output(builder.emit(made))
    return builder.get()
