"""ONNX operators of tensors whose sizes are equal, which TVM cannot prove, against `onnx`."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx_cases import Case, check
from packaging.version import Version

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"),
    reason="before 0.27 the frontend holds sizes in another way, and is left as it is",
)

MANY = 9223372036854775807

ADDED = [
    Case(
        "selected_twice",
        [
            ("Greater", "x zero", "mask"),
            ("NonZero", "mask", "at"),
            ("NonZero", "mask", "again"),
            ("Add", "at again", "y"),
        ],
        {"x": [2, "n"]},
        {"zero": np.float32(0)},
    ),
    Case(
        "assigned_by_a_mask",
        [
            ("Greater", "x zero", "mask"),
            ("NonZero", "mask", "at"),
            ("Transpose", "at", "places"),
            ("NonZero", "mask", "again"),
            ("Transpose", "again", "same"),
            ("GatherND", "z same", "values"),
            ("ScatterND", "x places values", "y"),
        ],
        {"x": [2, "n"], "z": [2, "n"]},
        {"zero": np.float32(0)},
    ),
    Case(
        "concatenated",
        [("Concat", "x z", "y", {"axis": -1})],
        {"x": ["n", 3], "z": ["m", 2]},
    ),
    Case(
        "concatenated_with_one_row",
        [("Concat", "x row", "y", {"axis": 1})],
        {"x": ["n//n", 3]},
        {"row": np.ones((1, 2), "float32")},
    ),
    Case(
        "sizes_of_one_value",
        [("Add", "x z", "y")],
        {"x": ["n", 3], "z": ["m", 3]},
    ),
    *(
        Case(
            f"{operator}_of_four",
            [(operator, "x z row c", "y")],
            shapes,
            {"row": np.ones((1, 3), "float32")},
        )
        for operator in ("Min", "Max", "Sum", "Mean")
        for shapes in [{"x": ["n", 3], "z": ["m", 3], "c": ["n//n + n - 1", 1]}]
    ),
    Case(
        "added_to_a_product",
        [("Gemm", "x z c", "y", {"alpha": 0.5})],
        {"x": ["n", 3], "z": [3, "m"], "c": ["n + 0", "m + 0"]},
        wrong=False,
    ),
    Case(
        "added_to_a_product_of_turned_matrices",
        [("Gemm", "x z c", "y", {"transA": 1, "transB": 1, "beta": 2.0})],
        {"x": ["n", 3], "z": [4, "m"], "c": [4]},
        wrong=False,
    ),
    Case(
        "multiplied_batches",
        [
            ("Slice", "x zero three last", "a"),
            ("Slice", "z zero three last", "b"),
            ("Transpose", "a", "front", {"perm": [2, 0, 1]}),
            ("Transpose", "b", "back", {"perm": [2, 1, 0]}),
            ("MatMul", "front back", "y"),
        ],
        {"x": [4, 5, "n"], "z": [2, 5, "m"]},
        {"zero": [0], "three": [7], "last": [2]},
    ),
    Case(
        "multiplied_in_half_precision",
        [
            ("Transpose", "x", "front", {"perm": [2, 0, 1]}),
            ("Transpose", "z", "back", {"perm": [2, 1, 0]}),
            ("MatMul", "front back", "y"),
        ],
        {"x": [4, 5, "n"], "z": [2, 5, "m"]},
        {},
        {"x": "float16", "z": "float16"},
        tolerance=2e-3,
    ),
    Case(
        "equal_bools",
        [("Greater", "x zero", "p"), ("Greater", "z zero", "q"), ("Equal", "p q", "y")],
        {"x": ["n", 3], "z": ["m", 3]},
        {"zero": np.float32(0)},
    ),
    Case(
        "multiplied_sums",
        [
            ("Slice", "x zero three last", "a"),
            ("Slice", "z zero three zero", "b"),
            ("MatMul", "a b", "y"),
        ],
        {"x": [2, "n"], "z": ["m", 3]},
        {"zero": [0], "three": [7], "last": [1]},
        wrong=False,
    ),
    Case(
        "multiplied_vectors",
        [("MatMul", "x z", "y")],
        {"x": ["n"], "z": ["m"]},
        wrong=False,
    ),
    Case(
        "scattered_rows_of_a_computed_size",
        [
            ("Slice", "x one many last two", "half"),
            ("Slice", "z one many last two", "rows"),
            ("ScatterND", "half places rows", "y"),
        ],
        {"x": [5, "n"], "z": [2, "n"]},
        {"one": [1], "many": [MANY], "last": [1], "two": [2], "places": [[3], [1]]},
    ),
    Case(
        "a_declared_size_beside_that_of_an_input",
        [
            ("Slice", "z zero seven last", "a"),
            ("Slice", "a zero three last", "b"),
            ("Slice", "x zero three last", "c"),
            ("Unsqueeze", "b zero", "d"),
            ("Mul", "c d", "y"),
        ],
        {"x": [2, "n"], "z": [2, "m"]},
        {"zero": [0], "three": [8], "seven": [9], "last": [1]},
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ADDED])
def test_sizes_that_cannot_be_proved_equal(case):
    check(case)


def test_a_scatter_at_a_symbolic_number_of_axes_is_refused():
    nodes = [("ScatterND", "x places rows", "y")]
    shapes = {"x": [5, "n"], "places": [2, "m"], "rows": [2, "n"]}
    case = Case("scatter", nodes, shapes, {}, {"places": "int64"})
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="ScatterND: the number of"):
        check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ADDED if c.wrong])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)
