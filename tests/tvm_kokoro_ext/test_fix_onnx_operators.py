"""Operators that the ONNX frontend gets wrong, against the evaluator of `onnx`."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx import AttributeProto, helper
from onnx_cases import Case, arguments, check, compiled, model_of
from packaging.version import Version

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, _compat

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="these fixes are for 0.27 and newer"
)

X = {"x": [2, "n", 3]}

CONSTANTS = [
    Case(
        name,
        [
            ("Constant", "", "c", {name: value}),
            ("Cast", "c", "real", {"to": 1}),
            ("Add", "x real", "y"),
        ],
        {"x": ["n", 3]},
    )
    for name, value in [
        ("value_int", 3),
        ("value_int", 0),
        ("value_ints", [1, 2, 3]),
        ("value_float", 0.5),
        ("value_floats", [0.0, 1.5, 2.5]),
    ]
]

NORMALIZED = [
    Case(
        f"statistics_{axis}",
        [("LayerNormalization", "x g b", "y mean inverse", {"axis": axis})],
        X,
        {"g": np.arange(3, dtype="float32") + 1, "b": np.ones(3, "float32")},
    )
    for axis in (-1, 2)
] + [
    Case(
        "result_only",
        [("LayerNormalization", "x g", "y")],
        X,
        {"g": np.ones(3, "float32")},
        wrong=False,
    ),
    *(
        Case(
            f"layer_of_a_smaller_scale_{axis}",
            [("LayerNormalization", "x g b", "y", {"axis": axis})],
            {"x": ["n", 3, 4]},
            {
                "g": np.arange(np.prod(scale), dtype="float32").reshape(scale) + 1,
                "b": np.ones(4, "f"),
            },
        )
        for axis, scale in [(1, (4,)), (-2, (3, 1)), (-1, (1,))]
    ),
    *(
        Case(
            f"root_mean_square_{axis}_{number}",
            [("RMSNormalization", "x g", "y", {"axis": axis})],
            {"x": [2, 3, 4]},
            {"g": np.arange(np.prod(scale), dtype="float32").reshape(scale) + 1},
            opset=23,
        )
        for number, (axis, scale) in enumerate(
            [(0, (2, 3, 4)), (-3, (4,)), (1, (4,)), (-2, (3, 1)), (2, (1,))]
        )
    ),
    Case(
        "root_mean_square_of_a_row",
        [("RMSNormalization", "x g", "y", {"axis": 0})],
        {"x": ["n"]},
        {"g": np.array([2], "float32")},
        opset=23,
    ),
    Case(
        "root_mean_square_of_float16",
        [("RMSNormalization", "x g", "y", {"axis": 0})],
        {"x": [3, 4]},
        {"g": np.ones((3, 4), "float16")},
        {"x": "float16"},
        opset=23,
        tolerance=2e-3,
    ),
]

CHANNELS = {
    "scale": np.array([1, 2, 3], "float32"),
    "bias": np.array([0, 1, -1], "float32"),
    "mean": np.array([0.5, 0, 1], "float32"),
    "variance": np.array([1, 2, 0.5], "float32"),
}
BATCHES = [
    Case(
        f"training_{momentum}",
        [
            (
                "BatchNormalization",
                "x scale bias mean variance",
                "y m v",
                {"training_mode": 1, "momentum": momentum},
            )
        ],
        {"x": [4, 3, "n"]},
        CHANNELS,
        tolerance=1e-4,
    )
    for momentum in (0.9, 0.2)
]

MASKS = [
    Case("mask", [("Dropout", "x", "y mask")], X),
    Case("mask_without_ratio", [("Dropout", "x zero", "y mask")], X, {"zero": np.float32(0)}),
]

EMPTY = [
    Case(
        "reshape",
        [("Reshape", "x to", "y", {"allowzero": 1})],
        {"x": [0, 3, 4]},
        {"to": [3, 4, 0]},
        wrong=False,
    ),
    Case(
        "not_empty",
        [("ReduceMax", "x axes", "y")],
        {"x": [2, "n", 3]},
        {"axes": [-2]},
        wrong=False,
    ),
]

INDICES = {"i": ["n", 2]}
CLASSES = {"labels": np.array([0, 2, 1, 2], "int64")}
QUERIES = {"q": [1, 2, "n", 4], "k": [1, 2, "n", 4], "v": [1, 2, "n", 4]}
TURNS = {"c": np.full((1, 5, 2), 0.6, "float32"), "s": np.full((1, 5, 2), 0.8, "float32")}
DEFINED_BY_FUNCTIONS = [
    Case("celu", [("Celu", "x", "y", {"alpha": 2.0})], X),
    Case("swish", [("Swish", "x", "y", {"alpha": 2.0})], X, opset=24),
    Case(
        "log_likelihood", [("NegativeLogLikelihoodLoss", "x labels", "y")], {"x": [4, 3]}, CLASSES
    ),
    Case("cross_entropy", [("SoftmaxCrossEntropyLoss", "x labels", "y p")], {"x": [4, 3]}, CLASSES),
    Case("crop", [("CenterCropPad", "x size", "y")], {"x": [7, 3]}, {"size": np.array([4, 5])}),
    Case("attention", [("Attention", "q k v", "y")], QUERIES, opset=23),
    Case("causal", [("Attention", "q k v", "y", {"is_causal": 1})], QUERIES, opset=23),
    Case("rotary", [("RotaryEmbedding", "x c s", "y")], {"x": [1, 2, 5, 4]}, TURNS, opset=23),
    Case(
        "attribute_by_default",
        [("HannWindow", "size", "window"), ("Mul", "x window", "y")],
        {"x": [2, 5]},
        {"size": np.int64(5)},
    ),
]

ONE_HOT = [
    Case(
        f"{np.dtype(values.dtype)}_{depth}_{axis}",
        [("OneHot", "i depth values", "y", {"axis": axis})],
        INDICES,
        {"depth": np.array(depth), "values": values},
        {"i": "int64"},
        wrong=values.dtype != "int64",
    )
    for values, depth, axis in [
        (np.array([0.5, 2], "float32"), 5, -1),
        (np.array([1, 7], "int64"), 5, 1),
        (np.array([0.5, 2], "float32"), 5.0, 1),
    ]
] + [Case("hardmax", [("Hardmax", "x", "y", {"axis": 1})], X)]

REDUCED = [
    Case(f"{name}_of_no_axes", [(name, "x", "y", {"noop_with_empty_axes": 1})], {"x": ["n", 3]})
    for name in ("ReduceL1", "ReduceL2", "ReduceSumSquare")
] + [
    Case(
        f"{name}_of_integers",
        [(name, "x axes", "y")],
        {"x": ["n", 3]},
        {"axes": np.array([0])},
        {"x": "int32"},
    )
    for name in ("ReduceL2", "ReduceMean")
]

IMAGE = {"x": [1, 2, 7, 9]}
FILTER = {"w": np.ones((2, 2, 3, 2), "float32")}
PADDED = (
    [
        Case(
            f"{operator}_{mode}",
            [(operator, "x", "y", {"auto_pad": mode, "kernel_shape": [3, 2], "strides": [2, 2]})],
            IMAGE,
            wrong=False,
            opset=19,
        )
        for operator, mode in [
            ("MaxPool", "SAME_UPPER"),
            ("AveragePool", "SAME_UPPER"),
            ("AveragePool", "SAME_LOWER"),
        ]
    ]
    + [
        Case(
            f"symbolic_{operator}",
            [(operator, inputs, "y", {"auto_pad": "SAME_LOWER", "kernel_shape": [3, 2]})],
            {"x": [1, 2, "n", 9]},
            constants,
            wrong=operator != "Conv",
            opset=19,
        )
        for operator, inputs, constants in [
            ("MaxPool", "x", {}),
            ("AveragePool", "x", {}),
            ("Conv", "x w", FILTER),
        ]
    ]
    + [
        Case(
            f"strided_{operator}_{mode}_{options.get('strides')}",
            [(operator, "x w" if operator == "Conv" else "x", "y", options | {"auto_pad": mode})],
            {"x": [1, 2, "n", "2*n"]},
            FILTER if operator == "Conv" else {},
            opset=19,
        )
        for operator, mode, options in [
            ("Conv", "SAME_UPPER", {"strides": [2, 3]}),
            ("Conv", "SAME_LOWER", {"strides": [4, 1], "dilations": [2, 1]}),
            ("MaxPool", "SAME_UPPER", {"kernel_shape": [3, 2], "strides": [2, 2]}),
            ("AveragePool", "SAME_UPPER", {"kernel_shape": [3, 3], "strides": [2, 2]}),
            (
                "AveragePool",
                "SAME_LOWER",
                {"kernel_shape": [3, 2], "strides": [2, 1], "count_include_pad": 1},
            ),
        ]
    ]
)

DTYPES = [
    *(
        Case(
            f"power_of_{base}_to_{exponent}",
            [("Pow", "x p", "y")],
            {"x": ["n"], "p": ["n"]},
            {},
            {"x": base, "p": exponent},
        )
        for base in ("int32", "int64", "uint8")
        for exponent in ("int32", "int64")
    ),
    Case("cube_of_integers", [("Pow", "x p", "y")], X, {"p": np.int64(3)}, {"x": "int64"}),
    Case("integer_power", [("Pow", "x p", "y")], X, {"p": np.int64(3)}),
    Case("power_of_integers", [("Pow", "x p", "y")], X, {"p": np.float32(2)}, {"x": "int32"}),
    Case(
        "equal_bools",
        [("Less", "x z", "p"), ("Less", "z p2", "q"), ("Equal", "p q", "y")],
        {"x": [2, "n"], "z": [2, "n"]},
        {"p2": np.float32(0.2)},
    ),
    Case("equal_to_true", [("Equal", "x t", "y")], {"x": ["n"]}, {"t": np.bool_(1)}, {"x": "bool"}),
    Case("eye", [("EyeLike", "x", "y", {"dtype": 1, "k": 1})], {"x": ["n", 4]}, {}, {"x": "int32"}),
]

ORDERED = [
    Case(
        f"top_{largest}",
        [
            ("Sqrt", "x", "roots"),
            ("TopK", "roots most", "top places", {"largest": largest, "axis": 0}),
            ("Identity", "top", "y"),
        ],
        {"x": [40, "n"]},
        {"most": [16]},
    )
    for largest in (0, 1)
]

SYMBOLIC_AXES = [
    Case("squeeze", [("Squeeze", "x", "y")], {"x": [1, "n", 1]}),
    Case(
        "unsqueeze_at_a_number_without_dimensions",
        [("Unsqueeze", "x last", "y")],
        {"x": [2, "n"]},
        {"last": -1},
    ),
    Case(
        "prelu", [("PRelu", "x slope", "y")], {"x": [2, "n"]}, {"slope": np.array([0.2], "float32")}
    ),
]

ALL = [
    *EMPTY,
    *CONSTANTS,
    *NORMALIZED,
    *BATCHES,
    *MASKS,
    *DEFINED_BY_FUNCTIONS,
    *ONE_HOT,
    *REDUCED,
    *PADDED,
    *DTYPES,
    *ORDERED,
    *SYMBOLIC_AXES,
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_operators(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL if c.wrong])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)


def _with_functions(case):
    """The case's model with functions of the domain "own": Relu is x², Twice calls it for x + x."""
    square = helper.make_node("Mul", ["p", "p"], ["r"])
    twice = helper.make_node("Add", ["p", "p"], ["q"])
    call = helper.make_node("Relu", ["q"], ["r"], domain="own")
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("own", 1)]
    model = model_of(case)
    model.opset_import.append(opsets[1])
    model.functions.extend(
        [
            helper.make_function("own", "Relu", ["p"], ["r"], [square], opsets),
            helper.make_function("own", "Twice", ["p"], ["r"], [twice, call], opsets),
        ]
    )
    for node in model.graph.node:
        node.domain = "own"
    return model


@pytest.mark.parametrize(("name", "factor"), [("Relu", 1), ("Twice", 4)])
def test_a_function_of_the_model_is_that_and_no_operator(name, factor):
    case = Case(name, [(name, "x", "y")], {"x": ["n"]})
    x = np.array([-2, 0, 3], "float32")
    np.testing.assert_array_equal(compiled(_with_functions(case))(x)[0], factor * x * x)


@pytest.mark.parametrize("given", [None, 0.7])
def test_a_call_that_leaves_out_an_attribute_has_the_functions_default(given):
    model = model_of(Case("call", [("Leak", "x", "y")], {"x": ["n"]}))
    model.graph.node[0].domain = "own"
    if given is not None:
        model.graph.node[0].attribute.append(helper.make_attribute("slope", given))
    leak = helper.make_node("LeakyRelu", ["p"], ["r"])
    leak.attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    model.opset_import.append(opsets[1])
    default = [helper.make_attribute("slope", 0.25)]
    function = helper.make_function(
        "own", "Leak", ["p"], ["r"], [leak], opsets, attribute_protos=default
    )
    model.functions.append(function)
    (got,) = compiled(model)(np.array([-2, 3], "float32"))
    np.testing.assert_allclose(got, [-2 * (given or 0.25), 3], rtol=1e-6)


def test_an_onnx_that_does_not_write_out_its_functions_is_named(monkeypatch):
    def older(model, function_ids, exclude=False):
        raise AssertionError

    monkeypatch.setattr("onnx.inliner.inline_selected_functions", older)
    model = model_of(Case("celu", [("Celu", "x", "y")], X))
    with pytest.raises(UnsupportedOperatorError, match="Celu.*installed onnx.*1.19.1 or newer"):
        compiled(model)


def test_an_operator_of_another_domain_is_not_that_of_onnx():
    model = model_of(Case("relu", [("Relu", "x", "y")], {"x": ["n"]}))
    model.graph.node[0].domain = "own"
    with pytest.raises(
        UnsupportedOperatorError, match="Relu of the domain 'own'.*ONNX's operators"
    ):
        compiled(model)


@pytest.mark.parametrize(
    ("nodes", "inputs", "message"),
    [
        (
            [
                (
                    "MaxPool",
                    "x",
                    "y places",
                    {"auto_pad": "SAME_UPPER", "kernel_shape": [3], "strides": [2]},
                )
            ],
            {"x": [1, 2, "n"]},
            "MaxPool: auto_pad is SAME_UPPER, its stride 2.*shape_dict",
        ),
        ([("Trilu", "x s", "y")], {"x": [6], "s": [2]}, "Trilu: its converter failed with"),
        (
            [("BatchNormalization", "x b b b b", "y m v sm sv")],
            {"x": ["n", 3], "b": [3]},
            "BatchNormalization: TVM gives only 3 of its 5 results",
        ),
        ([("Cast", "x", "y", {"to": 22})], {"x": [6]}, "Cast: it gives int4.*int8 or uint8"),
    ],
)
def test_a_node_that_cannot_be_converted_is_refused_by_name(nodes, inputs, message):
    model = model_of(Case("refused", nodes, inputs, dtypes={"s": "int64"}, opset=21))
    with pytest.raises(
        UnsupportedOperatorError, match=f"cannot import the ONNX operator {message}"
    ):
        compiled(model)


@pytest.mark.parametrize("size", ["n + 4", "2*n", "(n + 1)//2"])
def test_a_size_may_have_any_name(size):
    model = model_of(Case("name", [("Add", "x z", "y")], {"x": [size, 2], "z": [size, 1]}))
    x, z = np.ones((6, 2), "float32"), np.ones((6, 1), "float32")
    np.testing.assert_array_equal(compiled(model)(x, z)[0], x + z)


def test_integers_to_the_power_of_negative_and_large_numbers():
    case = Case(
        "powers", [("Pow", "x p", "y")], {"x": ["n"], "p": ["n"]}, {}, {"x": "int64", "p": "int64"}
    )
    base, exponent = [2, -1, -1, 1, 1, -3, 2, 2], [-1, -3, 200, 300, -7, -2, 62, 70]
    (got,) = compiled(model_of(case))(np.array(base), np.array(exponent))
    assert got.tolist() == [0, -1, 1, 1, 1, 0, 1 << 62, 0]


@pytest.mark.parametrize("size", [None, -1])
def test_sizes_without_a_name_may_differ(size):
    model = model_of(Case("sizes", [("MatMul", "x z", "y")], {"x": ["a", "b"], "z": ["b", "c"]}))
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
            if size is not None:
                dim.dim_value = size
    x, z = np.ones((2, 3), "float32"), np.ones((3, 4), "float32")
    np.testing.assert_array_equal(compiled(model)(x, z)[0], x @ z)


def test_a_normalization_that_trains_by_its_results_is_refused():
    nodes = [("BatchNormalization", "x s s s s", "y m v")]
    model = model_of(Case("trains", nodes, {"x": ["n", 3], "s": [3]}, opset=9))
    with pytest.raises(UnsupportedOperatorError, match="training of opset 9.*in evaluation"):
        compiled(model)


def test_an_operator_without_a_converter_is_refused_with_its_domain():
    nodes = [helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml")]
    nodes.append(helper.make_node("DeformConv", ["y", "y", "y"], ["z"]))
    model = model_of(Case("unknown", [("Relu", "x", "z")], {"x": [2, 3]}))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    with pytest.raises(UnsupportedOperatorError, match=r"import .*DeformConv, ai.onnx.ml.Scaler: "):
        compiled(model)


def test_pooling_of_the_same_size_rounds_up():
    """Against pads in numbers: onnx's evaluator rounds down with SAME_LOWER, unlike its text."""
    results = []
    for padding in ({"auto_pad": "SAME_LOWER"}, {"pads": [1, 1, 1, 0]}):
        attributes = {"kernel_shape": [3, 2], "strides": [2, 2]} | padding
        case = Case("same", [("MaxPool", "x", "y", attributes)], IMAGE, opset=19)
        results.append(compiled(model_of(case))(*arguments(case, 6).values())[0])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [7, 9])
def test_an_upsample_is_a_resize_of_opset_10(mode, opset):
    scales = np.array([1, 1, 2, 1.5], "float32")
    node = ("Upsample", "x", "y", {"mode": mode, "scales": scales.tolist()})
    if opset == 9:
        node = ("Upsample", "x scales", "y", {"mode": mode})
    constants = {"scales": scales} if opset == 9 else {}
    image = {"x": [1, 2, "n", 4]}
    own = Case("upsample", [node], image, constants, opset=opset)
    other = [("Resize", "x scales", "y", {"mode": mode})]
    resize = Case("resize", other, image, {"scales": scales}, opset=10)
    given = arguments(own, 6).values()
    for got, want in zip(*(compiled(model_of(c))(*given) for c in (own, resize)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_depth_of_one_hot_may_be_a_list():
    case = Case(
        "list",
        [("OneHot", "i depth values", "y", {"axis": 0})],
        {"i": ["n"]},
        {"depth": np.array([3]), "values": np.array([0, 7], "int64")},
        {"i": "int64"},
    )
    (got,) = compiled(model_of(case))(np.array([2, -3, 5]))
    assert got.tolist() == [[0, 7, 0], [0, 0, 0], [7, 0, 0]]


def test_zeros_are_quantized_to_their_zero_point():
    case = Case("zeros", [("DynamicQuantizeLinear", "x", "y scale zero")], {"x": ["n"]})
    y, scale, zero = compiled(model_of(case))(np.zeros(4, "float32"))
    assert (y.tolist(), float(scale), int(zero)) == ([0] * 4, 1.0, 0)


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
def test_infinities_of_one_sign(positive, negative):
    attributes = {"detect_positive": positive, "detect_negative": negative}
    case = Case("inf", [("IsInf", "x", "y", attributes)], {"x": ["n"]})
    x = np.array([1, np.inf, -np.inf, np.nan], "float32")
    want = [False, bool(positive), bool(negative), False]
    assert compiled(model_of(case))(x)[0].tolist() == want


@pytest.mark.parametrize(
    ("constants", "inputs", "message"),
    [
        ({"ratio": np.float32(0.5), "train": np.bool_(1)}, {}, "is in training mode"),
        ({"ratio": np.float32(0.5)}, {"train": []}, "training mode is an input"),
    ],
)
def test_dropout_that_is_refused(constants, inputs, message):
    case = Case(
        "dropout",
        [("Dropout", "x ratio train", "y")],
        X | inputs,
        constants,
        {"train": "bool"},
    )
    with pytest.raises(UnsupportedOperatorError, match=f"ONNX operator Dropout.*{message}"):
        compiled(model_of(case))


def test_dropout_in_training_that_drops_nothing():
    case = Case(
        "dropout",
        [("Dropout", "x ratio train", "y")],
        X,
        {"ratio": np.float32(0), "train": np.bool_(1)},
    )
    (x,) = arguments(case, 6).values()
    np.testing.assert_array_equal(compiled(model_of(case))(x)[0], x)


RESIZED = [
    Case(
        f"{mode}_{coordinates}_{scale}",
        [
            (
                "Resize",
                "x _ scales",
                "y",
                {"mode": mode, "coordinate_transformation_mode": coordinates},
            )
        ],
        {"x": [1, 2, "n"]},
        {"scales": np.array([1, 1, scale], "float32")},
        tolerance=1e-4,
        wrong=False,
    )
    for mode in ("nearest", "linear", "cubic")
    for coordinates in ("half_pixel", "asymmetric", "align_corners")
    for scale in (2.0, 0.5, 1.7, 2.5)
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in RESIZED])
def test_resize_of_a_symbolic_size(case):
    check(case)


@pytest.mark.parametrize("attributes", [None, {"fmod": 0}, {"fmod": 1}], ids=str)
def test_the_smallest_integer_is_divided_by_minus_one(attributes):
    """Stock ends the process here, on x86."""
    operator = "Div" if attributes is None else "Mod"
    case = Case(
        "smallest",
        [(operator, "a b", "y", attributes or {})],
        {"a": ["n"], "b": ["n"]},
        dtypes={"a": "int32", "b": "int32"},
    )
    a, b = np.array([-(2**31), 7, -7], "int32"), np.array([-1, -1, 3], "int32")
    expected = {"None": [-(2**31), -7, -2], "{'fmod': 0}": [0, 0, 2], "{'fmod': 1}": [0, 0, -1]}
    (result,) = compiled(model_of(case))(a, b)
    assert result.tolist() == expected[str(attributes)]
