"""Complex tensors, carried as two real ones, and Fourier transforms."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.complex import complex_numbers, fft

FIXES: tuple[Fix, ...] = (
    complex_numbers.FIX,
    fft.FIX,
)
