"""Copies of the graphs of exported programs, so that a caller's program is not changed."""

from __future__ import annotations

import copy
from typing import Any


def copied(graph: Any) -> Any:
    """A copy of a graph whose nodes have the same names, by which a signature refers to them.

    `copy.deepcopy` gives others to nodes that are named like a builtin of Python: `input_1` to
    `input`.
    """
    made = copy.deepcopy(graph)
    for node, twin in zip(graph.nodes, made.nodes, strict=True):
        twin.name = node.name
    return made
