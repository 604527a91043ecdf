"""What an encoder of audio is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np


class Patch(NamedTuple):
    """Bytes that replace earlier ones, once the length of the audio is known."""

    position: int
    content: bytes


@dataclass(frozen=True)
class Ending:
    """The last bytes, and what to patch in a file that can be rewritten."""

    content: bytes = b""
    patches: tuple[Patch, ...] = ()


class Encoder(Protocol):
    """Turns mono samples, float32 [n] in [-1, 1], into the bytes of a file."""

    clipped: int
    """Samples outside [-1, 1] so far, which were clipped."""

    def encode(self, samples: np.ndarray) -> bytes:
        """The next bytes, which may be none. Raises InputError for invalid samples."""
        ...

    def finish(self, samples: int | None = None) -> Ending:
        """What completes the file. No samples may follow.

        `samples` is how many of the encoded samples the file holds, if that is not all.
        """
        ...
