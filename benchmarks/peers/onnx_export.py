"""Export of the six functions as ONNX with symbolic lengths."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from kokoro_pipeline.compiler.model.components import SIGNATURES, Signature, evaluate_dimension

OPSET = 17
_SIZES = {"B": 1, "n": 12, "t": 14, "m": 28}


def export_onnx(modules: dict[str, nn.Module], directory: Path) -> None:
    """Write DIRECTORY/NAME.onnx for each of `portable_modules`, including parameters.

    Inputs and outputs have the names in the signatures of the functions. The name of a symbolic
    dimension is its expression, such as "120*t+1". B is 1.
    """
    for name, module in modules.items():
        signature = SIGNATURES[name]
        with warnings.catch_warnings(), torch.no_grad():
            # Warnings about constants in the trace, which are intended, and about the old exporter:
            # the newer one fixes the length of an LSTM.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module,
                _example(signature),
                str(directory / f"{name}.onnx"),
                input_names=list(signature.inputs),
                output_names=list(signature.outputs),
                dynamic_axes=_dynamic_axes(signature),
                opset_version=OPSET,
                dynamo=False,
            )


def dimension_sizes(name: str, symbols: dict[str, int]) -> dict[str, int]:
    """The size of every named dimension of a model, for given n and t."""
    sizes = symbols | {"m": 2 * symbols["t"]}
    signature = SIGNATURES[name]
    return {
        dimension: evaluate_dimension(dimension, sizes)
        for _, shape in (*signature.inputs.values(), *signature.outputs.values())
        for dimension in shape
        if isinstance(dimension, str) and dimension != "B"
    }


def input_shapes(name: str, symbols: dict[str, int]) -> dict[str, list[int]]:
    """The shape of every input of a function, for given B, n and t."""
    sizes = symbols | {"m": 2 * symbols["t"]}
    return {
        tensor: [evaluate_dimension(dimension, sizes) for dimension in shape]
        for tensor, (_, shape) in SIGNATURES[name].inputs.items()
    }


def _dynamic_axes(signature: Signature) -> dict[str, dict[int, str]]:
    return {
        tensor: {
            axis: dimension
            for axis, dimension in enumerate(shape)
            if isinstance(dimension, str) and dimension != "B"
        }
        for tensor, (_, shape) in (*signature.inputs.items(), *signature.outputs.items())
    }


def _example(signature: Signature) -> tuple[Tensor, ...]:
    tensors = []
    for name, (dtype, shape) in signature.inputs.items():
        size = [evaluate_dimension(dimension, _SIZES) for dimension in shape]
        if dtype == "int64":
            tensors.append(torch.full(size, _SIZES["n"] if name == "lengths" else 1))
        else:
            tensors.append(torch.zeros(size))
    return tuple(tensors)
