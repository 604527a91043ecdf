"""ONNX graphs that compute with symbolic sizes, against the evaluator of `onnx`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx import TensorProto, helper  # noqa: E402
from onnx_cases import Case, check, compiled, model_of  # noqa: E402
from packaging.version import Version  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import _compat  # noqa: E402

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"),
    reason="before 0.27 the frontend holds sizes in another way, and is left as it is",
)

X = {"x": [2, "n", 3]}


def sizes_of(*rest, **more):
    """A case that begins with the shape of x [2, n, 3]."""
    return [("Shape", "x", "shape"), *rest]


SIZES = [
    Case("shape", [("Shape", "x", "y")], X),
    Case("shape_part", [("Shape", "x", "y", {"start": 1, "end": -1})], X),
    Case("size", [("Size", "x", "y")], X, wrong=False),
    Case("gathered", sizes_of(("Gather", "shape one", "y")), X, {"one": 1}, wrong=False),
    Case("gathered_list", sizes_of(("Gather", "shape at", "y")), X, {"at": [-1, 1]}, wrong=False),
    Case(
        "gathered_matrix",
        sizes_of(("Gather", "shape at", "y")),
        X,
        {"at": [[2, 1], [0, 1]]},
        wrong=False,
    ),
    Case(
        "arithmetic",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Mul", "n three", "a"),
            ("Sub", "a one", "b"),
            ("Div", "b two", "c"),
            ("Mod", "b two", "d"),
            ("Add", "c d", "e"),
            ("Neg", "e", "f"),
            ("Max", "f n", "g"),
            ("Min", "g three n", "y"),
        ),
        X,
        {"one": 1, "two": 2, "three": 3},
    ),
    Case(
        "division_truncates",
        sizes_of(("Sub", "shape ten", "a"), ("Div", "a four", "y")),
        X,
        {"ten": [10, 10, 10], "four": [4, 4, 4]},
    ),
    Case(
        "lists",
        sizes_of(
            ("Slice", "shape zero two", "front"),
            ("Unsqueeze", "scalar zero", "more"),
            ("Concat", "front more front", "all", {"axis": 0}),
            ("Transpose", "all", "turned"),
            ("Slice", "turned from to at back", "reversed"),
            ("Squeeze", "reversed", "y"),
        ),
        X,
        {
            "zero": [0],
            "two": [2],
            "scalar": 7,
            "from": [-1],
            "to": [-(1 << 62)],
            "at": [0],
            "back": [-1],
        },
    ),
    Case(
        "matrix",
        sizes_of(("Concat", "shape six", "all", {"axis": 0}), ("Reshape", "all to", "y")),
        X,
        {"six": [6], "to": [2, -1]},
        wrong=False,
    ),
    Case("as_int32", sizes_of(("Cast", "shape", "y", {"to": TensorProto.INT32})), X, wrong=False),
    Case("as_float", sizes_of(("Cast", "shape", "y", {"to": TensorProto.FLOAT})), X, wrong=False),
    Case("as_double", sizes_of(("Cast", "shape", "y", {"to": TensorProto.DOUBLE})), X, wrong=False),
    Case("as_bool", sizes_of(("Cast", "shape", "y", {"to": TensorProto.BOOL})), X, wrong=False),
    Case(
        "rounded",
        sizes_of(
            ("Cast", "shape", "real", {"to": TensorProto.FLOAT}),
            ("Mul", "real scale", "scaled"),
            ("Floor", "scaled", "floor"),
            ("Ceil", "scaled", "ceil"),
            ("Concat", "floor ceil", "both", {"axis": 0}),
            ("Cast", "both", "y", {"to": TensorProto.INT64}),
        ),
        X,
        {"scale": np.float32(0.5)},
        wrong=False,
    ),
    Case("squared", sizes_of(("Pow", "shape two", "y")), X, {"two": 2}),
    Case(
        "scaled_by_a_fraction",
        sizes_of(
            ("Cast", "shape", "real", {"to": TensorProto.FLOAT}),
            ("Mul", "real scale", "scaled"),
            ("Floor", "scaled", "floor"),
            ("Cast", "floor", "y", {"to": TensorProto.INT64}),
        ),
        X,
        {"scale": np.float32(1.7)},
        wrong=False,
    ),
    Case(
        "divided_floats",
        sizes_of(
            ("Cast", "shape", "real", {"to": TensorProto.FLOAT}),
            ("Div", "real three", "third"),
            ("Sqrt", "third", "root"),
            ("Add", "root real", "y"),
        ),
        X,
        {"three": np.float32(3)},
        wrong=False,
    ),
    Case(
        "compared",
        sizes_of(("Equal", "shape minus", "same"), ("Where", "same three shape", "y")),
        X,
        {"minus": [-1, -1, 3], "three": [4, 5, 6]},
    ),
    Case(
        "compared_at_run_time",
        sizes_of(
            ("Less", "shape seven", "few"),
            ("Not", "few", "many"),
            ("Where", "many seven shape", "y"),
        ),
        X,
        {"seven": [7, 7, 7]},
    ),
    Case(
        "reduced",
        sizes_of(
            ("ReduceProd", "shape", "product", {"keepdims": 0}),
            ("ReduceSum", "shape zero", "sum", {"keepdims": 0}),
            ("Sub", "product sum", "y"),
        ),
        X,
        {"zero": [0]},
    ),
    Case(
        "with_a_tensor",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Cast", "n", "real", {"to": TensorProto.FLOAT}),
            ("Div", "x real", "y"),
        ),
        X,
        {"one": 1},
        wrong=False,
    ),
]

RESHAPED = [
    Case(
        "by_sizes_of_a_pooling",
        [
            ("AveragePool", "x", "pooled", {"kernel_shape": [3], "strides": [2]}),
            ("Shape", "x", "shape"),
            ("Gather", "shape two", "n"),
            ("Sub", "n three", "less"),
            ("Div", "less two", "half"),
            ("Add", "half one", "length"),
            ("Unsqueeze", "length zero", "lengths"),
            ("Concat", "ones lengths rest", "wanted", {"axis": 0}),
            ("Reshape", "pooled wanted", "split"),
            ("Concat", "ones lengths fours", "all", {"axis": 0}),
            ("Expand", "split all", "y"),
        ],
        {"x": [4, 3, "n"]},
        {
            "one": 1,
            "two": 2,
            "three": 3,
            "zero": [0],
            "ones": [3],
            "rest": [-1],
            "fours": [4],
        },
    ),
    Case(
        "heads",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Unsqueeze", "n zero", "list"),
            ("Concat", "two list one_more rest", "to", {"axis": 0}),
            ("Reshape", "x to", "y"),
        ),
        X,
        {"one": 1, "zero": [0], "two": [2], "one_more": [1], "rest": [-1]},
        wrong=False,
    ),
    Case("zero_copies", [("Reshape", "x to", "y")], X, {"to": [0, 0, 1, -1]}, wrong=False),
    Case(
        "rest_of_a_product",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Mul", "n three", "more"),
            ("Concat", "more rest", "to", {"axis": 0}),
            ("Reshape", "x to", "y"),
        ),
        X,
        {"one": [1], "two": [2], "three": [3], "rest": [-1]},
    ),
    Case("flatten", [("Flatten", "x", "y", {"axis": 2})], X, wrong=False),
    Case("flatten_from_the_end", [("Flatten", "x", "y", {"axis": -1})], X, wrong=False),
    Case(
        "expanded",
        sizes_of(("Expand", "one shape", "y")),
        X,
        {"one": np.ones((1, 3), "float32")},
        wrong=False,
    ),
    Case(
        "expanded_by_ones",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Concat", "one n one", "to", {"axis": 0}),
            ("Expand", "x to", "y"),
        ),
        X,
        {"one": [1], "two": [2]},
        wrong=False,
    ),
    Case(
        "expanded_to_another_input",
        [("Shape", "z", "m"), ("Concat", "m three", "to", {"axis": 0}), ("Expand", "x to", "y")],
        {"x": ["n", 3], "z": ["m"]},
        {"three": [3]},
        wrong=False,
    ),
    Case(
        "filled_without_axes",
        [
            ("ConstantOfShape", "none", "two", {"value": helper.make_tensor("v", 1, [1], [2.0])}),
            ("Add", "x two", "y"),
        ],
        X,
        {"none": np.zeros(0, "int64")},
    ),
    Case(
        "exporter_of_torch",
        sizes_of(
            ("Concat", "minus shape", "wanted", {"axis": 0}),
            ("Shape", "wanted", "length"),
            ("ConstantOfShape", "length", "ones", {"value": helper.make_tensor("v", 7, [1], [1])}),
            ("Mul", "ones minus", "negative"),
            ("Equal", "wanted negative", "same"),
            ("Where", "same ones wanted", "to"),
            ("Expand", "x to", "y"),
        ),
        X,
        {"minus": [-1]},
        wrong=False,
    ),
    Case(
        "filled",
        sizes_of(
            ("ConstantOfShape", "shape", "y", {"value": helper.make_tensor("v", 1, [1], [2.5])})
        ),
        X,
        wrong=False,
    ),
    Case(
        "range",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Range", "zero n one", "at"),
            ("Gather", "x at", "y", {"axis": 1}),
        ),
        X,
        {"one": 1, "zero": 0},
        wrong=False,
    ),
    Case(
        "range_by_steps",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Mul", "n three", "last"),
            ("Range", "n last two", "y"),
        ),
        X,
        {"one": 1, "two": 2, "three": 3},
        wrong=False,
    ),
    Case(
        "range_downwards",
        sizes_of(("Gather", "shape one", "n"), ("Range", "n zero back", "y")),
        X,
        {"one": 1, "zero": -1, "back": -2},
        wrong=False,
    ),
    Case(
        "tiled",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Concat", "one n two", "times", {"axis": 0}),
            ("Tile", "x times", "y"),
        ),
        X,
        {"one": [1], "two": [2]},
    ),
]

HALF = [("Slice", "shape one two", "n"), ("Div", "n two", "half"), ("Sub", "n half", "rest")]
COUNTED = [
    Case(
        "as_many_as_half_of_a_size",
        sizes_of(*HALF, ("TopK", "x half", "y places", {"axis": 1, "largest": 0})),
        X,
        {"one": [1], "two": [2]},
    ),
    Case(
        "as_many_as_there_are_or_seven",
        sizes_of(*HALF, ("Min", "n seven", "k"), ("TopK", "x k", "y places", {"axis": -2})),
        X,
        {"one": [1], "two": [2], "seven": [7]},
    ),
    Case(
        "in_any_order",
        [("TopK", "x one", "y places", {"axis": 1, "sorted": 0})],
        X,
        {"one": [1]},
    ),
    Case(
        "two_halves",
        sizes_of(
            *HALF,
            ("Concat", "half rest", "parts", {"axis": 0}),
            ("Split", "x parts", "y z", {"axis": 1}),
        ),
        X,
        {"one": [1], "two": [2]},
    ),
    Case(
        "a_matrix_without_rows",
        sizes_of(("ScatterND", "shape none nothing", "y")),
        X,
        {"none": np.zeros((0, 1), "int64"), "nothing": np.zeros(0, "int64")},
    ),
    Case(
        "no_rows_of_data",
        [("ScatterND", "x none nothing", "y")],
        X,
        {"none": np.zeros((0, 1), "int64"), "nothing": np.zeros((0, 6, 3), "float32")},
    ),
    Case(
        "what_is_between",
        sizes_of(
            *HALF,
            ("Sub", "n two", "less"),
            ("Concat", "one less one", "parts", {"axis": 0}),
            ("Split", "x parts", "first y last", {"axis": -2}),
        ),
        X,
        {"one": [1], "two": [2]},
    ),
]

GROUPS = {
    "sizes": SIZES,
    "shapes": RESHAPED,
    "counts": COUNTED,
}


def named(wanted: Callable[[Case], bool]) -> list[Any]:
    return [
        pytest.param(case, id=f"{group}-{case.name}")
        for group, cases in GROUPS.items()
        for case in cases
        if wanted(case)
    ]


@pytest.mark.parametrize("case", named(lambda case: True))
def test_symbolic_sizes(case):
    check(case)


@pytest.mark.parametrize("parts", [3, 7, 300])
def test_a_part_of_a_symbolic_size_is_a_whole_number(parts):
    """The size is a quotient, and no product of floats, which the shapes of TVM cannot hold."""
    scale = np.float32(1 / parts)
    case = Case(
        "part",
        [("Resize", "x _ scales", "small", {"mode": "linear"}), ("Add", "small z", "y")],
        {"x": [1, 1, f"{parts}*n"], "z": ["n"]},
        {"scales": np.array([1, 1, scale], "float32")},
        tolerance=2e-4,  # places are computed in float32
    )
    check(case)
    sizes = np.arange(1, 1 << 23)
    rounded_down = np.floor(sizes.astype("float32") * scale).astype("int64")
    np.testing.assert_array_equal(rounded_down, sizes // parts)


@pytest.mark.parametrize("parts", [3, 20, 41, 61, 63, 64])
@pytest.mark.parametrize("rounding", ["Floor", "Ceil"])
def test_a_range_of_a_part_of_a_size_has_the_elements_of_the_exporter(parts, rounding):
    """`n * 61 * (1 / 61)` is below n = 6 in float32, and `n * 63 * (1 / 63)` above it."""
    case = Case(
        "part",
        [
            ("Shape", "x", "shape", {"start": 1}),
            ("Squeeze", "shape", "n"),
            ("Mul", "n parts", "more"),
            ("Cast", "more", "real", {"to": TensorProto.FLOAT}),
            ("Mul", "real scale", "scaled"),
            (rounding, "scaled", "whole"),
            ("Cast", "whole", "count", {"to": TensorProto.INT64}),
            ("Range", "zero count one", "y"),
        ],
        {"x": [2, "n"]},
        {"parts": parts, "scale": np.float32(1 / parts), "zero": 0, "one": 1},
    )
    check(case)


def test_expand_of_a_size_that_may_be_one():
    case = Case(
        "expand",
        [("Shape", "z", "shape"), ("Expand", "x shape", "y")],
        {"x": ["m", 3], "z": ["n", 3]},
    )
    run = compiled(model_of(case))
    z = np.zeros((5, 3), "float32")
    for rows in (1, 5):
        x = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
        np.testing.assert_array_equal(run(x, z)[0], np.broadcast_to(x, (5, 3)))


def test_a_size_may_be_equal_to_an_expression_of_itself():
    """The end of a table as long as x; CanonicalizeBindings would read its size as that of x."""
    case = Case(
        "end",
        [
            ("Shape", "x", "shape"),
            ("Sub", "all shape", "missing"),
            ("Max", "missing zero", "start"),
            ("Slice", "table start all zero", "cut"),
            ("Add", "x cut", "y"),
        ],
        {"x": ["n"]},
        {"all": [64], "zero": [0], "table": np.arange(64, dtype="float32")},
    )
    check(case)
    with pytest.raises(Exception, match="mismatch"):
        compiled(model_of(case))(np.zeros(70, "float32"))


def test_a_size_that_data_decide_may_come_before_that_of_an_input():
    """As of VITS, which adds its noise to frames: compilation ended the process."""
    case = Case(
        "frames",
        [
            ("Range", "zero k one", "at"),
            ("Cast", "at", "numbers", {"to": 1}),
            ("Add", "numbers x", "sum"),
            ("Relu", "sum", "y"),
        ],
        {"x": ["n"], "k": []},
        {"zero": 0, "one": 1},
        {"k": "int64"},
    )
    run = compiled(model_of(case))
    x = np.arange(6, dtype="float32")
    np.testing.assert_array_equal(run(x, np.array(6))[0], 2 * x)
    with pytest.raises(Exception, match="mismatch"):
        run(x, np.array(5))


def test_a_size_is_at_least_one_and_a_count_may_be_none():
    """The first of what a condition selects, of which there may be none."""
    case = Case(
        "nothing",
        [("NonZero", "x", "at"), ("Slice", "at zero one axis", "first"), ("Shape", "first", "y")],
        {"x": ["n"]},
        {"zero": [0], "one": [1], "axis": [1]},
    )
    run = compiled(model_of(case))
    for x, count in ((np.zeros(4, "float32"), 0), (np.ones(4, "float32"), 1)):
        np.testing.assert_array_equal(run(x)[0], [1, count])


@pytest.mark.parametrize("case", named(lambda case: case.wrong))
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)
