"""Export torch modules to `ExportedProgram`s with symbolic batch, token and frame counts."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from .model.components import Component, Signature

# The upper bounds are for torch's range analysis; the runtime checks the limits of the model.
_SYMBOL_RANGES = {"B": (1, 1024), "n": (1, 512), "t": (1, 1 << 17), "m": (1, 1 << 18)}


def dynamic_shapes(signature: Signature) -> tuple[dict[int, Any] | None, ...]:
    """The dynamic_shapes for `torch.export`: one Dim expression per symbolic dimension."""
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
    """Export one component in functional form, without decomposing its operators.

    Raises torch's own export errors, which name the line of the model that cannot stay symbolic.
    """
    with torch.no_grad(), warnings.catch_warnings():
        # torch's use of its own deprecated pytree class triggers this warning.
        warnings.filterwarnings("ignore", category=FutureWarning, message=r".*LeafSpec")
        program = torch.export.export(
            component.module,
            component.example,
            dynamic_shapes=dynamic_shapes(component.signature),
        )
        # An empty table makes the program functional and keeps every operator intact.
        return program.run_decompositions({})
