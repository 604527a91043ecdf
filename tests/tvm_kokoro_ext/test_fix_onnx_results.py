"""Operators that the ONNX frontend computes wrongly, without an error, at given numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

import onnx
import tvm
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_cases import compiled
from packaging.version import Version

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, _compat

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="these fixes are for 0.27 and newer"
)

INF, NAN = float("inf"), float("nan")
RNG = np.random.default_rng(0)


@dataclass(frozen=True, eq=False)
class Row:
    """One operator at given inputs, of which the last `constants` are constants of the graph."""

    name: str
    operator: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: int = 0
    symbolic: bool = False
    """Whether the first axis of every input has a symbolic size."""
    opset: int = 18
    wrong: bool = True
    """Whether stock is wrong, or raises."""
    by_runtime: bool = False
    """Whether ONNX Runtime says what is right, where onnx's evaluator raises or errs."""

    def model(self) -> onnx.ModelProto:
        names = [f"i{at}" if array is not None else "" for at, array in enumerate(self.inputs)]
        free = len(self.inputs) - self.constants
        node = helper.make_node(self.operator, names, ["y"], **self.attributes)
        given = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(array.dtype),
                ["n", *array.shape[1:]] if self.symbolic else array.shape,
            )
            for name, array in zip(names[:free], self.inputs[:free], strict=True)
        ]
        held = [
            numpy_helper.from_array(array, name)
            for name, array in zip(names[free:], self.inputs[free:], strict=True)
            if array is not None
        ]
        graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name="y")], held)
        opsets = [helper.make_opsetid("", self.opset)]
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opsets, ir_version=10)
        )

    def free(self) -> dict[str, np.ndarray]:
        """The inputs of the graph."""
        taken = self.inputs[: len(self.inputs) - self.constants]
        return {f"i{at}": array for at, array in enumerate(taken)}

    def expected(self) -> np.ndarray:
        if self.by_runtime:
            runtime = pytest.importorskip("onnxruntime")
            session = runtime.InferenceSession(self.model().SerializeToString())
            return session.run(None, self.free())[0]
        if self.operator == "ReduceLogSumExp":  # onnx's evaluator subtracts infinities
            axes, keep = tuple(self.inputs[1]), bool(self.attributes["keepdims"])
            with np.errstate(all="ignore"):
                powers = np.exp(self.inputs[0].astype("float64"))
                return np.log(powers.sum(axes, keepdims=keep)).astype("float32")
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(self.model()).run(None, self.free())[0]


def f32(*numbers: float) -> np.ndarray:
    return np.array(numbers, "float32")


MAP = RNG.standard_normal((2, 3, 9, 11)).astype("float32")
BOXES = f32(0, 2, 20, 30, -5, -4, 44, 50, 8, 8, 8.5, 8.25, 30, 30, 60, 40).reshape(4, 4)
PIXELS = {"coordinate_transformation_mode": "output_half_pixel"}
ALIGN = {"output_height": 3, "output_width": 2, "sampling_ratio": 2}
ALIGNED = [
    Row(name, "RoiAlign", (MAP, BOXES, np.array([0, 1, 1, 0])), ALIGN | attributes, wrong=wrong)
    for name, attributes, wrong in [
        ("half_pixel", {"spatial_scale": 0.25}, True),
        ("max", {"spatial_scale": 0.25, "mode": "max"}, True),
        ("max_of_pixels", {"spatial_scale": 0.5, "mode": "max"} | PIXELS, True),
        ("adaptive", {"spatial_scale": 0.25, "sampling_ratio": 0}, True),
        ("pixels", {"spatial_scale": 0.25} | PIXELS, False),
    ]
]
HALVES = [
    Row(
        f"halves_{mode}",
        "RoiAlign",
        (MAP.astype("float16"), BOXES.astype("float16"), np.array([0, 1, 1, 0])),
        ALIGN | {"spatial_scale": 0.25, "mode": mode},
    )
    for mode in ("avg", "max")
]
OLDER = Row(
    "opset_10",
    "RoiAlign",
    (MAP, BOXES, np.array([0, 1, 1, 0])),
    ALIGN | {"spatial_scale": 0.25},
    opset=10,
    wrong=False,
    by_runtime=True,
)

SPACE = RNG.standard_normal((2, 3, 4, 6)).astype("float32")
BLOCKS = [
    Row(f"blocks_{mode}_{block}", "SpaceToDepth", (SPACE,), {"blocksize": block, "mode": mode}, 0)
    for mode, block in [("CRD", 2), ("CRD", 1)]
]

BY = {"strides": [3, 2]}
UP = RNG.standard_normal((2, 4, 3, 5)).astype("float32")
WEIGHT = RNG.standard_normal((4, 2, 3, 2)).astype("float32")
TRANSPOSED = [
    Row(
        name,
        "ConvTranspose",
        (UP, WEIGHT, f32(1, -1)),
        attributes,
        2,
        wrong=wrong,
        by_runtime=True,
    )
    for name, attributes, wrong in [
        ("larger", {"output_shape": [10, 11]} | BY, True),
        ("smaller", {"output_shape": [6, 7]} | BY, True),
        ("upper", {"output_shape": [6, 7], "auto_pad": "SAME_UPPER"} | BY, True),
        ("lower", {"output_shape": [6, 7], "auto_pad": "SAME_LOWER"} | BY, True),
        ("dilated", {"output_shape": [4, 5], "dilations": [2, 3]}, True),
        ("padded", {"output_shape": [8, 9], "output_padding": [1, 1]} | BY, True),
        ("no_shape", {"pads": [1, 0, 0, 1]} | BY, False),
    ]
]
GROUPED = Row(
    "grouped",
    "ConvTranspose",
    (UP[..., 0], RNG.standard_normal((4, 1, 3)).astype("float32")),
    {"output_shape": [5], "strides": [3], "group": 2},
    1,
    by_runtime=True,
)


def shifts(dtype: str, direction: str) -> Row:
    bits = np.dtype(dtype).itemsize * 8
    counts = [0, 1, bits - 1, bits, bits + 1, 100] + [-1, -8] * (dtype[0] == "i")
    x, y = np.meshgrid(np.array([-8, 4, -1, 127]).astype(dtype), np.array(counts).astype(dtype))
    return Row(f"{direction}_{dtype}", "BitShift", (x, y), {"direction": direction})


SHIFTED = [
    shifts(dtype, way) for dtype in ("int8", "int32", "int64", "uint8") for way in ("LEFT", "RIGHT")
] + [
    Row(
        f"{way}_by_{counts[0]}_and_others",
        "BitShift",
        (np.array([-8, 4, 1], "int32"), np.array(counts, "int32")),
        {"direction": way},
        1,
        wrong=-1 in counts,
    )
    for way, counts in [("LEFT", [1, 31, 0]), ("RIGHT", [1, 31, 0]), ("RIGHT", [-1, 33, 0])]
]

DIVIDENDS, DIVISORS = np.meshgrid(
    [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 7.5, -1e-3, INF, -INF, NAN, 6e4],
    [2.0, -2.0, 0.7, -0.1, INF, -INF, 0.0, NAN, 3e-5],
)
MODULI = [
    Row(
        f"mod_{dtype}",
        "Mod",
        (DIVIDENDS.astype(dtype), DIVISORS.astype(dtype)),
        {"fmod": 0},
    )
    for dtype in ("float32", "float64", "float16")
]

OVERLAPPING = f32(0, 0, 4, 4, 0, 2, 4, 0, 2, 0, 6, 4, 10, 10, 12, 12, 0, 0, 4, 3.9)
OVERLAPPING = np.stack([OVERLAPPING, OVERLAPPING[::-1]]).reshape(2, 5, 4)
SCORES = f32(0.5, 0.25, -0.5, -2, 0.125, 1, -1, 1, 0.5, 0.5)
SCORES = np.concatenate([SCORES, SCORES[::-1]]).reshape(2, 2, 5)
MOST = np.array([3], "int64")
SUPPRESSED = [
    Row(
        name,
        "NonMaxSuppression",
        (OVERLAPPING, SCORES, *bounds),
        {},
        len(bounds),
        wrong=wrong,
        by_runtime=True,
    )
    for name, bounds, wrong in [
        ("a_half", (MOST, f32(0.5), f32(0.0)), True),
        ("no_score", (MOST, f32(0.6)), True),
        ("no_bound", (MOST,), True),
        ("low_bound", (MOST, f32(0.6), f32(-1)), False),
        ("one", (MOST[:1] - 2, f32(0.0), f32(-INF)), True),
        ("no_boxes", (), False),
        ("apart", (MOST, f32(0.6), f32(0.0)), False),
    ]
]

EMPTY = np.zeros((2, 0, 3), "float32")
INFINITE = f32(INF, 1, -INF, -INF, -INF, INF, NAN, 0, 90, 91).reshape(5, 2)
AXIS = np.array([1])
EXTREMES = [
    Row(f"{operator}_{name}", operator, (x, axes), {"keepdims": keep}, 1, symbolic)
    for operator in ("ReduceMax", "ReduceMin", "ReduceLogSumExp")
    for name, x, axes, keep, symbolic in [
        ("none", EMPTY, AXIS, 1, False),
        ("none_at_run_time", EMPTY.transpose(1, 0, 2), np.array([0]), 0, True),
    ]
] + [
    Row(f"lse_{keep}", "ReduceLogSumExp", (INFINITE, AXIS), {"keepdims": keep}, 1)
    for keep in (0, 1)
]
TRUTH = np.array([[True, False], [False, False], [True, True]])
BOOLS = [
    Row(f"{operator}_{name}", operator, (x, AXIS), {"keepdims": 0}, 1, opset=20)
    for operator in ("ReduceMax", "ReduceMin")
    for name, x in [("bools", TRUTH), ("no_bools", TRUTH[:, :0])]
]

NOT_FINITE = f32(NAN, INF, -INF, 0.0, -0.4, 0.4, 3.0, -2.0)
BOUNDS = f32(-1)[0], f32(0.5)[0]
NANS = [
    Row(f"{name}_{dtype}", operator, (NOT_FINITE.astype(dtype), *more), attributes, len(more))
    for dtype in ("float32", "float16", "float64")
    for name, operator, more, attributes in [
        ("clip", "Clip", [np.asarray(bound, dtype) for bound in BOUNDS], {}),
        ("clip_below", "Clip", [np.asarray(BOUNDS[0], dtype)], {}),
        ("clip_above", "Clip", [None, np.asarray(BOUNDS[1], dtype)], {}),
        ("sign", "Sign", [], {}),
        ("thresholded_relu", "ThresholdedRelu", [], {"alpha": 0.3}),
    ]
] + [Row("leaky_relu", "LeakyRelu", (NOT_FINITE,), {"alpha": 0.0})]

ROWS = [
    *(*ALIGNED, *HALVES, OLDER, *BLOCKS, *TRANSPOSED, GROUPED, *SHIFTED),
    *(*MODULI, *SUPPRESSED, *EXTREMES, *BOOLS, *NANS),
]


def equal(row: Row) -> bool:
    made = compiled(row.model())(*row.free().values())[0]
    want = row.expected()
    close = {"rtol": 2e-3 if want.dtype == np.float16 else 1e-5, "atol": 1e-5, "equal_nan": True}
    return (
        made.dtype == want.dtype and made.shape == want.shape and np.allclose(made, want, **close)
    )


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_equals_onnx(row):
    assert equal(row)


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name, marks=pytest.mark.variants) for row in ROWS if row.wrong],
)
def test_stock_is_wrong(row):
    if row.name in ("LEFT_uint8", "RIGHT_uint8", "blocks_CRD_1", "ReduceLogSumExp_none"):
        pytest.skip("what stock gives there by chance is right")
    with tvm_kokoro_ext.disabled("all"):
        try:
            right = equal(row)
        except (tvm.error.InternalError, TypeError):
            right = False
    assert not right


def test_zeros_have_the_sign_of_the_divisor():
    row = MODULI[0]
    made, want = compiled(row.model())(*row.free().values())[0], row.expected()
    zeros = want == 0
    np.testing.assert_array_equal(np.signbit(made[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            Row("unknown", "ConvTranspose", (UP, WEIGHT), {"output_shape": [9, 9]}, 1),
            r"ConvTranspose.*a size that is not constant",
        ),
        (
            Row("far", "ConvTranspose", (UP, WEIGHT), {"output_shape": [12, 14]}, 1),
            r"ConvTranspose.*output_shape is \[12, 14\], and all that it computes is \[5, 6\]",
        ),
        (
            Row("one more", "ConvTranspose", (UP, WEIGHT), {"output_shape": [6, 6]}, 1),
            r"ConvTranspose.*output_shape is \[6, 6\], and all that it computes is \[5, 6\]",
        ),
        (
            Row("computed", "NonMaxSuppression", (OVERLAPPING, SCORES, MOST, f32(0.5)), {}, 0),
            r"NonMaxSuppression.*max_output_boxes_per_class is not constant",
        ),
    ],
    ids=["unknown_size", "too_large", "one_too_large", "computed_bound"],
)
def test_what_must_be_constant_is_refused_by_name(row, message):
    model = row.model()
    if row.name == "unknown":
        model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "n"
    with pytest.raises(UnsupportedOperatorError, match=message):
        compiled(model)


@pytest.mark.parametrize(
    ("shape", "dtype", "attributes"),
    [
        ((2, 3, 6, 7), "float32", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((2, 3, 6, 7), "float64", {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2]}),
        ((2, 3, 6, 7), "uint8", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ((2, 3, 6, 7), "float32", {"kernel_shape": [2, 2], "dilations": [2, 3]}),
        ((2, 3, 6, 7), "float32", {"kernel_shape": [2, 2], "storage_order": 1}),
        ((2, 3, 6, 7), "float32", {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER"}),
        ((2, 3, 9), "float32", {"kernel_shape": [3], "strides": [2]}),
        ((2, 3, 4, 5, 6), "float32", {"kernel_shape": [2, 2, 3], "storage_order": 1}),
    ],
)
def test_the_places_of_maxima_are_those_of_the_runtime(shape, dtype, attributes):
    runtime = pytest.importorskip("onnxruntime")
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    sizes = [f"n{axis}" for axis in range(len(shape))]
    given = helper.make_tensor_value_info("x", kind, sizes)
    made = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "g", [given], made)
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    )
    x = RNG.integers(0, 9, shape).astype(dtype)
    want = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for mine, theirs in zip(compiled(model)(x), want, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
