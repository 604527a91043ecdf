"""Import a half of an ONNX graph with TVM's importer and the fixes of `tvm_kokoro_ext`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import tvm

import tvm_kokoro_ext
from kokoro_pipeline.errors import InputError

from ..lowering.parameter_table import ParameterTable, with_main

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from .graph import Half


_RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike", "Dropout"),
    }
)


def _refusal(reason: str) -> InputError:
    return InputError(
        f"the graph cannot be compiled: {reason}. Of the float32 graph of the same model, or of "
        "its checkpoint, an artifact can be built"
    )


def import_half(
    half: Half, name: str, weights: Mapping[str, np.ndarray], parameters: ParameterTable
) -> tvm.IRModule:
    """Import a half as the Relax function `name` and add its weights to `parameters`.

    The function takes the half's inputs, followed by its weights, as those of `import_program` do.

    Raises InputError for a graph with operators, or uses of them, that TVM's frontend refuses.
    """
    tvm_kokoro_ext.activate()
    from tvm.relax.frontend.onnx import from_onnx

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inputs that are given other names
            module = from_onnx(half.model)
    except (NotImplementedError, ValueError, tvm.error.OpNotImplemented) as error:
        raise _refusal(str(error)) from error
    if len(module["main"].params) != len(half.inputs) + len(half.weights):
        # The frontend has made an input of what an operator draws.
        drawn = sorted(_RANDOM.intersection(node.op_type for node in half.model.graph.node))
        by = f" (by {', '.join(drawn)})" if drawn else ""
        raise _refusal(f"it draws random numbers{by} that are no noise of Kokoro")
    names = []
    for weight in half.weights:
        key = f"onnx/{weight}"
        names.append(key if key in parameters else parameters.add(key, weights[weight]))
    main = module["main"].with_attr("num_input", len(half.inputs))
    return with_main(module, name, main, names)
