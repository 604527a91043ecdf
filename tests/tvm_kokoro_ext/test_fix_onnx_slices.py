"""ONNX slices and pads of symbolic sizes, against the evaluator of `onnx`."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx_cases import Case, check, compiled, model_of  # noqa: E402
from packaging.version import Version  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import _compat  # noqa: E402

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"),
    reason="before 0.27 the frontend holds sizes in another way, and is left as it is",
)

X = {"x": [2, "n", 3]}
MANY = 9223372036854775807


def sizes_of(*rest, **more):
    """A case that begins with the shape of x [2, n, 3]."""
    return [("Shape", "x", "shape"), *rest]


SLICED = [
    Case(
        f"{start}_{end}_{step}",
        [("Slice", "x starts ends axes steps", "y")],
        X,
        {"starts": [start], "ends": [end], "axes": [1], "steps": [step]},
        wrong=wrong,
    )
    for start, end, step, wrong in [
        (0, 1, 1, False),
        (1, MANY, 1, False),
        (0, -1, 1, False),
        (-3, MANY, 1, False),
        (2, -2, 2, False),
        (-1, -MANY, -1, False),
        (-2, 0, -2, False),
        (0, 8, 1, False),
        (7, MANY, 1, False),
    ]
] + [
    Case(
        "to_half",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Div", "n two", "half"),
            ("Slice", "x half many one", "y"),
        ),
        X,
        {"one": [1], "two": [2], "many": [MANY]},
    ),
    Case(
        "beyond_the_end",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Mul", "n two", "twice"),
            ("Slice", "x zero twice one", "y"),
        ),
        X,
        {"zero": [0], "one": [1], "two": [2]},
    ),
    Case(
        "from_the_end",
        sizes_of(
            ("Slice", "shape one two", "n"),
            ("Sub", "one n", "back"),
            ("Slice", "x back many one", "y"),
        ),
        X,
        {"one": [1], "two": [2], "many": [MANY]},
    ),
    Case(
        "bounds_of_attributes",
        [("Slice", "x", "y", {"starts": [1, -2], "ends": [3, 9], "axes": [1, 2]})],
        {"x": [2, 6, 3]},
        opset=9,
    ),
    Case(
        "one_of_a_size_that_may_be_nothing",
        [
            ("MaxPool", "x", "half", {"kernel_shape": [4], "strides": [3]}),
            ("Slice", "half zero one last", "first"),
            ("Sub", "half first", "y"),
        ],
        {"x": [2, 3, "n"]},
        {"zero": [0], "one": [1], "last": [2]},
        wrong=False,
    ),
    Case(
        "gather_from_the_end", [("Gather", "x at", "y", {"axis": 1})], X, {"at": [-1]}, wrong=False
    ),
    Case(
        "first_and_rest",
        [
            ("Slice", "x zero one one", "first"),
            ("Slice", "x zero minus one", "rest"),
            ("Concat", "first rest", "shifted", {"axis": 1}),
            ("Sub", "x shifted", "y"),
        ],
        X,
        {"zero": [0], "one": [1], "minus": [-1]},
        wrong=False,
    ),
]

PADDED = [
    Case(
        f"{mode}_by_the_graph",
        sizes_of(
            ("Gather", "shape one", "n"),
            ("Unsqueeze", "n zero", "list"),
            ("Sub", "list two", "less"),
            ("Concat", "zero less zero zero two zero", "pads", {"axis": 0}),
            ("Pad", "x pads", "y", {"mode": mode}),
        ),
        X,
        {"one": 1, "zero": [0], "two": [2]},
    )
    for mode in ("constant", "reflect", "edge")
] + [
    Case(
        "wrap",
        [("Pad", "x pads", "y", {"mode": "wrap"})],
        X,
        {"pads": [0, 2, 0, 0, 3, 1]},
        opset=19,
        wrong=False,
    ),
    Case(
        "value_of_the_graph",
        [("ReduceMax", "x", "top", {"keepdims": 0}), ("Pad", "x pads top", "y")],
        X,
        {"pads": [0, 1, 0, 0, 1, 1]},
    ),
    Case(
        "axes",
        [("Pad", "x pads _ axes", "y", {"mode": "edge"})],
        X,
        {"pads": [2, 1, 0, 3], "axes": [1, -1]},
        wrong=False,
    ),
    Case(
        "integers",
        [("Pad", "x pads seven", "y")],
        X,
        {"pads": [0, 1, 0, 0, 1, 1], "seven": np.int64(7)},
        {"x": "int64"},
        wrong=False,
    ),
    Case(
        "pads_of_an_attribute",
        [("Pad", "x", "y", {"pads": [0, 1, 0, 0, 2, 0], "value": 1.5})],
        X,
        opset=10,
        wrong=False,
    ),
]


def named(cases):
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named([*SLICED, *PADDED]))
def test_slices_and_pads(case):
    check(case)


def test_a_slice_to_a_place_behind_any_end_plans_no_memory_for_it():
    """Rows of a million elements: 4 petabytes for as many rows as the bound says."""
    ends = {"starts": [0, 0], "ends": [10**9, 3], "steps": [1, 1], "axes": [0, 1]}
    nodes = [("Slice", "x starts ends axes steps", "part"), ("Expand", "part sizes", "y")]
    case = Case("rows", nodes, {"x": ["n", 4, 1]}, {**ends, "sizes": [1, 1, 10**6]})
    x = np.arange(8, dtype="float32").reshape(2, 4, 1)
    (got,) = compiled(model_of(case))(x)
    np.testing.assert_array_equal(got, np.broadcast_to(x[:, :3], (2, 3, 10**6)))


def test_pads_below_zero_cut():
    case = Case("cut", [("Pad", "x pads", "y")], {"x": ["n"]}, {"pads": [-1, -2]})
    x = np.arange(7, dtype="float32")
    np.testing.assert_array_equal(compiled(model_of(case))(x)[0], x[1:-2])


@pytest.mark.parametrize("case", named(case for case in [*SLICED, *PADDED] if case.wrong))
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)
