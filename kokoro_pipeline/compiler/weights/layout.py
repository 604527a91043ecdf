"""The folder layout of the hub, and the mark of folders with synthetic weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kokoro_pipeline.errors import InputError

CONFIG = "config.json"
CHECKPOINT = "kokoro-v1_0.pth"
VOICES = "voices"
SYNTHETIC_MARK = "synthetic.json"


@dataclass(frozen=True)
class SyntheticMark:
    """The content of `synthetic.json`: the seed and generator of the tensors, and their hash."""

    seed: int
    generator: int
    sha256: str

    def write(self, folder: Path) -> None:
        """Write the mark into a folder."""
        text = json.dumps({"synthetic": True, **asdict(self)}, indent=2)
        (folder / SYNTHETIC_MARK).write_text(text + "\n", "utf-8")


def read_mark(folder: Path) -> SyntheticMark | None:
    """The mark of a folder, or None. Raises InputError if it cannot be read."""
    path = folder / SYNTHETIC_MARK
    if not path.exists():
        return None
    try:
        raw = json.loads(path.read_text("utf-8"))
        return SyntheticMark(int(raw["seed"]), int(raw["generator"]), str(raw["sha256"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error!r}): write the folder again") from error


def voice_files(folder: Path) -> list[Path]:
    """The voice packs of a folder, sorted by name."""
    return sorted((folder / VOICES).glob("*.pt"))


def require_layout(folder: Path) -> None:
    """Raise InputError unless the folder has a configuration, a checkpoint and a voice."""
    if not folder.is_dir():
        what = "does not exist"
        if folder.exists():
            what = (
                "is a file. A graph in an ONNX file is built from, and then spoken with, by: "
                f"kokoro-pipeline build --weights {folder} -o DIR"
            )
        raise InputError(
            f"weights are a folder in the hub's layout ({CONFIG}, {CHECKPOINT}, {VOICES}/*.pt); "
            f"{folder} {what}"
        )
    lacking = [name for name in (CONFIG, CHECKPOINT) if not (folder / name).is_file()]
    if not voice_files(folder):
        lacking.append(f"{VOICES}/*.pt")
    if lacking:
        raise InputError(
            f"{folder} is not a weights folder in the hub's layout: it lacks {', '.join(lacking)}"
        )
