"""Recreate the parameters of an artifact from the synthetic weights by a recipe, with numpy only.

The source of a parameter is a tensor of the weights, a tensor with folded weight norm, or the
tensors of both directions of an LSTM. Its values are rearranged with zeros in between, according to
a layout, and for tensor cores they are rounded or split, with one or two values per word. All other
parameters are small and are stored. Every step is exact, so the hash of the file is that of the
artifact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.artifact.manifest import Manifest
from kokoro_pipeline.artifact.parameter_file import write_parameters
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision, to_parts
from kokoro_pipeline.compiler.weights.constants import stored_constants
from kokoro_pipeline.compiler.weights.draws import draw_tensor
from kokoro_pipeline.errors import ArtifactError

Array = NDArray[Any]

RECIPE, SCALES, LITERALS, LAYOUTS = "recipe.json", "scales.npz", "literals.npz", "layouts.npz"

LSTM_PARTS = ("projection", "bias", "recurrent")
FOLDED, LSTM, TENSOR, LITERAL = "folded", "lstm", "tensor", "literal"


@dataclass(frozen=True)
class Source:
    """The source array of parameters."""

    kind: str
    """FOLDED, LSTM, TENSOR or LITERAL."""
    name: str
    """Name of a tensor, of an LSTM and its part (`predictor.lstm:bias`), or of a literal."""


@dataclass(frozen=True)
class Step:
    """How to recreate a parameter: the concatenated values of its sources in a layout.

    Without a layout, it is its only source. For tensor cores, the first axis of the layout are the
    values of a word, for each part of a value in turn.
    """

    sources: tuple[Source, ...]
    layout: str | None = None
    precision: Precision = Precision.FLOAT32


class SyntheticTensors:
    """The synthetic weights of a seed by name.

    `scales` holds the factor of each row for tensors with folded weight norm, float32 [rows]: the
    value of `weight_g / |weight_v|` as computed by torch.
    """

    def __init__(self, seed: int, scales: dict[str, Array]) -> None:
        self._seed = seed
        self._draws = stored_constants().tensors
        self._scales = scales

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tensors, with folded weight norms, in the order of the checkpoint."""
        found = dict.fromkeys(
            name[:-2] if name.endswith(("weight_g", "weight_v")) else name for name in self._draws
        )
        return tuple(found)

    def __getitem__(self, name: str) -> Array:
        """A tensor, with its weight norm folded if it has one."""
        return self.tensor(name) if name in self._draws else self.folded(name)

    def tensor(self, name: str) -> Array:
        """A tensor of the checkpoint."""
        return draw_tensor(self._seed, name, self._draws[name])

    def folded(self, name: str) -> Array:
        """A weight with folded norm."""
        direction = self.tensor(f"{name}_v")
        return direction * self._scales[name].reshape(-1, *[1] * (direction.ndim - 1))

    def lstm(self, name: str, part: str) -> Array:
        """`projection` [8H, C], `bias` [8H] or `recurrent` [2, 4H, H] of both directions."""

        def both(kind: str) -> list[Array]:
            return [self.tensor(f"{name}.{kind}_l0{end}") for end in ("", "_reverse")]

        if part == "projection":
            return np.concatenate(both("weight_ih"))
        if part == "recurrent":
            return np.stack(both("weight_hh"))
        sums = [a + b for a, b in zip(both("bias_ih"), both("bias_hh"), strict=True)]
        return np.concatenate(sums)


def encode_layout(index: Array) -> Array:
    """Encode a layout as differences, which compress well: int32, of the same shape.

    `index` is the position of each value in the sources, counted from 1, and 0 for zeros.
    """
    return np.diff(index.reshape(-1), prepend=0).astype(np.int32).reshape(index.shape)


def apply_layout(sources: Sequence[Array], layout: Array) -> Array:
    """Rearrange the concatenated sources by an encoded layout."""
    index = np.cumsum(layout.reshape(-1), dtype=np.int64)
    zero = np.zeros(1, sources[0].dtype)
    extended = np.concatenate([zero, *(source.reshape(-1) for source in sources)])
    return extended[index].reshape(layout.shape)


def apply_reduced(sources: Sequence[Array], layout: Array, precision: Precision) -> Array:
    """Like `apply_layout`, with values rounded or split to words.

    Returns uint32 of the shape of the layout without its first axis, which are the values of a
    word, the lower half first. With parts, there are as many for each part, and of them only those
    of the part that a word holds are not zero.
    """
    values = apply_layout(sources, layout).reshape(precision.parts, -1, *layout.shape[1:])
    words = [to_parts(each, precision)[part, 0] for part, each in enumerate(values)]
    return np.ascontiguousarray(np.bitwise_or.reduce(words))


class Recipe:
    """A recipe written by `recipe.write_recipe`. Raises ArtifactError if it is damaged."""

    def __init__(self, folder: Path) -> None:
        try:
            content = json.loads((folder / RECIPE).read_text("utf-8"))
            self.steps = {
                name: Step(
                    tuple(Source(*source) for source in sources), layout, Precision(precision)
                )
                for name, (sources, layout, precision) in content["parameters"].items()
            }
            stored = {name: _arrays(folder / name) for name in (SCALES, LITERALS, LAYOUTS)}
            constants = str(content["constants"])
            self.tensors = SyntheticTensors(int(content["seed"]), stored[SCALES])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{folder} holds no recipe ({error}): make it anew") from error
        self._literals, self._layouts = stored[LITERALS], stored[LAYOUTS]
        if constants != stored_constants().digest:
            raise ArtifactError(f"{folder} was made for other synthetic weights; make it anew")

    def parameter(self, name: str) -> Array:
        """Recreate one parameter of the artifact."""
        step = self.steps[name]
        arrays = [self._array(source) for source in step.sources]
        if step.layout is None:
            return arrays[0]
        layout = self._layouts[step.layout]
        if step.precision is Precision.FLOAT32:
            return apply_layout(arrays, layout)
        return apply_reduced(arrays, layout, step.precision)

    def _array(self, source: Source) -> Array:
        if source.kind == LITERAL:
            return self._literals[source.name]
        if source.kind == LSTM:
            return self.tensors.lstm(*source.name.split(":"))
        return self.tensors[source.name]


def regenerate(folder: Path, manifest: Manifest, output: Path) -> None:
    """Write the parameter file of an artifact.

    Raises ArtifactError if the hash of the result is not that of the manifest.
    """
    recipe = Recipe(folder)
    offsets = {p.name: p.offset for spec in manifest.functions.values() for p in spec.parameters}
    missing = offsets.keys() - recipe.steps.keys()
    if missing:
        raise ArtifactError(f"{folder} has no recipe for {sorted(missing)[0]}; make it anew")

    def arrays() -> Iterator[tuple[str, Array]]:
        for name in sorted(offsets, key=offsets.__getitem__):
            yield name, recipe.parameter(name)

    write_parameters(output, arrays())
    wanted, found = manifest.files[output.name].sha256, file_sha256(output)
    if found != wanted:
        raise ArtifactError(
            f"{output} came out with sha256 {found}, and the artifact was built with {wanted}: "
            "this numpy draws or adds otherwise; please report its version and the CPU"
        )


def _arrays(path: Path) -> dict[str, Array]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
