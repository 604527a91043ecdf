"""End-to-end tests of an artifact of the synthetic weights: build, validation, calls, synthesis."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.artifact.manifest import MANIFEST_NAME
from kokoro_pipeline.artifact.reader import open_artifact, verify_artifact
from kokoro_pipeline.config import load_config
from kokoro_pipeline.runtime import Synthesizer

pytestmark = pytest.mark.usefixtures("pipeline_cache")

PHRASE = "həlˈO wˈɜɹld."
VOCABULARY = load_config().n_token
COMPONENTS = (
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "source_forward",
    "decoder_forward",
)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture(scope="module")
def tts(artifact: Path) -> Iterator[Synthesizer]:
    with kokoro_pipeline.load(artifact, threads=2) as synthesizer:
        yield synthesizer


# Against PyTorch


@pytest.mark.slow
@pytest.mark.usefixtures("memory_given_back")
def test_validation_passes_and_names_every_step(artifact, synthetic_folder):
    report = kokoro_pipeline.validate(artifact, weights=str(synthetic_folder), cases="short")
    assert report.passed, str(report)
    assert report.skipped == ()
    assert {measurement.step for measurement in report.measurements} == {
        *COMPONENTS,
        "noise_forward",
        "whole audio",
    }
    assert report.whole is not None


@pytest.mark.usefixtures("memory_given_back")
def test_speech_equals_the_whole_stock_model(tts, synthetic_folder):
    """Durations exactly, audio no farther from float64 than PyTorch's float32 is, and not by luck
    of a mute model: it has a pitch and a peak."""
    torch = pytest.importorskip("torch")
    from kokoro_pipeline.compiler.weights import load_model, load_voices, resolve
    from kokoro_pipeline.config import BOUNDARY_TOKEN
    from kokoro_pipeline.validation.reference import ReferenceModel
    from kokoro_pipeline.validation.stock_precision import kokoro_runs_in

    folder = resolve(str(synthetic_folder))
    vocab = load_config().vocab
    ids = torch.tensor([[BOUNDARY_TOKEN, *(vocab[p] for p in PHRASE), BOUNDARY_TOKEN]])
    style = torch.from_numpy(load_voices(folder)["af_heart"][len(PHRASE) - 1])
    frames = int(tts.predict_durations(PHRASE, "af_heart", 1.0).sum())
    noise = normal(3, 1, 600 * frames, 9)
    speech = tts.synthesize(PHRASE, "af_heart", noise=noise)
    audio = {}
    for dtype in (torch.float64, torch.float32):
        model = ReferenceModel(load_model(folder), dtype).model
        with kokoro_runs_in(dtype, torch.from_numpy(noise)):
            whole, durations = model.forward_with_tokens(ids, style.to(dtype), 1.0)
        np.testing.assert_array_equal(speech.durations, durations.numpy())
        audio[dtype] = whole.squeeze().double().numpy()
    exact = audio[torch.float64]
    assert speech.audio.shape == exact.shape == (600 * frames,)
    assert np.abs(exact).max() > 0.05

    def distance(other: np.ndarray) -> float:
        return float(np.sqrt(((other - exact) ** 2).mean()))

    assert distance(speech.audio) <= distance(audio[torch.float32])


# Padded batches

LENGTHS = np.array([11, 4, 1, 7])


@pytest.mark.parametrize("name", ["bert_forward", "text_encoder_forward"])
def test_each_row_of_a_padded_batch_of_ids_equals_the_row_alone(name, tts):
    """The padding may be any ids of the vocabulary."""
    rng = np.random.default_rng(1)
    ids = rng.integers(0, VOCABULARY, (len(LENGTHS), LENGTHS.max()))
    function = tts.functions[name]
    batch = function(ids, LENGTHS)
    other_padding = ids.copy()
    for row, length in enumerate(LENGTHS):
        alone = function(ids[row : row + 1, :length], LENGTHS[row : row + 1])
        np.testing.assert_allclose(batch[row, :, :length], alone[0], atol=1e-5)
        assert not batch[row, :, length:].any()
        other_padding[row, length:] = rng.integers(0, VOCABULARY, LENGTHS.max() - length)
    np.testing.assert_array_equal(function(other_padding, LENGTHS), batch)


def test_each_row_of_a_padded_batch_of_durations_equals_the_row_alone(tts):
    """NaN may pad d_en, and both LSTM directions see the row only."""
    d_en, style = normal(2, len(LENGTHS), 512, LENGTHS.max()), normal(3, len(LENGTHS), 128)
    for row, length in enumerate(LENGTHS):
        d_en[row, :, length:] = np.nan
    function = tts.functions["duration_forward"]
    batch = function(d_en, style, LENGTHS)
    for row, length in enumerate(LENGTHS):
        rows = slice(row, row + 1)
        alone = function(d_en[rows, :, :length], style[rows], LENGTHS[rows])
        for got, expected in zip(batch, alone, strict=True):
            np.testing.assert_allclose(got[row, :length], expected[0], atol=1e-5)
            assert not got[row, length:].any()


# Every length


@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 511, 512])
def test_any_number_of_tokens(n, tts):
    ids, lengths = np.random.default_rng(n).integers(0, VOCABULARY, (1, n)), np.array([n])
    d_en = tts.functions["bert_forward"](ids, lengths)
    t_en = tts.functions["text_encoder_forward"](ids, lengths)
    duration, d = tts.functions["duration_forward"](d_en, 0.3 * normal(1, 1, 128), lengths)
    assert d_en.shape == t_en.shape == (1, 512, n)
    assert (duration.shape, d.shape) == ((1, n, 50), (1, n, 640))
    for array in (d_en, t_en, duration, d):
        assert np.isfinite(array).all()
    assert ((duration >= 0) & (duration <= 1)).all()


def decoder_inputs(t: int) -> tuple[np.ndarray, ...]:
    f0 = np.random.default_rng(t).uniform(80, 300, (1, 2 * t)).astype(np.float32)
    asr, n, style = normal(t, 1, 512, t), normal(t + 1, 1, 2 * t), 0.3 * normal(t + 2, 1, 128)
    return asr, f0, n, style


@pytest.mark.parametrize("t", [1, 2, 3, 4, 5, 6, 7, 8, 13, 31])
def test_any_number_of_frames(t, tts):
    asr, f0, n, style = decoder_inputs(t)
    pitch, energy = tts.functions["f0n_forward"](normal(t, 1, 640, t), style)
    assert pitch.shape == energy.shape == (1, 2 * t)
    har = tts.functions["source_forward"](f0, normal(t, 1, 600 * t, 9))
    assert har.shape == (1, 22, 120 * t + 1)
    assert (har[:, :11] >= 0).all()
    assert (np.abs(har[:, 11:]) <= np.float32(np.pi)).all()
    audio = tts.functions["decoder_forward"](asr, f0, n, style, har)
    assert audio.shape == (1, 600 * t)
    for array in (pitch, energy, har, audio):
        assert np.isfinite(array).all()


# The same bits


def test_threads_and_loads_cannot_be_heard(artifact, tts):
    expected = tts.synthesize(PHRASE, seed=5).audio
    for threads in (1, 3):
        with kokoro_pipeline.load(artifact, threads=threads) as other:
            np.testing.assert_array_equal(other.synthesize(PHRASE, seed=5).audio, expected)
    assert (tts.synthesize(PHRASE, seed=6).audio != expected).any()


@pytest.mark.slow
def test_callers_at_the_same_time_get_what_each_gets_alone(tts):
    """A VM is not re-entrant and TVM's pool belongs to a thread: calls take turns."""
    phrases = [PHRASE[: 3 + 2 * i] for i in range(4)]
    alone = [tts.synthesize(phrase, seed=i).audio for i, phrase in enumerate(phrases)]
    together: list[Any] = [None] * 4
    barrier = threading.Barrier(4)

    def speak(i: int) -> None:
        barrier.wait()
        together[i] = tts.synthesize(phrases[i], seed=i).audio

    threads = [threading.Thread(target=speak, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, expected in zip(together, alone, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_arrays_that_no_kernel_could_read_give_the_same_bits(tts):
    """Misaligned, strided, Fortran-ordered, read-only: copied where that is needed."""
    asr, f0, n, style = decoder_inputs(5)
    har = tts.functions["source_forward"](f0, normal(1, 1, 3000, 9))
    expected = tts.functions["decoder_forward"](asr, f0, n, style, har)

    def misaligned(array: np.ndarray) -> np.ndarray:
        memory = np.empty(array.nbytes + 68, np.uint8)
        offset = -memory.ctypes.data % 64 + 4
        moved = memory[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
        moved[...] = array
        return moved

    strided = np.repeat(har, 2, axis=2)[:, :, ::2]
    read_only = n.copy()
    read_only.flags.writeable = False
    odd = (np.asfortranarray(asr), misaligned(f0), read_only, misaligned(style), strided)
    np.testing.assert_array_equal(tts.functions["decoder_forward"](*odd), expected)


# The folder


def test_the_manifest_says_what_was_built(artifact):
    manifest = open_artifact(artifact).manifest
    assert tuple(manifest.functions) == (*COMPONENTS, "noise_forward")
    assert manifest.weights.synthetic
    assert manifest.weights.seed == 0
    assert {"apache-tvm", "apache-tvm-ffi", "torch", "kokoro"} <= set(manifest.versions)
    assert manifest.fixes
    assert set(manifest.fixes.values()) <= {"applied", "not_needed"}, manifest.fixes
    assert all(result.passed for result in verify_artifact(artifact))


def test_parameters_are_stored_once_as_the_kernels_want_them(artifact):
    """A matrix that was packed is not there a second time."""
    names = {
        parameter.name: parameter.shape
        for spec in open_artifact(artifact).manifest.functions.values()
        for parameter in spec.parameters
    }
    packed = {
        source for name in names if "@" in name for source in name.partition("@")[0].split("+")
    }
    twice = [name for name, shape in names.items() if name in packed and len(shape) > 1]
    assert twice == []


def test_a_moved_artifact_works_where_it_is(artifact, tts, tmp_path):
    """Nothing in it names where it was built."""
    expected = tts.synthesize(PHRASE, seed=1).audio
    moved = tmp_path / "elsewhere" / "the artifact"
    moved.mkdir(parents=True)
    (moved / "voices").mkdir()
    for file in artifact.rglob("*"):
        if file.is_file():
            os.link(file, moved / file.relative_to(artifact))
    hidden = artifact.with_name("hidden")
    artifact.rename(hidden)
    try:
        with kokoro_pipeline.load(moved, threads=1) as there:
            audio = there.synthesize(PHRASE, seed=1).audio
    finally:
        hidden.rename(artifact)
    np.testing.assert_array_equal(audio, expected)


# Without PyTorch

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "tvm", "kokoro"}:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
"""

SPEAK = """
import sys
import numpy as np
import kokoro_pipeline
with kokoro_pipeline.load(sys.argv[1], threads=1) as tts:
    np.save(sys.argv[2], tts.synthesize(sys.argv[3], seed=1).audio)
print(sorted({"torch", "transformers", "tvm"} & set(sys.modules)))
"""


@pytest.mark.parametrize("program", [BLOCKER + SPEAK, SPEAK], ids=["blocked", "installed"])
def test_speech_in_a_fresh_process_needs_neither_torch_nor_tvm(program, artifact, tts, tmp_path):
    root = str(Path(kokoro_pipeline.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, str(artifact), str(tmp_path / "audio.npy"), PHRASE],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=root,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
    expected = tts.synthesize(PHRASE, seed=1).audio
    np.testing.assert_array_equal(np.load(tmp_path / "audio.npy"), expected)


# Parts of it

PART = ("duration_forward", "text_encoder_forward", "source_forward")


@pytest.fixture(scope="module")
def naive(
    synthetic_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The cheap components at --opt 0, built from the command line; the folder and its JSON."""
    folder = tmp_path_factory.mktemp("naive") / "part"
    words = ["build", "--opt", "0", "--components", ",".join(PART), "--no-validate", "--json"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kokoro_pipeline", *words),
            *("--weights", str(synthetic_folder), "-o", str(folder)),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=Path(kokoro_pipeline.__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    yield folder, json.loads(done.stdout)


@pytest.mark.slow
def test_plain_legalization_computes_the_same(naive, tts):
    """This is the purpose of --opt 0: to distinguish a wrong kernel from a wrong model."""
    folder, _ = naive
    ids, lengths = np.random.default_rng(1).integers(0, VOCABULARY, (2, 9)), np.array([9, 4])
    style, (_, f0, _, _) = 0.3 * normal(4, 2, 128), decoder_inputs(3)
    inputs = {
        "duration_forward": (normal(5, 2, 512, 9), style, lengths),
        "text_encoder_forward": (ids, lengths),
        "source_forward": (f0, normal(6, 1, 1800, 9)),
    }
    with kokoro_pipeline.load(folder, threads=1) as plain:
        for name, arrays in inputs.items():
            got, expected = plain.functions[name](*arrays), tts.functions[name](*arrays)
            for one, other in zip(
                got if isinstance(got, tuple) else (got,),
                expected if isinstance(expected, tuple) else (expected,),
                strict=True,
            ):
                if name == "source_forward":
                    # Angles count modulo a turn, and mean nothing where there is no magnitude.
                    one, other = (h[:, :11] * np.exp(1j * h[:, 11:]) for h in (one, other))
                np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_part_says_what_it_is_and_does_not_speak(naive):
    folder, report = naive
    manifest = open_artifact(folder).manifest
    assert set(manifest.functions) == set(PART)
    assert manifest.opt_level == 0
    assert str(folder) in json.dumps(report)
    with (
        kokoro_pipeline.load(folder) as part,
        pytest.raises(kokoro_pipeline.ArtifactError, match=r"bert_forward.*--components"),
    ):
        part.synthesize(PHRASE)


# Killed in the middle

# One process for all stages: SIGKILL leaves what is on the disk at that moment, so a copy taken
# when a stage begins is what a kill there would leave. The last one is real.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from kokoro_pipeline.artifact.writer import ArtifactWriter
from kokoro_pipeline.building import builder

source, folder, copies, *stages = sys.argv[1:]

def die(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def keep(text):
    for stage in stages:
        if text.startswith(stage):
            shutil.copytree(folder, Path(copies, stage))

ArtifactWriter._publish = die
builder.build(
    source, output=Path(folder, "output"), components=("source_forward",), progress=keep
)
"""

STAGES = (
    "weights",
    "export source_forward",
    "lower",
    "compile",
    "link",
    "write parameters",
    "validate",
    "hash and commit",
)


@pytest.mark.slow
@pytest.mark.usefixtures("memory_given_back")
def test_a_build_killed_in_any_stage_leaves_nothing_that_loads(synthetic_folder, tmp_path):
    """SIGKILL: no handler runs, so what is on the disk is all that is left."""
    folder, copies = tmp_path / "killed", tmp_path / "copies"
    folder.mkdir()
    copies.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(synthetic_folder), str(folder), str(copies), *STAGES],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(kokoro_pipeline.__file__).parents[1],
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {path.name for path in copies.iterdir()} == set(STAGES)
    for place in (*copies.iterdir(), folder):
        (left,) = place.iterdir()
        assert left.name.startswith(".output.")
        # Only the last moment has a manifest to leave, and no reader opens it there.
        assert (left / MANIFEST_NAME).exists() == (place == folder)
        with pytest.raises(kokoro_pipeline.ArtifactError):
            kokoro_pipeline.load(left)
    bystander = folder / left.name.replace(".output.", ".another.")
    shutil.copytree(left, bystander)
    built = kokoro_pipeline.build(
        str(synthetic_folder), output=folder / "output", components=("source_forward",)
    )
    assert tuple(built.manifest.functions) == ("source_forward",)
    # The dead build of the same output is cleared away, others are not its business.
    assert {path.name for path in folder.iterdir()} == {"output", bystander.name}
    assert [name for name, _ in built.stages] == list(STAGES)
    assert built.manifest.validation
    assert open_artifact(built.path).manifest == built.manifest


@pytest.mark.slow
@pytest.mark.usefixtures("memory_given_back")
def test_a_build_that_misses_a_tolerance_leaves_nothing(synthetic_folder, tmp_path, monkeypatch):
    """A merge weight is changed by a thousandth, which is inaudible."""
    from kokoro_pipeline.building import sources

    make_components = sources.make_components

    def spoiled(*args: Any) -> Any:
        components = make_components(*args)
        components[0].module.weight.mul_(1.001)
        return components

    monkeypatch.setattr(sources, "make_components", spoiled)
    with pytest.raises(kokoro_pipeline.CheckFailed, match=r"(?s)source_forward.*--opt 0") as caught:
        kokoro_pipeline.build(
            str(synthetic_folder), output=tmp_path / "a", components=("source_forward",)
        )
    assert "--no-validate" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Memory

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import kokoro_pipeline

with kokoro_pipeline.load(sys.argv[1], threads=2) as tts:
    print(len(tts.synthesize(sys.argv[2]).audio))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
def test_memory_is_taken_for_the_actual_length_not_for_the_longest(artifact):
    """torch.export's upper bounds would make one call reserve tens of gigabytes, which a small
    machine refuses."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(artifact), PHRASE],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(kokoro_pipeline.__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
