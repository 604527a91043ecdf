"""Local folders: what is missing, damaged or mislabelled is named before anything is built."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kokoro_pipeline.compiler.weights import load_voices, open_folder  # noqa: E402
from kokoro_pipeline.compiler.weights.folder import WeightsFolder  # noqa: E402
from kokoro_pipeline.errors import InputError  # noqa: E402


@pytest.fixture
def small(tmp_path: Path, synthetic_folder: Path) -> Path:
    """A folder in the hub's layout with a tiny checkpoint: all that opening looks at."""
    folder = tmp_path / "weights"
    (folder / "voices").mkdir(parents=True)
    shutil.copy(synthetic_folder / "config.json", folder)
    shutil.copy(synthetic_folder / "voices" / "af_heart.pt", folder / "voices")
    torch.save({"bert": {"a": torch.arange(60_000.0)}}, folder / "kokoro-v1_0.pth")
    return folder


def test_a_folder_is_opened_and_says_where_it_is_from(small: Path) -> None:
    """Without a mark a folder is its own source and no stand-in."""
    info = open_folder(small).info
    assert (info.source, info.revision) == (str(small.resolve()), None)
    assert (info.synthetic, info.seed) == (False, None)
    assert len(info.sha256) == 64
    assert int(info.sha256, 16)


def test_the_hash_is_of_content_not_of_the_file(small: Path) -> None:
    """The same tensors written again, in another archive, are the same weights."""
    before = open_folder(small).info.sha256
    path = small / "kokoro-v1_0.pth"
    torch.save(torch.load(path, weights_only=True), path, _use_new_zipfile_serialization=False)
    assert open_folder(small).info.sha256 == before


def test_voices_count_for_what_an_artifact_takes(small: Path) -> None:
    """Another voice, or one more, is another artifact; the parameters' own hash stays."""
    before = open_folder(small)
    contents = {before.content_sha256()}
    shutil.copy(small / "voices" / "af_heart.pt", small / "voices" / "af_two.pt")
    contents.add(open_folder(small).content_sha256())
    torch.save(torch.zeros(510, 1, 256), small / "voices" / "af_two.pt")
    contents.add(open_folder(small).content_sha256())
    assert len(contents) == 3
    assert open_folder(small).info.sha256 == before.info.sha256


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("config.json", "config.json"),
        ("kokoro-v1_0.pth", "kokoro-v1_0.pth"),
        ("voices/af_heart.pt", r"voices/\*\.pt"),
    ],
)
def test_a_missing_part_is_named(small: Path, name: str, lacks: str) -> None:
    """Each part of the layout is needed."""
    (small / name).unlink()
    with pytest.raises(InputError, match=f"lacks {lacks}"):
        open_folder(small)


@pytest.mark.parametrize("target", ["nowhere", "weights/config.json"])
def test_what_is_no_folder_is_refused(small: Path, target: str) -> None:
    """Neither a missing path nor a single file is a weights folder."""
    with pytest.raises(InputError, match=r"does not exist|is a file"):
        open_folder(small.parent / target)


def truncate(content: bytes) -> bytes:
    """An interrupted copy."""
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    """One wrong bit amid the tensor's bytes, which torch itself does not notice."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [truncate, flip, lambda content: b"", lambda content: b"<html>404</html>" * 99],
    ids=["truncated", "bit flipped", "empty", "a web page"],
)
def test_a_damaged_checkpoint_is_refused(small: Path, damage: Callable[[bytes], bytes]) -> None:
    """The message names the file; nothing is built from damaged numbers."""
    path = small / "kokoro-v1_0.pth"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"kokoro-v1_0\.pth .*(damaged|cannot be read)"):
        open_folder(small)


def test_every_byte_of_the_tensors_is_covered_by_a_check_sum(small: Path) -> None:
    """The check sums that torch writes are there; without them a flipped bit would pass."""
    with zipfile.ZipFile(small / "kokoro-v1_0.pth") as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
    assert largest.file_size == 60_000 * 4
    assert largest.CRC


def test_a_broken_configuration_is_refused(small: Path) -> None:
    """Before the checkpoint is read."""
    (small / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json"):
        open_folder(small)


@pytest.mark.parametrize(
    ("mark", "match"),
    [
        ({"seed": 4, "generator": 1, "sha256": "0" * 64}, "seed 4, but the tensors differ"),
        ({"seed": 4}, "is damaged"),
        ("nonsense", "is damaged"),
    ],
    ids=["other tensors", "incomplete", "no JSON"],
)
def test_a_wrong_mark_is_refused(small: Path, mark: object, match: str) -> None:
    """Real weights are never called synthetic, nor damaged synthetic ones real."""
    text = mark if isinstance(mark, str) else json.dumps(mark)
    (small / "synthetic.json").write_text(text)
    with pytest.raises(InputError, match=match):
        open_folder(small)


def test_voices_are_read_by_name(small: Path) -> None:
    """Also the flat form some tools write."""
    pack = torch.load(small / "voices" / "af_heart.pt", weights_only=True)
    torch.save(pack[:, 0].clone(), small / "voices" / "zz_flat.pt")
    voices = load_voices(WeightsFolder(small, open_folder(small).info))
    assert [*voices] == ["af_heart", "zz_flat"]
    assert voices["zz_flat"].shape == (510, 1, 256)
    assert (voices["zz_flat"] == voices["af_heart"]).all()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (torch.zeros(511, 1, 256), r"shape \[511, 1, 256\]"),
        (torch.zeros(510, 1, 256, dtype=torch.float64), "no float32 tensor"),
        (torch.full((510, 1, 256), torch.nan), "NaN or infinity"),
        ({"voice": torch.zeros(510, 1, 256)}, "no float32 tensor"),
    ],
    ids=["rows", "float64", "nan", "dictionary"],
)
def test_an_unfit_voice_is_named(small: Path, content: object, match: str) -> None:
    """A pack of another size or with NaN must not reach an artifact."""
    torch.save(content, small / "voices" / "bad.pt")
    with pytest.raises(InputError, match=r"bad\.pt .*" + match):
        load_voices(WeightsFolder(small, open_folder(small).info))
