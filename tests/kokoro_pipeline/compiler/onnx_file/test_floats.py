"""Graphs of Kokoro in float16 or with quantized weights: the same weights in float32."""

import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="an ONNX file is read with it")
quantization = pytest.importorskip("onnxruntime.quantization", reason="it quantizes the graphs")

from onnx import helper, numpy_helper  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
from small_graph import small_graph  # noqa: E402

from kokoro_pipeline.compiler.onnx_file.graph import halves  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.opening import open_onnx  # noqa: E402
from kokoro_pipeline.errors import InputError  # noqa: E402

TYPES = quantization.QuantType


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


def static(folder):
    model = small_graph()
    names = [tensor.name for tensor in model.graph.initializer]
    assert "weight" in names
    node = next(n for n in model.graph.node if list(n.output) == ["wide"])
    node.output[0] = "wide_real"
    for name, array in {"ys": np.float32(0.01), "yz": np.uint8(128)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    at = list(model.graph.node).index(node) + 1
    for operator, given, made in (
        ("QuantizeLinear", "wide_real", "wide_q"),
        ("DequantizeLinear", "wide_q", "wide"),
    )[::-1]:
        model.graph.node.insert(at, helper.make_node(operator, [given, "ys", "yz"], [made]))
    return model


def optimized(folder):
    model = small_graph()
    model.graph.node.insert(0, helper.make_node("Gelu", ["style"], ["g"], domain="com.microsoft"))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (static, "is not a product by a quantized weight as quantize_dynamic writes it"),
        (optimized, r"operators that are not compiled: Gelu\..*quantize_dynamic.*MatMulNBits"),
    ],
)
def test_other_quantized_graphs_are_refused(variant, words, tmp_path):
    with pytest.raises(InputError, match=f"kokoro.onnx.*{words}.*another file"):
        loaded(variant(tmp_path), tmp_path)
