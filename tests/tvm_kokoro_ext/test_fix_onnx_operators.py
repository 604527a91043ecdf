"""Operators that the ONNX frontend gets wrong, against the evaluator of `onnx`."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

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

ALL = [*EMPTY, *CONSTANTS, *NORMALIZED, *BATCHES, *MASKS]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_operators(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL if c.wrong])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)


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
