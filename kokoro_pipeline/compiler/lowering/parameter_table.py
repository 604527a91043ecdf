"""The weights of a program: named arrays, and the packed forms that kernels need.

A pass never handles a weight itself. It requests "the packed form of parameter P under recipe R"
and gets the name of a derived parameter; the array is computed here, once for all requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

PARAMETER_NAMES = "kokoro.parameters"
"""Attribute of a Relax function: the names in the table of its arguments from `num_input` on."""


Transform = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Derivation:
    """How a derived array is computed: `transform(*arrays of the sources)`."""

    sources: tuple[str, ...]
    transform: Transform


@dataclass
class ParameterTable:
    """Arrays by name: `function/parameter`, or `function/parameter@recipe` for derived ones."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    derivations: dict[str, Derivation] = field(default_factory=dict)
    """The derivations of the derived arrays, by name."""

    def add(self, name: str, array: np.ndarray) -> str:
        """Add an array under a new name and return the name. Raises KeyError if it is taken."""
        if name in self.arrays:
            raise KeyError(f"parameter {name!r} exists already")
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def derive(self, sources: tuple[str, ...], recipe: str, transform: Transform) -> str:
        """The name of `transform(*arrays of the sources)`, which is computed on first use.

        Equal sources and recipes must imply equal results, so the recipe must include every static
        setting of the transform.
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
