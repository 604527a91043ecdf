"""Transposed convolutions against float64, written straight into the cropped output."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_pipeline.compiler.kernels.common.convolutions import ConvTranspose1d
from kokoro_pipeline.compiler.kernels.cpu.conv_transpose1d import (
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
    pack_depthwise_upsample,
)
from kokoro_pipeline.errors import InputError

CONVS = {
    "whole vectors, two taps": ConvTranspose1d(48, 32, 12, 6, 3, 3),
    "odd channels": ConvTranspose1d(19, 25, 20, 10, 5, 5),
    "inverse STFT, cropped by two groups": ConvTranspose1d(22, 1, 20, 5, 10, 10),
    "not cropped": ConvTranspose1d(22, 1, 20, 5),
    "cropped unevenly": ConvTranspose1d(5, 16, 4, 2, 2, 1),
    "one tap a row": ConvTranspose1d(7, 3, 3, 3, 0, 0),
}


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {name: conv_transpose1d(kernel_target.vectors, c) for name, c in CONVS.items()}
    functions |= {c: depthwise_upsample(kernel_target.vectors, c) for c in (64, 19, 3)}
    library = kernel_target.compile(list(functions.values()))
    return {name: library[str(f.attrs["global_symbol"])] for name, f in functions.items()}


def transposed(x, w, b, **options) -> np.ndarray:
    x, w, b = (torch.from_numpy(a).double() for a in (x, w, b))
    y = torch.nn.functional.conv_transpose1d(x.transpose(1, 2), w, b, **options)
    return y.transpose(1, 2).numpy()


@pytest.mark.parametrize("name", CONVS)
def test_equals_float64_at_every_length(name, compiled, kernel_target, call_kernel):
    conv, rng = CONVS[name], np.random.default_rng(5)
    w = rng.standard_normal((conv.in_channels, conv.out_channels, conv.taps)).astype(np.float32)
    b = rng.standard_normal(conv.out_channels).astype(np.float32)
    packed = pack_conv_transpose1d(kernel_target.vectors, w, conv.stride, b)
    for length in (1, 2, 3, 5, 6, 7, 12, 95, 96, 97, 205):
        x = rng.standard_normal((2, length, conv.in_channels)).astype(np.float32)
        full = transposed(x, w, b, stride=conv.stride)
        expected = full[:, conv.crop_left : full.shape[1] - conv.crop_right]
        if expected.shape[1] < 1:
            continue
        assert expected.shape[1] == conv.out_length(length)
        (y,) = call_kernel(compiled[name], [x, packed], expected.shape)
        np.testing.assert_allclose(y, expected, atol=3e-5, rtol=0)


@pytest.mark.parametrize("channels", (64, 19, 3))
def test_depthwise_upsampling(channels, compiled, kernel_target, call_kernel):
    rng = np.random.default_rng(6)
    w = rng.standard_normal((channels, 1, 3)).astype(np.float32)
    b = rng.standard_normal(channels).astype(np.float32)
    for length in (1, 2, 15, 16, 17, 70):
        x = rng.standard_normal((2, length, channels)).astype(np.float32)
        options = {"stride": 2, "padding": 1, "output_padding": 1, "groups": channels}
        expected = transposed(x, w, b, **options)
        packed = pack_depthwise_upsample(w, b)
        (y,) = call_kernel(compiled[channels], [x, packed], (2, 2 * length, channels))
        np.testing.assert_allclose(y, expected, atol=1e-6, rtol=0)


def test_what_the_direct_form_cannot_do_is_refused():
    with pytest.raises(InputError, match="multiple of the stride"):
        ConvTranspose1d(4, 4, 3, 2)
    with pytest.raises(InputError, match="not added"):
        ConvTranspose1d(4, 4, 4, 2, crop_left=-1)
