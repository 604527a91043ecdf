"""The synthetic folder: the hub's layout, the same bits everywhere, loadable by the stock model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
kokoro = pytest.importorskip("kokoro")

from kokoro_pipeline.compiler.weights import (  # noqa: E402
    WeightsFolder,
    load_model,
    load_state,
    load_voices,
    open_folder,
    synthetic,
    write_synthetic,
)
from kokoro_pipeline.compiler.weights.constants import Constants, stored_constants  # noqa: E402
from kokoro_pipeline.compiler.weights.draws import draw_tensor  # noqa: E402
from kokoro_pipeline.config import default_config  # noqa: E402
from kokoro_pipeline.errors import EnvironmentFault, InputError  # noqa: E402

# Of seed 0. Another value is another stand-in: raise the generator's number with it.
WHOLE = "e1201ec6e135e7b98e13d5964cd5163b869d1f4056a696ef38326909de59f798"
TENSORS = {
    "bert.embeddings.word_embeddings.weight": "8e70f3f16242aba6",
    "predictor.lstm.weight_hh_l0_reverse": "1b8d3e50fe192e21",
    "predictor.F0.0.norm1.fc.bias": "73134e3a383b9491",
    "predictor.duration_proj.linear_layer.bias": "33dfcd2236e68428",
    "text_encoder.cnn.1.1.gamma": "09ec06a9ba0b3cfb",
    "decoder.generator.resblocks.5.convs2.2.weight_v": "fe5afb004a767fdf",
    "decoder.generator.noise_res.1.alpha1.0": "fbaa36d3bd0712f5",
    "decoder.generator.conv_post.bias": "3fb8b74b09c40748",
}
VOICE_ROWS = "dcb9865b4004e127"


@pytest.fixture(scope="module")
def folder(synthetic_folder: Path) -> WeightsFolder:
    """The session's folder, opened."""
    return open_folder(synthetic_folder)


def digest(values: np.ndarray) -> str:
    """Of the little-endian bytes."""
    return hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()[:16]


def test_the_bits_are_the_stored_ones(folder: WeightsFolder) -> None:
    """One seed gives the same weights on every machine and every version of numpy and torch."""
    info = folder.info
    assert (info.source, info.revision, info.synthetic, info.seed) == ("synthetic", None, True, 0)
    tensors = stored_constants().tensors
    assert {name: digest(draw_tensor(0, name, tensors[name])) for name in TENSORS} == TENSORS
    voices = load_voices(folder)
    assert digest(np.concatenate([voices[name] for name in sorted(voices)])) == VOICE_ROWS
    assert info.sha256 == WHOLE


def test_the_layout_is_the_hubs(synthetic_folder: Path) -> None:
    """`config.json`, `kokoro-v1_0.pth`, `voices/*.pt`, and nothing unfinished beside them."""
    assert {path.name for path in synthetic_folder.iterdir()} == {
        "config.json",
        "kokoro-v1_0.pth",
        "synthetic.json",
        "voices",
    }
    assert json.loads((synthetic_folder / "config.json").read_text()) == default_config().raw
    voices = {path.name for path in (synthetic_folder / "voices").iterdir()}
    assert {"af_heart.pt", "af_bella.pt"} <= voices
    pack = torch.load(synthetic_folder / "voices" / "af_heart.pt", weights_only=True)
    assert (tuple(pack.shape), pack.dtype) == ((510, 1, 256), torch.float32)
    assert [path.name for path in synthetic_folder.parent.iterdir()] == [synthetic_folder.name]


def test_the_stock_model_loads_it_and_ours_is_equal(
    folder: WeightsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stock constructor takes the folder strictly; `load_model` gives the very same model."""
    lenient: list[str] = []
    original = torch.nn.Module.load_state_dict

    def strict_only(self: Any, state: Any, strict: bool = True, **options: Any) -> Any:
        if not strict:
            lenient.append(type(self).__name__)
        return original(self, state, strict=strict, **options)

    monkeypatch.setattr(torch.nn.Module, "load_state_dict", strict_only)
    stock = kokoro.KModel(
        repo_id="hexgrad/Kokoro-82M",
        config=str(folder.path / "config.json"),
        model=str(folder.path / "kokoro-v1_0.pth"),
    ).eval()
    assert lenient == []
    ours = load_model(folder)
    assert not ours.training
    assert not any(parameter.requires_grad for parameter in ours.parameters())
    theirs = stock.state_dict()
    assert ours.state_dict().keys() == theirs.keys()
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, theirs[name]), name


@pytest.mark.slow
def test_the_real_checkpoints_form_loads_like_the_stock_model(
    folder: WeightsFolder, tmp_path: Path
) -> None:
    """`module.` before every name, no AdaIN affine, as on the hub: what stock makes of it."""
    real = tmp_path / "real"
    (real / "voices").mkdir(parents=True)
    (real / "config.json").write_bytes((folder.path / "config.json").read_bytes())
    (real / "voices" / "af_heart.pt").symlink_to(folder.path / "voices" / "af_heart.pt")
    state = {
        component: {
            f"module.{name}": tensor
            for name, tensor in tensors.items()
            if not name.endswith(("norm.weight", "norm.bias")) or ".norm." not in name
        }
        for component, tensors in load_state(folder).items()
    }
    assert sum(map(len, state.values())) == 548
    torch.save(state, real / "kokoro-v1_0.pth")
    opened = open_folder(real)
    assert (opened.info.synthetic, opened.info.source) == (False, str(real.resolve()))
    stock = kokoro.KModel(
        repo_id="hexgrad/Kokoro-82M",
        config=str(real / "config.json"),
        model=str(real / "kokoro-v1_0.pth"),
    )
    theirs = stock.state_dict()
    for name, tensor in load_model(opened).state_dict().items():
        assert torch.equal(tensor, theirs[name]), name
    (real / "kokoro-v1_0.pth").unlink()  # 330 MB


def test_no_norm_or_snake_parameter_is_the_identity(folder: WeightsFolder) -> None:
    """A kernel that forgets one of them must give another result, in every channel."""
    looked_at = 0
    for component, tensors in load_state(folder).items():
        for name, tensor in tensors.items():
            kind = name.lower()
            if "alpha" in kind or kind.endswith("gamma") or "norm.weight" in kind:
                identity = 1.0
            elif kind.endswith("beta") or "norm.bias" in kind:
                identity = 0.0
            else:
                continue
            looked_at += 1
            assert float((tensor - identity).abs().min()) > 0.01, f"{component}.{name}"
    assert looked_at == 140 + 48 + 6 + 6  # AdaIN, Snake, text encoder, BERT


def test_voices_differ_in_every_row_and_from_each_other(folder: WeightsFolder) -> None:
    """A wrong row or a wrong voice must be heard: no two style rows come close."""
    voices = load_voices(folder)
    assert len(voices) >= 2
    rows = np.concatenate([pack[:, 0] for pack in voices.values()]).astype(np.float64)
    assert 0.1 < rows.std() < 0.6
    squares = (rows**2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * rows @ rows.T
    np.fill_diagonal(distances, np.inf)
    assert np.sqrt(distances.min() / rows.shape[1]) > 0.02
    first, second = voices["af_heart"], voices["af_bella"]
    assert np.abs(first - second).mean() > 0.1


def test_another_seed_is_another_model() -> None:
    """Every tensor changes with the seed."""
    for name, draw in list(stored_constants().tensors.items())[::40]:
        assert not (draw_tensor(0, name, draw) == draw_tensor(1, name, draw)).any(), name


def test_the_constants_survive_their_file() -> None:
    """Writing and reading them is lossless, and they fit the architecture exactly."""
    from kokoro_pipeline.compiler.weights.architecture import expected_shapes

    constants = stored_constants()
    assert Constants.from_json(constants.to_json()) == constants
    assert {name: draw.shape for name, draw in constants.tensors.items()} == {
        f"{component}.{name}": shape
        for component, tensors in expected_shapes(default_config().raw).items()
        for name, shape in tensors.items()
    }


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    """Files of the user's are never replaced."""
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="exists already"):
        write_synthetic(tmp_path, seed=0)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_negative_seed_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(InputError, match="seed"):
        write_synthetic(tmp_path / "out", seed=-1)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch hides the system's error; ours names it, and the half-written folder is gone."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(
        synthetic,
        "synthetic_state",
        lambda seed, constants: {"bert": {"a": torch.zeros(3_000_000)}},
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, before[1]))
    try:
        with pytest.raises(EnvironmentFault, match="cannot write"):
            write_synthetic(tmp_path / "out", seed=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())
