"""The weights of a program: named arrays, and the packed forms that kernels need.

A pass never handles a weight itself. It requests "the packed form of parameter P under recipe R"
and gets the name of a derived parameter; the array is computed here, once for all requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relax

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


def with_main(
    module: tvm.IRModule, name: str, main: relax.Function, parameters: list[str]
) -> tvm.IRModule:
    """The module with `main` in the place of its function `main`, now called `name`.

    `parameters` are the names in the table of the arguments of `main` behind its inputs.
    """
    function = main.with_attr("global_symbol", name).with_attr(PARAMETER_NAMES, parameters)
    functions = {
        global_var: other
        for global_var, other in module.functions.items()
        if global_var.name_hint != "main"
    }
    return tvm.IRModule({**functions, tvm.ir.GlobalVar(name): function}, attrs=module.attrs)
