"""Transforms, and other operators that the ONNX frontend lacks, against the evaluator of `onnx`."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx_cases import Case, check, compiled, model_of

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError

DRAW = np.random.default_rng(0)


def whole(*numbers):
    return [np.array(number) for number in numbers]


def transform(name, shape, length=None, axis=None, opset=17, **attributes):
    constants = {}
    if length is not None:
        constants["length"] = np.array(length)
    if opset >= 20:
        constants["axis"] = np.array(axis)
    elif axis is not None:
        attributes["axis"] = axis
    inputs = ["x", "length" if length is not None else "_", *(["axis"] if opset >= 20 else [])]
    nodes = [("DFT", " ".join(inputs), "y", attributes)]
    return Case(name, nodes, {"x": shape}, constants, opset=opset)


DFT = [
    transform(f"{name}_{opset}", shape, length, axis, opset, **attributes)
    for opset in (17, 20)
    for name, shape, length, axis, attributes in [
        ("real", ["n", 10, 1], None, 1, {}),
        ("complex", ["n", 10, 2], None, 1, {}),
        ("odd", [2, 9, "n", 2], None, 1, {}),
        ("onesided", ["n", 10, 1], None, 1, {"onesided": 1}),
        ("inverse", ["n", 10, 2], None, 1, {"inverse": 1}),
        ("first_axis", [8, "n", 2], None, 0, {}),
        ("negative_axis", ["n", 8, 2], None, -2, {}),
        ("padded", ["n", 10, 1], 16, 1, {"onesided": 1}),
        ("cut", ["n", 10, 1], 7, 1, {}),
        ("long_real", [2, 80, "n", 1], None, 1, {}),
        ("long_onesided", ["n", 80, 1], None, 1, {"onesided": 1}),
        ("long_odd", [2, 75, 1], 81, 1, {"onesided": 1}),
        ("long_complex", ["n", 96, 2], None, 1, {}),
        ("long_inverse", ["n", 70, 2], None, 1, {"inverse": 1}),
    ]
]

HANN = np.hanning(16).astype("float32")
LONG = np.hanning(66).astype("float32")
STFT = [
    Case(
        name,
        [("STFT", inputs, "y", {"onesided": onesided})],
        {"x": shape},
        {"step": np.array(5), "window": HANN, "long": LONG, "length": np.array(16)},
        tolerance=1e-4,
    )
    for name, inputs, shape, onesided in [
        ("window", "x step window", [2, "8*n", 1], 1),
        ("both", "x step window length", [2, "8*n", 1], 1),
        ("length", "x step _ length", [2, "8*n", 1], 0),
        ("complex", "x step window", [2, 64, 2], 0),
        ("long_window", "x step long", [2, "80*n", 1], 1),
        ("long_complex", "x step long", [2, 90, 2], 0),
    ]
]

SMALL = [
    Case(
        f"reverse_sequence_{time}",
        [("ReverseSequence", "x lengths", "y", {"time_axis": time, "batch_axis": 1 - time})],
        {"x": [6, 6, 2]},
        {"lengths": np.array([1, 6, 3, 5, 2, 4])},
    )
    for time in (0, 1)
] + [
    *(
        Case(
            f"cumprod_{exclusive}_{reverse}",
            [("CumProd", "x axis", "y", {"exclusive": exclusive, "reverse": reverse})],
            {"x": [2, "n"]},
            {"axis": np.array(-1)},
            opset=26,
        )
        for exclusive in (0, 1)
        for reverse in (0, 1)
    ),
    *(
        Case(
            f"lp_normalization_{axis}",
            [("LpNormalization", "x", "y", {"axis": axis})],
            {"x": [2, "n", 3]},
        )
        for axis in (-1, 1)
    ),
    *(
        Case(
            f"col2im_{name}",
            [("Col2Im", "x image block", "y", attributes)],
            {"x": shape},
            {"image": np.array(image), "block": np.array(block)},
        )
        for name, shape, image, block, attributes in [
            ("plain", [1, 5, 5], [5, 5], [1, 5], {}),
            ("overlap", [2, 6, 9], [1, 20], [1, 3], {"strides": [1, 2]}),
            ("symbolic", ["n", "9*n", 4], [5, 5], [3, 3], {"strides": [2, 2]}),
            ("strides", [1, 9, 4], [5, 5], [3, 3], {"strides": [2, 2]}),
            ("pads", [1, 5, 15], [5, 5], [1, 5], {"pads": [0, 1, 0, 1]}),
            ("dilations", [1, 4, 5], [6, 6], [2, 2], {"dilations": [1, 5]}),
        ]
    ),
    Case(
        "mel",
        [("MelWeightMatrix", "a b c d e", "w"), ("MatMul", "x w", "y")],
        {"x": ["n", 9]},
        dict(zip("abcde", whole(8, 16, 8192, 0.0, 4096.0), strict=True)),
    ),
]

ALL = [*DFT, *STFT, *SMALL]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_operators(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)


def test_half_a_spectrum_back_to_reals():
    """The evaluator of older versions of `onnx` gives complex numbers here."""
    for length in (10, 9, 64, 75):
        shape = [2, length // 2 + 1, 2]
        case = transform("back", shape, length, 1, 20, inverse=1, onesided=1)
        signal = DRAW.standard_normal((2, length))
        half = np.fft.rfft(signal, axis=1)
        x = np.stack([half.real, half.imag], -1).astype("float32")
        (got,) = compiled(model_of(case))(x)
        np.testing.assert_allclose(got, signal[..., None], atol=1e-5)


def test_the_norm_of_absolute_values():
    """Against numpy: the evaluator of `onnx` adds the values up as they are."""
    case = Case("sum", [("LpNormalization", "x", "y", {"p": 1})], {"x": ["n", 3]})
    x = np.array([[1, -2, 1], [0, -3, 0]], "float32")
    (got,) = compiled(model_of(case))(x)
    np.testing.assert_allclose(got, x / abs(x).sum(-1, keepdims=True), rtol=1e-6)


def test_a_zero_vector_has_no_direction():
    case = Case("zero", [("LpNormalization", "x", "y")], {"x": ["n", 3]})
    (got,) = compiled(model_of(case))(np.zeros((2, 3), "float32"))
    np.testing.assert_array_equal(got, 0)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (transform("symbolic", [1, "n", 1], None, 1), "DFT: the size of its axis is symbolic"),
        (
            Case("step", [("STFT", "x step w", "y")], {"x": [1, 40], "step": [], "w": [16]}),
            "STFT: its frame_step is computed.*as a constant",
        ),
    ],
)
def test_what_is_refused(case, message):
    with pytest.raises(UnsupportedOperatorError, match=message):
        compiled(model_of(case))


def test_lengths_beyond_the_axis_are_those_of_the_axis():
    nodes = [("ReverseSequence", "x lengths", "y", {"time_axis": 0, "batch_axis": 1})]
    x = np.arange(8, dtype="float32").reshape(4, 2)
    case = Case("beyond", nodes, {"x": ["n", 2]}, {"lengths": np.array([9, 3])})
    (got,) = compiled(model_of(case))(x)
    np.testing.assert_array_equal(got, np.stack([x[::-1, 0], x[[2, 1, 0, 3], 1]], 1))


@pytest.mark.parametrize(
    ("node", "x", "constants"),
    [
        (
            ("Col2Im", "x image block", "y", {"strides": [2, 2]}),
            ["n", 9, "m"],
            {"image": np.array([5, 5]), "block": np.array([3, 3])},
        ),
        (("ReverseSequence", "x lengths", "y"), [4, "n"], {"lengths": np.array([1, 2])}),
    ],
)
def test_sizes_that_do_not_fit_raise(node, x, constants):
    """They would lead outside of a tensor."""
    case = Case("misfit", [node], {"x": x}, constants)
    with pytest.raises(Exception, match="(?i)match_cast|mismatch"):
        compiled(model_of(case))(np.ones([1, 9, 3] if len(x) == 3 else [4, 3], "float32"))
