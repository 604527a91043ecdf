"""The weights beside the program: named arrays, and the packed forms that kernels ask for.

A pass never holds a weight. It says "the packed form of parameter P under recipe R" and gets the
name of a derived parameter; the array is computed here, once, whoever asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

PARAMETER_NAMES = "kokoro.parameters"
"""Attribute of a Relax function: the table's names of its arguments from `num_input` on."""


Transform = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Derivation:
    """How a derived array came about: `transform(*arrays of the sources)`."""

    sources: tuple[str, ...]
    transform: Transform


@dataclass
class ParameterTable:
    """Arrays by name. Names are `function/parameter`, derived ones `function/parameter@recipe`."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    derivations: dict[str, Derivation] = field(default_factory=dict)
    """Of the derived ones, by name."""

    def add(self, name: str, array: np.ndarray) -> str:
        """Add an array under a new name and return the name. Raises KeyError where it is taken."""
        if name in self.arrays:
            raise KeyError(f"parameter {name!r} exists already")
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def derive(self, sources: tuple[str, ...], recipe: str, transform: Transform) -> str:
        """The name of `transform(*arrays of the sources)`, computed the first time it is asked for.

        Equal sources and recipe must mean an equal result: the recipe names every static setting of
        the transform.
        """
        name = "+".join(sources) + "@" + recipe
        if name not in self.arrays:
            self.arrays[name] = np.ascontiguousarray(transform(*(self.arrays[s] for s in sources)))
            self.derivations[name] = Derivation(sources, transform)
        return name

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)
