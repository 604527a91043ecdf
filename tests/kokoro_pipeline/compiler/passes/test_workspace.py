"""The bytes of intermediate results, as planned for symbolic sizes."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

from kokoro_pipeline.artifact.manifest import FunctionSpec
from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.passes.drop_upper_bounds import drop_upper_bounds
from kokoro_pipeline.compiler.passes.pipeline import PlannedMemory, phases, run_phases


@pytest.fixture(scope="module")
def planned():
    """`planned(drop)`: bytes of `sum(exp(x) . sin(x)')` for x[n, 16], a product of [n, n]."""

    def plan(drop: bool) -> tuple[int, ...]:
        n = tirx.Var("n", "int64")
        x = relax.Var("x", relax.TensorType([n, 16], "float32"))
        builder = relax.BlockBuilder()
        bounds = {"tir_var_upper_bound": {"n": 4096}, "tir_var_lower_bound": {"n": 1}}
        attributes = {PARAMETER_NAMES: [], "num_input": 1, **bounds}
        with builder.function("f", [x], attrs=attributes):
            with builder.dataflow():
                left = builder.emit(relax.op.exp(x))
                right = builder.emit(relax.op.permute_dims(relax.op.sin(x)))
                whole = builder.emit(relax.op.matmul(left, right))
                result = builder.emit_output(relax.op.sum(whole, axis=1))
            builder.emit_func_output(result)
        module = builder.get()
        target = resolve_target("llvm").tvm
        memory = PlannedMemory({"f": (0, 0)})
        first, *rest = phases(0, target, ParameterTable(), ["f"], memory=memory)
        assert first.name == "drop_upper_bounds"
        run_phases(module, [first, *rest] if drop else rest, target)
        return memory.found["f"]

    return plan


def test_the_bytes_are_a_polynomial_of_the_length(planned):
    """exp, sin and its transpose of 64 n bytes, of which one takes another's place or not, and the
    product of 4 n n."""
    rest, line, square = planned(drop=True)
    assert rest == 0
    assert line in (2 * 64, 3 * 64)
    assert square == 4
    spec = FunctionSpec((), (), (), (rest, line, square))
    assert spec.workspace_bytes({"n": 100}) == line * 100 + 40_000
    assert spec.workspace_bytes({"B": 2, "n": 100}) == 2 * spec.workspace_bytes({"n": 100})
    assert FunctionSpec((), ()).workspace_bytes({"t": 5}) == 0


def test_with_the_bounds_every_call_takes_what_the_longest_would(planned):
    """What dropping them is for: a GPU would refuse it. If TVM ever stops, the pass can go."""
    rest, line, square = planned(drop=False)
    assert (line, square) == (0, 0)
    assert rest >= 4 * 4096 * 4096


def test_dropping_bounds_keeps_the_rest():
    x = relax.Var("x", relax.TensorType([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("f", [x], attrs={"num_input": 1, "tir_var_upper_bound": {"n": 4}}):
        with builder.dataflow():
            result = builder.emit_output(relax.op.exp(x))
        builder.emit_func_output(result)
    function = drop_upper_bounds(builder.get())["f"]
    assert int(function.attrs["num_input"]) == 1
    assert "tir_var_upper_bound" not in function.attrs
    tvm.ir.assert_structural_equal(function.body, builder.get()["f"].body)
