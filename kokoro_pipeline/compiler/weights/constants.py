"""The stored calibration of the synthetic weights: how each tensor is drawn
(`data/synthetic.json`).
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
"""The constants' path inside the package."""


@dataclass(frozen=True)
class VoiceScales:
    """How far a style row may lie from 0: the voice's own part, its drift over the rows, each row's
    own part.
    """

    base: float
    drift: float
    jitter: float


@dataclass(frozen=True)
class Constants:
    """What fixes the synthetic weights together with a seed.

    `tensors` maps `component.tensor` to its draw, `voices` the names of the voice packs to their
    scales.
    """

    generator: int
    tensors: dict[str, Draw]
    voices: dict[str, VoiceScales]

    def to_json(self) -> str:
        """One line a tensor, so that a calibration reads as a diff."""
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
        """Hash of everything here, lower-case hex: two equal digests draw equal weights."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


@functools.lru_cache(maxsize=1)
def stored_constants() -> Constants:
    """The constants shipped with the package."""
    text = resources.files("kokoro_pipeline").joinpath(RESOURCE).read_text("utf-8")
    return Constants.from_json(text)
