"""Complaints about TVM that have no patch, because the installed version has no such defect.

Each test is the program of a complaint. A failure means that the defect has returned and that a
patch is needed; the table in upstream_patches/README.md names these tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")
relax = pytest.importorskip("tvm.relax")
te = pytest.importorskip("tvm.te")


@pytest.fixture(autouse=True)
def _stock() -> Iterator[None]:
    """TVM as it is installed, also where other tests have activated the extension."""
    extension = sys.modules.get("tvm_kokoro_ext")
    if extension is None or all(fix.state != "applied" for fix in extension.fixes):
        yield
        return
    extension.deactivate()
    yield
    extension.activate()


def _function(build: Any, *parameters: Any) -> Any:
    """A module with one function `main` of these parameters, which `build(bb)` computes."""
    bb = relax.BlockBuilder()
    with bb.function("main", list(parameters)):
        with bb.dataflow():
            result = bb.emit_output(build(bb))
        bb.emit_func_output(result)
    return bb.get()


def _run(module: Any, *inputs: np.ndarray) -> np.ndarray:
    vm = relax.VirtualMachine(relax.build(module, tvm.target.Target("llvm")), tvm.cpu())
    result: np.ndarray = vm["main"](*map(tvm.runtime.tensor, inputs)).numpy()
    return result


def _symbolic(name: str, *shape: Any) -> Any:
    return relax.Var(name, relax.TensorType(shape, "float32"))


N = tvm.tirx.Var("n", "int64")
X = np.arange(6, dtype="float32")


def test_llvm_debug_information_of_scalar_parameters() -> None:
    """`#dbg_declare must be a pointer or int`: kernels whose parameters are scalars verify."""
    size = tvm.tirx.Var("size", "int64")
    scale = tvm.tirx.Var("scale", "float32")
    x = te.placeholder((size,), name="x")
    y = te.compute((size,), lambda i: x[i] * scale, name="y")
    function = te.create_prim_func([x, scale, y])
    library = tvm.compile(function, tvm.target.Target("llvm"))
    out = tvm.runtime.tensor(np.zeros_like(X))
    library["main"](tvm.runtime.tensor(X), 2.0, out)
    np.testing.assert_array_equal(out.numpy(), 2 * X)


def test_enable_debug_has_the_name_of_tirx() -> None:
    """`tir.enable_debug` is not known; the option followed its dialect to `tirx.enable_debug`."""
    with tvm.transform.PassContext(config={"tirx.enable_debug": True}) as context:
        assert context.config["tirx.enable_debug"]
    with pytest.raises(Exception, match="enable_debug"):
        tvm.transform.PassContext(config={"tir.enable_debug": True})


def test_fold_constant_beside_symbolic_shapes() -> None:
    """FoldConstant folds what is constant and leaves what depends on a symbolic size."""
    x = _symbolic("x", N)

    def build(bb: Any) -> Any:
        two = bb.emit(relax.op.add(relax.const(1.0, "float32"), relax.const(1.0, "float32")))
        return relax.op.multiply(x, bb.emit(relax.op.broadcast_to(two, [N])))

    module = relax.transform.LegalizeOps()(_function(build, x))
    folded = relax.transform.FoldConstant()(module)
    assert "R.const(2" in folded.script()
    np.testing.assert_array_equal(_run(folded, X), 2 * X)


def test_rewrite_dataflow_reshape_of_symbolic_shape() -> None:
    """RewriteDataflowReshape makes views of symbolic reshapes, and they hold the right elements."""
    x = _symbolic("x", N, 2)

    def build(bb: Any) -> Any:
        flat = bb.emit(relax.op.reshape(x, [N * 2]))
        return relax.op.add(flat, flat)

    module = relax.transform.LegalizeOps()(_function(build, x))
    module = relax.transform.RewriteDataflowReshape()(module)
    np.testing.assert_array_equal(_run(module, X.reshape(3, 2)), 2 * X)


def test_emit_te_with_symbolic_scalar() -> None:
    """emit_te passes symbolic scalars to the kernel that it makes."""
    x = _symbolic("x", N)

    def build(bb: Any) -> Any:
        return bb.emit_te(
            lambda data, size: te.compute(data.shape, lambda i: data[i] * size.astype("float32")),
            x,
            N,
        )

    np.testing.assert_array_equal(_run(_function(build, x), X), 6 * X)
