"""Finding, reading, checking and blending voice packs."""

from __future__ import annotations

import difflib
import functools
import io
import math
import operator
import os
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import numpy as np

from kokoro_pipeline.config import MAX_PHONEMES, STYLE_DIM
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError

from .tensor_file import read_tensor_file

PACK_SHAPE = (MAX_PHONEMES, 1, 2 * STYLE_DIM)
"""[510, 1, 256]: the number of phonemes minus one, batch, decoder and predictor halves."""

LARGEST_STYLE = 1e4
"""Beyond this magnitude of a style vector, float32 networks overflow."""

_RAW_BYTES = math.prod(PACK_SHAPE) * 4
_NAMED = 8
"""The most voices that an error lists."""
_SHOWN = 80
"""The most characters of a voice as it was given that an error quotes."""


def load_voice(
    voice: str | os.PathLike[str] | np.ndarray, directory: Path, promised: Collection[str] = ()
) -> np.ndarray:
    """Load a voice pack, float32 [510, 1, 256].

    `voice` is the name of a voice in `directory` (see `list_voices`), a file (.npy, .bin, .pt), an
    array float32 [510, 1, 256] or [510, 256], or a blend of names and files, such as
    "af_heart:0.6,af_bella:0.4", or "af_heart,af_bella" for equal parts. Weights must be positive
    and are divided by their sum. A string is treated as a file if it contains "/" or ends in .npy,
    .bin or .pt. `promised` are the names that `directory` has to have, as an artifact's manifest
    lists them: that such a file is missing or damaged is no mistake of who asks for it.

    Raises InputError for an unknown name (the message lists similar ones), a file that cannot be
    read, an invalid shape, dtype or value, and invalid weights, and ArtifactError for a promised
    voice that is missing or cannot be read.
    """
    if isinstance(voice, np.ndarray):
        return check_pack(voice, "the voice array")
    if isinstance(voice, os.PathLike):
        return read_voice_file(Path(voice))
    if not isinstance(voice, str):
        raise InputError(f"a voice is a name, a path or an array, not {type(voice).__name__}")
    text = voice.strip()
    if "\0" in text:
        raise InputError(f"{_quoted(text)} is not the name of a voice")
    # A file is one whatever commas and colons are in its name. Path.is_file raises for long names.
    if _is_file_name(text) and os.path.isfile(text):  # noqa: PTH113
        return read_voice_file(Path(text))
    parts = parse_blend(text)
    packs = [
        _load_promised(name, directory) if name in promised else _load_one(name, directory)
        for name in parts
    ]
    if len(packs) == 1:
        return packs[0]
    # One by one, because `sum` compensates errors of floats from Python 3.12 on.
    total = functools.reduce(operator.add, parts.values())
    blend = np.zeros(PACK_SHAPE, np.float64)
    for weight, pack in zip(parts.values(), packs, strict=True):
        blend += np.multiply(pack, weight / total, dtype=np.float64)
    return blend.astype(np.float32)


def check_voice(voice: object) -> None:
    """Check what can be known of a voice without an artifact; see `load_voice`.

    Raises InputError for another type, a blend that cannot be parsed, and a file that cannot be
    read or is not a valid pack.
    """
    if isinstance(voice, np.ndarray):
        check_pack(voice, "the voice array")
    elif isinstance(voice, os.PathLike):
        read_voice_file(Path(voice))
    elif not isinstance(voice, str):
        raise InputError(f"a voice is a name, a path or an array, not {type(voice).__name__}")
    elif "\0" in voice:
        raise InputError(f"{_quoted(voice.strip())} is not the name of a voice")
    elif not _is_file_name(voice.strip()):
        parse_blend(voice.strip())


def list_voices(directory: Path) -> list[str]:
    """Sorted names of the voices of an artifact or a weights folder.

    These are the files `voices/NAME.npy`, `.pt` or `.bin`. `directory` may also be the folder of
    these files itself.
    """
    return sorted(_files(directory))


def parse_blend(text: str) -> dict[str, float]:
    """Split "a:0.6,b:0.4" into names and weights, in order; in "a,b" each weight is 1.

    Raises InputError for an empty text or part, a repeated name, a weight that is not a positive
    number, or weights for only some of the parts.
    """
    parts: dict[str, float] = {}
    weighted = 0
    for part in text.split(","):
        name, colon, number = (piece.strip() for piece in part.rpartition(":"))
        if not colon:
            name, number = number, "1"
        weighted += bool(colon)
        try:
            weight = float(number)
        except ValueError:
            raise InputError(
                f"voice {_quoted(text)}: {_quoted(number)} is not a weight; write NAME:0.6"
            ) from None
        if not name:
            raise InputError(
                f"voice {_quoted(text)}: a name is missing; write NAME or NAME:0.6,NAME:0.4"
            )
        if not (math.isfinite(weight) and weight > 0):
            raise InputError(
                f"voice {_quoted(text)}: the weight {number[:_SHOWN]} of {name[:_SHOWN]} is not "
                "positive"
            )
        if name in parts:
            raise InputError(f"voice {_quoted(text)}: {name[:_SHOWN]} appears twice")
        parts[name] = weight
    if not math.isfinite(sum(parts.values())):
        raise InputError(f"voice {_quoted(text)}: the sum of the weights is not finite")
    if 0 < weighted < len(parts):
        raise InputError(f"voice {_quoted(text)}: give a weight to every voice or to none")
    return parts


def read_voice_file(path: Path) -> np.ndarray:
    """Read a pack from a `.npy`, a raw little-endian float32 `.bin`, or a `.pt` file.

    Raises InputError if the file cannot be read or is not a valid pack.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} is not a voice file: expected one of {', '.join(_READERS)}")
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe: opening it would wait
            raise InputError(f"cannot read the voice {path}: it is no file")
        return check_pack(reader(path), str(path))
    except OSError as error:
        raise InputError(f"cannot read the voice {path}: {error.strerror or error}") from error


def write_voice(path: Path, pack: np.ndarray) -> None:
    """Write a pack as `.npy` [510, 1, 256].

    Raises InputError if `pack` is invalid, EnvironmentFault if the file cannot be written.
    """
    content = io.BytesIO()
    np.save(content, check_pack(pack, str(path)))
    try:
        path.write_bytes(content.getvalue())
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error


def check_pack(values: np.ndarray, where: str) -> np.ndarray:
    """Convert `values` to a C-contiguous native float32 [510, 1, 256] from any float dtype.

    Raises InputError for another shape or dtype, NaN or infinity; `where` names the source.
    """
    if values.dtype.kind != "f":
        raise InputError(f"{where}: a voice holds float32, this has {values.dtype}")
    if values.shape not in (PACK_SHAPE, (PACK_SHAPE[0], PACK_SHAPE[2])):
        raise InputError(
            f"{where}: a voice has the shape {list(PACK_SHAPE)} or "
            f"{[PACK_SHAPE[0], PACK_SHAPE[2]]}, this has {list(values.shape)}"
        )
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which is rejected below
        pack = np.ascontiguousarray(values, np.float32).reshape(PACK_SHAPE)
    if bad := int(np.count_nonzero(~np.isfinite(pack))):
        raise InputError(f"{where}: {bad} of the voice's values are NaN or infinite")
    if (largest := float(np.abs(pack).max())) > LARGEST_STYLE:
        raise InputError(
            f"{where}: the voice holds a value of magnitude {largest:.2g}; magnitudes up to "
            f"{LARGEST_STYLE:g} are accepted"
        )
    return pack


def style_row(pack: np.ndarray, n_phonemes: int) -> np.ndarray:
    """The style vector for a chunk of `n_phonemes` (1 to 510), float32 [1, 256].

    This is row `n_phonemes - 1`. Raises InputError for a number outside of that range.
    """
    if not 1 <= n_phonemes <= PACK_SHAPE[0]:
        raise InputError(f"a chunk has 1 to {PACK_SHAPE[0]} phonemes, this has {n_phonemes}")
    return pack[n_phonemes - 1]


def _load_one(name: str, directory: Path) -> np.ndarray:
    if _is_file_name(name):
        return read_voice_file(Path(name))
    files = _files(directory)
    if name in files:
        return read_voice_file(files[name])
    if os.path.isfile(name):  # noqa: PTH113  (Path's raises)  one of another kind, which is told
        return read_voice_file(Path(name))
    if not files:
        raise InputError(f"unknown voice {_quoted(name)}: {directory} holds no voices")
    near = difflib.get_close_matches(name[:_SHOWN], files, n=5, cutoff=0.5)
    said = f"did you mean {' or '.join(near)}?" if near else f"it has {_some(sorted(files))}"
    raise InputError(f"unknown voice {_quoted(name)} in {directory}: {said}")


def _load_promised(name: str, directory: Path) -> np.ndarray:
    remedy = "copy the artifact again, or build it anew"
    try:
        file = _files(directory).get(name)
        if file is not None:
            return read_voice_file(file)
    except InputError as error:
        raise ArtifactError(f"the artifact's voice {name} is damaged: {error}; {remedy}") from error
    raise ArtifactError(f"the artifact's voice {name} is gone from {directory}: {remedy}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _files(directory: Path) -> Mapping[str, Path]:
    folder = directory / "voices" if (directory / "voices").is_dir() else directory
    found: dict[str, Path] = {}
    try:
        for suffix in _READERS:  # among files of the same name, the first suffix takes precedence
            for file in sorted(folder.glob(f"*{suffix}")):
                found.setdefault(file.stem, file)
    except OSError as error:
        raise InputError(f"cannot list the voices of {folder}: {error.strerror}") from error
    return found


def _is_file_name(text: str) -> bool:
    return "/" in text or os.sep in text or Path(text).suffix.lower() in _READERS


def _read_npy(path: Path) -> np.ndarray:
    try:
        # Mapping only reads the header, so a header with a huge shape does not allocate memory.
        values = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # numpy parses the header as Python text, which can raise anything
        what = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{path} is not a .npy file, or is damaged: {what}") from error
    return np.asarray(values)


def _read_raw(path: Path) -> np.ndarray:
    size = path.stat().st_size
    if size != _RAW_BYTES:
        raise InputError(f"{path}: a raw voice has {_RAW_BYTES} bytes of float32, this has {size}")
    return np.fromfile(path, "<f4").reshape(PACK_SHAPE)


def _read_pt(path: Path) -> np.ndarray:
    content = read_tensor_file(path)
    if not isinstance(content, np.ndarray):
        raise InputError(f"{path}: a voice is one tensor, this holds {type(content).__name__}")
    return content


_READERS: dict[str, Callable[[Path], np.ndarray]] = {
    ".npy": _read_npy,
    ".pt": _read_pt,
    ".bin": _read_raw,
}
