"""The validation cases: phoneme strings of 1 to 510 symbols, each with a voice and a speed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..config import MAX_PHONEMES, default_config
from ..errors import InputError

NAIVE_FRAMES = 16
"""Frames per case at `--opt 0`, whose kernels are about fifty times slower."""
NAIVE_PHONEMES = 24
"""Maximum number of phonemes of a case at `--opt 0`, since BERT's naive kernels are slow."""
VOICES = ("af_heart", "af_bella")
"""The voices of the cases, used in turn."""

Selection = Literal["full", "short"]

# American English in the notation of the model's own front end.
_PASSAGE = (
    "ði ɹˈɪvəɹ bˈɛndz twˈIs bəfˈɔɹ ɪt mˈits ði sˈi, ænd ˈɛvəɹi bˈOt slˈOz dˌWn ðɛɹ tu ɹˈid ði "
    "wˈɪnd. ˈOld fˈɪʃəɹmˌɛn sˈA ðæt ði hˈɑɹbəɹ lˈɪsᵊnz: wˌɛn ɐ stˈɔɹm ɪz kˈʌmɪŋ, ɡˈʌlz ɡˈæðəɹ "
    "ˌɔn ði ɹˈuf ʌv ði mˈɑɹkət, kwˈIət æz ʤˈʌʤəz. wʊd ju tɹˈʌst ðˌɛm? mI ɡɹˈændmˌʌðəɹ dˈɪd. ʃi "
    "mˈɛʒəɹd ˈiʧ mˈɔɹnɪŋ bI ðɛɹ vˈYsᵻz, ɹˈOt ði wˈɛðəɹ ɪn ɐ smˈɔl ɡɹˈin bˈʊk, ænd wʌz ɹˈɔŋ "
    "ˈOnli sˈɛvən tˈImz ɪn θˈɜɹɾi jˈɪɹz. ˈI hæv ðæt bˈʊk nˈW; ɪts pˈAʤᵻz smˈɛl ʌv sˈɔlt, "
    "ʤˈɪnʤəɹ ænd smˈOk. ˌɔn ði lˈæst wˈʌn ʃi dɹˈu ɐ klˈWd, ɐ vˈɛsᵊl, ænd ði wˈɜɹd pˈAʃəns. "
    "nˈʌθɪŋ ˈɛls wʌz nˈidᵻd. wi ʧˈuz ˌWəɹ tˈiʧəɹz slˈOli — ðˈɛn wi θˈæŋk ðˌɛm tˈu lˈAt."
)

# (length, first words, speed)
_CUTS = (
    (1, "ɪn ɐ smˈɔl", 1.0),
    (2, "mI ɡɹˈænd", 1.0),
    (3, "ˈOld", 1.0),
    (4, "sˈi,", 1.3),
    (5, "ʃi mˈɛʒ", 1.0),
    (6, "ɡˈʌlz", 1.0),
    (7, "lˈɪsᵊnz", 0.8),
    (8, "ɹˈɪvəɹ", 1.0),
    (10, "wˌɛn ɐ", 1.0),
    (12, "kwˈIət", 1.0),
    (13, "wʊd ju", 1.3),
    (16, "tɹˈʌst", 1.0),
    (18, "mˈɔɹnɪŋ", 1.0),
    (21, "ɹˈOt", 1.0),
    (24, "mI ɡɹˈænd", 0.8),
    (34, "ˈI hæv", 1.0),
    (40, "smˈɛl", 1.3),
    (60, "nˈʌθɪŋ", 1.0),
    (MAX_PHONEMES, "ði ɹˈɪvəɹ", 1.0),
)
_SHORT_LENGTHS = frozenset({1, 5, 13, 24})


@dataclass(frozen=True)
class Case:
    """One utterance to compare.

    `phonemes` has 1 to 510 symbols of the vocabulary, `speed` divides the durations, and
    `max_frames` truncates the alignment: everything from f0n on only sees that many frames (None:
    all of them).

    Raises InputError for values that are not possible.
    """

    phonemes: str
    voice: str = VOICES[0]
    speed: float = 1.0
    max_frames: int | None = None

    def __post_init__(self) -> None:
        vocabulary = default_config().vocab
        unknown = sorted({symbol for symbol in self.phonemes if symbol not in vocabulary})
        if unknown:
            raise InputError(
                f"validation case {self.phonemes!r}: {unknown} are no symbols of the vocabulary"
            )
        if not 1 <= len(self.phonemes) <= MAX_PHONEMES:
            count = len(self.phonemes)
            raise InputError(f"validation case of {count} phonemes: 1 to {MAX_PHONEMES} can be")
        if not 0.1 <= self.speed <= 10.0:
            raise InputError(f"validation case with speed {self.speed}: 0.1 to 10 are possible")
        if self.max_frames is not None and self.max_frames < 1:
            raise InputError(
                f"validation case cut to {self.max_frames} frames: at least 1 is needed"
            )

    @property
    def tokens(self) -> int:
        """Number of token ids of the case, including the two boundary tokens."""
        return len(self.phonemes) + 2

    @property
    def name(self) -> str:
        """Name for reports and files: `p034-af_heart`, with `-x0.80` and `-t16` if applicable."""
        speed = "" if self.speed == 1.0 else f"-x{self.speed:.2f}"
        cut = "" if self.max_frames is None else f"-t{self.max_frames}"
        return f"p{len(self.phonemes):03d}-{self.voice}{speed}{cut}"

    @property
    def digest(self) -> str:
        """SHA-256 of everything that defines the case, in hex."""
        fields = [self.phonemes, self.voice, self.speed, self.max_frames]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def full_cases() -> tuple[Case, ...]:
    """The built-in list: 20 cases of 1 to 510 phonemes, one of which is the whole vocabulary.

    This is 97 s of audio with the synthetic weights of seed 0; 5 frames per token would be 120 s.
    """
    starts = [_PASSAGE.index(words) for _, words, _ in _CUTS]
    cuts = [
        (_PASSAGE[start : start + length], speed)
        for start, (length, _, speed) in zip(starts, _CUTS, strict=True)
    ]
    cuts.insert(-1, ("".join(default_config().vocab), 1.0))
    return tuple(
        Case(phonemes, VOICES[i % len(VOICES)], speed) for i, (phonemes, speed) in enumerate(cuts)
    )


def short_cases() -> tuple[Case, ...]:
    """The short list that `build` runs: a few of the built-in cases, about 6 s of audio."""
    return tuple(case for case in full_cases() if len(case.phonemes) in _SHORT_LENGTHS)


def select_cases(opt_level: int, selection: Selection = "full") -> tuple[Case, ...]:
    """The cases for an artifact of `opt_level`; for level 0 short ones, truncated to 16 frames."""
    cases = full_cases() if selection == "full" else short_cases()
    if opt_level > 0:
        return cases
    return tuple(
        replace(case, max_frames=NAIVE_FRAMES)
        for case in cases
        if len(case.phonemes) <= NAIVE_PHONEMES
    )


def resolve_voices(cases: Sequence[Case], available: Sequence[str]) -> tuple[Case, ...]:
    """Replace voices of the cases that do not exist by available ones.

    Weights do not need to have `af_heart` and `af_bella`; the name of a case contains the voice
    that is used. Raises InputError if there are no voices at all.
    """
    if not available:
        raise InputError("these weights have no voices: validation needs at least one in voices/")
    ordered = sorted(available)
    return tuple(
        case if case.voice in ordered else replace(case, voice=ordered[i % len(ordered)])
        for i, case in enumerate(cases)
    )
