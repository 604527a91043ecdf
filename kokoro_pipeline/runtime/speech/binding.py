"""How a chunk is spoken with an artifact's functions: by Kokoro's six, or one graph's two.

The noise of both is a function of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.artifact.manifest import (
    GRAPH_DURATIONS,
    GRAPH_SPEECH,
    Manifest,
    TensorSpec,
)
from kokoro_pipeline.config import BOUNDARY_TOKEN
from kokoro_pipeline.errors import ArtifactError, InputError

from ..engine.arrays import Array
from .alignment import token_of_frame
from .chunk import Functions, Timing, check_frames, finite, predict_timing, render_audio
from .noise import NOISE

FUNCTIONS = (
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "source_forward",
    "decoder_forward",
)
"""The compiled functions of the model, in the order of their calls."""


@dataclass(frozen=True)
class Binding:
    """The functions that synthesis calls, and how it calls them."""

    timing: tuple[str, ...]
    """The functions that `predict_timing` calls."""
    functions: tuple[str, ...]
    """All functions that synthesis needs."""
    predict_timing: Callable[[Functions, tuple[int, ...], Array, float], Timing]
    """(functions, ids, style, speed); see `chunk.predict_timing`."""
    render_audio: Callable[[Functions, Timing, Array, Array], Array]
    """(functions, timing, style, noise); see `chunk.render_audio`."""


def graph_timing(
    taken: TensorSpec, functions: Functions, ids: tuple[int, ...], style: Array, speed: float
) -> Timing:
    """`chunk.predict_timing` by the graph of an ONNX file, which takes the speed as `taken`.

    Raises InputError for a speed that is not whole where the graph takes whole numbers, and
    ArtifactError for durations that cannot be.
    """
    number = np.full([1] * len(taken.shape), speed, taken.dtype)
    if number.dtype.kind == "i" and number.item() != speed:
        raise InputError(
            f"speed is {speed:g}, and the ONNX file of this artifact takes {taken.dtype}: give a "
            "whole number, or build from a file whose speed is float32"
        )
    input_ids = np.array([[BOUNDARY_TOKEN, *ids, BOUNDARY_TOKEN]], np.int64)
    frames: NDArray[np.int64] = np.asarray(functions[GRAPH_DURATIONS](input_ids, style, number))
    impossible = np.flatnonzero((frames < 0) | (frames > np.iinfo(np.int32).max))
    if impossible.size or not frames.any():
        at = int(impossible[0]) if impossible.size else 0
        found = f"token {at} lasts {frames[at]}" if impossible.size else "0 frames"
        raise ArtifactError(
            f"{GRAPH_DURATIONS} predicted durations that cannot be: {found}; check the artifact "
            "with: kokoro-pipeline verify DIR, and with: kokoro-pipeline validate DIR"
        )
    return check_frames(Timing(input_ids, frames, None), speed)


def graph_audio(functions: Functions, timing: Timing, style: Array, noise: Array) -> Array:
    """`chunk.render_audio` by the graph of an ONNX file."""
    tokens = token_of_frame(timing.frames)
    return finite(functions[GRAPH_SPEECH](timing.input_ids, style, tokens, noise), GRAPH_SPEECH)


SIX = Binding(FUNCTIONS[:2], (*FUNCTIONS, NOISE), predict_timing, render_audio)


def binding_of(manifest: Manifest) -> Binding:
    """The binding for the functions of an artifact."""
    if not manifest.is_graph:
        return SIX
    speed = manifest.functions[GRAPH_DURATIONS].inputs[2]
    timing = functools.partial(graph_timing, speed)
    return Binding((GRAPH_DURATIONS,), (GRAPH_DURATIONS, GRAPH_SPEECH, NOISE), timing, graph_audio)
