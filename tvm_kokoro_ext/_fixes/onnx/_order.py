"""The order of an ONNX graph's nodes, which ONNX prescribes and some tools do not keep."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any


def in_order(model: Any) -> Any:
    """The model with every node behind those whose results it reads; itself if it is so already.

    ONNX Runtime sorts nodes as well. Nodes that read each other stay where they are.
    """
    if all(_order(graph) == list(range(len(graph.node))) for graph in _graphs(model.graph)):
        return model
    made = type(model)()
    made.CopyFrom(model)
    for graph in _graphs(made.graph):
        nodes = [graph.node[at] for at in _order(graph)]
        copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)
    return made


def _graphs(graph: Any) -> Iterator[Any]:
    """The graphs within a graph, innermost first, and the graph itself."""
    for node in graph.node:
        for inner in _branches(node):
            yield from _graphs(inner)
    yield graph


def _branches(node: Any) -> list[Any]:
    """The graphs that a node has as attributes, such as the branches of If."""
    found = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return found + [graph for attribute in node.attribute for graph in attribute.graphs]


def _reads(node: Any) -> set[str]:
    """The names that a node reads, by itself or in its graphs."""
    names = set(node.input)
    for graph in _branches(node):
        inside = set().union(*map(_reads, graph.node)) | {value.name for value in graph.output}
        inside -= {value.name for value in graph.input}
        names |= inside - {name for own in graph.node for name in own.output}
    return names


def _order(graph: Any) -> list[int]:
    """The places of the nodes in the order nearest to theirs in which each can be computed."""
    producers = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    waits = [{producers[n] for n in _reads(node) if n in producers} for node in graph.node]
    if all(max(wait, default=-1) < at for at, wait in enumerate(waits)):
        return list(range(len(waits)))
    readers: list[list[int]] = [[] for _ in waits]
    for at, wait in enumerate(waits):
        for producer in wait:
            readers[producer].append(at)
    missing = [len(wait) for wait in waits]
    ready = [at for at, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    return order if len(order) == len(waits) else list(range(len(waits)))
