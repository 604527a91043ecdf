"""Run kokoro's own modules in a given precision and with given noise.

kokoro 0.9.4 hard-codes `torch.float32` and `torch.FloatTensor` and draws its noise inside the
model, so that `.double()` alone fails with "expected Float but found Double". Here, the name
`torch` inside its modules is replaced by a proxy with the given precision and noise, and the
default dtype is set accordingly.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Iterator
from typing import Any

import kokoro.istftnet
import kokoro.model
import kokoro.modules
import torch
from torch import Tensor

from ..config import N_HARMONICS
from ..errors import InputError

_MODULES = (kokoro.istftnet, kokoro.modules, kokoro.model)
_TENSOR_TYPES = {torch.float32: torch.FloatTensor, torch.float64: torch.DoubleTensor}
# The default dtype and kokoro's globals are shared by the whole process.
_LOCK = threading.RLock()


class _TorchProxy(types.ModuleType):
    """Behaves like `torch`, except for float32 and the random draws of SineGen."""

    def __init__(self, dtype: torch.dtype, noise: Tensor | None, discarded_seed: int) -> None:
        super().__init__("torch")
        self.float32 = dtype
        self.FloatTensor = _TENSOR_TYPES[dtype]
        self._noise = noise
        # Among the draws, only `randn_like(sine_waves)` affects the output. The others come from a
        # separate generator, so that the random state of the caller is not changed.
        self._discarded = torch.Generator().manual_seed(discarded_seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def rand(self, *size: int, **options: Any) -> Tensor:
        return torch.rand(*size, generator=self._discarded, **options)

    def randn_like(self, like: Tensor) -> Tensor:
        if like.shape[-1] != N_HARMONICS:
            return torch.randn(like.shape, generator=self._discarded, dtype=like.dtype)
        if self._noise is None or self._noise.shape != like.shape:
            given = None if self._noise is None else list(self._noise.shape)
            raise InputError(f"the harmonic source needs noise {list(like.shape)}, given: {given}")
        return self._noise.to(like.dtype)


@contextlib.contextmanager
def kokoro_runs_in(
    dtype: torch.dtype, noise: Tensor | None = None, *, discarded_seed: int = 0
) -> Iterator[None]:
    """Context in which kokoro computes in `dtype` (float32 or float64) with `noise` [1, 600t, 9].

    Everything is restored at the end, also after an exception. Gradients are not recorded. Threads
    take turns. Raises InputError for noise of a wrong shape, or if the source runs without noise.
    """
    with _LOCK, torch.no_grad():
        default = torch.get_default_dtype()
        originals = [module.torch for module in _MODULES]
        proxy = _TorchProxy(dtype, noise, discarded_seed)
        try:
            torch.set_default_dtype(dtype)
            for module in _MODULES:
                module.torch = proxy
            yield
        finally:
            for module, original in zip(_MODULES, originals, strict=True):
                module.torch = original
            torch.set_default_dtype(default)
