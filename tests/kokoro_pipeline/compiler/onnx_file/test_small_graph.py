"""An ONNX file as weights: what is read of it, how its graph is cut, what is refused by name."""

import builtins
import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="an ONNX file is read with it")

from onnx import TensorProto, external_data_helper, helper  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
from small_graph import renamed, small_graph, write_small  # noqa: E402

from kokoro_pipeline.artifact.manifest import TensorSpec  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.graph import halves, with_noise  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.opening import is_onnx, open_onnx  # noqa: E402
from kokoro_pipeline.config import default_config, load_config  # noqa: E402
from kokoro_pipeline.errors import EnvironmentFault, InputError  # noqa: E402

FILE = "kokoro.onnx"
DURATIONS = (TensorSpec("durations", "int64", ("n",)),)
AUDIO = (TensorSpec("audio", "float32", ("600*t",)),)


@pytest.fixture
def path(tmp_path):
    return write_small(tmp_path)


def saved(model, folder, name=FILE):
    onnx.save(model, folder / name)
    return folder / name


def operators(half):
    return {node.op_type for node in half.model.graph.node}


# The cut


def test_a_graph_is_cut_where_the_durations_are_known():
    weights, timing, speech = halves(small_graph(), FILE)
    speed = TensorSpec("speed", "float32", (1,))
    ids, style = (
        TensorSpec("input_ids", "int64", (1, "n")),
        TensorSpec("style", "float32", (1, 256)),
    )
    places, noise = (
        TensorSpec("token_of_frame", "int64", ("t",)),
        TensorSpec("noise", "float32", (1, "600*t", 9)),
    )
    assert (timing.inputs, timing.outputs) == ((ids, style, speed), DURATIONS)
    assert (speech.inputs, speech.outputs) == ((ids, style, places, noise), AUDIO)
    assert set(timing.weights) == {"table", "kernel", "recurrence", "bias"}
    assert set(speech.weights) == {*timing.weights, "weight_transposed", "voice_transposed"}
    np.testing.assert_array_equal(weights["weight_transposed"], weights["weight"].T)


def test_nothing_is_left_that_cannot_be_compiled():
    for half in halves(small_graph(), FILE)[1:]:
        left = {"Loop", "If", "ConcatFromSequence", "TopK", "Slice", "Pow"} & operators(half)
        assert not left
        assert not any("Random" in operator for operator in operators(half))


@pytest.mark.parametrize(
    ("speed", "dtype", "shape"),
    [("float", "float32", ()), ("int32[1]", "int32", (1,)), ("double[1]", "float64", (1,))],
)
def test_a_speed_may_be_of_another_type(speed, dtype, shape):
    _, timing, _ = halves(small_graph(speed=speed), FILE)
    assert timing.inputs[2] == TensorSpec("speed", dtype, shape)


def test_the_names_of_other_exporters_are_known():
    model = renamed(renamed(small_graph(), "tokens", "input_ids"), "audio", "waveform")
    _, timing, speech = halves(model, FILE)
    assert (timing.outputs, speech.outputs) == (DURATIONS, AUDIO)


def test_durations_need_not_be_an_output():
    model = small_graph()
    del model.graph.output[1]
    assert halves(model, FILE)[1].outputs == DURATIONS


def test_the_whole_graph_takes_noise_and_no_other_change():
    model = small_graph()
    before = [node.op_type for node in model.graph.node]
    names, noise = with_noise(model, FILE)
    assert (names.tokens, names.audio) == ("tokens", "audio")
    assert model.graph.input[-1].name == noise
    after = [node.op_type for node in model.graph.node]
    drawn = {"RandomNormalLike", "RandomUniformLike"}
    assert [one for one in after if one not in ("Shape", "ConstantOfShape")] == [
        one for one in before if one not in drawn | {"Shape", "ConstantOfShape"}
    ]


def other_inputs(model):
    return renamed(model, "style", "speaker")


def other_outputs(model):
    return renamed(model, "audio", "mel")


def one_more_input(model):
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, [1]))
    return model


def no_loop(model):
    nodes = [n for n in model.graph.node if n.op_type not in ("Loop", "ConcatFromSequence")]
    nodes.insert(nodes.index(next(n for n in nodes if "spread" in n.output)), reading("index"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def reading(name):
    return helper.make_node("Identity", ["each"], [name])


def other_items(model):
    node = next(node for node in model.graph.node if "items" in node.output)
    model.graph.node.insert(
        list(model.graph.node).index(node), helper.make_node("Add", ["each", "one"], ["next"])
    )
    node.input[0] = "next"
    return model


def other_rows(model):
    node = next(node for node in model.graph.node if "longest" in node.output)
    model.graph.node.insert(
        list(model.graph.node).index(node), helper.make_node("Sub", ["counts", "second"], ["less"])
    )
    node.input[0] = "less"
    return model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            other_inputs,
            r"inputs are tokens int64 \[1, n\], speaker float \[1, 256\].*style or ref_s",
        ),
        (other_outputs, r"outputs mel, durations, expected.*audio or waveform"),
        (one_more_input, r"mask float \[1\]"),
        (no_loop, r"0 places where tokens are repeated.*--weights FOLDER"),
        (other_items, r"repeats next by the durations, and not the number of each token"),
        (other_rows, r"LSTM reads rows with lengths of their own.*without padding"),
    ],
)
def test_another_graph_is_refused_with_what_was_found(change, words):
    with pytest.raises(InputError, match=f"{FILE}.*{words}"):
        halves(change(small_graph()), FILE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tokens": "int64[1,24]"}, r"tokens int64 \[1, 24\], expected int64 \[1, any\].*dynamic"),
        ({"tokens": "int32[1,n]"}, r"tokens int32 \[1, n\], expected int64"),
        ({"tokens": "int64[2,n]"}, r"tokens int64 \[2, n\]"),
        ({"speed": "float[2]"}, r"speed float \[2\]"),
        ({"noise": "Neg (shifted)"}, r"draws 0 tensors of normal numbers, expected 1"),
        ({"noise": "RandomNormalLike <scale = 2.0> (shifted)"}, r"of mean 0 and deviation 1"),
        ({"phases": "RandomNormalLike (nine)"}, r"draws 2 tensors of normal numbers"),
    ],
)
def test_another_interface_is_refused_with_what_was_found(given, words):
    with pytest.raises(InputError, match=words):
        halves(small_graph(**given), FILE)


# The file


def test_a_file_is_known_by_its_content_and_by_its_name(path, tmp_path):
    other = path.rename(tmp_path / "model.bin")
    (tmp_path / "not.onnx").write_bytes(b"PK")
    (tmp_path / "weights.pth").write_bytes(b"PK\x03\x04")
    assert is_onnx(other) and is_onnx(tmp_path / "not.onnx")
    assert not is_onnx(tmp_path / "weights.pth")
    assert not is_onnx(tmp_path) and not is_onnx("synthetic")


@pytest.mark.parametrize("part", [0, 1, 100, 0.5, 0.99])
def test_a_damaged_file_is_refused(path, part):
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content)) if isinstance(part, float) else part])
    with pytest.raises(InputError, match=r"kokoro.onnx.*(damaged|not a graph of Kokoro|inputs)"):
        halves(open_onnx(path).load(), str(path))


@pytest.mark.parametrize("opset", [12, 99])
def test_another_opset_is_refused(tmp_path, opset):
    model = small_graph()
    model.opset_import[0].version = opset
    with pytest.raises(InputError, match=f"has opset {opset}.*opset_version=17"):
        open_onnx(saved(model, tmp_path))


def with_external_data(folder):
    model = small_graph()
    external_data_helper.convert_model_to_external_data(
        model, location="weights.data", size_threshold=1024
    )
    return saved(model, folder)


def test_external_data_must_be_beside_the_file(tmp_path):
    path = with_external_data(tmp_path)
    weights, _, _ = halves(open_onnx(path).load(), FILE)
    np.testing.assert_array_equal(weights["table"], halves(small_graph(), FILE)[0]["table"])
    with_data = open_onnx(path).info.sha256
    content = bytearray((tmp_path / "weights.data").read_bytes())
    content[0] ^= 1
    (tmp_path / "weights.data").write_bytes(content)
    assert open_onnx(path).info.sha256 != with_data
    (tmp_path / "weights.data").write_bytes(content[:9])
    with pytest.raises(InputError, match="damaged"):
        open_onnx(path).load()
    (tmp_path / "weights.data").unlink()
    with pytest.raises(InputError, match=r"its weights in weights.data, which is not beside it"):
        open_onnx(path)


def test_the_hash_is_that_of_the_file(path):
    from kokoro_pipeline.artifact.reader import file_sha256

    info = open_onnx(path).info
    assert (info.sha256, info.source) == (file_sha256(path), str(path.resolve()))
    assert not info.synthetic and info.revision is None


def test_without_the_package_onnx_the_extra_is_named(path, monkeypatch):
    original = builtins.__import__

    def without(name, *rest, **more):
        if name == "onnx":
            raise ImportError("no onnx")
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentFault, match=r"tvm-kokoro\[onnx\]"):
        open_onnx(path)


# Beside the file


def test_the_configuration_is_given_or_beside_the_file_or_that_of_kokoro(path, tmp_path):
    assert open_onnx(path).config is None
    shipped = tmp_path / "shipped.json"
    shipped.write_bytes(open_onnx(path).config_text)
    assert load_config(shipped) == default_config()
    beside = tmp_path / "config.json"
    beside.write_bytes(shipped.read_bytes())
    assert open_onnx(path).config == beside
    assert open_onnx(path, config=shipped).config == shipped
    beside.write_text("{}")
    with pytest.raises(InputError, match="not a Kokoro configuration"):
        open_onnx(path)


def test_voices_are_packs_folders_and_archives(path, tmp_path):
    beside = open_onnx(path).voices()
    assert sorted(beside) == ["af_bella", "af_heart"]
    archive = tmp_path / "voices-v1.0.bin"
    with archive.open("wb") as stream:
        np.savez(stream, am_one=beside["af_heart"], am_two=beside["af_bella"][:, 0])
    found = open_onnx(path, voices=[archive, tmp_path / "voices" / "af_bella.npy"]).voices()
    assert sorted(found) == ["af_bella", "am_one", "am_two"]
    np.testing.assert_array_equal(found["am_two"], beside["af_bella"])
    empty = tmp_path / "empty"
    empty.mkdir()
    for place in (empty, tmp_path / "none"):
        with pytest.raises(InputError, match="holds no voice"):
            open_onnx(path, voices=[place])


def test_an_archive_of_something_else_is_refused(path, tmp_path):
    archive = tmp_path / "voices.npz"
    np.savez(archive, af_heart=np.zeros((3, 4), np.float32))
    with pytest.raises(InputError, match=r"voices.npz: af_heart: a voice has the shape"):
        open_onnx(path, voices=[archive]).voices()
