"""The references for a set of weights: loaded from the store, or computed and saved there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .case_reference import CaseReference, case_inputs, compute_reference
from .cases import Case
from .reference import ReferenceModel
from .store import DamagedReferenceError, ReferenceStore

Progress = Callable[[str], None]
Models = tuple[ReferenceModel, ReferenceModel]


@dataclass(frozen=True)
class ReferenceWeights:
    """The weights that references are computed from.

    `models` creates the float64 and the float32 model; `voices` maps names to float32
    [510, 1, 256]; `source` is the origin of the weights.
    """

    sha256: str
    source: str
    models: Callable[[], Models]
    voices: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Obtained:
    """A reference, whether it was loaded from the store, and the time it took in seconds."""

    reference: CaseReference
    cached: bool
    time: float


class References:
    """References by case. The two models are loaded for the first case that is not in the store.

    `notes` collects problems with the store: references in damaged files are computed again, and
    if the store cannot be written, the validation continues without it.
    """

    def __init__(
        self, weights: ReferenceWeights, store: ReferenceStore | None, progress: Progress
    ) -> None:
        self._weights = weights
        self._store = store
        self._progress = progress
        self._models: Models | None = None
        self.notes: list[str] = []

    def get(self, case: Case) -> Obtained:
        """The reference for a case."""
        start = time.perf_counter()
        inputs = case_inputs(case, self._weights.voices)
        stored = None
        if self._store is not None:
            try:
                stored = self._store.load(inputs)
            except DamagedReferenceError as error:
                self._note(f"stored reference is damaged, computing it again: {error}")
        if stored is not None:
            return Obtained(stored, True, time.perf_counter() - start)
        self._progress(f"{case.name}: PyTorch in float64 and float32")
        float64, float32 = self._load_models()
        reference = compute_reference(inputs, float64, float32)
        if self._store is not None:
            try:
                self._store.save(reference)
            except OSError as error:
                self._note(f"cannot keep references in {self._store.root}: {error}")
                self._store = None
        return Obtained(reference, False, time.perf_counter() - start)

    def _load_models(self) -> Models:
        if self._models is None:
            self._progress("loading the PyTorch model in float64 and float32")
            self._models = self._weights.models()
        return self._models

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self._progress(text)
