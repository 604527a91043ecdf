"""PyTorch: the stock model in eager mode, and its six functions with `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_pipeline.benchmarking.machine import installed_versions
from kokoro_pipeline.benchmarking.timed_functions import Functions
from kokoro_pipeline.compiler.model.components import fold_weight_norm
from kokoro_pipeline.compiler.weights import load_model, open_folder
from kokoro_pipeline.validation.reference import ReferenceModel

from .backend import BackendOptions
from .portable import portable_modules
from .verification import FLOAT32, Tolerance

Array = NDArray[Any]


def set_up(threads: int) -> None:
    """Set the number of threads of the process, and flush denormals."""
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)


class EagerBackend:
    """kokoro's own modules in eager mode, with folded weight norms."""

    # Its source, with phases in float32, has errors up to a fifth of the peak and is not judged.
    tolerance = Tolerance(networks=FLOAT32.networks, source=None)

    def __init__(self, options: BackendOptions) -> None:
        set_up(options.threads)
        model = load_model(open_folder(options.weights))
        fold_weight_norm(model)
        self._model = ReferenceModel(model, torch.float32)

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """Return the same functions for all sizes."""
        return stock_functions(self._model)

    def versions(self) -> dict[str, str]:
        """Of torch and kokoro."""
        return installed_versions("torch", "kokoro")


class CompiledBackend:
    """The same modules with `torch.compile`, for fixed shapes."""

    tolerance = FLOAT32

    def __init__(self, options: BackendOptions) -> None:
        set_up(options.threads)
        self._modules = portable_modules(load_model(open_folder(options.weights)))

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """Return functions that compile at their first call, which takes minutes."""
        torch.compiler.reset()  # otherwise a ninth shape would run uncompiled
        return {
            name: _on_arrays(torch.compile(module, dynamic=False))
            for name, module in self._modules.items()
        }

    def versions(self) -> dict[str, str]:
        """Of torch and kokoro."""
        return installed_versions("torch", "kokoro")


def stock_functions(model: ReferenceModel) -> Functions:
    """The six functions of the stock model."""
    return {
        "bert_forward": lambda ids, lengths: model.bert(ids),
        "duration_forward": lambda d_en, style, lengths: model.duration(d_en, style),
        "text_encoder_forward": lambda ids, lengths: model.text_encoder(ids),
        "f0n_forward": model.f0n,
        "source_forward": lambda f0, noise: model.har(model.waveform(f0, noise)),
        "decoder_forward": model.decoder,
    }


def _on_arrays(module: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arrays: Array) -> Any:
        tensors = [_canonical(torch.from_numpy(np.ascontiguousarray(array))) for array in arrays]
        with torch.inference_mode():
            result = module(*tensors)
        if isinstance(result, torch.Tensor):
            return result.numpy()
        return tuple(value.numpy() for value in result)

    return call


def _canonical(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor with canonical strides.

    Dimensions of size 1 may have any stride, and a compiled module is recompiled for other strides.
    """
    return tensor.reshape(-1).view(tensor.shape)
