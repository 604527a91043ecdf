"""Find a recipe for recreating the parameters of an artifact elsewhere; see `regenerate.py`.

Names are not used: the source of a parameter is the tensor with the same bytes, and a layout is the
result of packing an array of indices. Both are verified immediately. A packing that rounds is
applied to the digits of the indices, which are exact in every precision.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision
from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable, Transform
from kokoro_pipeline.compiler.weights.constants import stored_constants
from kokoro_pipeline.errors import InputError

from .regenerate import (
    FOLDED,
    LAYOUTS,
    LITERAL,
    LITERALS,
    LSTM,
    LSTM_PARTS,
    RECIPE,
    SCALES,
    TENSOR,
    Recipe,
    Source,
    Step,
    SyntheticTensors,
    apply_layout,
    apply_reduced,
    encode_layout,
)

Array = NDArray[Any]

LITERAL_BYTES = 16 << 10
"""Arrays up to this size are stored if they cannot be recreated."""
_DIGITS = 256
"""All integers below this are exact in every precision."""
_REDUCED = (Precision.TF32, Precision.BFLOAT16, Precision.FLOAT16, Precision.BFLOAT16X3)
_ABOVE = np.float32(1 << 16)
"""Added to an integer below `_DIGITS`, it is the first of two bfloat16 parts, and that the second.

A digit alone is its own first part.
"""
_ULPS = 4
"""Maximum distance of torch's factor of a row from the exact one, in units in the last place."""


def write_recipe(folder: Path, seed: int, parameters: Iterable[str], table: ParameterTable) -> None:
    """Write the recipe of the named parameters of a build from the synthetic weights of `seed`.

    Raises InputError for a parameter without a recipe, which is the case if its packing computes
    values, as for `--target llvm --opt 2`.
    """
    finder = _Finder(seed, table)
    finder.find_folded()
    steps = {name: finder.step(name) for name in dict.fromkeys(parameters)}
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "seed": seed,
        "constants": stored_constants().digest,
        "parameters": {
            name: [
                [[source.kind, source.name] for source in step.sources],
                step.layout,
                step.precision.value,
            ]
            for name, step in steps.items()
        },
    }
    (folder / RECIPE).write_text(json.dumps(content), "utf-8")
    for file, arrays in (
        (SCALES, finder.scales),
        (LITERALS, finder.literals),
        (LAYOUTS, finder.layouts),
    ):
        named: dict[str, Any] = dict(arrays)
        np.savez_compressed(folder / file, **named)
    written = Recipe(folder)
    for name in steps:
        if not _same(written.parameter(name), table[name]):
            raise InputError(f"the recipe of {name} does not make it; please report this")


class _Finder:
    def __init__(self, seed: int, table: ParameterTable) -> None:
        self._table = table
        self.scales: dict[str, Array] = {}
        self.literals: dict[str, Array] = {}
        self.layouts: dict[str, Array] = {}
        self._layout_names: dict[str, str] = {}
        self._tensors = SyntheticTensors(seed, self.scales)
        self._by_content: dict[str, Source] = {}
        self._normed: dict[tuple[int, ...], list[str]] = {}
        for name in self._tensors.names:
            if name in stored_constants().tensors:
                self._by_content.setdefault(
                    _digest(self._tensors.tensor(name)), Source(TENSOR, name)
                )
            else:
                shape = stored_constants().tensors[f"{name}_v"].shape
                self._normed.setdefault(shape, []).append(name)
            if name.endswith(".weight_ih_l0"):
                lstm = name.removesuffix(".weight_ih_l0")
                for part in LSTM_PARTS:
                    digest = _digest(self._tensors.lstm(lstm, part))
                    self._by_content[digest] = Source(LSTM, f"{lstm}:{part}")

    def step(self, name: str) -> Step:
        """How to recreate a parameter."""
        array = self._table[name]
        derivation = self._table.derivations.get(name)
        if derivation is None:
            return Step((self._source(name, array),))
        if array.nbytes > LITERAL_BYTES:
            sources = [self._table[source] for source in derivation.sources]
            found = _find_layout(derivation.transform, sources, array)
            if found is not None:
                layout, precision = found
                named = zip(derivation.sources, sources, strict=True)
                made = tuple(self._source(*pair) for pair in named)
                return Step(made, self._layout(layout), precision)
        return Step((self._literal(name, array),))

    def find_folded(self) -> None:
        """Find the factors of every weight norm, including those only needed by the plain model."""
        for name, array in self._table.arrays.items():
            if name not in self._table.derivations:
                self._folded(array)

    def _source(self, name: str, array: Array) -> Source:
        found = self._by_content.get(_digest(array)) or self._folded(array)
        return found or self._literal(name, array)

    def _folded(self, array: Array) -> Source | None:
        for candidate in self._normed.get(array.shape, []):
            norm, direction = (self._tensors.tensor(f"{candidate}_{part}") for part in "gv")
            scale = _row_factors(array, norm, direction)
            if scale is not None:
                self.scales[candidate] = scale
                return self._by_content.setdefault(_digest(array), Source(FOLDED, candidate))
        return None

    def _literal(self, name: str, array: Array) -> Source:
        if array.nbytes > LITERAL_BYTES:
            raise InputError(
                f"{name} ({array.dtype} {list(array.shape)}) is no rearrangement of the weights, "
                "and too large to carry: take a GPU, or --target llvm with --opt 1 or 0"
            )
        key = f"literal{len(self.literals)}"
        self.literals[key] = array
        return Source(LITERAL, key)

    def _layout(self, layout: Array) -> str:
        digest = _digest(layout)
        if digest not in self._layout_names:
            self._layout_names[digest] = f"layout{len(self.layouts)}"
            self.layouts[self._layout_names[digest]] = layout
        return self._layout_names[digest]


def _find_layout(
    transform: Transform, sources: Sequence[Array], packed: Array
) -> tuple[Array, Precision] | None:
    """The encoded layout and the precision of a transform; None if it does not only rearrange."""
    total = sum(source.size for source in sources)
    if total >= _DIGITS**3 or len({source.dtype for source in sources}) > 1:
        return None  # more than three digits, or than float32 would hold
    if packed.dtype != np.uint32:
        indices = _moved(transform, sources, lambda index: index)
        layout = _checked(indices, total)
        fits = layout is not None and _same(apply_layout(sources, layout), packed)
        return (layout, Precision.FLOAT32) if layout is not None and fits else None
    for precision in _REDUCED:
        parts = [
            _part_indices(transform, sources, precision, part) for part in range(precision.parts)
        ]
        layout = _checked(np.concatenate(parts), total)
        if layout is not None and _same(apply_reduced(sources, layout, precision), packed):
            return layout, precision
    return None


def _part_indices(
    transform: Transform, sources: Sequence[Array], precision: Precision, part: int
) -> Array:
    """The position of the value in each word, float64 [values per word, *shape of the words].

    Words of other parts have 0, like those of padding.
    """
    found: Any = 0
    for place in (1, _DIGITS, _DIGITS**2):
        words = _moved(transform, sources, functools.partial(_digit, place=place, part=part))
        values = _values(np.asarray(words, np.uint32), precision)
        found = found + place * np.where(values == _ABOVE, 0, values)
    return np.asarray(found)


def _digit(index: Array, place: int, part: int) -> Array:
    """The digit at `place` of each index, raised by `_ABOVE` for the second part.

    After packing, a word without that mark is one of another part, so that its digit counts as 0.
    """
    return index // place % _DIGITS + (part > 0) * _ABOVE


def _moved(
    transform: Transform, sources: Sequence[Array], of_index: Callable[[Array], Array]
) -> Array:
    """Apply a transform to a function of the position of each value, counted from 1."""
    given, start = [], 1
    for source in sources:
        index = np.arange(start, start + source.size)
        given.append(of_index(index).astype(source.dtype).reshape(source.shape))
        start += source.size
    return np.asarray(transform(*given))


def _checked(moved: Array, total: int) -> Array | None:
    """The encoded layout of indices; None if they are not valid indices."""
    if not np.isfinite(moved).all():
        return None
    index = np.rint(np.asarray(moved, np.float64)).astype(np.int64)
    if not np.array_equal(index, moved) or index.min() < 0 or index.max() > total:
        return None
    return encode_layout(index)


def _values(words: Array, precision: Precision) -> Array:
    """The numbers that words represent, float64 [values per word, *shape of the words]."""
    if precision is Precision.TF32:
        return words.view(np.float32).astype(np.float64)[None]
    halves = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)])
    if precision is Precision.FLOAT16:
        return halves.astype(np.uint16).view(np.float16).astype(np.float64)
    return (halves << np.uint32(16)).view(np.float32).astype(np.float64)


def _row_factors(weight: Array, norm: Array, direction: Array) -> Array | None:
    """Factors float32 [rows] for which `direction` times the factors is exactly `weight`.

    None if there are none, so the weight does not belong to this direction.
    """
    rows = weight.reshape(len(weight), -1)
    vectors = direction.reshape(len(weight), -1)
    lengths = np.sqrt(np.square(vectors.astype(np.float64)).sum(1))
    exact = norm.reshape(-1) / lengths
    if not np.allclose(rows[:, 0], vectors[:, 0] * exact, rtol=1e-5, atol=0):
        return None
    nearest = exact.astype(np.float32)
    found = np.full_like(nearest, np.nan)
    for ulps in range(-_ULPS, _ULPS + 1):
        factor = nearest + np.spacing(nearest) * np.float32(ulps)
        fits = (vectors * factor[:, None] == rows).all(1)
        found = np.where(fits, factor, found)
    return None if np.isnan(found).any() else found


def _digest(array: Array) -> str:
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def _same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
