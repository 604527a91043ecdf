"""Functions without a GPU kernel are bound to threads, so that a device can run everything."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

from kokoro_pipeline.compiler.passes.bind_threads import bind_threads, has_threads
from kokoro_pipeline.compiler.passes.gpu_operators import GPU_OPERATORS

CUDA = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")


def legalized(operation, shape, dtype="float32"):
    """The PrimFuncs of `operation(x)`, x of a shape in which a str is a symbolic extent."""
    symbols = {}
    extents = [
        symbols.setdefault(e, tirx.Var(e, "int64")) if isinstance(e, str) else e for e in shape
    ]
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(extents, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(operation(builder, x))
        builder.emit_func_output(output)
    with CUDA:
        return relax.transform.LegalizeOps(dict(GPU_OPERATORS))(builder.get())


CASES = {
    "elementwise": (lambda _, x: relax.op.exp(x), ("B", 7, "n")),
    "one element": (lambda _, x: relax.op.exp(x), (1, 1)),
    "reduction": (lambda _, x: relax.op.sum(x, axis=[1]), ("B", "n")),
    "reduction of everything": (lambda _, x: relax.op.sum(x), ("B", "n")),
    "several steps": (lambda _, x: relax.op.nn.softmax(x), ("B", "n")),
    "two reductions": (
        lambda b, x: relax.op.divide(x, b.emit(relax.op.variance(x, axis=[1], keepdims=True))),
        ("B", "n"),
    ),
    "running sum": (lambda _, x: relax.op.cumsum(x, axis=1), ("B", "n", 9)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_function_launches_threads_and_compiles(name):
    operation, shape = CASES[name]
    module = legalized(operation, shape)
    functions = [f for f in bind_threads(module).functions.values() if isinstance(f, tirx.PrimFunc)]
    assert functions
    assert all(has_threads(function) for function in functions)
    named = {f"f{i}": f.with_attr("global_symbol", f"f{i}") for i, f in enumerate(functions)}
    with CUDA:
        built = tvm.tirx.build(tvm.IRModule(named), target=CUDA)
    assert "__global__" in built.imports[0].inspect_source()


def test_loops_without_threads_are_noticed():
    """`has_threads` is what the pass goes by; a function that has none must not pass for bound."""
    module = legalized(*CASES["elementwise"])
    functions = [f for f in module.functions.values() if isinstance(f, tirx.PrimFunc)]
    assert functions
    assert not any(has_threads(function) for function in functions)


@pytest.mark.parametrize(
    "operation",
    [
        lambda _, x: relax.op.cumsum(x, axis=1, exclusive=True),
        lambda _, x: relax.op.cumsum(x, axis=1, dtype="float64"),
    ],
)
def test_a_running_sum_of_another_kind_is_refused(operation):
    with pytest.raises(RuntimeError, match="only inclusive sums"):
        legalized(operation, ("B", "n", 9))
