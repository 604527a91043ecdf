"""Write `vectors.json`: what the running half in Python computes, for the native one to repeat.

Run `python tests/native/make_vectors.py` after the rules of docs/native.md have changed on purpose.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_pipeline.config import default_config
from kokoro_pipeline.runtime.audio.samples import to_pcm16
from kokoro_pipeline.runtime.speech.alignment import frames_per_token
from kokoro_pipeline.runtime.speech.noise import noise_key
from kokoro_pipeline.runtime.text import Vocabulary, split_phonemes
from kokoro_pipeline.runtime.text.vocabulary import SILENT_MARKS
from kokoro_pipeline.runtime.voices import load_voice

VECTORS = Path(__file__).with_name("vectors.json")

PIECES = [
    *"abəɹs", "ˈa", "ˌo", "aː", "ã", "tʰ", "ɡᵝ", " ", "  ", " ", "\t", "\x1f",
    ".", "!", "?", "…", "...", ",", ";", ":", "—", '"', "”", ")", ". ", ", ", '." ', ".) ", "; ",
    "g", "漢", "é", "\u0301", "\u0483", "\u20d0",
]  # fmt: skip
"""What random phonemes are made of: known and unknown symbols, marks, spaces, ends, closers."""


def bits(values: np.ndarray) -> list[int]:
    """float32 values as the integers that have the same bits."""
    return [int(value) for value in np.asarray(values, np.float32).reshape(-1).view(np.uint32)]


def key(seed: int, chunk: int) -> dict[str, Any]:
    """The key of the noise of a chunk."""
    words = [int(word) for word in noise_key(seed, chunk)]
    return {"seed": str(seed), "chunk": chunk, "key": words}


def splitting(phonemes: str, limit: int) -> dict[str, Any]:
    """The chunks of a string of phonemes."""
    spans = split_phonemes(phonemes, Vocabulary(default_config().vocab), limit)
    return {"phonemes": phonemes, "limit": limit, "spans": [list(span) for span in spans]}


def encoding(phonemes: str) -> dict[str, Any]:
    """The ids of a string of phonemes, and where its unknown symbols are."""
    encoded = Vocabulary(default_config().vocab).encode(phonemes)
    unknown = [symbol.position for symbol in encoded.unknown]
    return {"phonemes": phonemes, "ids": list(encoded.ids), "unknown": unknown}


def frames(duration: np.ndarray, speed: float) -> dict[str, Any]:
    """The frames of each token of `duration`, float32 [n, 50]."""
    found = frames_per_token(duration[None], speed)
    return {"duration": bits(duration), "speed": speed, "frames": [int(count) for count in found]}


def pack(number: int) -> np.ndarray:
    """A voice pack that both sides can make: a ramp for each number."""
    places = np.arange(510 * 256) * (2 * number + 1) % 2003
    return (places / 1024 - 1).astype(np.float32).reshape(510, 1, 256)


def blend(weights: dict[str, str]) -> dict[str, Any]:
    """The hash of a blend of `pack(i)`, by name `v{i}`."""
    with tempfile.TemporaryDirectory() as folder:
        for name in weights:
            np.save(Path(folder) / f"{name}.npy", pack(int(name[1:])))
        voice = ",".join(f"{name}:{weight}" for name, weight in weights.items())
        mixed = load_voice(voice, Path(folder))
    return {"voice": voice, "sha256": hashlib.sha256(mixed.astype("<f4").tobytes()).hexdigest()}


def make() -> dict[str, Any]:
    """The whole table."""
    draw = random.Random(1)
    strings = ["".join(draw.choices(PIECES, k=draw.randint(1, 40))) for _ in range(300)]
    long = "".join(draw.choices(PIECES, k=3000))
    generator = np.random.Generator(np.random.Philox(5))
    durations = generator.random((12, 50), dtype=np.float32)
    ties = np.zeros((6, 50), np.float32)
    ties[:, 0] = [0, 0.5, 1.5, 2.5, 3.5, 4.5]
    samples = np.array(
        [0, -0.0, 1, -1, 1.0000001, -7, 0.5, 1.5 / 32767, 2.5 / 32767, -0.5 / 32767, 0.99999994],
        np.float32,
    )
    return {
        "noise_keys": [
            key(0, 0),
            key(0, 1),
            key(7, 0),
            key(2**32, 3),
            key(2**64 + 5, 2),
            key(2**200 + 2**100 + 1, 70000),
        ],
        "splitting": [
            *(splitting(text, draw.randint(1, 12)) for text in strings),
            splitting(long, 510),
            splitting("a" * 1100, 510),
            splitting("", 510),
            splitting(" " * 1100, 510),
            splitting("..." * 400 + "a", 510),
        ],
        "encoding": [*map(encoding, strings[:40]), encoding("a".join(sorted(SILENT_MARKS)))],
        "frames": [frames(durations, 1.0), frames(durations, 0.7), frames(ties, 1.0)],
        "pcm16": {"samples": bits(samples), "values": to_pcm16(samples)[0].tolist()},
        "blends": [
            blend({"v0": "1", "v1": "1"}),
            blend({"v0": "0.6", "v1": "0.4"}),
            blend({"v0": "0.1", "v3": "0.2", "v2": "0.3"}),
            blend({"v0": "1e300", "v1": "1e-300"}),
        ],
    }


def main() -> None:
    """Write the table, one entry a line."""
    lines = []
    for name, value in make().items():
        entries = value if isinstance(value, list) else [value]
        rows = ",\n".join("  " + json.dumps(entry, ensure_ascii=True) for entry in entries)
        lines.append(f" {json.dumps(name)}: [\n{rows}\n ]")
    VECTORS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
