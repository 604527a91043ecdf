"""PyTorch's reference for one case: float64 outputs of every step, and the float32 whole audio.

Every step is computed from float32 inputs, the same that the compiled function gets: the values of
the float64 chain, rounded. The output of the decoder also serves as the float64 whole audio.
Rounding its inputs changes it by 1e-7 of its peak (measured by a test). The source, where rounding
F0 would matter, gets the float64 F0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..config import BOUNDARY_TOKEN, SAMPLE_RATE, SAMPLES_PER_FRAME, STYLE_DIM, default_config
from ..runtime.speech.alignment import spread, token_of_frame
from ..runtime.speech.noise import noise_shape
from .cases import Case
from .gates import round_lengths
from .stock_spectrum import stock_har

if TYPE_CHECKING:
    from .reference import ReferenceModel

Array = NDArray[Any]


@dataclass(frozen=True)
class CaseInputs:
    """The inputs of a case: input_ids int64 [1, n], with both boundary tokens, and a style vector.

    The style vector is float32 [1, 256].
    """

    case: Case
    input_ids: NDArray[np.int64]
    style: NDArray[np.float32]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of the only row, int64 [1]."""
        return np.array([self.input_ids.shape[1]], dtype=np.int64)

    @property
    def decoder_style(self) -> NDArray[np.float32]:
        """float32 [1, 128]."""
        return np.ascontiguousarray(self.style[:, :STYLE_DIM])

    @property
    def predictor_style(self) -> NDArray[np.float32]:
        """float32 [1, 128]."""
        return np.ascontiguousarray(self.style[:, STYLE_DIM:])

    @property
    def digest(self) -> str:
        """SHA-256 over the case and its style vector, in hex."""
        return hashlib.sha256(self.case.digest.encode() + self.style.tobytes()).hexdigest()

    def noise(self, frames: int) -> NDArray[np.float32]:
        """The noise of the case, float32 [1, 600*frames, 9], which is the same for every call."""
        # In float64 and rounded once: numpy's float32 normals depend on the last bit of the C
        # library's logarithm, which differs between machines.
        seeds = np.random.SeedSequence(int(self.case.digest[:12], 16), spawn_key=(0,))
        stream = np.random.Generator(np.random.Philox(seeds))
        return stream.standard_normal(noise_shape(frames)).astype(np.float32)


def case_inputs(case: Case, voices: Mapping[str, Array]) -> CaseInputs:
    """Look up the token ids of a case, and the style vector for its number of phonemes."""
    vocabulary = default_config().vocab
    ids = [BOUNDARY_TOKEN, *(vocabulary[symbol] for symbol in case.phonemes), BOUNDARY_TOKEN]
    style = voices[case.voice][len(case.phonemes) - 1].astype(np.float32, copy=False)
    return CaseInputs(case, np.array([ids], dtype=np.int64), style)


@dataclass(frozen=True)
class ReferenceArrays:
    """The stored part of a reference, for n tokens and t frames; float64 unless stated otherwise.

    durations: int64 [n], used for all computations, 0 for tokens beyond the case's `max_frames`.

    Of the float64 chain: d_en [1, 512, n], lengths [n] (predicted frames before rounding),
    d [1, n, 640], t_en [1, 512, n], F0 and N [1, 2t], waveform [1, 600t].

    Computed in float64 from rounded inputs: step_duration [1, n, 50], step_d, step_F0, step_N,
    step_waveform, and audio [1, 600t].

    The whole audio computed in float32: audio_float32 [1, 600t].
    """

    durations: NDArray[np.int64]
    lengths: Array
    d_en: Array
    d: Array
    t_en: Array
    F0: Array
    N: Array
    waveform: Array
    step_duration: Array
    step_d: Array
    step_F0: Array  # noqa: N815 -- F0 is the quantity's name
    step_N: Array  # noqa: N815
    step_waveform: Array
    audio: Array
    audio_float32: NDArray[np.float32]

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(field.name for field in fields(cls))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes that the arrays must have for the given durations."""
        n, t = len(self.durations), int(self.durations.sum())
        columns, frames, samples = (1, 512, n), (1, 2 * t), (1, SAMPLES_PER_FRAME * t)
        return {
            "durations": (n,),
            "lengths": (n,),
            "d_en": columns,
            "d": (1, n, 640),
            "t_en": columns,
            "F0": frames,
            "N": frames,
            "waveform": samples,
            "step_duration": (1, n, 50),
            "step_d": (1, n, 640),
            "step_F0": frames,
            "step_N": frames,
            "step_waveform": samples,
            "audio": samples,
            "audio_float32": samples,
        }


@dataclass(frozen=True)
class CaseReference:
    """The inputs of a case, PyTorch's outputs, and the resulting float32 inputs of every step."""

    inputs: CaseInputs
    arrays: ReferenceArrays

    @property
    def frames(self) -> int:
        """Number of frames of the audio, t."""
        return int(self.arrays.durations.sum())

    @property
    def seconds(self) -> float:
        """Length of the audio in seconds."""
        return self.frames * SAMPLES_PER_FRAME / SAMPLE_RATE

    @property
    def tokens(self) -> NDArray[np.int64]:
        """The index of the token of each frame, int64 [t]."""
        return token_of_frame(self.arrays.durations)

    @property
    def noise(self) -> NDArray[np.float32]:
        """float32 [1, 600t, 9]."""
        return self.inputs.noise(self.frames)

    @property
    def en(self) -> NDArray[np.float32]:
        """Input of f0n, float32 [1, 640, t]."""
        return spread(np.swapaxes(rounded(self.arrays.d), 1, 2), self.tokens)

    @property
    def asr(self) -> NDArray[np.float32]:
        """Input of the decoder, float32 [1, 512, t]."""
        return spread(rounded(self.arrays.t_en), self.tokens)

    @property
    def har(self) -> NDArray[np.float32]:
        """Input of the decoder, float32 [1, 22, 120t+1]."""
        return rounded(stock_har(self.arrays.waveform))


def rounded(array: Array) -> NDArray[np.float32]:
    """Round float64 values to float32, as inputs of compiled functions."""
    return array.astype(np.float32)


def compute_reference(
    inputs: CaseInputs, float64: ReferenceModel, float32: ReferenceModel
) -> CaseReference:
    """Run both models on a case, the float32 model with the durations of the float64 model."""
    ids, predictor = inputs.input_ids, inputs.predictor_style
    d_en = float64.bert(ids)
    duration, d = float64.duration(d_en, predictor)
    t_en = float64.text_encoder(ids)
    lengths = duration[0].sum(-1) / inputs.case.speed
    durations = cut_durations(round_lengths(lengths), inputs.case.max_frames)
    tokens = token_of_frame(durations)
    noise = inputs.noise(len(tokens))

    en = spread(np.swapaxes(d, 1, 2), tokens)
    f0, n = float64.f0n(en, predictor)
    waveform = float64.waveform(f0, noise)
    step_duration, step_d = float64.duration(rounded(d_en), predictor)
    step_f0, step_n = float64.f0n(rounded(en), predictor)
    audio = float64.decoder(
        rounded(spread(t_en, tokens)),
        rounded(f0),
        rounded(n),
        inputs.decoder_style,
        rounded(float64.har(waveform)),
    )
    arrays = ReferenceArrays(
        durations=durations,
        lengths=lengths,
        d_en=d_en,
        d=d,
        t_en=t_en,
        F0=f0,
        N=n,
        waveform=waveform,
        step_duration=step_duration,
        step_d=step_d,
        step_F0=step_f0,
        step_N=step_n,
        step_waveform=float64.waveform(rounded(f0), noise),
        audio=audio,
        audio_float32=whole_audio(float32, inputs, durations, noise),
    )
    return CaseReference(inputs, arrays)


def whole_audio(
    model: ReferenceModel, inputs: CaseInputs, durations: NDArray[np.int64], noise: Array
) -> Array:
    """The audio [1, 600t] of the stock chain in the model's precision.

    Durations and noise are given.
    """
    tokens = token_of_frame(durations)
    _, d = model.duration(model.bert(inputs.input_ids), inputs.predictor_style)
    f0, n = model.f0n(spread(np.swapaxes(d, 1, 2), tokens), inputs.predictor_style)
    asr = spread(model.text_encoder(inputs.input_ids), tokens)
    return model.decoder_with_noise(asr, f0, n, inputs.decoder_style, noise)


def cut_durations(durations: NDArray[np.int64], max_frames: int | None) -> NDArray[np.int64]:
    """Truncate the durations [n] to a total of `max_frames` frames."""
    if max_frames is None:
        return durations
    ends = np.minimum(np.cumsum(durations), max_frames)
    return np.diff(ends, prepend=0)
