"""The portable GPU benchmark folder: its parameters are reproduced bit for bit, its model equals
kokoro's, and its program needs only torch and the contents of the folder."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("kokoro")

import kokoro_pipeline  # noqa: E402
from benchmarks.gpu_folder import folder as making  # noqa: E402
from benchmarks.gpu_folder import run  # noqa: E402
from benchmarks.gpu_folder.contenders import Plain  # noqa: E402
from benchmarks.gpu_folder.plain_model import load_plain  # noqa: E402
from benchmarks.gpu_folder.recipe import LITERAL_BYTES, write_recipe  # noqa: E402
from benchmarks.gpu_folder.regenerate import (  # noqa: E402
    LAYOUTS,
    Recipe,
    SyntheticTensors,
    apply_layout,
    encode_layout,
    regenerate,
)
from kokoro_pipeline.artifact.manifest import PARAMETERS_NAME  # noqa: E402
from kokoro_pipeline.artifact.reader import file_sha256  # noqa: E402
from kokoro_pipeline.compiler.kernels.common.operand_precision import (  # noqa: E402
    Precision,
    to_words,
)
from kokoro_pipeline.compiler.kernels.gpu.conv1d import Conv1d, pack_conv1d  # noqa: E402
from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable  # noqa: E402
from kokoro_pipeline.compiler.weights import load_model, load_voices, open_folder  # noqa: E402
from kokoro_pipeline.config import default_config  # noqa: E402
from kokoro_pipeline.errors import (  # noqa: E402
    ArtifactError,
    CheckFailed,
    EnvironmentFault,
    InputError,
)
from kokoro_pipeline.validation import short_cases  # noqa: E402
from kokoro_pipeline.validation.case_reference import case_inputs, compute_reference  # noqa: E402
from kokoro_pipeline.validation.reference import ReferenceModel  # noqa: E402

pytestmark = pytest.mark.slow

SOME = ("text_encoder_forward", "source_forward")
"""Functions that build in seconds: an LSTM, folded norms, a packing, and float64 constants."""


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Tensors are small, so threads would mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def built(synthetic_folder, tmp_path_factory):
    """A build of some functions, and the folder of its recipe."""
    path = tmp_path_factory.mktemp("built")
    report = kokoro_pipeline.build(
        str(synthetic_folder), output=path / "artifact", opt=1, components=SOME, validate=False
    )
    names = [p.name for spec in report.manifest.functions.values() for p in spec.parameters]
    write_recipe(path / "recipe", 0, names, report.parameters)
    return report, path / "recipe"


def test_parameters_are_made_again_bit_for_bit(built, tmp_path):
    report, recipe = built
    output = tmp_path / PARAMETERS_NAME
    regenerate(recipe, report.manifest, output)
    assert file_sha256(output) == file_sha256(report.path / PARAMETERS_NAME)
    kinds = {s.kind for step in Recipe(recipe).steps.values() for s in step.sources}
    assert kinds == {"tensor", "folded", "lstm", "literal"}
    carried = sum(file.stat().st_size for file in recipe.iterdir())
    assert carried < output.stat().st_size / 20


def test_parameters_that_come_out_otherwise_are_refused(built, tmp_path):
    """One index wrong in one layout."""
    report, recipe = built
    other = shutil.copytree(recipe, tmp_path / "recipe")
    with np.load(other / LAYOUTS) as stored:
        layouts = {name: stored[name].copy() for name in stored.files}
    first = layouts["layout0"].reshape(-1)
    first[3:5] += np.array([-1, 1], np.int32)
    np.savez(other / LAYOUTS, **layouts)
    with pytest.raises(ArtifactError, match="came out with sha256"):
        regenerate(other, report.manifest, tmp_path / PARAMETERS_NAME)


@pytest.mark.parametrize("damage", ["recipe.json", "scales.npz"])
def test_a_recipe_that_lacks_a_part_is_refused(built, damage, tmp_path):
    other = shutil.copytree(built[1], tmp_path / "recipe")
    (other / damage).unlink()
    with pytest.raises(ArtifactError, match="make it anew"):
        Recipe(other)


def test_a_packing_that_computes_is_refused_by_name(tmp_path):
    table = ParameterTable()
    table.add("f/w", np.arange(2 * LITERAL_BYTES, dtype=np.float32))
    name = table.derive(("f/w",), "halved", lambda w: w / 2)
    with pytest.raises(InputError, match=r"f/w@halved .* is no rearrangement of the weights"):
        write_recipe(tmp_path, 0, [name], table)


@pytest.mark.parametrize(
    "precision", [p for p in Precision if p is not Precision.FLOAT32], ids=lambda p: p.value
)
def test_weights_of_tensor_cores_are_made_again_bit_for_bit(precision, tmp_path):
    """A packing that rounds or splits, pads and pairs."""
    conv = Conv1d(768, 512, 1)
    table = ParameterTable()
    table.add("f/w", SyntheticTensors(0, {}).tensor("bert_encoder.weight"))
    packed = table.derive(
        ("f/w",), "packed", lambda w: pack_conv1d(conv, w[..., None], precision=precision)
    )
    write_recipe(tmp_path, 0, [packed], table)
    assert Recipe(tmp_path).steps[packed].precision is precision
    made = Recipe(tmp_path).parameter(packed)
    assert made.dtype == np.uint32
    np.testing.assert_array_equal(made, table[packed])


def test_a_packing_that_rounds_and_computes_is_refused(tmp_path):
    table = ParameterTable()
    table.add("f/w", np.linspace(0, 1, 2 * LITERAL_BYTES, dtype=np.float32).reshape(2, -1))
    name = table.derive(
        ("f/w",), "halved", lambda w: np.tile(to_words(w / 2, Precision.BFLOAT16), (2, 1))
    )
    with pytest.raises(InputError, match=r"f/w@halved .* is no rearrangement of the weights"):
        write_recipe(tmp_path, 0, [name], table)


@pytest.mark.parametrize(
    "rearrange",
    [
        lambda a, b: np.concatenate([a.T.reshape(-1), np.zeros(5, a.dtype), b]),
        lambda a, b: np.pad(a[::-1], ((0, 1), (2, 0))),
        lambda a, b: np.stack([b, b]).T,
    ],
)
def test_layouts_rearrange_pad_and_repeat(rearrange):
    a = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    b = np.arange(7, dtype=np.float32) - 3
    index = rearrange(np.arange(1, 13).reshape(3, 4), np.arange(13, 20))
    np.testing.assert_array_equal(apply_layout([a, b], encode_layout(index)), rearrange(a, b))


# The plain model


@pytest.fixture(scope="module")
def reference(synthetic_folder):
    folder = open_folder(synthetic_folder)
    float64 = ReferenceModel(load_model(folder), torch.float64)
    float32 = ReferenceModel(load_model(folder), torch.float32)
    case = replace(min(short_cases(), key=lambda case: len(case.phonemes) != 5), max_frames=4)
    return compute_reference(case_inputs(case, load_voices(folder)), float64, float32)


@pytest.fixture(scope="module")
def plain(synthetic_folder):
    from kokoro_pipeline.compiler.model.components import fold_weight_norm

    model = load_model(open_folder(synthetic_folder))
    fold_weight_norm(model)
    return load_plain(default_config().raw, {k: v.clone() for k, v in model.state_dict().items()})


@pytest.mark.slow
def test_the_plain_model_is_kokoro(plain, reference, synthetic_folder):
    """Step by step in float64, the second of two rows."""
    stock = ReferenceModel(load_model(open_folder(synthetic_folder)), torch.float64)
    answer = reference
    model = copy.deepcopy(plain).double()
    rng = np.random.default_rng(1)
    ids = np.stack([answer.inputs.input_ids[0], rng.permutation(answer.inputs.input_ids[0])])
    style = np.concatenate([answer.inputs.style, answer.inputs.style[:, ::-1]]).astype(np.float64)
    tokens = np.stack([answer.tokens, answer.tokens])
    noise = rng.standard_normal((2, 600 * answer.frames, 9), np.float32)
    put = torch.from_numpy
    with torch.no_grad():
        frames, d = model.timing(put(ids), put(style))
        audio = model.render(put(ids), d, put(tokens), put(style), put(noise).double()).numpy()
    row, one = 1, slice(1, 2)
    duration, expected_d = stock.duration(stock.bert(ids[one]), style[one, 128:])
    np.testing.assert_allclose(frames[row], duration[0].sum(-1), atol=1e-10)
    np.testing.assert_allclose(d[one], expected_d, atol=1e-10)
    en = np.swapaxes(expected_d, 1, 2)[:, :, tokens[row]]
    f0, n = stock.f0n(en, style[one, 128:])
    asr = stock.text_encoder(ids[one])[:, :, tokens[row]]
    wave = stock.waveform(f0, noise[one])
    har = stock.har(wave)
    expected = stock.decoder(asr, f0, n, style[one, :128], har)
    generator = model.decoder.generator
    with torch.no_grad():
        ours = generator.m_source(put(f0), put(noise[one]).double())
        np.testing.assert_allclose(ours, wave, atol=1e-9)
        assert np.array_equal(generator.stft(put(wave)), har)
        parts = [put(array) for array in (asr, f0, n, style[one, :128], har)]
        decoded = model.decoder(*parts).numpy()
    # Its inverse transform has a float32 basis, as ours.
    assert np.abs(decoded - expected).max() <= 1e-6 * np.abs(expected).max()
    # Whole, a phase on the cut may fall on either side of it.
    assert np.abs(audio[one] - expected).max() <= 1e-2 * np.abs(expected).max()


def test_the_plain_model_lacks_and_invents_nothing(plain):
    state = dict(plain.state_dict())
    del state["decoder.asr_res.0.bias"]
    with pytest.raises(RuntimeError, match=r"asr_res\.0\.bias"):
        load_plain(default_config().raw, state)
    state = {**plain.state_dict(), "decoder.more": torch.zeros(1)}
    with pytest.raises(RuntimeError, match="decoder.more"):
        load_plain(default_config().raw, state)


def test_a_contender_speaks_rows_of_a_case(plain, reference):
    from benchmarks.peers.chunk_inputs import Case

    answer, inputs = reference, reference.inputs
    case = Case(inputs.input_ids, inputs.style, answer.arrays.durations, answer.noise)
    audio = Plain("eager", plain, case, batch=2).speak()
    assert audio.shape == (2, 600 * answer.frames)
    np.testing.assert_allclose(audio[0], audio[1], atol=1e-3)
    assert run.check_plain(plain, [answer]) < 1e-4
    with pytest.raises(InputError, match="needs a CUDA device"):
        Plain("graphs", plain, case)


def test_a_peer_that_fails_is_told_and_the_others_are_timed(plain, reference, monkeypatch):
    from benchmarks.peers.chunk_inputs import Case

    class Failing(Plain):
        def __init__(self, name, *words):
            if name == "compile":
                raise RuntimeError("no compiler\nand more")
            super().__init__(name, *words)

    monkeypatch.setattr(run, "Plain", Failing)
    answer, inputs = reference, reference.inputs
    case = Case(inputs.input_ids, inputs.style, answer.arrays.durations, answer.noise)
    refused: list[run.Refusal] = []
    speeds = run.measure({}, plain, [case], ["compile", "eager", "graphs"], 2, refused)
    assert [speed.contender for speed in speeds] == ["eager"]
    tokens = inputs.input_ids.shape[1]
    assert refused[0] == run.Refusal("compile", tokens, 1, "RuntimeError: no compiler")
    assert refused[1].contender == "graphs"
    assert "needs a CUDA device" in refused[1].reason
    through = run.throughput({}, plain, case, ["compile", "eager"], [2], 2, refused)
    assert [(speed.contender, speed.batch) for speed in through] == [("eager", 2)]
    text = run.refusal_list(refused)
    assert f"- compile at {tokens} tokens, 1 rows: RuntimeError: no compiler" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("decoder.generator.conv_post.weight", "another audio"),
        ("predictor.N_proj.weight", "another N"),
    ],
)
def test_another_model_is_not_timed(plain, reference, name, said):
    state = dict(plain.state_dict())
    state[name] = state[name] * 1.02
    with pytest.raises(CheckFailed, match=said):
        run.check_plain(load_plain(default_config().raw, state), [reference])


# The folder


@pytest.fixture(scope="module")
def made(built, reference, tmp_path_factory) -> Path:
    """A folder of what was built, without a second build."""
    report, _ = built
    output = tmp_path_factory.mktemp("folder") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "build", lambda *words, **named: _copied(report, words[2]))
        patch.setattr(making, "_write_references", _references(reference))
        size = making.make_folder(output, target="llvm", opt=1, lengths=(5,))
    assert size < 40 << 20
    return output


def test_the_folder_runs_alone(made, tmp_path):
    """What was built here is compared there by a program that finds nothing of this project."""
    assert not (made / "artifact" / PARAMETERS_NAME).exists()
    found = tmp_path / "found.json"
    words = ("--parity-only", "--work", str(tmp_path), "--json", str(found))
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(made / "run.py"), *words],
        capture_output=True,
        text=True,
        cwd=made,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "passed" in done.stdout
    assert "TVM_FFI_DISABLE_TORCH_C_DLPACK" in (made / "run.py").read_text()
    parity = json.loads(found.read_text())["parity"]["ours"]
    assert parity["passed"]
    assert {m["step"] for m in parity["measurements"]} == set(SOME)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cuda"], "compiled for cpu"),
        (["--device", "tpu"], "unknown device"),
        (["--contenders", "graphs"], "graphs needs a CUDA device"),
        (["--contenders", "fast"], "unknown contender 'fast'"),
        (["--seconds", "0"], "--seconds '0'"),
        (["--batches", "x"], "--batches 'x'"),
    ],
)
def test_what_cannot_run_there_is_said(made, words, said, capsys):
    assert run.main(made, words) == 3
    assert said in capsys.readouterr().err
    assert not (made / "artifact" / PARAMETERS_NAME).exists()


def test_a_folder_for_cuda_carries_the_runtime_library(tmp_path, monkeypatch):
    """PyTorch there may have another version of it, or link it statically."""
    library = making.find_runtime_library().with_name(making.TVM_CUDA_LIBRARY)
    if not library.is_file():
        pytest.skip("this TVM has no CUDA runtime")
    carried = tmp_path / making.loaded_cuda_runtime(library)
    carried.write_bytes(b"runtime")
    monkeypatch.setattr(making, "installed_cuda_runtimes", lambda name: iter([carried]))
    making._write_site(tmp_path / "site", making._this_python(), "cuda")
    names = {file.name for file in (tmp_path / "site" / "tvm" / "lib").iterdir()}
    assert names == {"libtvm_runtime.so", library.name, carried.name}
    monkeypatch.setattr(making, "installed_cuda_runtimes", lambda name: iter([]))
    with pytest.raises(EnvironmentFault, match="pip install 'nvidia-cuda-runtime>=13,<14'"):
        making._write_site(tmp_path / "other", making._this_python(), "cuda")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('PYTHON = "', 'PYTHON = "9.'), "this folder is for Python 9."),
        (('("torch", "numpy")', '("torch", "numpyy")'), "pip install numpyy"),
    ],
)
def test_another_python_and_a_missing_package_are_said_at_once(made, change, said):
    other = made / "other.py"
    other.write_text((made / "run.py").read_text().replace(*change))
    done = subprocess.run(
        [sys.executable, str(other), "--help"], capture_output=True, text=True, check=False
    )
    other.unlink()
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr


def test_the_folder_brings_what_pytorch_does_not(made):
    assert (made / "site" / "packaging" / "version.py").is_file()


def test_a_machine_without_a_gpu_is_told_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EnvironmentFault, match=r"the library is for cuda, and PyTorch .* no CUDA"):
        run._torch_device("cuda", 0)


def test_a_folder_that_is_too_large_or_not_new_is_refused(made, monkeypatch, tmp_path):
    monkeypatch.setattr(making, "MAX_BYTES", 1 << 20)
    with pytest.raises(CheckFailed, match=r"MiB, and at most 1 can be carried"):
        making.checked_size(made)
    with pytest.raises(InputError, match="is not empty"):
        making.make_folder(made)
    with pytest.raises(InputError, match="the cases have 1, 2, 3"):
        making.make_folder(tmp_path / "other", lengths=(9,))


def _copied(report, output):
    shutil.copytree(report.path, output)
    return report


def _references(answer):
    from benchmarks.gpu_folder.references import save_references

    return lambda folder, seed, cases, tell: save_references(folder, [answer])


ALONE = """
import runpy, sys
for name in ("kokoro", "tvm.relax", "transformers", "huggingface_hub"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
