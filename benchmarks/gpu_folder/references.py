"""float64 references as files, computed with kokoro and compared on machines without it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.errors import ArtifactError
from kokoro_pipeline.validation.case_reference import CaseReference, ReferenceArrays, case_inputs
from kokoro_pipeline.validation.cases import Case
from kokoro_pipeline.validation.compare import (
    FUNCTION_NAMES,
    Functions,
    case_result,
    compare_case,
    whole_audio,
)
from kokoro_pipeline.validation.gates import is_reduced, reduced_note
from kokoro_pipeline.validation.validation_report import ValidationReport

Array = NDArray[Any]

CASES = "cases.json"


def save_references(folder: Path, references: Iterable[CaseReference]) -> None:
    """Write references into a new folder, one .npz per case."""
    folder.mkdir(parents=True)
    cases = []
    for number, reference in enumerate(references):
        arrays = {name: getattr(reference.arrays, name) for name in ReferenceArrays.names()}
        np.savez(folder / f"{number}.npz", **arrays)
        cases.append(asdict(reference.inputs.case))
    (folder / CASES).write_text(json.dumps(cases), "utf-8")


def load_references(folder: Path, voices: Path) -> list[CaseReference]:
    """Load references written by `save_references`; `voices` is the folder of voice packs.

    Raises ArtifactError if something is missing or inconsistent.
    """
    found = []
    try:
        for number, words in enumerate(json.loads((folder / CASES).read_text("utf-8"))):
            case = Case(**words)
            pack = {case.voice: np.load(voices / f"{case.voice}.npy", allow_pickle=False)}
            with np.load(folder / f"{number}.npz", allow_pickle=False) as stored:
                arrays = ReferenceArrays(**{name: stored[name] for name in ReferenceArrays.names()})
            for name, shape in arrays.expected_shapes().items():
                if getattr(arrays, name).shape != shape:
                    raise ValueError(f"{name} of case {number} is not {list(shape)}")
            found.append(CaseReference(case_inputs(case, pack), arrays))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{folder} holds no references ({error}): make it anew") from error
    return found


def compare(
    functions: Functions,
    references: Iterable[CaseReference],
    *,
    artifact: str,
    opt_level: int,
    precision: str,
    weights: Mapping[str, Any],
    versions: dict[str, str],
) -> ValidationReport:
    """Compare the functions with the references, by the tolerances of `validate`.

    `precision` is that of the decoder's products: with reduced precision, the decoder is judged by
    its signal-to-noise ratio, and the whole audio is not judged.
    """
    reduced = is_reduced(precision)
    results, comparisons = [], []
    for reference in references:
        comparison = compare_case(functions, reference, precision).without_outputs()
        results.append(case_result(reference, comparison, "carried", 0.0))
        comparisons.append(comparison)
    return ValidationReport(
        artifact=artifact,
        weights=dict(weights),
        opt_level=opt_level,
        versions=versions,
        cases=tuple(results),
        measurements=tuple(m for c in comparisons for m in c.measurements),
        whole=None
        if reduced
        else whole_audio(comparisons, sum(result.seconds for result in results)),
        skipped=tuple(name for name in FUNCTION_NAMES if name not in functions),
        notes=(reduced_note(precision),) if reduced else (),
    )
