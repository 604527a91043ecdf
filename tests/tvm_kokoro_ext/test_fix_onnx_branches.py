"""If of an ONNX graph: what is known at import, and what is decided when the function runs."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from onnx_cases import compiled
from packaging.version import Version

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, _compat

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="this fix is for 0.27 and newer"
)

_TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
graph (float[1,4,n] x, {condition}) => ({outputs})
{{
  rate = Constant <value = int64 {{16000}}> ()
  three = Constant <value = int64[1] {{3}}> ()
  axis = Constant <value = int64[1] {{1}}> ()
  {before}
  {results} = If (go) <
    then_branch = one () => ({then_outputs}) {{ {then} }},
    else_branch = two () => ({else_outputs}) {{ {other} }}
  >
  {after}
}}
"""


def graph(
    then,
    other,
    *,
    condition="int64 sr",
    before="go = Equal (sr, rate)",
    results="r",
    then_outputs="float[a, b, c] p",
    else_outputs="float[a, b, d] q",
    after="y = Relu (r)",
    outputs="float[e, f, g] y",
):
    return parser.parse_model(
        _TEXT.format(
            then=then,
            other=other,
            condition=condition,
            before=before,
            results=results,
            then_outputs=then_outputs,
            else_outputs=else_outputs,
            after=after,
            outputs=outputs,
        )
    )


def x(n):
    return np.random.default_rng(n).standard_normal((1, 4, n)).astype("float32")


SLICED = """
  start = Constant <value = int64[1] {0}> ()
  last = Constant <value = int64[1] {2}> ()
  p = Slice (x, start, three, last)
"""
NESTED = """
  small = Constant <value = float {0.0}> ()
  total = ReduceSum <keepdims = 0> (x)
  positive = Greater (total, small)
  p = If (positive) <
    then_branch = in1 () => (float[i, j, k] u) { u = Neg (x) },
    else_branch = in2 () => (float[i, j, k] v) { v = Add (x, x) }
  >
"""

IN_LOOP = """
  steps = Constant <value = int64 {3}> ()
  true = Constant <value = bool {1}> ()
  r = Loop (steps, true, x) <
    body = step (int64 i, bool more, float[a, b, c] v) => (bool on, float[d, e, f] z) {
      on = Identity (more)
      w = Exp (v)
      z = If (go) <
        then_branch = in1 () => (float[g, h, j] u) { u = Sin (w) },
        else_branch = in2 () => (float[k, l, m] t) { t = Neg (v) }
      >
    }
  >
"""
SEQUENCES = {
    "then_outputs": "seq(float[a, b, c]) p",
    "else_outputs": "seq(float[a, b, d]) q",
    "after": "at = Constant <value = int64 {1}> () y = SequenceAt (r, at)",
}


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(graph("p = Neg (x)", "q = Exp (x)"), id="same_sizes"),
        pytest.param(graph("p = AveragePool <kernel_shape = [3]> (x)", "q = Exp (x)"), id="sizes"),
        pytest.param(
            graph(
                "u = AveragePool <kernel_shape = [3]> (x) v = Exp (u)"
                " p = AveragePool <kernel_shape = [3]> (v)",
                "w = Exp (x) z = AveragePool <kernel_shape = [2]> (w) q = Sin (z)",
                after="h = Tanh (r) k = AveragePool <kernel_shape = [2]> (r) m = Exp (k)"
                " l = AveragePool <kernel_shape = [2]> (h) y = Mul (l, m)",
            ),
            id="memory_of_branches",
        ),
        pytest.param(graph(SLICED, "q = Mul (x, x)"), id="sliced"),
        pytest.param(graph("p = Identity (x)", "q = Neg (x)"), id="captured"),
        pytest.param(graph(NESTED, "q = Exp (x)"), id="nested"),
        pytest.param(
            graph(
                "p = Neg (x) p2 = ReduceMean <axes = [2]> (x)",
                "q = Exp (x) q2 = ReduceMax <axes = [2]> (x)",
                results="r, r2",
                then_outputs="float[a, b, c] p, float[a, b, 1] p2",
                else_outputs="float[a, b, c] q, float[a, b, 1] q2",
                after="y = Add (r, r2)",
            ),
            id="two_results",
        ),
        pytest.param(
            graph("p = Neg (x)", "q = Exp (x)", before="g = Equal (sr, rate) go = Identity (g)"),
            id="identity",
        ),
        pytest.param(
            graph(
                "p = Identity (w)",
                "v = Neg (w) q = Tanh (v)",
                before="go = Equal (sr, rate) w = Exp (x)",
                after="s = Sin (r) t = Cos (s) u = Sqrt (t) y = Add (u, r)",
            ),
            id="memory_of_a_value_that_a_branch_returns",
        ),
        pytest.param(
            graph(
                "p = Add (w, x4)",
                "q = Neg (x)",
                before="go = Equal (sr, rate) x4 = Concat <axis = 2> (x, x, x, x) w = Exp (x4)",
            ),
            id="sizes_of_captured_values",
        ),
        pytest.param(
            graph(
                "l = Neg (x) p = SequenceConstruct (x, l)",
                "m = Exp (x) q = SequenceConstruct (m, x)",
                **SEQUENCES,
            ),
            id="sequences",
        ),
        pytest.param(
            graph(
                "p = Neg (r0)",
                "q = Exp (r0)",
                before="go = Equal (sr, rate)" + IN_LOOP.replace("  r = ", "  r0 = "),
            ),
            id="beside_a_loop",
        ),
    ],
)
def test_the_branch_is_chosen_at_each_run(model):
    run, evaluator = compiled(model), ReferenceEvaluator(model)
    for rate in (16000, 8000):
        for n in (5, 9):
            given = {"x": x(n), "sr": np.array(rate)}
            (want,) = evaluator.run(None, given)
            (got,) = run(*given.values())
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


_UNEQUAL = """
<ir_version: 8, opset_import: ["" : 17]>
graph (float[n] x, bool go) => (float y) {{
  w = Constant <value = float[6] {{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}}> ()
  to = Constant <value = int64[2] {{2, 3}}> ()
  far = Constant <value = int64 {{500000000}}> ()
  y = If (go) <
    then_branch = one () => (float p) {{ {then} }},
    else_branch = two () => (float q) {{ q = ReduceMax <keepdims = 0> (x) }}
  >
}}
"""


@pytest.mark.parametrize(
    ("then", "sizes"),
    [
        pytest.param("r = Add (x, w) p = ReduceSum <keepdims = 0> (r)", (6,), id="broadcast"),
        pytest.param("p = MatMul (x, w)", (6,), id="product"),
        pytest.param("r = Reshape (x, to) p = ReduceSum <keepdims = 0> (r)", (6,), id="reshape"),
        pytest.param("p = Gather (x, far)", (), id="gather_beyond_the_tensor"),
    ],
)
def test_a_branch_that_is_not_chosen_is_not_computed(then, sizes):
    """The first branch holds for the given sizes only, and the second one for all."""
    model = parser.parse_model(_UNEQUAL.format(then=then))
    run, evaluator = compiled(model), ReferenceEvaluator(model)
    for n in (4, 6, 9):
        for go in [False, True][: 1 + (n in sizes)]:
            given = {"x": np.arange(1, n + 1, dtype="float32"), "go": np.array(go)}
            np.testing.assert_allclose(
                run(*given.values())[0], evaluator.run(None, given)[0], rtol=1e-6
            )


def test_a_choice_within_a_loop_only():
    """Stock computes such a graph in a dataflow block, which may hold no If."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    graph (float[1,4,n] x, bool go) => (float[a, b, c] r) {
    """
    model = parser.parse_model(text + IN_LOOP + "}")
    run, evaluator = compiled(model), ReferenceEvaluator(model)
    for go in (False, True):
        given = {"x": x(5), "go": np.array(go)}
        np.testing.assert_allclose(
            run(*given.values())[0], evaluator.run(None, given)[0], rtol=1e-6
        )


@pytest.mark.parametrize("size", [1, 4])
def test_a_branch_that_sizes_decide_is_taken_at_import(size):
    """As torch writes `squeeze(1)`; the results of the branches have different ranks."""
    model = graph(
        "p = Squeeze (x, axis)",
        "q = Identity (x)",
        condition="float[1] z",
        before="s = Shape (x) i = Constant <value = int64 {1}> () d = Gather (s, i)"
        " one = Constant <value = int64 {1}> () go = Equal (d, one)",
        then_outputs="float[a, b] p",
        after="w = ReduceSum <keepdims = 0> (r) y = Add (w, z)",
        outputs="float[1] y",
    )
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = size
    given = np.random.default_rng(0).standard_normal((1, size, 6)).astype("float32")
    (got,) = compiled(model)(given, np.ones(1, "float32"))
    np.testing.assert_allclose(got, [given.sum() + 1], rtol=1e-5)


def test_branches_of_different_ranks_are_refused():
    model = graph("p = Squeeze (x)", "q = Identity (x)", then_outputs="float[a, b] p")
    with pytest.raises(UnsupportedOperatorError, match="If: its branches give .*same dtype"):
        compiled(model)


def test_stock_does_not_compile_a_branch():
    model = graph("p = AveragePool <kernel_shape = [3]> (x)", "q = Exp (x)")
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        compiled(model)(x(5), np.array(16000))


def test_a_branch_has_constants_of_its_own():
    model = graph("p = Mul (x, two)", "q = Exp (x)")
    branch = next(n for n in model.graph.node if n.op_type == "If").attribute[0].g
    branch.initializer.append(numpy_helper.from_array(np.float32(2), "two"))
    assert helper.get_attribute_value(model.graph.node[0].attribute[0]).data_type == (
        TensorProto.INT64
    )
    (got,) = compiled(model)(x(5), np.array(16000))
    np.testing.assert_allclose(got, np.maximum(2 * x(5), 0), rtol=1e-6)
