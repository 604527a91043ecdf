"""The short-time Fourier transforms as convolutions equal torch's own."""

from __future__ import annotations

import math

import pytest
import torch

from kokoro_pipeline.compiler.model.stft import HOP, N_FFT, ForwardSTFT, InverseSTFT

WINDOW = torch.hann_window(N_FFT, dtype=torch.float32)


@pytest.mark.parametrize("length", [15, 20, 600, 3000])
def test_forward_equals_torch_stft(length):
    wave = torch.randn(1, length, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        magnitude, phase = ForwardSTFT()(wave)
    expected = torch.stft(wave, N_FFT, HOP, N_FFT, WINDOW.double(), return_complex=True)
    assert magnitude.dtype == phase.dtype == torch.float64
    torch.testing.assert_close(magnitude, expected.abs(), atol=1e-13, rtol=0)
    torch.testing.assert_close(torch.polar(magnitude, phase), expected, atol=1e-13, rtol=0)


def test_the_phase_of_a_negative_real_bin_is_plus_pi():
    """atan2(0, negative): bins 0 and 10 of a real signal have an imaginary part of exactly 0."""
    wave = -torch.ones(1, 100, dtype=torch.float64)
    with torch.no_grad():
        _, phase = ForwardSTFT()(wave)
    assert (phase[:, 0] == math.pi).all()
    alternating = wave * torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(50)
    with torch.no_grad():
        _, phase = ForwardSTFT()(alternating)
    assert set(phase[0, -1, 2:-2].abs().tolist()) <= {0.0, math.pi}
    assert (phase[0, -1] >= 0).all()


@pytest.mark.parametrize("columns", [5, 121, 721])
def test_inverse_equals_torch_istft(columns):
    generator = torch.Generator().manual_seed(2)
    magnitude = torch.rand(1, 11, columns, generator=generator)
    # Phases as the decoder gives them: sines, not angles; and imaginary parts in bins 0 and 10.
    phase = torch.sin(torch.randn(1, 11, columns, generator=generator))
    with torch.no_grad():
        wave = InverseSTFT()(magnitude, phase)
    spectrum = magnitude * torch.exp(phase * 1j)
    expected = torch.istft(spectrum, N_FFT, HOP, N_FFT, WINDOW)
    assert wave.dtype == torch.float32
    assert wave.shape == (1, 5 * (columns - 1)) == expected.shape
    torch.testing.assert_close(wave, expected, atol=1e-6, rtol=0)


def test_inverse_undoes_forward():
    wave = torch.randn(1, 1200, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        magnitude, phase = ForwardSTFT()(wave)
        again = InverseSTFT()(magnitude.float(), phase.float())
    torch.testing.assert_close(again.double(), wave, atol=1e-5, rtol=0)
