"""Quantized tensors in ONNX graphs, against the evaluator of `onnx` and ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
pytest.importorskip("onnxruntime", reason="the results are compared with it")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_cases import Case, check, compiled, model_of  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import UnsupportedOperatorError  # noqa: E402

DRAW = np.random.default_rng(0)
MICROSOFT = "com.microsoft"


def reals(*shape):
    return DRAW.standard_normal(shape).astype("float32")


def scales(*shape):
    return (abs(DRAW.standard_normal(shape)) * 0.02 + 0.005).astype("float32")


def whole(dtype, *shape):
    limits = np.iinfo(dtype)
    return DRAW.integers(limits.min, limits.max + 1, shape).astype(dtype)


ZERO = {"uint8": np.uint8(120), "int8": np.int8(-3)}


def linear(name, operator, shape, constants, attributes=None, dtype=None, opset=13, **rest):
    inputs = "x " + " ".join(constants)
    nodes = [(operator, inputs, "y", attributes or {})]
    dtypes = {"x": dtype} if dtype else {}
    return Case(name, nodes, {"x": shape}, constants, dtypes, opset=opset, **rest)


LINEAR = (
    [
        linear(
            f"{operator}_{dtype}_{name}",
            f"{operator}Linear",
            ["n", 4, 6],
            {"s": scales(*shape), "z": whole(dtype, *shape)},
            attributes,
            dtype if operator == "Dequantize" else None,
            opset=21 if dtype.endswith("16") else 19,
            wrong=False,
        )
        for operator in ("Quantize", "Dequantize")
        for dtype in ("uint8", "int8", "uint16", "int16")
        for name, shape, attributes in [
            ("scalar", (), {}),
            ("axis", (4,), {"axis": -2}),
            ("last", (6,), {"axis": 2}),
        ]
    ]
    + [
        linear(
            f"{operator}_{dtype}_blocks",
            f"{operator}Linear",
            [5, 4, 6],
            {"s": scales(5, 4, 3), "z": whole(dtype, 5, 4, 3)},
            {"axis": -1, "block_size": 2},
            dtype if operator == "Dequantize" else None,
            opset=21,
        )
        for operator in ("Quantize", "Dequantize")
        for dtype in ("uint8", "int8")
    ]
    + [
        linear(
            "Dequantize_int32",
            "DequantizeLinear",
            [3, 4],
            {"s": scales()},
            None,
            "int32",
            opset=19,
            wrong=False,
        ),
        linear(
            "Quantize_output_dtype",
            "QuantizeLinear",
            [3, 4],
            {"s": scales()},
            {"output_dtype": TensorProto.INT16},
            opset=21,
            wrong=False,
        ),
        linear(
            "Dequantize_float16",
            "DequantizeLinear",
            [3, 4],
            {"s": np.float16(0.3), "z": np.int8(5)},
            None,
            "int8",
            opset=21,
            wrong=False,
            tolerance=1e-3,
        ),
    ]
)

PRODUCTS = [
    case
    for dtype, zero in ZERO.items()
    for case in [
        Case(
            f"ConvInteger_{dtype}",
            [("ConvInteger", "x w xz wz", "y", {"group": 2, "pads": [1, 2], "dilations": [2]})],
            {"x": [1, 4, "n"]},
            {"w": whole(dtype, 6, 2, 3), "xz": np.uint8(9), "wz": zero},
            {"x": "uint8"},
        ),
        Case(
            f"ConvInteger_2d_{dtype}",
            [("ConvInteger", "x w xz", "y", {"auto_pad": "SAME_UPPER", "kernel_shape": [3, 3]})],
            {"x": [2, 4, "n", 7]},
            {"w": whole(dtype, 6, 4, 3, 3), "xz": np.array([200], "uint8")},
            {"x": "uint8"},
        ),
        Case(
            f"MatMulInteger_{dtype}",
            [("MatMulInteger", "a b az bz", "y")],
            {"a": [2, "n", 9]},
            {"b": whole(dtype, 9, 5), "az": np.uint8(250), "bz": whole(dtype, 5)},
            {"a": "uint8"},
            wrong=False,
        ),
        Case(
            f"QLinearConv_{dtype}",
            [("QLinearConv", "x xs xz w ws wz ys yz b", "y", {"strides": [2, 1]})],
            {"x": [2, 4, "n", 7]},
            {
                "xs": scales(),
                "xz": np.uint8(120),
                "w": whole(dtype, 6, 4, 3, 2),
                "ws": scales(6),
                "wz": np.full(6, zero),
                "ys": np.float32(0.9),
                "yz": np.uint8(100),
                "b": whole("int16", 6).astype("int32"),
            },
            {"x": "uint8"},
            levels=1,
        ),
        Case(
            f"QLinearMatMul_{dtype}",
            [("QLinearMatMul", "a as az b bs bz ys yz", "y")],
            {"a": [2, "n", 9]},
            {
                "as": scales(),
                "az": zero,
                "b": whole(dtype, 9, 5),
                "bs": scales(),
                "bz": zero,
                "ys": np.float32(0.2),
                "yz": zero,
            },
            {"a": dtype},
            levels=1,
        ),
    ]
]


def pair(operator, dtype, zero):
    constants = {"as": scales(), "bs": scales(), "cs": np.float32(0.05), "z": zero}
    nodes = [(operator, "a as z b bs z cs z", "y")]
    inputs = {"a": [3, "n"], "b": ["n"]}
    return Case(
        f"{operator}_{dtype}",
        nodes,
        inputs,
        constants,
        dict.fromkeys(inputs, dtype),
        domain=MICROSOFT,
        levels=1,
    )


def single(operator, dtype, zero, attributes=None, shape=(2, 3, 5, 6)):
    constants = {"s": scales(), "z": zero, "t": np.float32(0.02)}
    nodes = [(operator, "x s z t z", "y", attributes or {})]
    return Case(
        f"{operator}_{dtype}",
        nodes,
        {"x": shape},
        constants,
        {"x": dtype},
        domain=MICROSOFT,
        levels=1,
    )


LEVELS = [
    case
    for dtype, zero in ZERO.items()
    for case in [
        pair("QLinearAdd", dtype, zero),
        pair("QLinearMul", dtype, zero),
        single("QLinearSigmoid", dtype, zero),
        single("QLinearLeakyRelu", dtype, zero, {"alpha": 0.1}),
        single("QLinearGlobalAveragePool", dtype, zero, {"channels_last": int(dtype == "int8")}),
        single("QLinearAveragePool", dtype, zero, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        single("QLinearSoftmax", dtype, zero, {"opset": 13, "axis": -1}),
        Case(
            f"QLinearConcat_{dtype}",
            [("QLinearConcat", "ys z a as z b bs z", "y", {"axis": 1})],
            {"a": [3, 4], "b": [3, 2]},
            {"as": scales(), "bs": scales(), "ys": scales(), "z": zero},
            {"a": dtype, "b": dtype},
            domain=MICROSOFT,
            levels=1,
        ),
        Case(
            f"QLinearWhere_{dtype}",
            [("QLinearWhere", "c a as z b bs z ys z", "y")],
            {"c": [3, 4], "a": [3, 4], "b": [3, 4]},
            {"as": scales(), "bs": scales(), "ys": scales(), "z": zero},
            {"c": "bool", "a": dtype, "b": dtype},
            domain=MICROSOFT,
            levels=1,
        ),
        Case(
            f"MatMulIntegerToFloat_{dtype}",
            [("MatMulIntegerToFloat", "a b as bs az bz c", "y")],
            {"a": [2, "n", 9]},
            {
                "b": whole(dtype, 9, 5),
                "as": scales(),
                "bs": scales(5),
                "az": np.uint8(7),
                "bz": whole(dtype, 5),
                "c": reals(5),
            },
            {"a": "uint8"},
            domain=MICROSOFT,
        ),
        Case(
            f"DynamicQuantizeMatMul_{dtype}",
            [("DynamicQuantizeMatMul", "a b bs bz c", "y")],
            {"a": [2, "n", 9]},
            {"b": whole(dtype, 9, 5), "bs": scales(), "bz": zero, "c": reals(5)},
            domain=MICROSOFT,
        ),
        Case(
            f"QGemm_{dtype}",
            [("QGemm", "a as az b bs bz c ys yz", "y", {"transB": 1, "alpha": 0.7})],
            {"a": ["n", 9]},
            {
                "as": scales(),
                "az": np.uint8(7),
                "b": whole(dtype, 5, 9),
                "bs": scales(),
                "bz": zero,
                "c": whole("int16", 5).astype("int32"),
                "ys": np.float32(0.5),
                "yz": np.uint8(9),
            },
            {"a": "uint8"},
            domain=MICROSOFT,
            levels=1,
        ),
        Case(
            f"QGemm_to_floats_{dtype}",
            [("QGemm", "a as az b bs bz", "y", {"transA": 1})],
            {"a": [9, "n"]},
            {
                "as": scales(),
                "az": np.uint8(7),
                "b": whole(dtype, 9, 5),
                "bs": scales(),
                "bz": zero,
            },
            {"a": "uint8"},
            domain=MICROSOFT,
        ),
        Case(
            f"QAttention_{dtype}",
            [("QAttention", "x w b xs ws m xz wz", "y", {"num_heads": 4, "unidirectional": 1})],
            {"x": [2, "n", 8]},
            {
                "w": whole(dtype, 8, 48),
                "b": reals(48),
                "xs": scales(),
                "ws": scales(),
                "m": np.array([3, 5], "int32"),
                "xz": np.uint8(120),
                "wz": zero,
            },
            {"x": "uint8"},
            domain=MICROSOFT,
        ),
    ]
]


def of_bits(bits, block, columns, zeros):
    rows, blocks = 5, -(-columns // block)
    constants = {
        "w": whole("uint8", rows, blocks, block * bits // 8),
        "s": scales(rows * blocks),
    }
    if zeros == "uint8":
        constants["z"] = whole("uint8", rows * -(-blocks * bits // 8))
    elif zeros == "float32":
        constants["z"] = reals(rows * blocks) * 3
    attributes = {"K": columns, "N": rows, "bits": bits, "block_size": block}
    return Case(
        f"MatMulNBits_{bits}_{block}_{zeros}",
        [("MatMulNBits", " ".join(["x", *constants]), "y", attributes)],
        {"x": [2, "n", columns]},
        constants,
        domain=MICROSOFT,
        tolerance=1e-4,
    )


BITS = [
    of_bits(bits, block, columns, zeros)
    for bits in (2, 4, 8)
    for block, columns in ((32, 96), (16, 40))
    for zeros in ("none", "uint8", "float32")
    if (bits, zeros) != (8, "float32")  # which ONNX Runtime does not have
]


def lstm(direction, channels, first):
    hidden, count = 6, 2 if direction == "bidirectional" else 1
    shape = (count, 4 * hidden) if channels else (count,)
    constants = {
        "w": whole("int8", count, 5, 4 * hidden),
        "r": whole("int8", count, hidden, 4 * hidden),
        "ws": scales(*shape) * 0.3,
        "wz": np.zeros(shape, "int8"),
        "rs": scales(*shape) * 0.3,
        "rz": np.zeros(shape, "int8"),
    }
    if first:
        constants |= {
            "n5": np.array([5], "int32"),
            "h": reals(count, 1, 6),
            "c": reals(count, 1, 6),
        }
        given = "x w r _ n5 h c _ ws wz rs rz"
    else:
        constants["b"] = reals(count, 8 * hidden)
        given = "x w r b _ _ _ _ ws wz rs rz"
    return Case(
        f"DynamicQuantizeLSTM_{direction}_{channels}_{first}",
        [("DynamicQuantizeLSTM", given, "y yh yc", {"hidden_size": 6, "direction": direction})],
        {"x": ["n", 1, 5]},
        constants,
        domain=MICROSOFT,
        tolerance=3e-3,  # a state on the edge between two levels may fall to either
    )


LSTMS = [
    lstm(direction, channels, first)
    for direction in ("forward", "reverse", "bidirectional")
    for channels in (False, True)
    for first in (False, True)
]

VECTORS = [
    case
    for name, a, b in [("row", [9], (9, 5)), ("column", ["n", 9], (9,)), ("both", [9], (9,))]
    for case in [
        Case(
            f"MatMulInteger_of_a_vector_{name}",
            [("MatMulInteger", "a b az bz", "y")],
            {"a": a},
            {"b": whole("int8", *b), "az": np.array([3], "uint8"), "bz": np.array([-7], "int8")},
            {"a": "uint8"},
        ),
        Case(
            f"QLinearMatMul_of_a_vector_{name}",
            [("QLinearMatMul", "a as az b bs bz ys yz", "y")],
            {"a": a},
            {
                "as": scales(1),
                "az": np.array([-5], "int8"),
                "b": whole("int8", *b),
                "bs": scales(1),
                "bz": np.array([4], "int8"),
                "ys": scales(1),
                "yz": np.array([9], "int8"),
            },
            {"a": "int8"},
            levels=1,
        ),
    ]
]

ALL = [*LINEAR, *PRODUCTS, *LEVELS, *BITS, *LSTMS, *VECTORS]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_quantized(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL if c.wrong])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("constant", [False, True])
def test_constants_of_4_bits_are_dequantized(dtype, constant):
    import ml_dtypes

    w = DRAW.integers(0, 8, (6, 4)).astype(getattr(ml_dtypes, dtype))
    attributes = {"axis": 0, "block_size": 3}
    case = Case(
        "bits",
        [("DequantizeLinear", "w s z", "d", attributes), ("MatMul", "x d", "y")],
        {"x": ["n", 6]},
        {"s": scales(2, 4), "z": np.ones((2, 4)).astype(w.dtype)},
        opset=21,
    )
    model = model_of(case)
    tensor = numpy_helper.from_array(w, "w")
    if constant:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=tensor))
    else:
        model.graph.initializer.append(tensor)
    x = reals(2, 6)
    blocks = np.repeat(case.constants["s"], 3, axis=0)
    want = x @ ((w.astype("float32") - 1) * blocks)
    np.testing.assert_allclose(compiled(model)(x)[0], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            linear(
                "bits",
                "QuantizeLinear",
                [3],
                {"s": scales()},
                {"output_dtype": TensorProto.INT4},
                opset=21,
            ),
            "QuantizeLinear: it gives int4.*int8",
        ),
        (of_bits(4, 32, 96, "none"), "MatMulNBits.*2, 4 or 8 bits"),
    ],
)
def test_what_is_refused(case, message):
    model = model_of(case)
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "bits":
            attribute.i = 3
    with pytest.raises(UnsupportedOperatorError, match=message):
        compiled(model)
