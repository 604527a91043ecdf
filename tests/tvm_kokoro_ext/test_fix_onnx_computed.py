"""ONNX graphs whose sizes and places are data of a call, against ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the results are compared with it")

from onnx import helper  # noqa: E402
from onnx_cases import Case, compiled, model_of  # noqa: E402
from packaging.version import Version  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import _compat  # noqa: E402

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="these fixes are for 0.27 and newer"
)


def sizes(*values):
    return np.array(values, "int64")


def real(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype("float32")


def program(
    name: str,
    nodes: Sequence[tuple[Any, ...]],
    inputs: dict[str, Sequence[Any]],
    calls: Sequence[Sequence[np.ndarray]],
    constants: dict[str, Any] | None = None,
) -> Any:
    """A graph and the calls that are made; inputs of one letter but x and z are lists of sizes."""
    dtypes = {key: "int64" for key in inputs if key not in ("x", "z")}
    case = Case(name, nodes, inputs, constants or {}, dtypes)
    return pytest.param(case, calls, id=name)


EVERY = real(6, 7)
BOUNDS = [
    ((0, 0), (2, 3)),
    ((3, 3), (2, 9)),
    ((-3, -2), (100, -1)),
    ((9, 9), (10, 10)),
    ((5, 6), (-100, -100)),
    ((-10, -10), (-20, -20)),
]
EXPANDED = [
    program(
        name,
        [("Expand", "x s", "y")],
        {"x": shape, "s": [count]},
        [(real(*own), sizes(*wanted)) for own, wanted in calls],
    )
    for name, shape, count, calls in [
        ("expand", ["n", 1], 2, [((2, 1), (1, 1)), ((2, 1), (2, 3)), ((1, 1), (5, 4))]),
        ("expand_of_fixed_sizes", [2, 1], 2, [((2, 1), (1, 1)), ((2, 1), (2, 3))]),
        ("expand_to_more_axes", ["n", "m"], 3, [((2, 1), (3, 1, 4)), ((2, 4), (3, 2, 4))]),
        ("expand_to_fewer_axes", ["n", "m"], 1, [((2, 1), (4,)), ((2, 4), (1,))]),
        ("expand_of_a_number", [], 2, [((), (2, 3))]),
        ("expand_to_sizes_that_do_not_fit", ["n", 1], 2, [((2, 1), (3, 3)), ((4, 1), (1, 3))]),
    ]
] + [
    program(
        "expand_to_the_sizes_of_another",
        [("Shape", "z", "s"), ("Expand", "x s", "y")],
        {"x": ["n"], "z": ["m"]},
        [(real(a), real(b)) for a, b in [(3, 3), (1, 4), (3, 1), (3, 5)]],
    ),
]
FILLED = [
    program("zeros", [("ConstantOfShape", "s", "y")], {"s": [2]}, [(sizes(2, 3),), (sizes(0, 3),)]),
    program(
        "sevens",
        [("ConstantOfShape", "s", "y", {"value": helper.make_tensor("v", 7, [1], [7])})],
        {"s": [1]},
        [(sizes(3),)],
    ),
    program(
        "one_of_int64",
        [("ConstantOfShape", "s", "y", {"value": helper.make_tensor("v", 7, [1], [7])})],
        {},
        [()],
        {"s": np.zeros(0, "int64")},
    ),
]
RESHAPED = [
    program(
        name,
        [("Reshape", "x s", "y", attributes)],
        {"x": shape, "s": [len(calls[0][1])]},
        [(real(*own), sizes(*wanted)) for own, wanted in calls],
    )
    for name, shape, attributes, calls in [
        ("reshape", ["n", "m"], {}, [((2, 6), wanted) for wanted in [(3, 4), (-1, 2), (0, -1)]]),
        ("reshape_of_fixed_sizes", [2, 6], {}, [((2, 6), (0, 2, 3, 1)), ((2, 6), (1, 1, -1, 4))]),
        ("reshape_that_does_not_fit", ["n", "m"], {}, [((2, 6), (3, 3)), ((2, 6), (4, 3))]),
        ("reshape_into_one", ["n", "m"], {}, [((2, 6), (-1,)), ((2, 6), (12,)), ((2, 6), (11,))]),
        ("zero_is_zero", ["n", "m"], {"allowzero": 1}, [((0, 6), (6, 0)), ((2, 6), (6, 2))]),
    ]
]
SLICED = [
    program(
        f"slice_{kind}_{steps[0]}_{steps[1]}",
        [("Slice", "x s e axes steps", "y")],
        {"x": shape, "s": [2], "e": [2]},
        [(EVERY, sizes(*start), sizes(*end)) for start, end in BOUNDS],
        {"axes": sizes(0, -1), "steps": sizes(*steps)},
    )
    for kind, shape in [("symbolic", ["n", "m"]), ("fixed", [6, 7])]
    for steps in [(1, 1), (2, -1), (-3, 2)]
] + [
    program(
        "slice_along_axes_of_the_call",
        [("Slice", "x s e a t", "y")],
        {"x": ["n", "m"], "s": [1], "e": [1], "a": [1], "t": [1]},
        [
            (EVERY, sizes(1), sizes(5), sizes(1), sizes(2)),
            (EVERY, sizes(4), sizes(2), sizes(0), sizes(1)),
            (EVERY, sizes(4), sizes(1), sizes(-1), sizes(-1)),
            (EVERY, sizes(4), sizes(1), sizes(0), sizes(0)),
        ],
    ),
    program(
        "slice_from_a_known_place",
        [("Slice", "x s e", "y")],
        {"x": ["n", "m"], "e": [1]},
        [(EVERY, sizes(5)), (EVERY, sizes(-1)), (EVERY, sizes(0))],
        {"s": sizes(1)},
    ),
]
EMPTY = [
    program(
        f"slice_without_elements_{number}",
        [("Slice", "x starts ends axes steps", "y")],
        {"x": [6, 7]},
        [(EVERY,)],
        {"starts": [start], "ends": [end], "axes": [1], "steps": [step]},
    )
    for number, (start, end, step) in enumerate([(0, 7, -1), (3, 2, 1), (5, 9, -2), (9, 12, 1)])
] + [
    program(
        "slice_backwards_from_before_the_start",
        [("Slice", "x starts ends axes steps", "y")],
        {"x": shape},
        [(EVERY,)],
        {"starts": [-10], "ends": [-20], "axes": [1], "steps": [-1]},
    )
    for shape in ([6, 7], ["n", "m"])
]
PADDED = [
    program(
        f"pad_{mode}_{kind}",
        [("Pad", "x p", "y", {"mode": mode})],
        {"x": shape, "p": [4]},
        [(EVERY, sizes(*amounts)) for amounts in calls],
    )
    for mode, calls in [
        ("constant", [(0, 1, 2, 3), (-1, 2, 0, -3), (-3, 0, -3, 0)]),
        ("reflect", [(5, 0, 1, 6), (0, 0, 0, 0)]),
        ("edge", [(9, 0, 1, 8), (0, -2, -1, 0)]),
    ]
    for kind, shape in [("symbolic", ["n", "m"]), ("fixed", [6, 7])]
] + [
    program(
        "pad_one_axis_with_a_value",
        [("ReduceMax", "x", "top", {"keepdims": 0}), ("Pad", "x p top axes", "y")],
        {"x": ["n", "m"], "p": [2]},
        [(EVERY, sizes(1, 2)), (EVERY, sizes(-7, 3))],
        {"axes": sizes(-1)},
    ),
]
RESIZED = [
    program(
        f"resize_{mode}_{coordinates}",
        [
            ("Shape", "x", "own", {"end": 2}),
            ("Concat", "own s", "sizes", {"axis": 0}),
            ("Resize", "x _ _ sizes", "y", {"mode": mode, "coordinate_transformation_mode": rule}),
        ],
        {"x": shape, "s": [2]},
        [(real(2, 3, 5, 4), sizes(*wanted)) for wanted in [(7, 3), (5, 4), (1, 8)]],
    )
    for mode, rule, coordinates, shape in [
        ("linear", "half_pixel", "half_pixel", ["n", 3, "h", "w"]),
        ("linear", "align_corners", "corners_of_fixed_sizes", [2, 3, 5, 4]),
        ("nearest", "asymmetric", "asymmetric", ["n", 3, "h", "w"]),
    ]
]
PARTS = [
    program(
        name,
        [("Mul", "t t", "q"), ("Sub", "p t", "o"), *nodes],
        {"x": shape, "s": [1]},
        [(real(*own), sizes(wanted)) for own, wanted in calls],
        {"t": sizes(1), "p": sizes(3), **constants},
    )
    for name, nodes, shape, calls, constants in [
        (
            "reshape_to_parts_that_are_constants",
            [("Concat", "s t", "to", {"axis": 0}), ("Reshape", "x to", "r"), ("Add", "r x", "y")],
            ["n"],
            [((4,), 4), ((4,), -1)],
            {},
        ),
        (
            "reshape_to_constants_that_are_computed",
            [("Neg", "q", "m"), ("Concat", "m o", "to", {"axis": 0}), ("Reshape", "x to", "y")],
            ["n", 4],
            [((4, 4), 0)],
            {},
        ),
        (
            "expand_to_parts_that_are_constants",
            [("Concat", "s p q", "to", {"axis": 0}), ("Expand", "x to", "r"), ("Add", "r x", "y")],
            ["n", "m"],
            [((3, 2), 4), ((3, 2), 1)],
            {},
        ),
        (
            "convolution_of_what_is_padded",
            [
                ("Concat", "z z z z z s", "list", {"axis": 0}),
                ("Split", "list", "a b c d e f", {"num_outputs": 6}),
                ("Concat", "d b f e c a", "pads", {"axis": 0}),
                ("Pad", "x pads", "wide"),
                ("Conv", "wide w", "y"),
            ],
            ["n", 2, "m"],
            [((2, 2, 6), 2), ((2, 2, 6), -1)],
            {"z": sizes(0), "w": real(3, 2, 3)},
        ),
    ]
]
CUT = [
    program(
        "one_row_of_the_call",
        [("Add", "s one", "e"), ("Slice", "x s e zero", "row"), ("Squeeze", "row zero", "y")],
        {"x": shape, "s": [1]},
        [(EVERY, sizes(at)) for at in (0, 5, 6)],
        {"one": sizes(1), "zero": sizes(0)},
    )
    for shape in (["n", "m"], [6, 7])
] + [
    program(
        "squeeze_of_a_size_that_must_be_one",
        [("Squeeze", "x axes", "y")],
        {"x": ["n", 1, "m"]},
        [(real(3, 1, 1),), (real(3, 1, 2),)],
        {"axes": sizes(-1, 1)},
    ),
    program(
        "squeeze_of_what_may_be_one",
        [("Squeeze", "x", "y")],
        {"x": ["n", 1, "m"]},
        [(real(3, 1, 2),)],
    ),
    program(
        "largest_of_the_call",
        [("TopK", "x s", "y places", {"axis": 0}), ("Identity", "y", "z")],
        {"x": ["n", 7], "s": [1]},
        [(EVERY, sizes(2)), (EVERY, sizes(6)), (EVERY, sizes(0)), (EVERY, sizes(-1))],
    ),
    program(
        "parts_of_the_call",
        [("Split", "x s", "a b", {"axis": 0}), ("Concat", "b a", "y", {"axis": 0})],
        {"x": ["n", 7], "s": [2]},
        [(EVERY, sizes(*parts)) for parts in [(2, 4), (0, 6), (3, 4), (8, -2)]],
    ),
]
ALL = [*EXPANDED, *FILLED, *RESHAPED, *SLICED, *EMPTY, *PADDED, *RESIZED, *PARTS, *CUT]


def same(got: np.ndarray, want: np.ndarray) -> bool:
    return bool(np.allclose(got, want, rtol=1e-5, atol=1e-5))


def differences(case: Case, calls: Sequence[Sequence[np.ndarray]]) -> list[str]:
    """What the program gives otherwise than ONNX Runtime, which raises where sizes do not fit."""
    model = model_of(case)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    run, found = compiled(model), []
    for call in calls:
        try:
            (want,) = session.run(None, dict(zip(case.inputs, call, strict=True)))
        except Exception:  # noqa: BLE001 - the runtime's errors have no common class
            with pytest.raises(Exception):  # noqa: B017
                run(*call)
            continue
        (got,) = run(*call)
        if (got.dtype, got.shape) != (want.dtype, want.shape) or not same(got, want):
            found.append(f"{got.dtype} {got.shape} for {want.dtype} {want.shape}")
    return found


@pytest.mark.parametrize(("case", "calls"), ALL)
def test_sizes_of_a_call(case, calls):
    assert not differences(case, calls)


def test_squeeze_raises_where_its_result_has_fewer_axes():
    run = compiled(model_of(Case("squeeze", [("Squeeze", "x", "y")], {"x": ["n", 1, "m"]})))
    with pytest.raises(Exception, match="n == 1|n != 1|mismatch"):
        run(real(1, 1, 2))


@pytest.mark.parametrize(
    ("case", "calls"), [EXPANDED[0], FILLED[0], RESHAPED[0], EMPTY[0], PADDED[0]]
)
def test_stock_is_wrong(case, calls):
    with tvm_kokoro_ext.disabled("all"):
        try:
            found = differences(case, calls)
        except Exception:  # noqa: BLE001
            return
    assert found
