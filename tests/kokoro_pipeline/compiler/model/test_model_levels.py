"""kokoro's generator with few channels at --opt 0 and 2: the passes do not change results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.export import Dim

from kokoro_pipeline.compiler.model.components import fold_weight_norm
from kokoro_pipeline.compiler.model.decoder import DecoderForward
from kokoro_pipeline.compiler.model.stft import InverseSTFT

pytestmark = pytest.mark.slow

CHANNELS = 64  # 32 after the upsampling


class GeneratorForward(DecoderForward):
    """x [1, 64, L], style [1, 128], har [1, 22, 10 L + 1] -> audio [1, 50 L]."""

    def __init__(self, generator: Any) -> None:
        torch.nn.Module.__init__(self)
        self.ups = generator.ups
        self.noise_convs = generator.noise_convs
        self.noise_res = generator.noise_res
        self.resblocks = generator.resblocks
        self.conv_post = generator.conv_post
        self.n_kernels = int(generator.num_kernels)
        self.istft = InverseSTFT()

    def forward(self, x: Tensor, style: Tensor, har: Tensor) -> Tensor:
        return self._generate(x, style, har)


@pytest.fixture(scope="module")
def generator() -> GeneratorForward:
    istftnet = pytest.importorskip("kokoro.istftnet")
    torch.manual_seed(0)
    stock = istftnet.Generator(
        style_dim=128,
        resblock_kernel_sizes=[3, 7],
        upsample_rates=[10],
        upsample_initial_channel=CHANNELS,
        resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]],
        upsample_kernel_sizes=[20],
        gen_istft_n_fft=20,
        gen_istft_hop_size=5,
    )
    fold_weight_norm(stock)
    with torch.no_grad():
        for name, parameter in stock.named_parameters():
            if "alpha" in name:
                parameter.uniform_(0.3, 3.0)
    return GeneratorForward(stock).eval().requires_grad_(False)


def inputs(length: int) -> list[np.ndarray]:
    rng = np.random.default_rng(length)
    shapes = ((1, CHANNELS, length), (1, 128), (1, 22, 10 * length + 1))
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


@pytest.fixture(scope="module")
def programs(generator, compile_program):
    length = Dim("L", min=2, max=4096)
    example = [torch.from_numpy(array) for array in inputs(4)]
    dynamic = ({2: length}, {}, {2: 10 * length + 1})
    return {opt: compile_program(generator, example, dynamic, opt=opt) for opt in (0, 2)}


def test_level_2_has_the_fast_kernels_and_level_0_none(programs):
    fast = " ".join(programs[2].operators("lower_to_kernels"))
    for kernel in ("winograd", "fft", "conv_transpose1d", "_adain", "_residual", "statistics"):
        assert kernel in fast, kernel
    plain = " ".join(programs[0].operators("legalize"))
    for kernel in ("winograd", "fft", "_adain"):
        assert kernel not in plain, kernel


@pytest.mark.parametrize("length", (2, 3, 11))
def test_levels_agree_with_each_other_and_with_float64(length, programs, generator):
    arrays = inputs(length)
    with torch.no_grad():
        exact = generator.double()(*(torch.from_numpy(a).double() for a in arrays)).numpy()
    generator.float()
    peak = np.abs(exact).max()
    assert peak > 0.1
    plain, fast = programs[0](*arrays), programs[2](*arrays)
    for result in (plain, fast):
        assert result.shape == (1, 50 * length)
        np.testing.assert_allclose(result, exact, atol=1e-5 * peak, rtol=0)
    np.testing.assert_allclose(fast, plain, atol=1e-5 * peak, rtol=0)
