"""Our own contender where peers take turns with it: it also writes, verifies and runs cases."""

from __future__ import annotations

from pathlib import Path

from kokoro_pipeline.benchmarking.ours import SEED, SPEED, OurRole
from kokoro_pipeline.benchmarking.samples import Sample
from kokoro_pipeline.config import MAX_PHONEMES
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.speech.chunk import predict_timing
from kokoro_pipeline.runtime.speech.noise import draw_noise

from .chunk_inputs import Case, load_case, save_case
from .speaking import speak_case
from .verification import Agreement, tolerance_of, verify


class OurContender(OurRole):
    """`OurRole` with the calls of a peer; see `ContenderProcess`."""

    def __init__(self, role: str, threads: int, *, artifact: str, device: str = "auto") -> None:
        super().__init__(role, threads, artifact=artifact, device=device)
        self._case: Case | None = None

    def write_case(self, phonemes: str, voice: str, path: str) -> None:
        """Write an utterance of one chunk as a case for peers.

        Raises InputError if it has several chunks, which peers do not support.
        """
        chunks = list(self._chunks(phonemes, voice))
        if len(chunks) != 1:
            raise InputError(
                f"peers speak one chunk of at most {MAX_PHONEMES} phonemes and this utterance has "
                f"{len(phonemes)}: compare at a shorter length"
            )
        ids, style = chunks[0]
        timing = predict_timing(self._chain, ids, style, SPEED)
        noise = draw_noise(self._functions, SEED, 0, timing.total_frames)
        save_case(Path(path), Case(timing.input_ids, style, timing.frames, noise))

    def prepare(self, path: str) -> None:
        """Load the case for `verify` and `run`."""
        self._case = load_case(Path(path))

    def verify(self, reference: str) -> list[Agreement]:
        """Compare each function with PyTorch's result for the same inputs."""
        tolerance = tolerance_of(self._synthesizer.manifest.target.precision)
        return verify(self._functions, Path(reference), tolerance)

    def run(self) -> Sample:
        """Run the prepared case."""
        case = self._case
        assert case is not None, "prepare comes first"
        return self._synthesizer.in_turn(lambda: speak_case(self._chain, case)[1])
