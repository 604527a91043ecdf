"""ONNX operators on float16 and bfloat16: the result of float32, rounded once."""

import ml_dtypes
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the results are compared with it")

from onnx import parser  # noqa: E402
from onnx_cases import compiled  # noqa: E402
from packaging.version import Version  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import _compat  # noqa: E402

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="this fix is for 0.27 and newer"
)

#: Inputs, and the node that gives y; "n" is 3000.
CASES = {
    "MatMul": ({"x": (4, "n"), "w": ("n", 3)}, "MatMul (x, w)"),
    "MatMul_batch": ({"x": (2, 4, "n"), "w": ("n",)}, "MatMul (x, w)"),
    "Gemm": ({"x": (4, "n"), "w": (3, "n"), "b": (3,)}, "Gemm <transB = 1> (x, w, b)"),
    "Einsum": ({"x": (4, "n"), "w": ("n", 3)}, 'Einsum <equation = "ij,jk->ik"> (x, w)'),
    "Conv_1d": ({"x": (1, 400, 20), "w": (4, 400, 7), "b": (4,)}, "Conv (x, w, b)"),
    "Conv_2d": ({"x": (1, 200, 6, 6), "w": (4, 200, 3, 3)}, "Conv (x, w)"),
    "Conv_depthwise": ({"x": (1, 8, 400), "w": (8, 1, 301)}, "Conv <group = 8> (x, w)"),
    "ConvTranspose": (
        {"x": (1, 400, 20), "w": (400, 4, 7)},
        "ConvTranspose <strides = [2]> (x, w)",
    ),
    "ReduceSum": ({"x": (4, "n")}, "ReduceSum (x, one)"),
    "ReduceMean": ({"x": (4, "n")}, "ReduceMean <axes = [1]> (x)"),
    "ReduceL2": ({"x": (4, "n")}, "ReduceL2 <axes = [1]> (x)"),
    "ReduceLogSumExp": ({"x": (4, "n")}, "ReduceLogSumExp <axes = [1]> (x)"),
    "CumSum": ({"x": (4, "n")}, "CumSum (x, one)"),
    "Softmax": ({"x": (4, "n")}, "Softmax <axis = -1> (x)"),
    "LogSoftmax": ({"x": (4, "n")}, "LogSoftmax <axis = -1> (x)"),
    "Softplus": ({"x": (4, "n")}, "Softplus (large)"),
    "Mish": ({"x": (4, "n")}, "Mish (large)"),
    "HardSigmoid": ({"x": (4, "n")}, "HardSigmoid (negative)"),
    "ThresholdedRelu": ({"x": (4, "n")}, "ThresholdedRelu (large)"),
    "Asin": ({"x": (4, "n")}, "Asin (unit)"),
    "Acos": ({"x": (4, "n")}, "Acos (unit)"),
    "Atan": ({"x": (4, "n")}, "Atan (large)"),
    "Acosh": ({"x": (4, "n")}, "Acosh (above)"),
    "Tan": ({"x": (4, "n")}, "Tan (x)"),
    "Pow": ({"x": (4, "n")}, "Pow (large, two)"),
    "Sum": ({"x": (4, "n")}, "Sum (x, x, x)"),
    "AveragePool": ({"x": (1, 3, "n")}, "AveragePool <kernel_shape = [2000]> (x)"),
    "GlobalAveragePool": ({"x": (1, 3, 60, 60)}, "GlobalAveragePool (x)"),
    "InstanceNormalization": (
        {"x": (1, 3, "n"), "s": (3,), "b": (3,)},
        "InstanceNormalization (x, s, b)",
    ),
    "LayerNormalization": (
        {"x": (4, "n"), "s": ("n",), "b": ("n",)},
        "LayerNormalization (x, s, b)",
    ),
    "BatchNormalization": (
        {"x": (2, 3, 50), "s": (3,), "b": (3,), "m": (3,), "v": (3,)},
        "BatchNormalization (x, s, b, m, v)",
    ),
    "LSTM": (
        {"x": (40, 2, 50), "w": (1, 64, 50), "r": (1, 64, 16)},
        "LSTM <hidden_size = 16> (x, w, r)",
    ),
    "GRU": (
        {"x": (40, 2, 50), "w": (1, 48, 50), "r": (1, 48, 16)},
        "GRU <hidden_size = 16> (x, w, r)",
    ),
}
_TEXT = """
<ir_version: 8, opset_import: ["" : {opset}]>
graph ({inputs}) => ({dtype}[{unknown}] y)
{{
  one = Constant <value = int64[1] {{1}}> ()
  two = Constant <value = float {{2.0}}> ()
  {before}
  y = {node}
}}
"""
#: What a node may read, computed of x without rounding.
_BEFORE = {
    "large": "l1 = Add (x, x) l2 = Add (l1, l1) l3 = Add (l2, l2) large = Add (l3, l3)",
    "negative": "l1 = Add (x, x) negative = Neg (l1)",
    "unit": "l1 = Sub (x, x) l2 = Cos (l1) l3 = Neg (l2) l4 = Min (x, l2) unit = Max (l4, l3)",
    "above": "l1 = Sub (x, x) l2 = Cos (l1) above = Max (x, l2)",
}
_RANKS = {"MatMul_batch": 2, "Einsum": 2, "LSTM": 4, "GRU": 4}


def model(name, dtype):
    inputs, node = CASES[name]
    rank = _RANKS.get(name, len(inputs["x"]))
    text = _TEXT.format(
        opset=18 if name == "Mish" else 17,
        inputs=", ".join(
            f"{dtype}[{', '.join(str(3000 if d == 'n' else d) for d in shape)}] {own}"
            for own, shape in inputs.items()
        ),
        dtype=dtype,
        unknown=", ".join(f"d{at}" for at in range(rank)),
        before=next((text for word, text in _BEFORE.items() if f"({word}" in node), ""),
        node=node,
    )
    return parser.parse_model(text)


def arguments(name, dtype):
    """Drawn around one half, so that sums grow; squares and variances are not negative."""
    draw = np.random.default_rng(0)
    shapes = [[3000 if d == "n" else d for d in shape] for shape in CASES[name][0].values()]
    drawn = [draw.standard_normal(shape) * 0.5 + 0.5 for shape in shapes]
    return [(abs(a) if at == 4 else a).astype(dtype) for at, a in enumerate(drawn)]


def wanted(name, given):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    wide = model(name, "float")
    session = onnxruntime.InferenceSession(wide.SerializeToString(), options)
    names = [value.name for value in wide.graph.input]
    wide = {n: a.astype("float32") for n, a in zip(names, given, strict=True)}
    return session.run(None, wide)[0]


def compare(name, dtype, digits):
    given = arguments(name, dtype)
    (found,) = compiled(model(name, np.dtype(dtype).name))(*given)
    assert found.dtype == dtype
    theirs = wanted(name, given)
    np.testing.assert_allclose(
        found.astype("float32"), theirs, rtol=2.0**-digits, atol=2.0**-digits * abs(theirs).mean()
    )


@pytest.mark.parametrize("name", CASES)
def test_float16_is_rounded_once(name):
    compare(name, np.float16, 10)


@pytest.mark.parametrize("name", ["MatMul", "Conv_1d", "Softmax", "ReduceSum", "LSTM"])
def test_bfloat16_is_rounded_once(name):
    compare(name, ml_dtypes.bfloat16, 7)


def test_the_statistics_of_layer_norm_are_float32():
    text = _TEXT.format(
        opset=17,
        inputs="float16[4,50] x, float16[50] s",
        dtype="float16",
        unknown="4, 50",
        before="",
        node="Identity (z)",
    )
    text = text.replace("  y =", "  z, mean, deviation = LayerNormalization (x, s)\n  y =")
    text = text.replace("] y)", "] y, float[4,1] mean, float[4,1] deviation)")
    draw = np.random.default_rng(0)
    given = [draw.standard_normal(shape).astype("float16") for shape in ((4, 50), (50,))]
    _, mean, deviation = compiled(parser.parse_model(text))(*given)
    assert (mean.dtype, deviation.dtype) == ("float32", "float32")
    np.testing.assert_allclose(mean[:, 0], given[0].astype("float64").mean(1), atol=1e-6)


@pytest.mark.parametrize("name", ["MatMul", "Softmax", "InstanceNormalization"])
def test_stock_rounds_every_step(name):
    with tvm_kokoro_ext.disabled("onnx_half_precision"), pytest.raises(AssertionError):
        compare(name, np.float16, 10)
