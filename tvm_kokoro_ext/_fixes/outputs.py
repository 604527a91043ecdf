"""Outputs that are Python numbers: refused by name; stock raises a bare ValueError."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tvm_kokoro_ext import _probe
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix


def check_outputs(program: Any, converters: Collection[str]) -> Any:
    """Refuse constants among the outputs of a program."""
    from torch.utils import _pytree

    results = next(node for node in program.graph.nodes if node.op == "output").args[0]
    for result in _pytree.tree_leaves(results):
        if isinstance(result, int | float | bool | str):
            raise UnsupportedOperatorError(
                f"the output {result!r}",
                "a compiled program returns tensors, and this is a constant",
                "Return tensors only, and keep the constant outside",
            )
    return program


FIX = Fix(
    id="outputs",
    what="a number among the outputs raises without saying which",
    op="from_exported_program",
    affected="",
    probe=_probe.always,
    prepare=check_outputs,
)
