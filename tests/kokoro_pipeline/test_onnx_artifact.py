"""An artifact of an ONNX file: built, described, spoken with, compared with ONNX Runtime."""

import json
import os
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="an ONNX file is read with it")
onnxruntime = pytest.importorskip("onnxruntime", reason="the results are compared with it")
pytest.importorskip("torch", reason="the building half needs torch")

sys.path.insert(0, str(Path(__file__).parent))
from small_graph import small_graph, write_small  # noqa: E402

from kokoro_pipeline.artifact.manifest import TensorSpec  # noqa: E402
from kokoro_pipeline.artifact.reader import file_sha256, read_artifact  # noqa: E402
from kokoro_pipeline.building.builder import build  # noqa: E402
from kokoro_pipeline.cli import main  # noqa: E402
from kokoro_pipeline.compiler.onnx_file.opening import OnnxFile  # noqa: E402
from kokoro_pipeline.errors import ArtifactError, InputError  # noqa: E402
from kokoro_pipeline.runtime import load  # noqa: E402
from kokoro_pipeline.runtime.speech.binding import graph_timing  # noqa: E402
from kokoro_pipeline.runtime.speech.noise import draw_noise  # noqa: E402
from kokoro_pipeline.validation import graph_reference, validate  # noqa: E402

PHONEMES = "hˈɛlO wˈɜɹld"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_small(tmp_path_factory.mktemp("onnx"))


@pytest.fixture(scope="module")
def artifact(file, tmp_path_factory):
    return build(str(file), output=tmp_path_factory.mktemp("built") / "kokoro").path


@pytest.fixture
def tts(artifact):
    with load(artifact, threads=1) as loaded:
        yield loaded


def test_the_manifest_says_what_it_is_and_what_is_not_proved(artifact, file):
    manifest = read_artifact(artifact).manifest
    assert list(manifest.functions) == ["graph_durations", "graph_speech", "noise_forward"]
    assert manifest.weights.source == str(file.resolve())
    assert manifest.weights.sha256 == file_sha256(file)
    assert manifest.validation["passed"]
    assert manifest.validation["reference"] == {"onnxruntime": onnxruntime.__version__}
    assert "not with PyTorch" in manifest.validation["not_proved"]
    assert manifest.versions["onnx"] == onnx.__version__
    assert manifest.voices == ("af_bella", "af_heart")


def test_info_says_it_too(artifact, file, capsys):
    assert main(["info", str(artifact)]) == 0
    text = capsys.readouterr().out
    assert str(file.resolve()) in text and file_sha256(file) in text
    assert "the graph of an ONNX file" in text
    assert "passed when built; compared with ONNX Runtime" in text


def test_the_audio_is_that_of_onnx_runtime(tts, file):
    """With the same noise; its own uniform numbers are the phases that harmonics begin with."""
    speech = tts.synthesize(PHONEMES, "af_heart", speed=1.25, seed=3)
    opened = graph_reference.open_file(file, tts.manifest.weights.sha256)
    reference = graph_reference.GraphReference(opened)
    pack = np.load(file.parent / "voices" / "af_heart.npy")
    vocabulary = json.loads((tts.path / "config.json").read_text())["vocab"]
    ids = np.array([[0, *(vocabulary[symbol] for symbol in PHONEMES), 0]])
    noise = draw_noise(tts.functions, 3, 0, int(speech.durations.sum()))
    speed = np.array([1.25], np.float32)
    audio = reference.audio(ids, pack[len(PHONEMES) - 1], speed, noise)
    np.testing.assert_allclose(speech.audio, audio, atol=1e-5)
    assert len(speech.durations) == ids.shape[1]
    assert len(speech.audio) == 600 * speech.durations.sum()
    np.testing.assert_array_equal(
        tts.predict_durations(PHONEMES, "af_heart", 1.25), speech.durations
    )


def test_the_same_seed_gives_the_same_audio_and_noise_can_be_given(tts):
    one, two, other = (tts.synthesize(PHONEMES, seed=seed).audio for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert len(one) == len(other) and (one != other).any()
    noise = draw_noise(tts.functions, 1, 0, len(one) // 600)
    np.testing.assert_array_equal(tts.synthesize(PHONEMES, noise=noise).audio, one)


def test_a_text_of_many_chunks_is_spoken_with_times_of_words(tts):
    pytest.importorskip("misaki", reason="English is read with it")
    speech = tts.speak("The river bends twice. " * 40)
    assert len(speech.chunks) > 1
    assert len(speech.words) == 160
    times = [(word.start, word.end) for word in speech.words]
    assert times == sorted(times) and times[-1][1] <= speech.seconds


def test_say_writes_subtitles(artifact, tmp_path):
    pytest.importorskip("misaki", reason="English is read with it")
    audio, subtitles = tmp_path / "a.wav", tmp_path / "a.srt"
    words = ["say", "Hello world.", "--artifact", str(artifact), "-o", str(audio)]
    assert main([*words, "--subtitles", str(subtitles)]) == 0
    with wave.open(str(audio)) as stream:
        assert stream.getnframes() % 600 == 0
    assert "Hello world." in subtitles.read_text()


def test_what_one_chunk_may_last_is_limited(tts):
    with pytest.raises(InputError, match="at speed 0.1 last .* over the limit of 8192"):
        tts.synthesize("a" * 500, speed=0.1)


@pytest.mark.slow
def test_validate_compares_with_the_file_that_it_was_built_from(artifact, file, tmp_path, capsys):
    assert main(["validate", str(artifact)]) == 0
    assert "20 cases" in capsys.readouterr().out
    other = tmp_path / "other.onnx"
    onnx.save(small_graph(phases="Identity (nine)"), other)
    with pytest.raises(InputError, match=f"{file_sha256(file)}, and .*other.onnx has"):
        validate(artifact, weights=other, cases="short")
    with pytest.raises(InputError, match="is not there: name it with --weights FILE"):
        validate(artifact, weights=tmp_path / "none.onnx")
    with pytest.raises(InputError, match="--save-dir is for"):
        validate(artifact, save_dir=tmp_path / "saved")


def test_wrong_audio_fails(artifact, file, monkeypatch):
    """The reference is that of a graph with another weight."""
    model = onnx.load(file)
    weight = next(tensor for tensor in model.graph.initializer if tensor.name == "weight")
    array = onnx.numpy_helper.to_array(weight) * np.float32(1.01)
    weight.CopyFrom(onnx.numpy_helper.from_array(array, "weight"))
    monkeypatch.setattr(OnnxFile, "load", lambda _self: model)
    report = validate(artifact, cases="short")
    assert not report.passed
    assert {m.step for m in report.failures} == {"graph_speech"}


def test_without_onnx_runtime_nothing_is_compared_and_that_is_said(
    file, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    path = tmp_path / "kokoro"
    assert main(["build", "--weights", str(file), "-o", str(path)]) == 0
    assert "NOT VALIDATED: a graph of an ONNX file" in capsys.readouterr().err
    assert "pip install onnxruntime" in read_artifact(path).manifest.validation["not_validated"]
    assert main(["info", str(path)]) == 0
    assert "none was run: a graph of an ONNX file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "cuda"], "--target cuda"),
        (["--components", "bert_forward"], "--components"),
        (["--tune"], "--tune"),
    ],
)
def test_options_of_checkpoints_are_refused(file, tmp_path, words, said, capsys):
    given = ["build", "--weights", str(file), "-o", str(tmp_path / "none"), *words]
    assert main(given) == 3
    text = capsys.readouterr().err
    assert said in text and ("leave out" in text or "nvcc" in text)


@pytest.mark.parametrize("option", [["--config", "config.json"], ["--voices", "voices"]])
def test_options_of_onnx_files_are_refused_for_checkpoints(tmp_path, option, capsys):
    given = ["build", "--weights", "synthetic", "-o", str(tmp_path / "none"), *option]
    assert main(given) == 3
    assert "--config and --voices are for an ONNX file" in capsys.readouterr().err


def test_a_dry_run_names_the_functions_and_checks_the_file(file, tmp_path, capsys):
    assert main(["build", "--weights", str(file), "--dry-run"]) == 0
    assert "graph_durations graph_speech" in capsys.readouterr().out
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(file.read_bytes()[:100])
    assert main(["build", "--weights", str(damaged), "--dry-run"]) == 3
    assert "damaged" in capsys.readouterr().err


def test_say_sends_a_file_to_build(file, tmp_path, capsys):
    words = ["say", "Hello.", "--weights", str(file), "-o", str(tmp_path / "a.wav")]
    assert main(words) == 3
    assert f"kokoro-pipeline build --weights {file} -o DIR" in capsys.readouterr().err


def test_peers_are_refused(artifact, capsys):
    words = ["benchmark", str(artifact), "--against", "pytorch"]
    assert main(words) == 3
    assert "peers are compared function by function" in capsys.readouterr().err


def test_a_bundle_is_refused(artifact, tmp_path, capsys):
    assert main(["bundle", str(artifact), "-o", str(tmp_path / "bundle")]) == 3
    assert "the native runtime does not speak with" in capsys.readouterr().err


def test_the_server_speaks_with_it(artifact):
    pytest.importorskip("fastapi", reason="the server needs it")
    httpx = pytest.importorskip("httpx", reason="a client")
    words = [sys.executable, "-m", "kokoro_pipeline", "serve", "--artifact", str(artifact)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*words, "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            url = server.stderr.readline().split(" at ")[1].split()[0]
            body = {"input": "Hello world.", "voice": "af_heart", "response_format": "wav"}
            answer = httpx.post(f"{url}/v1/audio/speech", json=body, timeout=60)
            assert answer.status_code == 200 and len(answer.content) > 44
        finally:
            server.kill()


def test_a_speed_of_whole_numbers_is_kept_to(tmp_path):
    path = write_small(tmp_path, speed="int32[1]")
    built = build(str(path), output=tmp_path / "kokoro").path
    with load(built, threads=1) as tts:
        assert tts.synthesize(PHONEMES, speed=2).seconds < tts.synthesize(PHONEMES).seconds
        with pytest.raises(InputError, match=r"speed is 1.5.*takes int32.*whole number"):
            tts.synthesize(PHONEMES, speed=1.5)


@pytest.mark.parametrize(
    ("durations", "words"),
    [([0, 0, 0], "0 frames"), ([2, -1, 3], "token 1 lasts -1"), ([1, 1 << 40, 1], "token 1 lasts")],
)
def test_impossible_durations_are_refused(durations, words):
    taken = TensorSpec("speed", "float32", (1,))
    functions = {"graph_durations": lambda *_: np.array(durations)}
    with pytest.raises(ArtifactError, match=f"graph_durations predicted.*{words}.*validate DIR"):
        graph_timing(taken, functions, (5,), np.zeros((1, 256), np.float32), 1.0)


def test_a_graph_that_cannot_be_compiled_is_refused(tmp_path):
    path = write_small(tmp_path, phases="Bernoulli (nine)")
    with pytest.raises(InputError, match=r"cannot be compiled: .*Bernoulli.*float32 graph"):
        build(str(path), output=tmp_path / "kokoro")


# The exported model

torch = pytest.importorskip("torch")


@pytest.mark.slow
def test_the_exported_model_speaks(synthetic_folder, tmp_path, memory_given_back):
    """All of the synthetic Kokoro in one graph, as the public files are exported."""
    from benchmarks.peers.whole_onnx import export_whole

    path = tmp_path / "kokoro.onnx"
    export_whole(synthetic_folder, path)
    report = build(str(path), output=tmp_path / "kokoro", voices=[synthetic_folder])
    assert report.manifest.validation["passed"]
    with load(report.path) as tts:
        speech = tts.synthesize(PHONEMES)
        assert len(speech.audio) == 600 * speech.durations.sum() > 0
