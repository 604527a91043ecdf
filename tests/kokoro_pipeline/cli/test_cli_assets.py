"""`assets` writes what other programs read: vocab.json and VOICE.npy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.config import default_config


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder of weights with a configuration and two voices, one a raw file."""
    folder = tmp_path / "weights"
    (folder / "voices").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(default_config().raw), "utf-8")
    pack = np.linspace(-1, 1, 510 * 256, dtype=np.float32).reshape(510, 1, 256)
    np.save(folder / "voices" / "af_heart.npy", pack)
    (folder / "voices" / "bf_raw.bin").write_bytes((pack * 2).tobytes())
    return folder


def test_the_files_are_plain(run_cli, weights, tmp_path):
    output = tmp_path / "assets"
    ended = run_cli("assets", weights, "-o", output)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(file.name for file in output.iterdir()) == [
        *("af_heart.npy", "bf_raw.npy", "vocab.json")
    ]
    assert json.loads((output / "vocab.json").read_text("utf-8")) == default_config().vocab
    values = np.load(output / "bf_raw.npy")
    assert (values.dtype, values.shape) == (np.float32, (510, 256))
    assert np.array_equal(values, 2 * np.load(weights / "voices" / "af_heart.npy")[:, 0])


def test_existing_files_are_kept_without_force(run_cli, weights, tmp_path):
    output = tmp_path / "assets"
    output.mkdir()
    (output / "vocab.json").write_text("mine")
    ended = run_cli("assets", weights, "-o", output)
    assert ended.code == 3
    assert "has vocab.json already" in ended.err
    assert (output / "vocab.json").read_text() == "mine"
    said = json.loads(run_cli("assets", weights, "-o", output, "--force", "--json").out)
    assert said["files"] == ["vocab.json", "af_heart.npy", "bf_raw.npy"]


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda folder: (folder / "config.json").unlink(), "is not an artifact"),
    "no-json": (lambda folder: (folder / "config.json").write_text("{"), "cannot read"),
    "manifest": (lambda folder: (folder / "manifest.json").write_text("{"), "is damaged"),
    "voice": (lambda folder: (folder / "voices/bf_raw.bin").write_bytes(b""), "0"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_is_refused(run_cli, weights, tmp_path, name):
    damage, cause = DAMAGE[name]
    damage(weights)
    ended = run_cli("assets", weights, "-o", tmp_path / "assets")
    assert ended.code == 3
    assert cause in ended.err
    assert not (tmp_path / "assets").exists()
