"""The stored calibration of the synthetic weights: how each tensor is drawn.

It is stored in `data/synthetic.json`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from dataclasses import dataclass
from importlib import resources

from .draws import Draw

RESOURCE = "data/synthetic.json"
"""The path of the constants inside the package."""


@dataclass(frozen=True)
class VoiceScales:
    """The scales of the parts of a style vector.

    `base` is the same for all rows of a voice, `drift` changes linearly over the rows, and `jitter`
    is independent for each row.
    """

    base: float
    drift: float
    jitter: float


@dataclass(frozen=True)
class Constants:
    """The constants that, together with a seed, determine the synthetic weights.

    `tensors` maps `component.tensor` to its draw, `voices` maps the names of voice packs to their
    scales.
    """

    generator: int
    tensors: dict[str, Draw]
    voices: dict[str, VoiceScales]

    def to_json(self) -> str:
        """The constants as JSON with one line per tensor, for readable diffs."""
        tensors = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(dataclasses.asdict(draw))}"
            for name, draw in self.tensors.items()
        )
        voices = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(dataclasses.asdict(scales))}"
            for name, scales in self.voices.items()
        )
        return (
            f'{{"generator": {self.generator},\n'
            f' "voices": {{\n{voices}\n }},\n "tensors": {{\n{tensors}\n }}}}\n'
        )

    @classmethod
    def from_json(cls, text: str) -> Constants:
        """The inverse of `to_json`."""
        raw = json.loads(text)
        return cls(
            generator=raw["generator"],
            tensors={
                name: Draw(
                    tuple(draw["shape"]), tuple(draw["offset"]), draw["scale"], draw["spread"]
                )
                for name, draw in raw["tensors"].items()
            },
            voices={name: VoiceScales(**scales) for name, scales in raw["voices"].items()},
        )

    @property
    def digest(self) -> str:
        """Hash of all constants, lower-case hex; equal digests imply equal weights for a seed."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


@functools.lru_cache(maxsize=1)
def stored_constants() -> Constants:
    """The constants shipped with the package."""
    text = resources.files("kokoro_pipeline").joinpath(RESOURCE).read_text("utf-8")
    return Constants.from_json(text)
