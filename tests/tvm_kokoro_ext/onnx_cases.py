"""Small ONNX graphs through TVM's frontend, compared with the evaluator of the package `onnx`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import tvm
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

SIZES = (6, 9)


@dataclass(frozen=True, eq=False)
class Case:
    """One graph.

    Attributes
    ----------
    name
        The test's id.
    nodes
        (operator, inputs, outputs, attributes), in order; the last node's outputs are the graph's.
    inputs
        Shapes by name; "n" is a symbolic size, which is run at both of `SIZES`, and so are sizes
        such as "2*n".
    constants
        Arrays by name.
    dtypes
        Of inputs that are not float32.
    wrong
        Whether stock 0.27 fails or is wrong.
    domain
        Of the nodes. Those of "com.microsoft" are compared with ONNX Runtime.
    levels
        By how much integers may differ.
    """

    name: str
    nodes: Sequence[tuple[Any, ...]]
    inputs: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    wrong: bool = True
    opset: int = 18
    tolerance: float = 1e-5
    domain: str = ""
    levels: int = 0


def model_of(case: Case) -> onnx.ModelProto:
    """The case's model, with outputs of the types that shape inference finds."""
    nodes = [
        helper.make_node(operator, inputs.split(), outputs.split(), **(rest[0] if rest else {}))
        for operator, inputs, outputs, *rest in case.nodes
    ]
    for node in nodes:
        node.domain = case.domain
        for names in (node.input, node.output):
            names[:] = ["" if name == "_" else name for name in names]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(case.dtypes.get(name, "float32"))), shape
        )
        for name, shape in case.inputs.items()
    ]
    constants = [numpy_helper.from_array(np.asarray(v), name) for name, v in case.constants.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in nodes[-1].output if name]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, 1))
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=opsets, ir_version=10)
    )


def arguments(case: Case, size: int) -> dict[str, np.ndarray]:
    """Inputs at a size, drawn from a seed."""
    draw = np.random.default_rng(size)
    found = {}
    for name, shape in case.inputs.items():
        dims = [d if isinstance(d, int) else int(eval(d, {"n": size, "m": size})) for d in shape]
        dtype = np.dtype(case.dtypes.get(name, "float32"))
        if dtype.kind == "f":
            found[name] = draw.standard_normal(dims).astype(dtype)
        else:
            found[name] = _whole(draw, dims, dtype)
    return found


def _whole(draw: np.random.Generator, dims: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Booleans, indices from 0 to 4, and all values of the dtypes of quantized tensors."""
    if dtype.kind == "b" or dtype.itemsize > 2:
        return draw.integers(0, 2 if dtype.kind == "b" else 5, dims).astype(dtype)
    limits = np.iinfo(dtype)
    return draw.integers(limits.min, limits.max + 1, dims).astype(dtype)


def evaluator_of(case: Case, model: onnx.ModelProto) -> Callable[[dict[str, Any]], list[Any]]:
    """What the results are compared with."""
    if case.domain != "com.microsoft":
        evaluator = ReferenceEvaluator(model)
        return lambda given: evaluator.run(None, given)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda given: session.run(None, given)


def symbolic(case: Case) -> bool:
    """Whether an input has a symbolic size."""
    return any(isinstance(dim, str) for shape in case.inputs.values() for dim in shape)


def compiled(model: onnx.ModelProto, **options: Any) -> Callable[..., list[np.ndarray]]:
    """Import and compile a model; the function takes arrays in the order of the inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = from_onnx(model, **options)
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    machine = relax.VirtualMachine(executable, tvm.cpu())

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        result = machine["main"](*[tvm.runtime.tensor(array) for array in arrays])
        results = [result] if not isinstance(result, Sequence | tvm.ir.Array) else list(result)
        return [
            value.numpy() if hasattr(value, "numpy") else np.asarray(value) for value in results
        ]

    return run


def check(case: Case) -> None:
    """Import, compile and run at both sizes; AssertionError where the results differ."""
    model = model_of(case)
    run = compiled(model)
    evaluate = evaluator_of(case, model)
    for size in SIZES if symbolic(case) else SIZES[:1]:
        given = arguments(case, size)
        want = evaluate(given)
        got = run(*given.values())
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            theirs = np.asarray(theirs)
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            if theirs.dtype.kind in "biu":
                bounds = {"rtol": 0.0, "atol": case.levels}
                mine, theirs = mine.astype("int64"), theirs.astype("int64")
            else:
                bounds = {"rtol": case.tolerance, "atol": case.tolerance}
            np.testing.assert_allclose(mine, theirs, equal_nan=True, **bounds)
