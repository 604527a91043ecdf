"""Operators that ONNX Runtime's optimizer writes into a graph, against ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
pytest.importorskip("onnxruntime", reason="the results are compared with it")

from onnx_cases import Case, check, compiled, model_of  # noqa: E402
from packaging.version import Version  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import UnsupportedOperatorError, _compat  # noqa: E402
from tvm_kokoro_ext._fixes.onnx import runtime_operators  # noqa: E402

DRAW = np.random.default_rng(0)
MICROSOFT = "com.microsoft"


def reals(*shape):
    return DRAW.standard_normal(shape).astype("float32")


def of(operator, inputs, constants=None, attributes=None, outputs="y", name="", **rest):
    """A case of one node, whose inputs are those of the mapping and the constants in order."""
    given = " ".join([*inputs, *(constants or {})])
    return Case(
        f"{operator}_{name}" if name else operator,
        [(operator, rest.pop("order", given), outputs, attributes or {})],
        inputs,
        {k: v for k, v in (constants or {}).items() if k != "_"},
        domain=MICROSOFT,
        **rest,
    )


ACTIVATIONS = [
    of("Gelu", {"x": [2, "n"]}, wrong=False),
    of("QuickGelu", {"x": [2, "n"]}, attributes={"alpha": 1.3}),
    of("QuickGelu", {"x": [2, "n"]}, name="default"),
    of("BiasGelu", {"x": ["n", 4]}, {"b": reals(4)}, wrong=False),
    of("FastGelu", {"x": ["n", 4]}, {"b": reals(4)}, wrong=False),
    of("FastGelu", {"x": ["n", 4]}, name="without_bias", wrong=False),
]

FUSED = [
    case
    for activation, numbers in [
        ("Relu", []),
        ("Tanh", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.2]),
        ("HardSigmoid", [0.3, 0.4]),
        ("Clip", [-0.5, 0.7]),
    ]
    for case in [
        of(
            "FusedConv",
            {"x": [2, 4, "n"]},
            {"w": reals(6, 2, 3), "b": reals(6)},
            {"activation": activation, "group": 2, "pads": [1, 1]}
            | ({"activation_params": numbers} if numbers else {}),
            name=activation,
        ),
        of(
            "FusedGemm",
            {"x": [3, "n"]},
            {"w": reals(7, 3), "b": reals(7)},
            {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0, "activation": activation}
            | dict(zip(("activation_alpha", "activation_beta"), numbers, strict=False)),
            name=activation,
        ),
    ]
    if (case.nodes[0][0], activation) != ("FusedGemm", "Clip")  # which ONNX Runtime does not have
] + [
    of(
        "FusedConv",
        {"x": [1, 4, 9, 8], "z": [1, 6, 5, 4]},
        {"w": reals(6, 4, 3, 3), "b": reals(6)},
        {"activation": "Relu", "auto_pad": "SAME_UPPER", "strides": [2, 2]},
        order="x w b z",
        name="sum",
    ),
    *(
        of("FusedMatMul", {"a": a, "b": b}, attributes=attributes | {"alpha": 0.3}, name=name)
        for name, a, b, attributes in [
            ("b", [2, "n", 4], [2, 5, 4], {"transB": 1}),
            ("a", [2, 4, "n"], [2, 4, 5], {"transA": 1}),
            ("batch_a", [3, 2, 4], [2, 4, 5], {"transBatchA": 1}),
            ("batch_both_a", [4, 2, 3], [2, 4, 5], {"transBatchA": 1, "transA": 1}),
            ("batch_b", [2, 3, 4], [4, 2, 5], {"transBatchB": 1}),
            ("batch_both_b", [2, 3, 4], [5, 2, 4], {"transBatchB": 1, "transB": 1}),
        ]
    ),
]

GAMMA = {"g": reals(8), "b": reals(8), "c": reals(8)}
PAIR = {"x": [2, "n", 8], "s": [2, "n", 8]}
WORDS = {"w": reals(10, 8), "p": reals(12, 8), "k": reals(5, 8), "g": reals(8), "b": reals(8)}
IDS = {"i": [2, "n"], "s": [2, "n"], "m": [2, "n"]}
NORMALIZED = [
    of("SkipLayerNormalization", PAIR, GAMMA, outputs="y _ _ sum"),
    of("SkipLayerNormalization", PAIR, {"g": reals(8)}, {"epsilon": 1e-5}, name="gamma"),
    of("SkipLayerNormalization", {"x": [2, 3, 8], "s": [3, 8]}, {"g": reals(8)}, name="broadcast"),
    of(
        "SkipSimplifiedLayerNormalization",
        PAIR,
        {"g": reals(8), "c": reals(8)},
        outputs="y _ _ sum",
    ),
    of(
        "EmbedLayerNormalization",
        IDS,
        WORDS,
        {"epsilon": 1e-5},
        outputs="y count sum",
        order="i s w p k g b m",
        dtypes=dict.fromkeys(IDS, "int32"),
    ),
    of(
        "EmbedLayerNormalization",
        {"i": [2, "n"], "at": [2, "n"]},
        WORDS,
        outputs="y count",
        order="i _ w p _ g b _ at",
        dtypes={"i": "int32", "at": "int32"},
        name="positions",
    ),
]

WIDTH = {"w": reals(8, 48), "b": reals(48)}
ATTENTION = [
    of(
        "Attention",
        {"x": [2, 5, 8]},
        WIDTH | ({} if mask is None else {"m": mask}),
        {"num_heads": 4, "unidirectional": causal},
        name=f"{name}_{causal}",
    )
    for causal in (0, 1)
    for name, mask in [
        ("plain", None),
        ("keys", np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], "int32")),
        ("queries", DRAW.integers(0, 2, (2, 5, 5)).astype("int32")),
        ("ends", np.array([3, 5], "int32")),
        ("ends_and_starts", np.array([3, 5, 1, 0], "int32")),
    ]
] + [
    of("Attention", {"x": [2, "n", 8]}, WIDTH, {"num_heads": 4}, name="symbolic"),
    of(
        "Attention",
        {"x": [2, 5, 8], "past": [2, 2, 4, 3, 4]},
        WIDTH,
        {"num_heads": 4, "unidirectional": 1},
        outputs="y present",
        order="x w b _ past",
        name="past",
    ),
    of(
        "Attention",
        {"x": [2, 5, 8], "bias": [2, 4, 5, 5]},
        WIDTH,
        {"num_heads": 4, "scale": 0.3},
        order="x w b _ _ bias",
        name="bias",
    ),
    of(
        "Attention",
        {"x": [2, 5, 8]},
        {"w": reals(8, 56), "b": reals(56)},
        {"num_heads": 4, "qkv_hidden_sizes": [16, 16, 24]},
        name="wide_values",
        wrong=False,
    ),
]

AS_ONNX = [
    of("Pad", {"x": [2, "n"]}, {"p": np.array([0, 1, 0, 2])}, wrong=False),
    of("Trilu", {"x": [2, 4, 5]}, attributes={"upper": 0}, wrong=False),
]

QKV = {"q": [2, "n", 16], "k": [2, 7, 16], "v": [2, 7, 16]}
HEADS = [
    of(
        "MultiHeadAttention",
        QKV,
        {"b": reals(48)} if bias else {"_": None},
        {"num_heads": 4},
        name=f"bias_{bias}",
    )
    for bias in (0, 1)
] + [
    of(
        "MultiHeadAttention",
        dict.fromkeys("qkv", (2, "n", 16)),
        {"b": reals(48)},
        {"num_heads": 4, "unidirectional": 1},
        outputs="y k1 v1",
        name="causal",
    ),
    of(
        "MultiHeadAttention",
        QKV,
        {"_": None, "m": np.array([[1, 1, 0, 1, 0, 1, 1], [0, 1, 1, 1, 1, 0, 0]], "int32")},
        {"num_heads": 4},
        name="keys",
    ),
    of(
        "MultiHeadAttention",
        QKV,
        {"_": None, "m": np.array([3, 7], "int32")},
        {"num_heads": 4},
        name="ends",
    ),
    of(
        "MultiHeadAttention",
        {**QKV, "bias": [1, 4, "n", 7]},
        attributes={"num_heads": 4},
        order="q k v _ _ bias",
        name="scores",
    ),
    of(
        "MultiHeadAttention",
        {"q": [2, "n", 16], "k": [2, 4, 7, 4], "v": [2, 4, 7, 4]},
        attributes={"num_heads": 4},
        name="split",
    ),
    of(
        "MultiHeadAttention",
        {**dict.fromkeys("qkv", (2, "n", 16)), "pk": [2, 4, 3, 4], "pv": [2, 4, 3, 4]},
        attributes={"num_heads": 4},
        outputs="y k1 v1",
        order="q k v _ _ _ pk pv",
        name="past",
    ),
]

ANGLES = np.outer(np.arange(12), 1 / 10.0 ** np.arange(2))
TABLES = {"c": np.cos(ANGLES).astype("float32"), "s": np.sin(ANGLES).astype("float32")}
ROTARY = [
    of(
        "RotaryEmbedding",
        {"x": shape, "at": at},
        TABLES,
        {"interleaved": interleaved} | attributes,
        dtypes={"at": "int64"},
        name=f"{name}_{interleaved}",
    )
    for interleaved in (0, 1)
    for name, shape, at, attributes in [
        ("heads_last", [2, "n", 16], [2, "n"], {}),
        ("heads_first", [2, 3, "n", 4], [2, "n"], {}),
        ("offset", [2, 6, 16], [1], {}),
        ("part", [2, "n", 24], [2, "n"], {"num_heads": 3, "rotary_embedding_dim": 4}),
    ]
]

ALL = [*AS_ONNX, *ACTIVATIONS, *FUSED, *NORMALIZED, *ATTENTION, *HEADS, *ROTARY]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_runtime_operators(case):
    check(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL if c.wrong])
def test_stock_is_wrong(case):
    with tvm_kokoro_ext.disabled("all"), pytest.raises(Exception):  # noqa: B017
        check(case)


SCALES = {
    **{"sa": np.float32(0.1), "za": np.uint8(120), "sb": np.float32(0.2), "zb": np.uint8(110)},
    **{"s": np.float32(0.3), "z": np.uint8(100)},
}
SKIP = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
UNRELATED_SIZES = [
    *(
        (name, "a sa za b sb zb s z", [2, "n"], [2, "m"], {})
        for name in ("QLinearAdd", "QLinearMul")
    ),
    ("QLinearWhere", "c a sa za b sb zb s z", [2, "n"], [2, "m"], {}),
    ("QLinearConcat", "s z a sa za b sb zb", [2, "n"], [3, "m"], {"axis": 0}),
    *((name, "a b g", [2, "n", 8], [2, "m", 8], {}) for name in SKIP),
]


@pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="older frontends hold sizes in another way"
)
@pytest.mark.parametrize(
    ("operator", "order", "a", "b", "attributes"),
    UNRELATED_SIZES,
    ids=[row[0] for row in UNRELATED_SIZES],
)
def test_sizes_may_be_equal_that_nothing_relates(operator, order, a, b, attributes):
    """Where nothing says before the call that n and m are equal."""
    quantized = operator.startswith("Q")
    inputs = {"a": a, "b": b, **({"c": [2, "n"]} if order.startswith("c ") else {})}
    used = SCALES if quantized else {"g": np.linspace(0.5, 2, 8).astype("float32")}
    dtypes = {"a": "uint8", "b": "uint8"} if quantized else {}
    dtypes |= {"c": "bool"} if "c" in inputs else {}
    node = operator, order, "y", attributes
    check(Case(operator, [node], inputs, used, dtypes, domain=MICROSOFT))


def test_a_normalization_without_a_mean_is_in_the_domain_of_onnx():
    """As ONNX Runtime writes it; its checker of types and `onnx` know no such operator."""
    case = Case("plain", [("SimplifiedLayerNormalization", "x g", "y")], {"x": [2, "n", 8]}, GAMMA)
    x = reals(2, 3, 8)
    want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * GAMMA["g"]
    np.testing.assert_allclose(compiled(model_of(case))(x)[0], want, rtol=1e-5)


@pytest.mark.parametrize(
    ("operator", "domain"),
    [
        ("Rfft", MICROSOFT),
        ("Conv", f"{MICROSOFT}.nchwc"),
        ("LinearAttention", MICROSOFT),
        ("Unique", MICROSOFT),
    ],
)
def test_other_operators_of_the_runtime_are_refused_by_name(operator, domain):
    model = model_of(Case("other", [(operator, "x", "y")], {"x": ["n"]}, domain=domain))
    with pytest.raises(
        UnsupportedOperatorError, match=f"{domain}.{operator}: .*of ONNX Runtime alone"
    ):
        compiled(model)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (of("MultiHeadAttention", {"q": [2, 5, 4, 3, 4]}, None, {"num_heads": 4}), "queries, keys"),
        (
            of("FusedConv", {"x": [1, 4, 9]}, {"w": reals(6, 4, 3)}, {"activation": "Elu"}),
            "its activation is Elu",
        ),
    ],
)
def test_what_is_refused(case, message):
    with pytest.raises(UnsupportedOperatorError, match=message):
        compiled(model_of(case))


WHOLE = "\n".join(
    [
        'RUNTIME = "com.microsoft"',
        "class QLinearConv(Converter):\n    channels_last",
        "class Attention(Converter):\n    past",
        "class SkipLayerNormalization(Converter):\n    sum",
        "def _get_convert_map():",
        *(f'    "{name}": {name},' for name in runtime_operators._OWN),
        '    "SimplifiedLayerNormalization": SimplifiedLayerNormalization,',
        "",
    ]
)
"""The text of a frontend that does all of what the fix does."""


@pytest.mark.parametrize(
    ("text", "other", "needed"),
    [
        ("", "", False),
        ('    "QLinearAdd": QLinearAdd,\n', "", True),
        ('"com.microsoft"', "''", True),
        ("channels_last", "pass", True),
        ("past\n", "assert inputs[4] is None\n", True),
        ("sum\n", "placeholder\n", True),
    ],
    ids=["whole", "operator", "domain", "channels_last", "past", "sum"],
)
def test_the_fix_is_on_while_one_part_is_missing(text, other, needed, monkeypatch):
    assert text in WHOLE
    frontend = runtime_operators._frontend
    monkeypatch.setattr(frontend, "text", lambda: WHOLE.replace(text, other, 1))
    for name in ("listed", "converter"):
        monkeypatch.setattr(frontend, name, getattr(frontend, name).__wrapped__)
    assert runtime_operators.FIX.probe() is needed
