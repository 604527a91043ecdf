"""Every operator with a kernel uses it, at every length; other operators stay generic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

LENGTHS = (1, 2, 7, 13, 40)
L = Dim("L", min=1, max=4096)
B = Dim("B", min=1, max=64)


def weights(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=dtype) / np.sqrt(np.prod(shape[1:]))


@dataclass(frozen=True)
class Case:
    """A module on one input [B, channels, L] (or [B, L, channels] with `last`)."""

    make: Callable[[Any], nn.Module]
    channels: int
    kernel: str
    """Prefix of the kernel's name, or the generic operator that stays."""
    last: bool = False
    dtype: torch.dtype = torch.float32
    shortest: int = 1

    def array(self, rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
        shape = (batch, length, self.channels) if self.last else (batch, self.channels, length)
        return rng.standard_normal(shape).astype(str(self.dtype).removeprefix("torch."))

    @property
    def dynamic(self) -> tuple[dict[int, Any]]:
        smallest = L if self.shortest == 1 else Dim("L", min=self.shortest, max=4096)
        return ({0: B, 1 if self.last else 2: smallest},)


def seeded(module: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return module


def plain(factory: Callable[..., nn.Module], *args: Any, **options: Any) -> Callable:
    return lambda _as_module: seeded(factory(*args, **options))


CONV = "relax.nn.conv1d"
TRANSPOSE = "relax.nn.conv1d_transpose"

CASES = {
    "conv": Case(plain(nn.Conv1d, 6, 20, 3, padding=1), 6, "conv1d_"),
    "conv without bias": Case(plain(nn.Conv1d, 6, 20, 3, padding=1, bias=False), 6, "conv1d_"),
    "conv, dilated": Case(plain(nn.Conv1d, 16, 16, 7, padding=9, dilation=3), 16, "conv1d_"),
    "conv, strided": Case(
        plain(nn.Conv1d, 22, 5, 12, stride=6, padding=5), 22, "conv1d_", shortest=8
    ),
    "conv of one tap": Case(plain(nn.Conv1d, 1, 33, 1), 1, "conv1d_"),
    "conv, grouped": Case(plain(nn.Conv1d, 6, 9, 3, padding=1, groups=3), 6, CONV),
    "conv, float64": Case(
        lambda f: f(
            lambda m, x: functional.conv1d(x, m.w, m.b, padding=1),
            w=weights(4, 3, 3, dtype=torch.float64),
            b=weights(4, dtype=torch.float64),
        ),
        3,
        CONV,
        dtype=torch.float64,
    ),
    "conv whose weight is computed": Case(
        lambda f: f(lambda m, x: functional.conv1d(x, m.w * 2, padding=1), w=weights(4, 3, 3)),
        3,
        CONV,
    ),
    "conv whose weight is a matrix reshaped": Case(
        lambda f: f(lambda m, x: functional.conv1d(x, m.w[:, :, None]), w=weights(8, 6)),
        6,
        CONV,
    ),
    "conv whose product is used twice": Case(
        lambda f: f(
            lambda m, x: (y := functional.conv1d(x, m.w, padding=1)) * torch.sigmoid(y + m.b),
            w=weights(16, 6, 3),
            b=weights(16, 1),
        ),
        6,
        "conv1d_",
    ),
    "conv with a product added to itself": Case(
        lambda f: f(
            lambda m, x: (y := functional.conv1d(x, m.w, padding=1)) + y, w=weights(16, 6, 3)
        ),
        6,
        "conv1d_",
    ),
    "two convs added, each with a bias": Case(
        lambda f: f(
            lambda m, x: functional.conv1d(x, m.w, m.b, padding=1) + functional.conv1d(x, m.v, m.b),
            w=weights(16, 6, 3),
            v=weights(16, 6, 1),
            b=weights(16),
        ),
        6,
        "conv1d_",
    ),
    "transposed conv": Case(
        plain(nn.ConvTranspose1d, 6, 10, 6, stride=3, padding=1), 6, "conv_transpose1d_"
    ),
    "transposed conv without bias": Case(
        plain(nn.ConvTranspose1d, 22, 1, 20, stride=5, padding=10, bias=False),
        22,
        "conv_transpose1d_",
        shortest=2,
    ),
    "transposed conv, output padding": Case(
        plain(nn.ConvTranspose1d, 6, 10, 8, stride=4, padding=2, output_padding=1),
        6,
        "conv_transpose1d_",
    ),
    "transposed conv, taps no multiple of the stride": Case(
        plain(nn.ConvTranspose1d, 6, 10, 5, stride=3, padding=1), 6, TRANSPOSE
    ),
    "transposed conv, grouped": Case(
        plain(nn.ConvTranspose1d, 6, 10, 4, stride=2, padding=1, groups=2), 6, TRANSPOSE
    ),
    "depthwise upsampling": Case(
        plain(nn.ConvTranspose1d, 20, 20, 3, stride=2, padding=1, output_padding=1, groups=20),
        20,
        "depthwise_upsample_",
    ),
    "depthwise upsampling without bias": Case(
        plain(
            *(nn.ConvTranspose1d, 20, 20, 3),
            **{"stride": 2, "padding": 1, "output_padding": 1, "groups": 20, "bias": False},
        ),
        20,
        "depthwise_upsample_",
    ),
    "layer norm": Case(plain(nn.LayerNorm, 20), 20, "layer_norm_", last=True),
    "layer norm without affine": Case(
        lambda f: f(lambda m, x: functional.layer_norm(x, (20,))), 20, "layer_norm_", last=True
    ),
    "layer norm of a sum": Case(
        lambda f: f(lambda m, x: functional.layer_norm(x + torch.tanh(x), (20,))),
        20,
        "layer_norm_n20_e1em05_t2_v",
        last=True,
    ),
    "layer norm of a tensor added to itself": Case(
        lambda f: f(lambda m, x: functional.layer_norm(x + x, (20,))),
        20,
        "layer_norm_n20_e1em05_t2_v",
        last=True,
    ),
    "layer norm of a sum that is read again": Case(
        lambda f: f(lambda m, x: functional.layer_norm(y := x + torch.tanh(x), (20,)) + y),
        20,
        "layer_norm_n20_e1em05_t2_v",
        last=True,
    ),
    "layer norm of a sum of two shapes": Case(
        lambda f: f(lambda m, x: functional.layer_norm(x + x[:, :1], (20,))),
        20,
        "layer_norm_n20_e1em05_t1_v",
        last=True,
    ),
    "layer norm of a number added": Case(
        lambda f: f(lambda m, x: functional.layer_norm(x + 1.5, (20,))),
        20,
        "layer_norm_n20_e1em05_t1_v",
        last=True,
    ),
    "layer norm of a sum with a norm, and what its rounding took": Case(
        lambda f: f(
            lambda m, x: functional.layer_norm(
                torch.tanh(x) + (y := functional.layer_norm(x, (20,))), (20,)
            )
            * y
        ),
        20,
        "layer_norm_n20_e1em05_t3_v",
        last=True,
    ),
    "layer norm that is added to something, but not for a norm": Case(
        lambda f: f(lambda m, x: x + functional.layer_norm(x, (20,))),
        20,
        "layer_norm_n20_e1em05_t1_v",
        last=True,
    ),
    "layer norm over two axes": Case(
        lambda f: f(
            lambda m, x: functional.layer_norm(x[:, :, None].expand(-1, -1, 3, -1), (3, 20))
        ),
        20,
        "relax.nn.layer_norm",
        last=True,
    ),
    "linear": Case(plain(nn.Linear, 6, 33), 6, "linear_", last=True),
    "linear without bias": Case(plain(nn.Linear, 6, 33, bias=False), 6, "linear_", last=True),
    "linear on four axes": Case(
        lambda f: f(
            lambda m, x: functional.linear(torch.stack([x, -x], dim=1), m.w, m.b),
            w=weights(5, 6),
            b=weights(5),
        ),
        6,
        "linear_",
        last=True,
    ),
    "linear on columns": Case(
        lambda f: f(
            lambda m, x: functional.linear(x.transpose(1, 2), m.w, m.b).transpose(1, 2),
            w=weights(5, 6),
            b=weights(5),
        ),
        6,
        "linear_",
    ),
    "linear whose product is used twice": Case(
        lambda f: f(
            lambda m, x: (y := functional.linear(x, m.w)) * (y + m.b), w=weights(5, 6), b=weights(5)
        ),
        6,
        "linear_",
        last=True,
    ),
    "linear whose weight is reshaped": Case(
        lambda f: f(lambda m, x: functional.linear(x, m.w.reshape(4, 6)), w=weights(6, 4)),
        6,
        "relax.matmul",
        last=True,
    ),
    "product of two inputs": Case(
        lambda f: f(lambda m, x: x @ x.transpose(1, 2)), 6, "relax.matmul", last=True
    ),
    "linear, float64": Case(
        lambda f: f(lambda m, x: functional.linear(x, m.w), w=weights(5, 6, dtype=torch.float64)),
        6,
        "relax.matmul",
        last=True,
        dtype=torch.float64,
    ),
}


SLOW = {"conv whose product is used twice"}  # LLVM takes half a minute


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]
)
def test_equals_torch_through_the_kernel(name, as_module, compile_program):
    case, rng = CASES[name], np.random.default_rng(3)
    module = case.make(as_module)
    example = torch.from_numpy(case.array(rng, 2, 12))
    program = compile_program(module, [example], case.dynamic)
    called = program.operators("lower_to_kernels")
    assert any(operator.startswith(case.kernel) for operator in called), called
    for batch, length in [(1, n) for n in LENGTHS] + [(3, 9)]:
        if length < case.shortest:
            continue
        x = case.array(rng, batch, length)
        with torch.no_grad():
            expected = module(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(program(x), expected, atol=2e-6 * max(1, np.abs(expected).max()))


def test_every_instruction_set_has_its_own_packing(mcpu, as_module, compile_program):
    """One of each packed kernel in a row; the kernels' own tests go through the shapes."""
    module = as_module(
        lambda m, x: functional.linear(
            functional.conv_transpose1d(
                functional.conv1d(x, m.w, m.b, padding=1), m.v, m.b, stride=2
            ).transpose(1, 2),
            m.u,
        ),
        w=weights(20, 6, 3),
        b=weights(20),
        v=weights(20, 20, 4),
        u=weights(33, 20),
    )
    x = torch.randn(2, 6, 13, generator=torch.Generator().manual_seed(2))
    program = compile_program(module, [x], mcpu=mcpu)
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=1e-5)


def test_a_bias_goes_into_the_packed_weights(as_module, compile_program):
    """There is no addition left, and the bias is not a separate argument."""
    x = torch.zeros(1, 6, 9)
    program = compile_program(CASES["conv"].make(as_module), [x])
    assert "relax.add" not in program.operators("lower_to_kernels")
    (packed,) = program.parameter_names
    assert packed.startswith("program/weight+program/bias@conv1d.")


def test_a_weight_that_is_an_input_stays_generic(as_module, compile_program):
    rng = np.random.default_rng(4)
    x, w = (
        torch.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in ((2, 6, 9), (5, 6, 3))
    )
    module = as_module(lambda m, x, w: functional.conv1d(x, w, padding=1))
    program = compile_program(module, [x, w])
    assert CONV in program.operators("lower_to_kernels")
    np.testing.assert_allclose(program(x.numpy(), w.numpy()), module(x, w).numpy(), atol=1e-5)


NOT_PER_CHANNEL = {
    # Adds a number per position; there are as many positions as channels.
    "conv, along time": (
        lambda m, x: functional.conv1d(x, m.w, padding=1) + m.b,
        {"w": weights(8, 6, 3), "b": weights(8)},
        (2, 6, 8),
    ),
    "conv, one number for all": (
        lambda m, x: functional.conv1d(x, m.w, padding=1) + m.b,
        {"w": weights(8, 6, 3), "b": weights(1)},
        (2, 6, 8),
    ),
    "conv, whole rows": (
        lambda m, x: functional.conv1d(x, m.w, padding=1) + m.b,
        {"w": weights(8, 6, 3), "b": weights(8, 8)},
        (2, 6, 8),
    ),
    "conv, one batch row each": (
        lambda m, x: functional.conv1d(x, m.w, padding=1) + m.b[:, None, None],
        {"w": weights(2, 6, 3), "b": weights(2)},
        (2, 6, 8),
    ),
    "conv, a column that is not flat": (
        lambda m, x: functional.conv1d(x, m.w, padding=1) + m.b,
        {"w": weights(8, 6, 3), "b": weights(1, 8, 1)},
        (2, 6, 8),
    ),
    "linear, along the rows": (
        lambda m, x: functional.linear(x, m.w) + m.b[:, None],
        {"w": weights(5, 6), "b": weights(5)},
        (2, 5, 6),
    ),
    "linear, more axes than the product": (
        lambda m, x: functional.linear(x, m.w) + m.b,
        {"w": weights(5, 6), "b": weights(3, 1, 1, 5)},
        (2, 5, 6),
    ),
}


@pytest.mark.parametrize("name", NOT_PER_CHANNEL)
def test_a_parameter_added_to_a_product_need_not_be_its_bias(name, as_module, compile_program):
    function, parameters, shape = NOT_PER_CHANNEL[name]
    module = as_module(function, **parameters)
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(2))
    program = compile_program(module, [x])
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=1e-5)


def test_a_vector_times_a_matrix(as_module, compile_program):
    """A product without rows."""
    module = as_module(
        lambda m, x: functional.linear(x[0, 0], m.w, m.b), w=weights(5, 6), b=weights(5)
    )
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(2))
    program = compile_program(module, [x])
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=1e-5)


@pytest.mark.parametrize("affine", [False, True])
def test_instance_norm_keeps_its_accuracy_far_from_zero(affine, mcpu, as_module, compile_program):
    """Mean 1000, deviation 1: a one-pass variance would be noise. One sample is its own mean."""
    module = seeded(nn.InstanceNorm1d(20, affine=affine))
    rng = np.random.default_rng(5)
    program = compile_program(module, [torch.zeros(2, 20, 12)], ({0: B, 2: L},), mcpu=mcpu)
    called = program.operators("lower_to_kernels")
    assert any(operator.startswith("channel_statistics_") for operator in called), called
    weight = module.weight.double().numpy() if affine else np.ones(20)
    bias = module.bias.double().numpy() if affine else np.zeros(20)
    for batch, length in ((1, 1), (3, 9), (2, 1000)):
        x = (1000 + rng.standard_normal((batch, 20, length))).astype(np.float32)
        exact = x.astype(np.float64)
        centred = exact - exact.mean(axis=2, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=2, keepdims=True) + module.eps)
        expected = centred / deviation * weight[:, None] + bias[:, None]
        np.testing.assert_allclose(program(x), expected, atol=3e-4)


def test_a_lookup_by_conv_then_norm_shares_no_bias(as_module, compile_program):
    """Two uses of one weight, with and without the bias, are two packed forms."""
    module = as_module(
        lambda m, x: (functional.conv1d(x, m.w, m.b), functional.conv1d(x, m.w)),
        w=weights(8, 6, 1),
        b=weights(8),
    )
    x = torch.randn(1, 6, 9, generator=torch.Generator().manual_seed(2))
    program = compile_program(module, [x])
    assert len(program.parameter_names) == 2
    for actual, expected in zip(program(x.numpy()), module(x), strict=True):
        np.testing.assert_allclose(actual, expected.numpy(), atol=1e-5)
