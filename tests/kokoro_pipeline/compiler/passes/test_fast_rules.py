"""`--opt 2`: which convolutions become fast ones with norm, activation and residual fused.

Results always equal torch's, and programs that only resemble the pattern stay unfused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim
from torch.nn import functional

C = 32
L = Dim("L", min=1, max=4096)
COLUMN = (1, C, 1)
#: A CPU with vectors of 16 floats, for which kernels are chosen whatever runs the tests.
WIDE = "icelake-server"


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


PARAMETERS = {
    "w3": 0.1 * seeded(C, C, 3),
    "w5": 0.1 * seeded(C, C, 5),
    "w7": 0.1 * seeded(C, C, 7),
    "w11": 0.1 * seeded(C, C, 11),
    "narrow": 0.1 * seeded(C // 2 + 3, C, 3),
    "b": seeded(C),
    "alpha": 1 + 0.1 * seeded(*COLUMN),
    "other_alpha": 1 + 0.1 * seeded(1, C, 1).flip(1),
    "norm_weight": 1 + 0.1 * seeded(C),
    "norm_bias": 0.1 * seeded(C),
}


def norm(m: Any, x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.float64:
        # The truth, of one sample too, which torch's own refuses.
        centred = x - x.mean(dim=2, keepdim=True)
        deviation = torch.sqrt((centred * centred).mean(dim=2, keepdim=True) + 1e-5)
        return centred / deviation * m.norm_weight[:, None] + m.norm_bias[:, None]
    return functional.instance_norm(x, weight=m.norm_weight, bias=m.norm_bias)


def adain(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    gamma, beta = style.chunk(2, dim=1)
    return (1 + gamma)[:, :, None] * norm(m, x) + beta[:, :, None]


def snake(m: Any, y: torch.Tensor) -> torch.Tensor:
    wave = torch.sin(m.alpha * y)
    return y + (1 / m.alpha) * (wave * wave)


def same(w: torch.Tensor, x: torch.Tensor, b: torch.Tensor | None = None, d: int = 1) -> Any:
    return functional.conv1d(x, w, b, padding=d * (w.shape[2] // 2), dilation=d)


@dataclass(frozen=True)
class Case:
    """A function of x [B, C, L] and style [B, 2C].

    `kernel` is what the name of a called kernel must hold; `fused` says whether one reads the norm.
    """

    function: Callable[..., torch.Tensor]
    kernel: str
    fused: bool


def _swapped(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    beta, gamma = style.chunk(2, dim=1)
    return (1 + gamma)[:, :, None] * norm(m, x) + beta[:, :, None]


def _other_one(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    gamma, beta = style.chunk(2, dim=1)
    return (2 + gamma)[:, :, None] * norm(m, x) + beta[:, :, None]


def _three_parts(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    beta, gamma, _, _ = torch.cat([style, style], dim=1).chunk(4, dim=1)
    return (1 + gamma)[:, :, None] * norm(m, x) + beta[:, :, None]


def _two_alphas(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    y = adain(m, x, style)
    wave = torch.sin(m.alpha * y)
    return y + (1 / m.other_alpha) * (wave * wave)


def _twice_the_inverse(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    y = adain(m, x, style)
    wave = torch.sin(m.alpha * y)
    return y + (2 / m.alpha) * (wave * wave)


def _steep(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    return same(m.w3, functional.leaky_relu(adain(m, x, style), 1.5), m.b)


def _one_alpha(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    y, alpha = adain(m, x, style), m.alpha[:, :1]
    wave = torch.sin(alpha * y)
    return same(m.w3, y + (1 / alpha) * (wave * wave), m.b)


def activated(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    return snake(m, adain(m, x, style))


FUSED = {
    "snake, 3 taps": ("winograd", lambda m, x, s: same(m.w3, activated(m, x, s), m.b)),
    "snake, 7 taps, dilated": ("fft", lambda m, x, s: same(m.w7, activated(m, x, s), m.b, 3)),
    "snake, 11 taps, dilated": ("fft", lambda m, x, s: same(m.w11, activated(m, x, s), m.b, 5)),
    "leaky relu": (
        "_leaky",
        lambda m, x, s: same(m.w3, functional.leaky_relu(adain(m, x, s), 0.2), m.b),
    ),
    "residual": ("_residual", lambda m, x, s: same(m.w3, activated(m, x, s), m.b) + x),
    "residual on the left, no bias": (
        "_residual",
        lambda m, x, s: x + same(m.w7, activated(m, x, s)),
    ),
    "two convolutions of one norm": (
        "fft",
        lambda m, x, s: same(m.w3, (y := activated(m, x, s)), m.b) * same(m.w11, y, m.b),
    ),
    "the activation is needed itself too": (
        "winograd",
        lambda m, x, s: same(m.w3, (y := activated(m, x, s)), m.b) + y,
    ),
    # No transform fits these: the direct kernel reads through the norm.
    "5 taps": ("conv1d_", lambda m, x, s: same(m.w5, activated(m, x, s), m.b)),
    "other channels": ("conv1d_", lambda m, x, s: same(m.narrow, activated(m, x, s))),
    "no same padding": (
        "conv1d_",
        lambda m, x, s: functional.conv1d(activated(m, x, s), m.w3, m.b, padding=2),
    ),
}
"""Name: what the kernel's name must hold, and the function."""

NOT_FUSED = {
    "no norm": ("winograd", lambda m, x, s: same(m.w3, x, m.b, 3)),
    "an activation without a norm": (
        "winograd",
        lambda m, x, s: same(m.w3, functional.leaky_relu(x, 0.1), m.b),
    ),
    "halves exchanged": ("", lambda m, x, s: same(m.w3, snake(m, _swapped(m, x, s)), m.b)),
    "a scale around two": ("", lambda m, x, s: same(m.w3, snake(m, _other_one(m, x, s)), m.b)),
    "quarters": ("", lambda m, x, s: same(m.w3, snake(m, _three_parts(m, x, s)), m.b)),
    "two alphas": ("", lambda m, x, s: same(m.w3, _two_alphas(m, x, s), m.b)),
    "twice the inverse": ("", lambda m, x, s: same(m.w3, _twice_the_inverse(m, x, s), m.b)),
    "one alpha for all channels": ("", _one_alpha),
    "a slope over one": ("", _steep),
}
"""As FUSED; these only look like the pattern."""

CASES = {
    **{name: Case(function, kernel, True) for name, (kernel, function) in FUSED.items()},
    **{name: Case(function, kernel, False) for name, (kernel, function) in NOT_FUSED.items()},
}

#: One of each kernel, and one that only looks like the pattern; the others are slow.
BRIEF = {"snake, 3 taps", "snake, 7 taps, dilated", "leaky relu", "5 taps", "two alphas"}


@pytest.mark.parametrize(
    "name",
    [name if name in BRIEF else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_equals_float64(name, as_module, compile_program):
    case, rng = CASES[name], np.random.default_rng(4)
    module = as_module(case.function, **PARAMETERS)
    example = torch.zeros(2, C, 24), torch.zeros(2, 2 * C)
    batch = Dim("B", min=1, max=64)
    program = compile_program(module, example, ({0: batch, 2: L}, {0: batch}), opt=2)
    called = program.operators("lower_to_kernels")
    assert any(case.kernel in operator for operator in called), called
    assert any("_adain" in operator for operator in called) == case.fused, called
    module = module.double()
    for rows, length in ((1, 1), (1, 2), (2, 31), (1, 200)):
        x = rng.standard_normal((rows, C, length), dtype=np.float32)
        style = 0.3 * rng.standard_normal((rows, 2 * C), dtype=np.float32)
        with torch.no_grad():
            exact = module(torch.from_numpy(x).double(), torch.from_numpy(style).double()).numpy()
        limit = 2e-5 * max(1, np.abs(exact).max())
        np.testing.assert_allclose(program(x, style), exact, atol=limit)


def test_channels_that_are_no_whole_vectors_take_the_direct_kernel(as_module, compile_program):
    module = as_module(
        lambda m, x: same(m.w, functional.leaky_relu(x, 0.1)), w=0.1 * seeded(22, 22, 3)
    )
    x = torch.randn(1, 22, 9, generator=torch.Generator().manual_seed(1))
    called = compile_program(module, [x], mcpu=WIDE, opt=2).operators("lower_to_kernels")
    assert any(operator.startswith("conv1d_") for operator in called), called
    program = compile_program(module, [x], opt=2)
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("channels", "kernel"), [(90, "winograd"), (36, "conv1d_")], ids=["few", "many"]
)
def test_input_channels_are_padded_where_few_are_missing(
    channels, kernel, as_module, compile_program
):
    module = as_module(
        lambda m, x: same(m.w, functional.leaky_relu(x, 0.1)), w=0.1 * seeded(64, channels, 3)
    )
    x = seeded(1, channels, 300)
    program = compile_program(module, [x], opt=2)
    called = program.operators("lower_to_kernels")
    assert any(operator.startswith(kernel) for operator in called), called
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)


def test_a_few_rows_do_not_pay_for_a_transform(as_module, compile_program):
    """The matrices of a transform are more to read than the taps."""
    module = as_module(lambda m, x: same(m.w, x), w=0.1 * seeded(64, 90, 3))
    x = seeded(1, 90, 9)
    called = compile_program(module, [x], mcpu=WIDE, opt=2).operators("lower_to_kernels")
    assert any(operator.startswith("conv1d_") for operator in called), called
    program = compile_program(module, [x], opt=2)
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)


def _polar(m: Any, x: torch.Tensor) -> torch.Tensor:
    size, phase = torch.exp(x[:, :11]), torch.sin(x[:, 11:])
    return torch.cat([size * torch.cos(phase), size * torch.sin(phase)], dim=1)


def _other_halves(m: Any, x: torch.Tensor) -> torch.Tensor:
    size, phase = torch.exp(x[:, 11:]), torch.sin(x[:, :11])
    return torch.cat([size * torch.cos(phase), size * torch.sin(phase)], dim=1)


def _plain_phase(m: Any, x: torch.Tensor) -> torch.Tensor:
    size, phase = torch.exp(x[:, :11]), x[:, 11:]
    return torch.cat([size * torch.cos(phase), size * torch.sin(phase)], dim=1)


def _two_sizes(m: Any, x: torch.Tensor) -> torch.Tensor:
    size, phase = torch.exp(x[:, :11]), torch.sin(x[:, 11:])
    return torch.cat([size * torch.cos(phase), torch.exp(-x[:, :11]) * torch.sin(phase)], dim=1)


@pytest.mark.parametrize(
    ("function", "found"),
    [(_polar, True), (_other_halves, False), (_plain_phase, False), (_two_sizes, False)],
    ids=["polar", "other halves", "plain phase", "two sizes"],
)
def test_a_polar_spectrum_is_one_kernel(function, found, as_module, compile_program):
    x = torch.zeros(2, 22, 24)
    batch = Dim("B", min=1, max=64)
    program = compile_program(as_module(function), [x], ({0: batch, 2: L},), opt=2)
    called = program.operators("lower_to_kernels")
    assert any(operator.startswith("polar") for operator in called) == found, called
    for rows, length in ((1, 1), (2, 65), (1, 200)):
        x = seeded(rows, 22, length)
        expected = function(None, x.double()).numpy()
        np.testing.assert_allclose(program(x.numpy()), expected, atol=1e-6 * expected.max())


@pytest.mark.slow
def test_a_norm_takes_its_statistics_from_the_convolution_before_it(as_module, compile_program):
    """Of the sum where there is a residual; no pass of their own is left but the first norm's."""

    def function(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        y = same(m.w3, activated(m, x, style), m.b)
        x = same(m.w7, activated(m, y, style), m.b, 3) + x
        return same(m.w3, activated(m, x, style)) + x

    module = as_module(function, **PARAMETERS)
    batch = Dim("B", min=1, max=64)
    example = torch.zeros(2, C, 24), torch.zeros(2, 2 * C)
    program = compile_program(module, example, ({0: batch, 2: L}, {0: batch}), opt=2)
    called = program.operators("lower_to_kernels")
    assert sum(operator.startswith("channel_statistics") for operator in called) == 1, called
    assert sum("_e1em05" in operator for operator in called) == 3, called
    module = module.double()
    rng = np.random.default_rng(5)
    for rows, length in ((1, 5), (2, 31), (1, 700)):
        x = (3 + rng.standard_normal((rows, C, length))).astype(np.float32)
        style = 0.3 * rng.standard_normal((rows, 2 * C), dtype=np.float32)
        with torch.no_grad():
            exact = module(torch.from_numpy(x).double(), torch.from_numpy(style).double()).numpy()
        limit = 3e-5 * max(1, np.abs(exact).max())
        np.testing.assert_allclose(program(x, style), exact, atol=limit)


def test_a_residual_of_the_same_shape_said_otherwise_is_taken_along(as_module, compile_program):
    """A column before L columns gives 1 + L, as torch counts them."""

    def function(m: Any, x: torch.Tensor) -> torch.Tensor:
        longer = torch.cat([x[:, :, 1, None], x], dim=2)
        return same(m.w3, longer, m.b) + longer

    module = as_module(function, **PARAMETERS)
    x = seeded(1, C, 9)
    program = compile_program(module, [x], ({2: Dim("L", min=2, max=4096)},), opt=2)
    called = program.operators("lower_to_kernels")
    assert any("_residual" in operator for operator in called), called
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [22, 1])
def test_norm_and_snake_over_channels_that_are_no_whole_vectors(
    channels, as_module, compile_program
):
    def function(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        return same(m.w, activated(m, x, style), m.b) + x

    module = as_module(
        function,
        w=0.1 * seeded(channels, channels, 3),
        b=seeded(channels),
        alpha=1 + 0.1 * seeded(1, channels, 1),
        norm_weight=1 + 0.1 * seeded(channels),
        norm_bias=0.1 * seeded(channels),
    )
    x, style = seeded(1, channels, 9), 0.3 * seeded(1, 2 * channels)
    program = compile_program(module, [x, style], opt=2)
    expected = module(x, style).numpy()
    np.testing.assert_allclose(program(x.numpy(), style.numpy()), expected, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 4)])
def test_padding_is_zero_behind_the_activation(stride, padding, as_module, compile_program):
    """The padding is zero after the activation, not an activated zero."""

    def function(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        y = activated(m, x, style)
        return functional.conv1d(y, m.w5, m.b, stride=stride, padding=padding)

    module = as_module(function, **PARAMETERS)
    x, style = seeded(2, C, 19), 0.3 * seeded(2, 2 * C)
    program = compile_program(module, [x, style], opt=2)
    expected = module(x, style).numpy()
    np.testing.assert_allclose(program(x.numpy(), style.numpy()), expected, atol=2e-5)


def test_a_weight_that_is_an_input_stays_generic(as_module, compile_program):
    module = as_module(lambda m, x, w: same(w, x))
    x, w = seeded(1, C, 9), 0.1 * seeded(C, C, 3)
    program = compile_program(module, [x, w], opt=2)
    assert "relax.nn.conv1d" in program.operators("lower_to_kernels")
    np.testing.assert_allclose(program(x.numpy(), w.numpy()), module(x, w).numpy(), atol=1e-5)


def test_a_style_split_by_size(as_module, compile_program):
    """`split` instead of `chunk`."""

    def function(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        gamma, beta = torch.split(style, C, dim=1)
        y = (1 + gamma)[:, :, None] * norm(m, x) + beta[:, :, None]
        return same(m.w3, snake(m, y), m.b)

    module = as_module(function, **PARAMETERS)
    x, style = seeded(1, C, 9), 0.3 * seeded(1, 2 * C)
    program = compile_program(module, [x, style], opt=2)
    np.testing.assert_allclose(
        program(x.numpy(), style.numpy()), module(x, style).numpy(), atol=2e-5
    )


@pytest.mark.parametrize("along", ["scale", "shift"])
def test_a_style_along_time_is_no_adain(along, as_module, compile_program):
    """As many samples as channels: the shapes alone would fit."""

    def function(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        gamma, beta = style.chunk(2, dim=1)
        scale = (1 + gamma)[:, None] if along == "scale" else (1 + gamma)[:, :, None]
        shift = beta[:, None] if along == "shift" else beta[:, :, None]
        return same(m.w3, snake(m, scale * norm(m, x) + shift), m.b)

    module = as_module(function, **PARAMETERS)
    x, style = seeded(1, C, C), 0.3 * seeded(1, 2 * C)
    program = compile_program(module, [x, style], opt=2)
    np.testing.assert_allclose(
        program(x.numpy(), style.numpy()), module(x, style).numpy(), atol=2e-5
    )


def test_a_residual_that_comes_later_is_not_taken_along(as_module, compile_program):
    """The sum's other term must be there when the convolution runs."""

    def function(m: Any, x: torch.Tensor) -> torch.Tensor:
        y = same(m.w3, x, m.b)
        later = torch.sin(functional.conv1d(x, m.w5, padding=2))
        return y + later

    module = as_module(function, **PARAMETERS)
    x = seeded(1, C, 9)
    program = compile_program(module, [x], opt=2)
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)


def test_a_residual_that_broadcasts_is_not_taken_along(as_module, compile_program):
    module = as_module(lambda m, x: same(m.w3, x, m.b) + x[:, :, :1], **PARAMETERS)
    x = seeded(1, C, 9)
    program = compile_program(module, [x], opt=2)
    assert not any("_residual" in operator for operator in program.operators("lower_to_kernels"))
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)
