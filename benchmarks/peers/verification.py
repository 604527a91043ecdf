"""Verify that a contender computes the same as PyTorch, function by function.

The whole audio cannot be compared, because the harmonic source multiplies a difference of 1e-6 in
F0 by the length of the utterance. Therefore every function gets PyTorch's intermediate results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.benchmarking.timed_functions import Functions
from kokoro_pipeline.errors import CheckFailed

Array = NDArray[Any]

BINS = 11


@dataclass(frozen=True)
class Tolerance:
    """Largest differences allowed, relative to the largest magnitude of the reference."""

    networks: float
    source: float | None
    """Tolerance for the source's spectrum as complex numbers, so that whole turns do not matter.

    It is larger, since phases grow with the length and the precision of float32 does not. None if
    the source is not judged.
    """


FLOAT32 = Tolerance(networks=1e-3, source=2e-2)
REDUCED = Tolerance(networks=0.2, source=FLOAT32.source)
"""For runtimes whose products round their operands to bfloat16 or the like."""


def tolerance_of(precision: str) -> Tolerance:
    """The tolerance for an artifact of this precision, one of `PRECISIONS`."""
    return FLOAT32 if precision in ("float32", "float32-fma") else REDUCED


@dataclass(frozen=True)
class Agreement:
    """The comparison of one output of a function with PyTorch's."""

    function: str
    output: str
    error: float
    """Largest difference relative to the largest magnitude of the reference."""
    snr_db: float | None
    """Signal-to-noise ratio; None if bit-identical."""
    limit: float | None

    @property
    def holds(self) -> bool:
        """Whether the error is within the limit; false for NaN."""
        return self.limit is None or self.error <= self.limit


INPUTS: Mapping[str, tuple[str, ...]] = {
    "bert_forward": ("input_ids", "lengths"),
    "duration_forward": ("d_en", "predictor_style", "lengths"),
    "text_encoder_forward": ("input_ids", "lengths"),
    "f0n_forward": ("en", "predictor_style"),
    "source_forward": ("F0", "noise"),
    "decoder_forward": ("asr", "F0", "N", "decoder_style", "har"),
}
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "bert_forward": ("d_en",),
    "duration_forward": ("duration", "d"),
    "text_encoder_forward": ("t_en",),
    "f0n_forward": ("F0", "N"),
    "source_forward": ("har",),
    "decoder_forward": ("audio",),
}
"""The names of the inputs and outputs of each function in a reference file."""


def verify(functions: Functions, reference: Path, tolerance: Tolerance) -> list[Agreement]:
    """Run each function on the inputs of the reference and compare the outputs.

    `reference` is an .npz written by `reference.ReferenceRole`. Raises CheckFailed, which lists
    every output that exceeds `tolerance`, with figures.
    """
    found = []
    with np.load(reference, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for function, outputs in OUTPUTS.items():
        result = functions[function](*(arrays[name] for name in INPUTS[function]))
        values = (result,) if len(outputs) == 1 else result
        for name, value in zip(outputs, values, strict=True):
            limit = tolerance.source if name == "har" else tolerance.networks
            found.append(_compare(function, name, value, arrays[name], limit))
    missed = [agreement for agreement in found if not agreement.holds]
    if missed:
        figures = "; ".join(
            f"{a.function} {a.output}: {a.error:.1e} of the peak, allowed {a.limit:.0e}"
            for a in missed
        )
        raise CheckFailed(
            f"it does not compute what PyTorch computes, so its time says nothing: {figures}"
        )
    return found


def _compare(
    function: str, name: str, value: Array, reference: Array, limit: float | None
) -> Agreement:
    if value.shape != reference.shape:
        raise CheckFailed(
            f"{function} gives {name} of shape {list(value.shape)}, PyTorch {list(reference.shape)}"
        )
    ours, theirs = (_spectrum(a) if name == "har" else a.astype(float) for a in (value, reference))
    difference = np.abs(ours - theirs)
    noise = float(np.sum(difference**2))
    signal = float(np.sum(np.abs(theirs) ** 2))
    return Agreement(
        function=function,
        output=name,
        error=float(difference.max() / np.abs(theirs).max()),
        snr_db=None if noise == 0 else float(10 * np.log10(signal / noise)),
        limit=limit,
    )


def _spectrum(har: Array) -> Array:
    """Convert magnitudes and phases [1, 22, L] to complex numbers [1, 11, L]."""
    return har[:, :BINS].astype(float) * np.exp(1j * har[:, BINS:].astype(float))
