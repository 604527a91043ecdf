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
        raise InputError(
            f"the graph cannot be compiled: {error}. Of the float32 graph of the same model, or of "
            "its checkpoint, an artifact can be built"
        ) from error
    names = []
    for weight in half.weights:
        key = f"onnx/{weight}"
        names.append(key if key in parameters else parameters.add(key, weights[weight]))
    main = module["main"].with_attr("num_input", len(half.inputs))
    return with_main(module, name, main, names)
