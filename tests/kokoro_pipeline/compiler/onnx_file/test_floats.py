"""Graphs of Kokoro in float16, quantized or optimized: the same weights in float32."""

import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="an ONNX file is read with it")
onnxruntime = pytest.importorskip("onnxruntime", reason="it quantizes the graphs")
quantization = pytest.importorskip("onnxruntime.quantization", reason="it quantizes the graphs")

from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
from small_graph import small_graph  # noqa: E402

from kokoro_pipeline.compiler.onnx_file.floats import in_float32  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.graph import halves  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.opening import open_onnx  # noqa: E402
from kokoro_pipeline.errors import InputError  # noqa: E402

TYPES = quantization.QuantType
MICROSOFT = "com.microsoft"


def dynamic(folder, **options):
    onnx.save(small_graph(), folder / "plain.onnx")
    quantization.quantize_dynamic(folder / "plain.onnx", folder / "kokoro.onnx", **options)
    return onnx.load(folder / "kokoro.onnx")


def half(folder):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(small_graph(), keep_io_types=True, disable_shape_infer=True)


def of_bits(folder, bits, zeros):
    """The product by `voice` [256, 600] by weights in blocks of 32 of its columns."""
    model = small_graph()
    index, node = next(
        (i, n) for i, n in enumerate(model.graph.node) if list(n.output) == ["voiced"]
    )
    tensor = next(t for t in model.graph.initializer if t.name == "voice")
    blocks = numpy_helper.to_array(tensor).T.reshape(600, 8, 32)
    middle = 1 << (bits - 1)
    scale = abs(blocks).max(-1, keepdims=True) / (middle - 1)
    numbers = (np.rint(blocks / scale) + middle).astype(np.uint8)
    count = 8 // bits
    parts = numbers.reshape(600, 8, -1, count) << (np.arange(count, dtype=np.uint8) * bits)
    given = {"packed": parts.sum(-1).astype(np.uint8), "scales": scale.ravel()}
    if zeros:
        packed = np.full((600, 8), middle, np.uint8).reshape(600, -1, count)
        given["zeros"] = (packed << (np.arange(count, dtype=np.uint8) * bits)).sum(-1)
        given["zeros"] = given["zeros"].astype(np.uint8).ravel()
    for name, array in given.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    new = helper.make_node(
        "MatMulNBits",
        ["style", *given],
        ["voiced"],
        domain="com.microsoft",
        K=256,
        N=600,
        bits=bits,
        block_size=32,
    )
    model.graph.node.remove(node)
    model.graph.node.insert(index, new)
    model.graph.initializer.remove(tensor)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def of_4_bits(folder):
    """`voice` as constants of int4 in blocks."""
    import ml_dtypes

    model = small_graph()
    model.opset_import[0].version = 21
    tensor = next(t for t in model.graph.initializer if t.name == "voice")
    blocks = numpy_helper.to_array(tensor).reshape(8, 32, 600)
    scale = abs(blocks).max(1) / 7
    numbers = np.rint(blocks / scale[:, None]).reshape(256, 600).astype(ml_dtypes.int4)
    model.graph.initializer.remove(tensor)
    for name, array in {"numbers": numbers, "scales": scale}.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    names = ["numbers", "scales"]
    new = helper.make_node("DequantizeLinear", names, ["voice"], axis=0, block_size=32)
    model.graph.node.insert(0, new)
    return model


def shuffled(folder):
    model = small_graph()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def pair(folder, of=("ys", "yz")):
    """A tensor that is quantized, and dequantized by the scale and zero point `of`."""
    model = small_graph()
    node = next(n for n in model.graph.node if list(n.output) == ["wide"])
    node.output[0] = "wide_real"
    for name, array in {
        "ys": np.float32(0.01),
        "zs": np.float32(0.02),
        "yz": np.uint8(128),
    }.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    at = list(model.graph.node).index(node) + 1
    nodes = [
        helper.make_node("QuantizeLinear", ["wide_real", "ys", "yz"], ["wide_q"]),
        helper.make_node("DequantizeLinear", ["wide_q", *of], ["wide"]),
    ]
    for node in nodes[::-1]:
        model.graph.node.insert(at, node)
    return model


class Rows(quantization.CalibrationDataReader):
    """One input of the small graph, whose ranges are taken."""

    def __init__(self):
        ids = np.arange(1, 9)[None]
        style = np.random.default_rng(0).standard_normal((1, 256)).astype(np.float32)
        self.left = [{"tokens": ids, "style": style, "speed": np.ones(1, np.float32)}]

    def get_next(self):
        return self.left.pop() if self.left else None


def static(folder):
    onnx.save(small_graph(), folder / "plain.onnx")
    quantization.quantize_static(
        folder / "plain.onnx",
        folder / "kokoro.onnx",
        Rows(),
        op_types_to_quantize=["MatMul", "Gather", "Add"],
        weight_type=TYPES.QInt8,
        per_channel=True,
    )
    return onnx.load(folder / "kokoro.onnx")


def optimized(folder, level="EXTENDED", quantized=False):
    """As ONNX Runtime writes what it has optimized."""
    made = dynamic(folder) if quantized else small_graph()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}"
    )
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(made.SerializeToString(), options)
    return onnx.load(folder / "optimized.onnx")


def loaded(model, folder):
    path = folder / "kokoro.onnx"
    onnx.save(model, path)
    return open_onnx(path).load()


def operators(half):
    return {node.op_type for node in half.model.graph.node} - {"Identity", "Cast", "Mul"}


@pytest.mark.parametrize(
    ("variant", "step"),
    [
        pytest.param(lambda folder: dynamic(folder, weight_type=TYPES.QUInt8), 1 / 127, id="uint8"),
        pytest.param(lambda folder: dynamic(folder, weight_type=TYPES.QInt8), 1 / 127, id="int8"),
        pytest.param(lambda folder: dynamic(folder, per_channel=True), 1 / 127, id="channels"),
        pytest.param(half, 1e-3, id="float16"),
        pytest.param(lambda folder: of_bits(folder, 4, False), 1 / 7, id="4_bits"),
        pytest.param(lambda folder: of_bits(folder, 4, True), 1 / 7, id="4_bits_zeros"),
        pytest.param(lambda folder: of_bits(folder, 8, False), 1 / 127, id="8_bits"),
        pytest.param(of_4_bits, 1 / 7, id="int4"),
        pytest.param(shuffled, 0, id="order"),
        pytest.param(pair, 0, id="pair"),
        pytest.param(static, 1 / 127, id="static"),
        pytest.param(lambda folder: optimized(folder, "BASIC"), 0, id="basic"),
        pytest.param(optimized, 0, id="extended"),
        pytest.param(lambda folder: optimized(folder, quantized=True), 1 / 127, id="both"),
    ],
)
def test_a_graph_is_read_in_float32(variant, step, tmp_path):
    """With weights that are off by at most half a step of what they were rounded to."""
    own, *parts = halves(loaded(variant(tmp_path), tmp_path), "kokoro.onnx")
    plain, *wanted = halves(small_graph(), "kokoro.onnx")
    assert [operators(part) for part in parts] == [operators(part) for part in wanted]
    assert [part.inputs for part in parts] == [part.inputs for part in wanted]
    for name, array in plain.items():
        found = [
            other
            for other in own.values()
            if other.shape == array.shape
            and abs(other - array).max() <= step * abs(array).max() * 0.51 + 1e-7
        ]
        assert found, name
        assert found[0].dtype == np.float32


@pytest.mark.parametrize(
    ("scale", "kept"),
    [(1 / 300, 1 / 300), (1 / 3, 1 / 3), (2, 2), (300, 300), (0.3, np.float16(0.3))],
)
@pytest.mark.parametrize("cast", [False, True])
def test_the_scales_of_a_float16_graph_are_what_they_were_rounded_from(scale, kept, cast):
    """What float16 holds of 1 / 300 gives a frame too many beyond 58 seconds."""
    held = numpy_helper.from_array(np.array([1, 1, scale], np.float16))
    nodes = [
        helper.make_node("Constant", [], ["held"], value=held),
        helper.make_node(
            "Cast" if cast else "Identity", ["held"], ["s"], **({"to": 1} if cast else {})
        ),
        helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear"),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, [1, 1, "n"])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, [1, 1, "m"])],
    )
    made = in_float32(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "file")
    (x,) = evaluated(made, made.graph.node[-1].input[2])
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x, np.array([1, 1, kept], np.float32))


def evaluated(model, name):
    """The value of a tensor that no input decides."""
    model.graph.output.add().name = name
    outputs = onnx.shape_inference.infer_shapes(model)
    given = {"x": np.zeros((1, 1, 600), np.float32)}
    return ReferenceEvaluator(outputs).run([name], given)


def unknown(folder):
    model = small_graph()
    model.graph.node.insert(0, helper.make_node("Bifurcation", ["style"], ["g"], domain=MICROSOFT))
    model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return model


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (
            lambda folder: pair(folder, ("zs", "yz")),
            "is not a product by a quantized weight as quantize_dynamic writes it",
        ),
        (unknown, r"operators that are not compiled: Bifurcation\..*quantize_dynamic.*MatMulNBits"),
    ],
)
def test_other_quantized_graphs_are_refused(variant, words, tmp_path):
    with pytest.raises(InputError, match=f"kokoro.onnx.*{words}.*another file"):
        loaded(variant(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "outputs"),
    [
        ("FusedMatMul", [(2, 3, 4), (2, 5, 4)], {"transB": 1, "alpha": 0.3}, 1),
        ("FusedMatMul", [(2, 4, 3), (4, 5)], {"transA": 1}, 1),
        ("Gelu", [(3, 4)], {}, 1),
        ("BiasGelu", [(3, 4), (4,)], {}, 1),
        ("FastGelu", [(3, 4), (4,)], {}, 1),
        ("FastGelu", [(3, 4)], {}, 1),
        (
            "FusedConv",
            [(1, 4, 9), (6, 4, 3), (6,)],
            {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1]},
            1,
        ),
        (
            "FusedConv",
            [(1, 4, 9), (6, 4, 3), (6,), (1, 6, 7)],
            {"activation": "Relu"},
            1,
        ),
        ("SkipLayerNormalization", [(1, 3, 4), (1, 3, 4), (4,), (4,), (4,)], {"epsilon": 1e-5}, 4),
        ("SkipLayerNormalization", [(1, 3, 4), (1, 3, 4), (4,)], {}, 1),
    ],
)
def test_a_fused_operator_is_written_with_those_of_onnx(operator, shapes, attributes, outputs):
    names = [f"i{at}" for at in range(len(shapes))]
    made = ["y", *[""] * (outputs - 2), *(["sum"] if outputs > 1 else [])]
    node = helper.make_node(operator, names, made, domain=MICROSOFT, **attributes)
    graph = helper.make_graph(
        [node],
        "graph",
        [
            helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s)
            for n, s in zip(names, shapes, strict=True)
        ],
        [onnx.ValueInfoProto(name=name) for name in made if name],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    draw = np.random.default_rng(0)
    given = {
        n: draw.standard_normal(s).astype(np.float32) for n, s in zip(names, shapes, strict=True)
    }
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    wanted = session.run(None, given)
    written = in_float32(model, "file")
    assert {n.domain for n in written.graph.node} == {""}
    for mine, theirs in zip(ReferenceEvaluator(written).run(None, given), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)
