"""torch module -> `torch.export.ExportedProgram` with symbolic batch, token and frame counts."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from .model.components import Component, Signature

# Upper bounds are for torch's range analysis; the runtime checks what a model really takes.
_SYMBOL_RANGES = {"B": (1, 1024), "n": (1, 512), "t": (1, 1 << 17), "m": (1, 1 << 18)}


def dynamic_shapes(signature: Signature) -> tuple[dict[int, Any] | None, ...]:
    """`torch.export`'s dynamic_shapes for a signature: a Dim expression a symbolic dimension."""
    symbols = {name: Dim(name, min=low, max=high) for name, (low, high) in _SYMBOL_RANGES.items()}
    shapes: list[dict[int, Any] | None] = []
    for _, shape in signature.inputs.values():
        symbolic = {
            axis: eval(dimension, {"__builtins__": {}}, dict(symbols))
            for axis, dimension in enumerate(shape)
            if isinstance(dimension, str)
        }
        shapes.append(symbolic or None)
    return tuple(shapes)


def export_component(component: Component) -> ExportedProgram:
    """Export one component, functionalized and not decomposed.

    What an `nn.Module` says stays one operator.
    Raises torch's own export errors; they name the line of the model that cannot stay symbolic.
    """
    with torch.no_grad(), warnings.catch_warnings():
        # torch warns itself, of its own pytree, while it copies a program.
        warnings.filterwarnings("ignore", category=FutureWarning, message=r".*LeafSpec")
        program = torch.export.export(
            component.module,
            component.example,
            dynamic_shapes=dynamic_shapes(component.signature),
        )
        # An empty table functionalizes and keeps every operator whole.
        return program.run_decompositions({})
